"""The contents of a recorded campaign: its findings, grouped by shape, and a table with a row for each run."""

from collections.abc import Iterator

from msgspec import Struct

from lab.table_files import Column, Row, Table, json_cell
from lab.text import sanitize
from lab.worlds.campaign.campaign_recording import CampaignRecording, RecordedRun
from lab.worlds.campaign.finding import Counterexample

# findings


class FindingGroup(Struct):
    """Findings whose shrunk schedules have one shape, and violate one assertion under one set of assumptions.

    ``runs`` are the numbers of their runs, ``smallest`` is the smallest of them.
    """

    shape: str
    smallest: Counterexample
    runs: list[int]

    @property
    def is_failure(self) -> bool:
        """True unless broken assumptions excuse it."""
        return not self.smallest.broken


class FindingGroups:
    """The groups of the findings of a campaign, whose runs are added one by one."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], FindingGroup] = {}

    def add(self, run: RecordedRun) -> None:
        """Add what was found in a run, if anything was."""
        found = run.outcome.counterexample
        if found is None:
            return
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


# the table

COLUMNS = (
    Column("run", "integer", "number of the run, from 1"),
    Column("seed", "integer", "its seed"),
    Column("protocol", "text", "protocol"),
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
"""The columns of the table; the last three belong to the finding of the run, if it is one."""


def table_of(recording: CampaignRecording) -> Table:
    """Return a table with a row for each run, in the order of their numbers."""
    return Table(COLUMNS, _rows(recording))


def _rows(recording: CampaignRecording) -> Iterator[Row]:
    name = recording.header.campaign.base.protocol.title
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


def describe_schedule(found: Counterexample) -> ShrunkSchedule:
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
