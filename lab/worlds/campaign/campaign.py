"""Run, judge and sum up many runs under random faults; and collect the lines of the protocol that they execute.

A campaign that stops at its first finding counts the runs up to that one and no more, so the totals and the
finding depend on the target and the options alone, and not on the number of workers.
"""

import inspect
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from types import CodeType, FrameType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.history import History
from lab.kernel import Protocol, Step
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import Algorithm
from lab.recording.records import FAULT_KIND_SEEN, End, Fault, Header, Process, Record, Routed
from lab.recording.writer import MemoryLog, RecordLog
from lab.script.parse import parse
from lab.script.statements import At, Statement
from lab.tasks.extension import analysis_of, extension_class, start_analysis
from lab.worlds.campaign.cluster import on_cluster
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan, draw
from lab.worlds.campaign.workers import map_seeds, split_seeds
from lab.worlds.loading.targets import load_protocol, user_files
from lab.worlds.simulated.execution import describe_runaway, most_records
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

# one run


class RunawayError(Exception):
    """The messages of a run multiply; the text is for the user."""


class Trial(Struct):
    """A completed run. ``end_us``: when it was over, and everything in it judged.

    ``judged``: by how many states, transactions and so on each assertion was judged; without those that were not.
    """

    schedule: Schedule
    records: list[Record]
    violations: list[Violation]
    end_us: int
    judged: dict[str, int]


def header_for(base: Header, schedule: Schedule) -> Header:
    """Return the campaign's header, for this schedule."""
    run = f"{base.protocol.name} seed {schedule.seed}"
    return replace(base, run=run, nodes=schedule.nodes, link=schedule.link, seed=schedule.seed)


def run_trial(protocol: type[Protocol], base: Header, schedule: Schedule, extend: bool = True) -> Trial:
    """Run a schedule to its end and judge it. Raises RunawayError.

    With ``extend``, continue until it is known whether the nodes agree again.
    """
    log, judge = judging_log(header_for(base, schedule))
    watch_steps()
    simulation = Simulation(protocol, log)
    for fault in schedule.faults:
        simulation.director.add(_scripted(fault))
    simulation.start()
    simulation.run_to(schedule.end_us)
    most_us = schedule.end_us + 4 * judge.within_us
    while extend and simulation.now_us < min(judge.decided_us, most_us):
        simulation.run_to(min(judge.decided_us, most_us))
    log.append(End(simulation.now_us, "its time was up"))
    judged = {each.assertion: each.evidence.count for each in judge.verdicts() if each.evidence.since is not None}
    return Trial(schedule, log.records, judge.violations, simulation.now_us, judged)


def judging_log(header: Header) -> tuple[MemoryLog, Judge]:
    """Return a log, and the judge of its records. The log raises RunawayError if there are too many."""
    judge = Judge(header)
    judge.observe(header)
    nodes = len(header.nodes)
    most = most_records(nodes)

    def observe(record: Record) -> None:
        judge.observe(record)
        if judge.number > most:
            raise RunawayError(f"seed {header.seed}: {describe_runaway(nodes, judge.at_us)}")

    return MemoryLog(header, observe), judge


def start_simulation(protocol: type[Protocol], log: RecordLog, script: Iterable[Statement]) -> Simulation:
    """Start the simulation of a run with this script; steps are watched from now on."""
    watch_steps()
    simulation = Simulation(protocol, log)
    simulation.director.add_script(script)
    simulation.start()
    return simulation


def _scripted(fault: ScheduledFault) -> Statement:
    read = parse(f"on {fault.on} {fault.command}" if fault.on else fault.command)
    return replace(read, triggers=(At(fault.at_us), *read.triggers), source=str(fault))


class FaultCount(Struct):
    """The number of faults of a kind, and how many of them touched something."""

    faults: int = 0
    touched: int = 0


def count_faults(records: list[Record]) -> dict[str, FaultCount]:
    """Count the faults of a run, by kind."""
    kinds: dict[int, Fault] = {}
    touched: set[int] = set()
    for record in records:
        if isinstance(record, Fault):
            if not record.lifted:
                kinds.setdefault(record.id, record)
        elif isinstance(record, Routed):
            touched.update(record.by)
        elif isinstance(record, Process) and record.event in FAULT_KIND_SEEN:
            kind = FAULT_KIND_SEEN[record.event]
            touched.update(n for n, fault in kinds.items() if fault.kind == kind and record.node in fault.nodes)
    found: dict[str, FaultCount] = {}
    for number, fault in kinds.items():
        count = found.setdefault(fault.kind, FaultCount())
        count.faults += 1
        count.touched += number in touched
    return found


# many runs

_CHUNK = 10
_TRACED = 10
"""Executed lines are collected in the first ten runs, and in every tenth after that."""


class SearchGoal(Struct, frozen=True):
    """The violations to find: failures; with ``strict``, all; with ``assertion``, all of that assertion."""

    assertion: str = ""
    strict: bool = False

    def matches(self, violation: Violation) -> bool:
        if self.assertion:
            return violation.assertion == self.assertion
        return self.strict or violation.is_failure


class Campaign(Struct, frozen=True):
    """A campaign: one run for each seed from ``seed`` on. ``base`` is the header of all runs.

    ``runs`` is the number of runs; 0: until interrupted.
    """

    target: str
    base: Header
    plan: SchedulePlan
    goal: SearchGoal
    seed: int
    runs: int


class RunOutcome(Struct):
    """The outcome of one run, small enough to be sent between processes.

    ``violations``: their number, by assertion and the assumptions broken. ``lines`` are the executed lines of the
    protocol's file, if they were collected. ``outcomes``: what the analysis of the protocol counts. ``judged``:
    see ``Trial``.
    """

    seed: int
    found: bool
    steps: int
    virtual_us: int
    faults: dict[str, FaultCount]
    violations: dict[tuple[str, tuple[int | str, ...]], int]
    lines: frozenset[int]
    outcomes: dict[str, int]
    judged: dict[str, int]


class CampaignTotals:
    """The sums over the runs of a campaign. ``judged_runs``: in how many of them each assertion was judged."""

    def __init__(self) -> None:
        self.runs = 0
        self.steps = 0
        self.virtual_us = 0
        self.faults: dict[str, FaultCount] = {}
        self.violations: Counter[tuple[str, tuple[int | str, ...]]] = Counter()
        self.lines: set[int] = set()
        self.outcomes: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()
        self.judged_runs: Counter[str] = Counter()

    def add(self, outcome: RunOutcome) -> None:
        self.runs += 1
        self.steps += outcome.steps
        self.virtual_us += outcome.virtual_us
        self.lines |= outcome.lines
        for kind, count in outcome.faults.items():
            sum_ = self.faults.setdefault(kind, FaultCount())
            sum_.faults += count.faults
            sum_.touched += count.touched
        self.violations.update(outcome.violations)
        self.outcomes.update(outcome.outcomes)
        self.judged.update(outcome.judged)
        self.judged_runs.update(outcome.judged.keys())


def run_chunk(campaign: Campaign, seeds: range) -> list[RunOutcome]:
    protocol = load_protocol(campaign.target)
    return [_run_seed(campaign, protocol, seed) for seed in seeds]


def _run_seed(campaign: Campaign, protocol: type[Algorithm], seed: int) -> RunOutcome:
    lines: set[int] = set()
    place = seed - campaign.seed
    is_traced = place < _TRACED or place % _TRACED == 0
    with collect_lines(protocol, lines) if is_traced else nullcontext():
        trial = run_trial(protocol, campaign.base, draw(campaign.plan, seed))
    return RunOutcome(
        seed,
        any(campaign.goal.matches(violation) for violation in trial.violations),
        sum(isinstance(record, Step) for record in trial.records),
        trial.end_us,
        count_faults(trial.records),
        Counter((each.assertion, tuple(b.assumption for b in each.broken)) for each in trial.violations),
        frozenset(lines),
        count_outcomes(protocol, trial.records),
        trial.judged,
    )


def count_outcomes(protocol: type[Algorithm], records: list[Record]) -> dict[str, int]:
    """Return what the analysis of the protocol counts in a run: of a bank, its transactions by outcome.

    Raises ExtensionError if that fails.
    """
    header = records[0]
    assert isinstance(header, Header)
    extension = extension_class(protocol)
    if not analysis_of(extension).noun:
        return {}
    history = History(header)
    analysis = history.add(start_analysis(header, history.cluster, extension))
    history.read(records)
    return analysis.count()


def run_campaign(
    campaign: Campaign, workers: int = 1, cluster: str = "", for_s: float | None = None
) -> Generator[RunOutcome, None, None]:
    """Yield the outcomes in the order of the seeds; with ``for_s``, begin no more chunks after that time.

    ``cluster`` is the address of a dask.distributed scheduler. Its workers must have this package, of the same
    version; a user's files travel to them. Close the iterator to stop. Raises RunawayError and WorkerDiedError;
    with a cluster, also ImportError and OSError.
    """
    work, chunks = partial(run_chunk, campaign), _chunks(campaign, for_s)
    if cluster:
        yield from on_cluster(work, chunks, cluster, user_files(campaign.target))
    else:
        yield from map_seeds(work, chunks, workers)


def _chunks(campaign: Campaign, for_s: float | None) -> Iterator[range]:
    began_s = time.monotonic()
    end = campaign.seed + campaign.runs if campaign.runs else 1 << 62
    for seeds in split_seeds(campaign.seed, end, _CHUNK):
        if for_s is not None and time.monotonic() - began_s >= for_s:
            return
        yield seeds


# code coverage: the executed lines of the protocol's file


def lines_of_code(protocol: type[Protocol]) -> frozenset[int]:
    """Return the lines of the protocol's file that its methods can execute."""
    file = inspect.getfile(protocol)
    found: set[int] = set()
    pending = [
        method.__code__
        for klass in protocol.__mro__
        for member in vars(klass).values()
        for method in (getattr(member, "fget", None) or getattr(member, "__func__", None) or member,)
        if inspect.isfunction(method) and method.__code__.co_filename == file
    ]
    while pending:
        code = pending.pop()
        found.update(line for _, _, line in code.co_lines() if line and line != code.co_firstlineno)
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(found)


@contextmanager
def collect_lines(protocol: type[Protocol], lines: set[int]) -> Iterator[None]:
    """Add the lines executed inside the ``with`` to ``lines``. This slows the run by about half."""
    file = inspect.getfile(protocol)

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        lines.add(frame.f_lineno)
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename == file else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)
