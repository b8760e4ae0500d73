"""The contents of a recorded campaign: its findings in groups, the smallest of each, and a table of its runs."""

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from lab.protocols import Algorithm
from lab.table_files import Column, Row, Table, json_cell
from lab.tasks.comparison import Comparison
from lab.tasks.extension import comparison_of_run
from lab.text import UserError, sanitize
from lab.units import format_count
from lab.worlds.campaign.campaign import Campaign, RunOutcome
from lab.worlds.campaign.campaign_recording import CampaignRecording, RecordedRun
from lab.worlds.campaign.comparison import ProtocolComparison, RunMeasurement
from lab.worlds.campaign.exploration import ExplorationCampaign, ExploredFinding, SetUpOutcome, record_explored
from lab.worlds.campaign.finding import Finding, ShrunkFinding, format_rerun, write_finding
from lab.worlds.campaign.scalability import ClusterMeasurement, MeasuredCase, Measurement, ScaleCampaign
from lab.worlds.campaign.trial import run_trial
from lab.worlds.loading.targets import absolute_target, load_protocol, names_file, split_sandbox, split_target

# findings


class FindingGroup(Struct):
    """Findings whose shrunk schedules have one shape, and violate one assertion under one set of assumptions.

    Of explorations: whose paths have the same faults. ``runs`` are the numbers of their runs, ``smallest`` is the
    smallest of them.
    """

    shape: str
    smallest: ShrunkFinding | ExploredFinding
    runs: list[int]

    @property
    def is_failure(self) -> bool:
        """True unless broken assumptions excuse it."""
        return not self.smallest.broken


class FindingGroups:
    """The groups of the findings of a campaign, whose runs are added one by one."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], FindingGroup] = {}

    def add(self, run: RecordedRun[Any]) -> None:
        """Add what was found in a run, if anything was."""
        for found in findings_in(run.outcome):
            shape = found.shape
            group = self._groups.setdefault((found.assertion, found.broken, shape), FindingGroup(shape, found, []))
            group.runs.append(run.run)
            if found.size < group.smallest.size:
                group.smallest = found

    def ranked(self) -> list[FindingGroup]:
        """Return the groups: failures first, then those found most often."""
        return sorted(
            self._groups.values(), key=lambda each: (not each.is_failure, -len(each.runs), each.smallest.size)
        )


def findings_in(outcome: object) -> tuple[ShrunkFinding | ExploredFinding, ...]:
    """Return what was found in a run; measurements find nothing."""
    if isinstance(outcome, RunOutcome):
        return () if outcome.counterexample is None else (outcome.counterexample,)
    return outcome.found if isinstance(outcome, SetUpOutcome) else ()


# the table

_NAMES = (
    Column("run", "integer", "number of the run, from 1"),
    Column("seed", "integer", "its seed"),
    Column("protocol", "text", "protocol"),
)
COLUMNS = (
    *_NAMES,
    Column("nodes", "integer", "number of nodes"),
    Column("latency_us", "integer", "latency of every link"),
    Column("jitter_us", "integer", "jitter of every link"),
    Column("commands", "integer", "number of commands in its schedule"),
    Column("faults", "integer", "number of faults injected"),
    Column("faults_touched", "integer", "number of faults that affected something"),
    Column("steps", "integer", "number of steps"),
    Column("end_us", "integer", "virtual time at its end"),
    Column("situations", "integer", "number of situations reached"),
    Column("new_situations", "integer", "number of situations that no run before reached"),
    Column("violations", "integer", "number of violations"),
    Column("failures", "integer", "number of violations with all relevant assumptions intact"),
    Column("violated", "json", "assertions violated"),
    Column("broken", "json", "assumptions broken"),
    Column("judged", "json", "by how many states, transactions and so on each assertion was judged"),
    Column("outcomes", "json", "what the protocol counts, such as transactions by outcome"),
    Column("connected", "json", "how many nodes could talk to each other"),
    Column("given_up", "boolean", "true if the run was given up, as its messages multiplied"),
    Column("found", "boolean", "true if the run is a finding"),
    Column("assertion", "text", "assertion that the finding violates"),
    Column("shape", "text", "shape of the finding's shrunk schedule"),
    Column("counterexample", "json", "nodes and commands of the shrunk schedule"),
)
"""The columns of the table of ``lab check``; the last three belong to the finding of the run, if it is one."""

SCALE_COLUMNS = (
    *_NAMES,
    Column("nodes", "integer", "number of nodes"),
    Column("case", "text", "case of the formula; empty without one"),
    Column("noticed", "text", "which nodes detect the crash"),
    Column("coordinator", "integer", "coordinator that was elected"),
    Column("messages", "integer", "messages of the election, without heartbeats"),
    Column("formula", "number", "messages by the formula"),
    Column("virtual_us", "integer", "virtual time from the crash until all nodes are Normal"),
    Column("kinds", "json", "messages by kind"),
)
EXPLORE_COLUMNS = (
    Column("run", "integer", "number of the set-up, from 1"),
    Column("protocol", "text", "protocol"),
    Column("nodes", "integer", "number of nodes"),
    Column("kills", "integer", "bound on kills"),
    Column("restarts", "integer", "bound on restarts"),
    Column("cuts", "integer", "bound on cuts"),
    Column("pauses", "integer", "bound on pauses"),
    Column("timeouts", "text", "timing model"),
    Column("suspicions", "integer", "bound on wrong suspicions, with timeouts budget"),
    Column("states", "integer", "states visited"),
    Column("transitions", "integer", "transitions between them"),
    Column("depth", "integer", "depth in moves"),
    Column("stopped_at", "text", "bound that ended the search; empty if all was visited"),
    Column("not_distinguished", "json", "differences between states that were ignored"),
    Column("assertion", "text", "assertion"),
    Column("violated", "integer", "states that violate it"),
    Column("moves", "integer", "number of moves to the nearest violation"),
    Column("broken", "json", "assumptions broken there"),
    Column("verdict", "text", "verdict, in words"),
    Column("shape", "text", "faults on the way to the nearest violation"),
)
VIOLATION_COLUMNS = (
    Column("failures", "integer", "violations with the assumptions intact"),
    Column("excused", "integer", "violations under broken assumptions"),
    Column("violations", "json", "the same by assertion: numbers of failures and of excused violations"),
)


def table_of(recording: CampaignRecording) -> Table:
    """Return a table of the runs, in the order of their numbers.

    It has a row for each run; of a comparison for each protocol in each run, of a study of growing clusters for
    each case that was measured, of explorations for each assertion in each set-up.
    """
    plan = recording.header.campaign
    if isinstance(plan, Campaign):
        return Table(COLUMNS, _rows(recording, plan))
    if isinstance(plan, ProtocolComparison):
        kinds = [comparison_of_run(base) for base in plan.bases]
        most = max(kinds, key=lambda each: len(each.__mro__))
        return Table((*_NAMES, *most.columns, *VIOLATION_COLUMNS), _comparison_rows(recording, plan, kinds))
    if isinstance(plan, ScaleCampaign):
        return Table(SCALE_COLUMNS, _scale_rows(recording, plan))
    return Table(EXPLORE_COLUMNS, _explored_rows(recording, plan))


def _comparison_rows(
    recording: CampaignRecording, plan: ProtocolComparison, kinds: list[type[Comparison]]
) -> Iterator[Row]:
    for run in recording.runs():
        for name, kind, one in zip(plan.names, kinds, run.outcome, strict=True):
            cells = kind.row(one.measured)
            yield run.run, plan.seed + run.run - 1, sanitize(name), *cells, *violation_cells(one)


def violation_cells(run: RunMeasurement) -> Row:
    """Return the cells of ``VIOLATION_COLUMNS``."""
    counts = run.violations.values()
    failures, excused = sum(failed for failed, _ in counts), sum(excused for _, excused in counts)
    return failures, excused, json_cell(run.violations)


def _scale_rows(recording: CampaignRecording, plan: ScaleCampaign) -> Iterator[Row]:
    for run in recording.runs():
        _, place = plan.place_of(run.run)
        for cells in scale_cells(run.outcome):
            yield run.run, plan.seed, sanitize(plan.bases[place].protocol.name), *cells


def scale_cells(cluster: ClusterMeasurement) -> Iterable[Row]:
    """Yield the cells of ``SCALE_COLUMNS`` behind the protocol, for each case that was measured."""
    return (_case_cells(case, case.measured) for case in cluster.cases if case.measured is not None)


def _case_cells(case: MeasuredCase, measured: Measurement) -> Row:
    return (
        measured.nodes,
        sanitize(case.case) or None,
        measured.detection,
        measured.coordinator,
        measured.messages,
        case.formula,
        measured.virtual_us,
        json_cell(measured.kinds),
    )


def _explored_rows(recording: CampaignRecording, plan: ExplorationCampaign) -> Iterator[Row]:
    name = sanitize(plan.base.protocol.title)
    for run in recording.runs():
        outcome: SetUpOutcome = run.outcome
        shapes = {each.assertion: sanitize(each.shape) for each in outcome.found}
        for each in outcome.assertions:
            yield (
                run.run,
                name,
                *astuple(outcome.set_up),
                outcome.states,
                outcome.transitions,
                outcome.depth,
                outcome.stopped_at or None,
                json_cell(outcome.not_distinguished),
                sanitize(each.assertion),
                each.violated,
                each.moves,
                json_cell(each.broken),
                sanitize(each.verdict),
                shapes.get(each.assertion),
            )


def _rows(recording: CampaignRecording, plan: Campaign) -> Iterator[Row]:
    name = plan.base.protocol.title
    reached: set[int] = set()
    for run in recording.runs():
        outcome, schedule = run.outcome, run.outcome.schedule
        new = outcome.situations.all - reached
        reached |= new
        found = outcome.counterexample
        yield (
            run.run,
            schedule.seed,
            sanitize(name),
            len(schedule.nodes),
            schedule.link.latency_us,
            schedule.link.jitter_us,
            len(schedule.faults),
            sum(each.faults for each in outcome.faults.values()),
            sum(each.touched for each in outcome.faults.values()),
            outcome.steps,
            outcome.virtual_us,
            len(outcome.situations.all),
            len(new),
            sum(times for _, _, times in outcome.violations),
            sum(times for _, broken, times in outcome.violations if not broken),
            json_cell(sorted({name for name, _, _ in outcome.violations})),
            json_cell(sorted(outcome.broken)),
            json_cell({name: evidence.count for name, evidence in outcome.judged.items()}),
            json_cell(outcome.outcomes),
            json_cell(sorted(outcome.majorities)),
            outcome.given_up,
            outcome.found,
            None if found is None else sanitize(found.assertion),
            None if found is None else sanitize(found.shape),
            None if found is None else json_cell(describe_schedule(found)),
        )


class ShrunkSchedule(Struct, frozen=True):
    """A shrunk schedule: with the protocol, all that decides a run. Commands are lines of the command language."""

    nodes: tuple[int, ...]
    seed: int
    latency_us: int
    jitter_us: int
    end_us: int
    commands: tuple[str, ...]


def describe_schedule(found: ShrunkFinding) -> ShrunkSchedule:
    """Return the shrunk schedule as tables and documents have it."""
    schedule = found.schedule
    return ShrunkSchedule(
        schedule.nodes,
        schedule.seed,
        schedule.link.latency_us,
        schedule.link.jitter_us,
        schedule.end_us,
        tuple(map(str, schedule.faults)),
    )


SmallestFinding = ShrunkFinding | ExploredFinding


class CannotRecordError(UserError):
    """The finding cannot be executed again; the text is for the user."""


def describe_smallest(found: SmallestFinding) -> list[str]:
    """Return the nodes, and the faults in their order: lines of text."""
    if isinstance(found, ExploredFinding):
        moves = format_count(len(found.path.moves), "move")
        head = f"smallest, {format_count(found.set_up.nodes, 'node')}, timeouts {found.set_up.timeouts}, {moves}:"
        return [head, *(f"    {command}" for command in found.path.commands or ("no fault",))]
    schedule = found.schedule
    head = f"smallest, {format_count(len(schedule.nodes), 'node')}, seed {schedule.seed}:"
    kept = [f"recorded: {found.recording}"] if found.recording else []
    return [head, *(f"    {fault}" for fault in schedule.faults), *kept]


def target_to_record(plan: Campaign | ExplorationCampaign, own: str = "") -> str:
    """Return what is executed: a built-in protocol, or the one of the user's that ``own`` names.

    Raises CannotRecordError if it is not built in and not named: no code that a recording names is executed.
    """
    if isinstance(plan, Campaign) and plan.live is not None:
        raise CannotRecordError(
            "a run of programs cannot be executed again; the recordings of its findings were kept, and are named "
            "with them"
        )
    target, _ = split_sandbox(plan.target)
    if not _is_own(plan):
        return target
    if not own:
        raise CannotRecordError(
            f"a campaign of {target}: no code that a recording names is executed; name yours: --protocol "
            "FILE.py:CLASS"
        )
    return absolute_target(own)


def _is_own(plan: Campaign | ExplorationCampaign) -> bool:
    """Return whether a file of the user's is executed in the campaign."""
    target, sandboxed = split_sandbox(plan.target)
    return names_file(target) or bool(split_target(target)[1]) or sandboxed


def protocol_option(plan: Campaign | ExplorationCampaign) -> str:
    """Return the option that ``lab campaign show --out`` needs; empty for a built-in protocol."""
    return f" --protocol {shlex.quote(split_sandbox(plan.target)[0])}" if _is_own(plan) else ""


def record_smallest(
    plan: Campaign | ExplorationCampaign, found: SmallestFinding, target: str, path: Path
) -> str | None:
    """Execute a finding again, and record it to ``path``, and the script of a schedule beside it.

    Return the command that runs the script. Raises CannotRecordError if the run no longer shows it, OSError.
    """
    protocol = load_protocol(target)
    if isinstance(found, ShrunkFinding):
        assert isinstance(plan, Campaign)
        return _record_schedule(plan, found, target, protocol, path)
    assert isinstance(plan, ExplorationCampaign)
    record_explored(plan, protocol, found, path)
    return None


def _record_schedule(
    plan: Campaign, found: ShrunkFinding, target: str, protocol: type[Algorithm], path: Path
) -> str:
    least = found.schedule
    trial = run_trial(protocol, plan.base, least, extend=False)
    violation = next((each for each in trial.violations if each.assertion == found.assertion), None)
    if violation is None:
        raise CannotRecordError(
            f"{target} no longer violates {found.assertion} under this schedule: the protocol has changed since, "
            "or it is not deterministic"
        )
    rerun = format_rerun(target, plan.base, least, path.with_suffix(".script"))
    write_finding(protocol, plan.base, Finding(least, least, violation, 0, trial.records), path, rerun)
    return rerun
