"""Run, judge and sum up many runs under random faults.

A campaign that stops at its first finding counts the runs up to that one and no more, so the totals and the
finding depend on the target and the options alone, and not on the number of workers.
"""

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.history import History
from lab.kernel import Protocol, Step
from lab.properties.judge import Judge
from lab.properties.verdicts import Evidence, Violation
from lab.protocols import Algorithm
from lab.recording.records import FAULT_KIND_SEEN, TIME_LIMIT_REACHED, End, Fault, Header, Process, Record, Routed
from lab.recording.writer import MemoryLog, RecordLog
from lab.script.statements import Statement
from lab.tasks.analysis import Analysis
from lab.tasks.extension import analysis_of, extension_class, start_analysis
from lab.worlds.campaign.cluster import on_cluster
from lab.worlds.campaign.corpus import Corpus
from lab.worlds.campaign.coverage import Way, collect_ways
from lab.worlds.campaign.guidance import LAG, Assignment, Guide, is_traced
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan
from lab.worlds.campaign.situations import NO_SITUATIONS, Majority, SituationReader, Situations, majorities_in
from lab.worlds.campaign.striker import Striker, scripted
from lab.worlds.campaign.systematic import Branch, EventCollector, roots
from lab.worlds.campaign.workers import map_chunks
from lab.worlds.loading.config import settling_us
from lab.worlds.loading.targets import load_protocol, user_files
from lab.worlds.simulated.execution import describe_runaway, most_records
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

# one run


class RunawayError(Exception):
    """The messages of a run multiply; the text is for the user."""


class Trial(Struct):
    """A completed run. ``end_us``: when it was over, and everything in it judged.

    ``judged``: the evidence of each assertion that was judged, without its text.
    ``broken``: the numbers of the assumptions broken in it. ``errors``: the errors in the code of assertions.
    ``given_up``: it ended early, as its messages multiplied under broken assumptions.
    ``situations`` are those reached, if they were asked for, ``struck`` those in which a fault struck, if the run
    was struck as it went. ``events``: what could happen next, if that was asked for.
    """

    schedule: Schedule
    records: list[Record]
    violations: list[Violation]
    end_us: int
    judged: dict[str, Evidence]
    broken: frozenset[int]
    errors: dict[str, str]
    given_up: bool = False
    situations: Situations = NO_SITUATIONS
    struck: tuple[int, ...] = ()
    events: tuple[ScheduledFault, ...] = ()


def header_for(protocol: type[Algorithm], base: Header, schedule: Schedule) -> Header:
    """Return the campaign's header, for this schedule; fewer nodes have less time to settle.

    A header that does not have the protocol's own bound keeps the bound that it has: an exercise sets it.
    """
    run = f"{base.protocol.name} seed {schedule.seed}"
    info = base.protocol
    most_us, settles_us = (
        settling_us(protocol, info.parameters, base.timing, len(nodes)) for nodes in (base.nodes, schedule.nodes)
    )
    if info.settles_within_us == most_us:
        info = replace(info, settles_within_us=settles_us)
    return replace(base, run=run, protocol=info, nodes=schedule.nodes, link=schedule.link, seed=schedule.seed)


def run_trial(
    protocol: type[Algorithm],
    base: Header,
    schedule: Schedule,
    extend: bool = True,
    strikes: tuple[SchedulePlan, dict[int, int]] | None = None,
    branch: tuple[SchedulePlan, Branch] | None = None,
    with_situations: bool = False,
) -> Trial:
    """Run a schedule to its end and judge it. Raises RunawayError if messages multiply, all assumptions intact.

    With ``extend``, continue until it is known whether the nodes agree again. With ``strikes``, a plan and how
    often faults have struck in each situation, the run is struck as it goes; its schedule then has these faults.
    With ``branch``, the run of that one, what can happen next in it is found too. ``with_situations``, those that
    it reaches are found: a fifth more work.
    """
    reader = SituationReader(protocol, with_points=strikes is not None or branch is not None)
    striker = None if strikes is None else Striker(*strikes, schedule, reader)
    collector = None if branch is None else EventCollector(*branch, schedule, reader)
    observer = striker or collector or (reader if with_situations else None)
    header = header_for(protocol, base, schedule)
    log, judge = judging_log(header) if observer is None else judging_log(header, observer.observe)
    watch_steps()
    simulation = Simulation(protocol, log)
    if striker is not None:
        striker.director = simulation.director
    for fault in schedule.faults:
        simulation.director.add(scripted(fault))
    most_us = schedule.end_us + 4 * judge.within_us
    given_up = False
    try:
        simulation.start()
        simulation.run_to(schedule.end_us)
        while extend and simulation.now_us < min(judge.decided_us, most_us):
            simulation.run_to(min(judge.decided_us, most_us))
        log.append(End(simulation.now_us, TIME_LIMIT_REACHED))
    except RunawayError:
        if not judge.ever_broken:
            raise
        given_up = True
    evidence = {each.assertion: replace(each.evidence, text="") for each in judge.verdicts()}
    trial = Trial(
        schedule,
        log.records,
        judge.violations,
        simulation.now_us,
        {name: each for name, each in evidence.items() if each.since is not None},
        judge.ever_broken,
        judge.errors,
        given_up,
        reader.situations(judge.violations) if with_situations else NO_SITUATIONS,
        events=() if collector is None else collector.finish(),
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

_FEW = 50
"""A level of a tree with at most so many runs is not worth the start of other processes."""
_CHUNK = 5
"""The number of runs of a tree that are given to a worker at a time."""


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
    are varied; if not, each depends on its seed alone. With ``systematic``, a bound, the runs are the tree with
    that bound, and all have the same seed.
    """

    target: str
    base: Header
    plan: SchedulePlan
    goal: SearchGoal
    seed: int
    runs: int
    guided: bool = True
    systematic: int = 0


class RunOutcome(Struct):
    """The outcome of one run, small enough to be sent between processes.

    ``violations``: their number, by assertion and the assumptions broken. ``ways`` are the ways through the
    protocol's file, if they were collected: pairs of lines executed one after the other. ``outcomes``: what the
    analysis of the protocol counts, and ``states_at_once`` what it tells of states. ``majorities``: how many nodes
    could talk to each other. ``broken``, ``judged``, ``given_up``, ``events``: see ``Trial``.
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
    states_at_once: frozenset[tuple[str, str]]
    broken: frozenset[int]
    judged: dict[str, Evidence]
    majorities: frozenset[Majority]
    given_up: bool = False
    events: tuple[ScheduledFault, ...] = ()


class CampaignTotals:
    """The sums over the runs of a campaign. ``judged_runs``: in how many of them each assertion was judged.

    ``judged`` counts by how many states, transactions and so on, and ``at_once`` how many pairs were concurrent.
    ``hits``: in how many of them each situation was reached, ``deliveries``: each (message kind, status).
    ``sizes``: how many had each number of nodes, ``broken``: in how many each assumption was broken,
    ``majorities``: in how many that many nodes could talk to each other.
    ``given_up``: the seeds of those given up. ``following``: how many runs follow from these in a tree.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.following = 0
        self.given_up: list[int] = []
        self.sizes: Counter[int] = Counter()
        self.hits: Counter[int] = Counter()
        self.deliveries: Counter[tuple[str, str]] = Counter()
        self.steps = 0
        self.virtual_us = 0
        self.faults: dict[str, FaultCount] = {}
        self.violations: Counter[tuple[str, tuple[int | str, ...]]] = Counter()
        self.ways: set[Way] = set()
        self.outcomes: Counter[str] = Counter()
        self.states_at_once: Counter[tuple[str, str]] = Counter()
        self.broken: Counter[int] = Counter()
        self.majorities: Counter[Majority] = Counter()
        self.judged: Counter[str] = Counter()
        self.at_once: Counter[str] = Counter()
        self.nouns: dict[str, str] = {}
        self.judged_runs: Counter[str] = Counter()

    def add(self, outcome: RunOutcome) -> None:
        self.runs += 1
        self.following += len(outcome.events)
        if outcome.given_up:
            self.given_up.append(outcome.schedule.seed)
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
        self.states_at_once.update(outcome.states_at_once)
        self.broken.update(outcome.broken)
        self.majorities.update(outcome.majorities)
        for name, evidence in outcome.judged.items():
            self.judged[name] += evidence.count
            self.nouns[name] = evidence.noun
            if evidence.at_once is not None:
                self.at_once[name] += evidence.at_once
        self.judged_runs.update(outcome.judged.keys())


def runs_left(totals: CampaignTotals, campaign: Campaign) -> int:
    """Return how many runs of a systematic campaign are known and not made yet; 0 when all were made."""
    return len(roots(campaign.plan, campaign.systematic)) + totals.following - totals.runs


def run_chunk(campaign: Campaign, assignments: Sequence[Assignment]) -> list[RunOutcome]:
    """Make these runs of a campaign, and judge them."""
    protocol = load_protocol(campaign.target)
    return [_run(campaign, protocol, assignment) for assignment in assignments]


def _run(campaign: Campaign, protocol: type[Algorithm], assignment: Assignment) -> RunOutcome:
    ways: set[Way] = set()
    strikes = None if assignment.struck is None else (campaign.plan, assignment.struck)
    branch = None if assignment.branch is None else (campaign.plan, assignment.branch)
    with collect_ways(protocol, ways) if assignment.traced else nullcontext():
        trial = run_trial(
            protocol, campaign.base, assignment.schedule, strikes=strikes, branch=branch, with_situations=True
        )
    analysis = _analysis_in(protocol, trial.records)
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
        analysis.count() if analysis is not None else {},
        analysis.states_at_once() if analysis is not None else frozenset(),
        trial.broken,
        trial.judged,
        majorities_in(trial.records),
        trial.given_up,
        trial.events,
    )


def count_outcomes(protocol: type[Algorithm], records: list[Record]) -> dict[str, int]:
    """Return what the analysis of the protocol counts in a run: of a bank, its transactions by outcome.

    Raises ExtensionError if that fails.
    """
    analysis = _analysis_in(protocol, records)
    return {} if analysis is None else analysis.count()


def _analysis_in(protocol: type[Algorithm], records: list[Record]) -> Analysis | None:
    """Return the analysis that the protocol brings, of this run; None if it counts nothing."""
    header = records[0]
    assert isinstance(header, Header)
    extension = extension_class(protocol)
    if not analysis_of(extension).noun:
        return None
    history = History(header)
    analysis = history.add(start_analysis(header, history.cluster, extension))
    history.read(records)
    return analysis


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
    if campaign.systematic:
        yield from _run_tree(campaign, workers, cluster, for_s)
        return
    if corpus is None and campaign.guided:
        corpus = Corpus()
    guide = Guide(campaign.plan, campaign.seed, campaign.runs, corpus)
    try:
        for outcome in _distribute(campaign, guide.chunks(for_s), workers, cluster):
            guide.add(outcome.schedule, outcome.situations, outcome.struck)
            yield outcome
    finally:
        guide.finish()


def _distribute(
    campaign: Campaign, chunks: Iterator[list[Assignment]], workers: int, cluster: str
) -> Iterator[RunOutcome]:
    work = partial(run_chunk, campaign)
    if cluster:
        return on_cluster(work, chunks, cluster, user_files(campaign.target), LAG)
    return map_chunks(work, chunks, workers, LAG)


def _run_tree(campaign: Campaign, workers: int, cluster: str, for_s: float | None) -> Iterator[RunOutcome]:
    """Make the runs of a systematic campaign: first those with the fewest events."""
    ends_s = None if for_s is None else time.monotonic() + for_s
    level = roots(campaign.plan, campaign.systematic)
    done = 0
    while level:
        assignments = [
            Assignment(branch.schedule(campaign.plan, campaign.seed), is_traced(done + place), branch=branch)
            for place, branch in enumerate(level[: campaign.runs - done] if campaign.runs else level)
        ]
        chunks = takewhile(
            lambda _: ends_s is None or time.monotonic() < ends_s,
            (assignments[first : first + _CHUNK] for first in range(0, len(assignments), _CHUNK)),
        )
        is_small = len(assignments) <= _FEW
        outcomes = _distribute(campaign, chunks, 1 if is_small else workers, "" if is_small else cluster)
        following: list[Branch] = []
        for branch, outcome in zip(level, outcomes, strict=False):
            done += 1
            following += map(branch.followed_by, outcome.events)
            yield outcome
        level = following
