"""Run, judge and sum up many runs under random faults.

A campaign that stops at its first finding counts the runs up to that one and no more, so the totals and the
finding depend on the target and the options alone, and not on the number of workers.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.history import History
from lab.kernel import Protocol, Step
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import Algorithm
from lab.recording.records import FAULT_KIND_SEEN, TIME_LIMIT_REACHED, End, Fault, Header, Process, Record, Routed
from lab.recording.writer import MemoryLog, RecordLog
from lab.script.statements import Statement
from lab.tasks.extension import analysis_of, extension_class, start_analysis
from lab.worlds.campaign.cluster import on_cluster
from lab.worlds.campaign.corpus import Corpus
from lab.worlds.campaign.coverage import Way, collect_ways
from lab.worlds.campaign.guide import LAG, Assignment, Guide
from lab.worlds.campaign.schedule import Schedule, SchedulePlan
from lab.worlds.campaign.situations import SituationReader, Situations
from lab.worlds.campaign.striker import Striker, scripted
from lab.worlds.campaign.workers import map_chunks
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
    ``situations`` are those reached, ``struck`` those in which a fault struck, if the run was struck as it went.
    ``errors``: the errors in the code of assertions.
    """

    schedule: Schedule
    records: list[Record]
    violations: list[Violation]
    end_us: int
    judged: dict[str, int]
    situations: Situations
    errors: dict[str, str]
    struck: tuple[int, ...] = ()


def header_for(base: Header, schedule: Schedule) -> Header:
    """Return the campaign's header, for this schedule."""
    run = f"{base.protocol.name} seed {schedule.seed}"
    return replace(base, run=run, nodes=schedule.nodes, link=schedule.link, seed=schedule.seed)


def run_trial(
    protocol: type[Protocol],
    base: Header,
    schedule: Schedule,
    extend: bool = True,
    strikes: tuple[SchedulePlan, dict[int, int]] | None = None,
) -> Trial:
    """Run a schedule to its end and judge it. Raises RunawayError.

    With ``extend``, continue until it is known whether the nodes agree again. With ``strikes``, a plan and how
    often faults have struck in each situation, the run is struck as it goes; its schedule then has these faults.
    """
    reader = SituationReader(protocol)
    striker = None if strikes is None else Striker(*strikes, schedule, reader)
    log, judge = judging_log(header_for(base, schedule), reader.observe if striker is None else striker.observe)
    watch_steps()
    simulation = Simulation(protocol, log)
    if striker is not None:
        striker.director = simulation.director
    for fault in schedule.faults:
        simulation.director.add(scripted(fault))
    simulation.start()
    simulation.run_to(schedule.end_us)
    most_us = schedule.end_us + 4 * judge.within_us
    while extend and simulation.now_us < min(judge.decided_us, most_us):
        simulation.run_to(min(judge.decided_us, most_us))
    log.append(End(simulation.now_us, TIME_LIMIT_REACHED))
    judged = {each.assertion: each.evidence.count for each in judge.verdicts() if each.evidence.since is not None}
    trial = Trial(
        schedule,
        log.records,
        judge.violations,
        simulation.now_us,
        judged,
        reader.situations(judge.violations),
        judge.errors,
    )
    return trial if striker is None else replace(trial, schedule=striker.schedule, struck=tuple(striker.struck))


def judging_log(header: Header, then: Callable[[Record], object] = lambda record: None) -> tuple[MemoryLog, Judge]:
    """Return a log, and the judge of its records. The log raises RunawayError if there are too many.

    ``then`` is called with each record once it is judged.
    """
    judge = Judge(header)
    judge.observe(header)
    nodes = len(header.nodes)
    most = most_records(nodes)

    def observe(record: Record) -> None:
        judge.observe(record)
        if judge.number > most:
            raise RunawayError(f"seed {header.seed}: {describe_runaway(nodes, judge.at_us)}")
        then(record)

    return MemoryLog(header, observe), judge


def start_simulation(protocol: type[Protocol], log: RecordLog, script: Iterable[Statement]) -> Simulation:
    """Start the simulation of a run with this script; steps are watched from now on."""
    watch_steps()
    simulation = Simulation(protocol, log)
    simulation.director.add_script(script)
    simulation.start()
    return simulation


class FaultCount(Struct):
    """The number of faults of a kind, and how many of them touched something."""

    faults: int = 0
    touched: int = 0


def count_faults(records: list[Record]) -> dict[str, FaultCount]:
    """Count the faults of a run, by kind."""
    kinds: dict[int, Fault] = {}
    touched: set[int] = set()
    slow: dict[int, tuple[int, ...]] = {}
    for record in records:
        if isinstance(record, Fault):
            if not record.lifted:
                kinds.setdefault(record.id, record)
            if record.kind == "slow-disk":
                slow[record.id] = () if record.lifted else record.nodes
        elif isinstance(record, Step):
            if slow and (record.stored or record.logged):
                touched.update(number for number, nodes in slow.items() if record.node in nodes)
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

_TRACED = 10
"""The ways through the protocol are collected in the first ten runs, and in every tenth after that."""


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

    ``runs`` is the number of runs; 0: until interrupted. If it is ``guided``, schedules that reached something new
    are varied; if not, each schedule depends on its seed alone.
    """

    target: str
    base: Header
    plan: SchedulePlan
    goal: SearchGoal
    seed: int
    runs: int
    guided: bool = True


class RunOutcome(Struct):
    """The outcome of one run, small enough to be sent between processes.

    ``violations``: their number, by assertion and the assumptions broken. ``ways`` are the ways through the
    protocol's file, if they were collected: pairs of lines executed one after the other. ``outcomes``: what the
    analysis of the protocol counts. ``judged``: see ``Trial``.
    """

    schedule: Schedule
    found: bool
    situations: Situations
    struck: tuple[int, ...]
    steps: int
    virtual_us: int
    faults: dict[str, FaultCount]
    violations: dict[tuple[str, tuple[int | str, ...]], int]
    ways: frozenset[Way]
    outcomes: dict[str, int]
    judged: dict[str, int]


class CampaignTotals:
    """The sums over the runs of a campaign. ``judged_runs``: in how many of them each assertion was judged.

    ``hits``: in how many of them each situation was reached, ``deliveries``: each (message kind, status).
    ``sizes``: how many had each number of nodes.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.sizes: Counter[int] = Counter()
        self.hits: Counter[int] = Counter()
        self.deliveries: Counter[tuple[str, str]] = Counter()
        self.steps = 0
        self.virtual_us = 0
        self.faults: dict[str, FaultCount] = {}
        self.violations: Counter[tuple[str, tuple[int | str, ...]]] = Counter()
        self.ways: set[Way] = set()
        self.outcomes: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()
        self.judged_runs: Counter[str] = Counter()

    def add(self, outcome: RunOutcome) -> None:
        self.runs += 1
        self.steps += outcome.steps
        self.virtual_us += outcome.virtual_us
        self.ways |= outcome.ways
        self.sizes[len(outcome.schedule.nodes)] += 1
        self.hits.update(outcome.situations.all)
        self.deliveries.update(outcome.situations.deliveries)
        for kind, count in outcome.faults.items():
            sum_ = self.faults.setdefault(kind, FaultCount())
            sum_.faults += count.faults
            sum_.touched += count.touched
        self.violations.update(outcome.violations)
        self.outcomes.update(outcome.outcomes)
        self.judged.update(outcome.judged)
        self.judged_runs.update(outcome.judged.keys())


def run_chunk(campaign: Campaign, assignments: Sequence[Assignment]) -> list[RunOutcome]:
    """Make these runs of a campaign, and judge them."""
    protocol = load_protocol(campaign.target)
    return [_run(campaign, protocol, each.schedule, each.struck) for each in assignments]


def _run(
    campaign: Campaign, protocol: type[Algorithm], schedule: Schedule, struck: dict[int, int] | None
) -> RunOutcome:
    ways: set[Way] = set()
    place = schedule.seed - campaign.seed
    strikes = None if struck is None else (campaign.plan, struck)
    is_traced = 0 <= place < _TRACED or place % _TRACED == 0
    with collect_ways(protocol, ways) if is_traced else nullcontext():
        trial = run_trial(protocol, campaign.base, schedule, strikes=strikes)
    return RunOutcome(
        trial.schedule,
        any(campaign.goal.matches(violation) for violation in trial.violations),
        trial.situations,
        trial.struck,
        sum(isinstance(record, Step) for record in trial.records),
        trial.end_us,
        count_faults(trial.records),
        Counter((each.assertion, tuple(b.assumption for b in each.broken)) for each in trial.violations),
        frozenset(ways),
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
    campaign: Campaign,
    workers: int = 1,
    cluster: str = "",
    for_s: float | None = None,
    corpus: Corpus | None = None,
) -> Generator[RunOutcome, None, None]:
    """Yield the outcomes in the order of the seeds; with ``for_s``, begin no more chunks after that time.

    A guided campaign begins with what is in ``corpus``, and adds to it. ``cluster`` is the address of a
    dask.distributed scheduler. Its workers must have this package, of the same version; a user's files travel to
    them. Close the iterator to stop. Raises RunawayError and WorkerDiedError; with a cluster, also ImportError and
    OSError.
    """
    work = partial(run_chunk, campaign)
    if corpus is None and campaign.guided:
        corpus = Corpus()
    guide = Guide(campaign.plan, campaign.seed, campaign.runs, corpus)
    chunks = guide.chunks(for_s)
    outcomes: Iterator[RunOutcome]
    if cluster:
        outcomes = on_cluster(work, chunks, cluster, user_files(campaign.target), LAG)
    else:
        outcomes = map_chunks(work, chunks, workers, LAG)
    try:
        for outcome in outcomes:
            guide.add(outcome.schedule, outcome.situations, outcome.struck)
            yield outcome
    finally:
        guide.finish()
