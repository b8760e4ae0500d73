"""Run, judge and sum up many runs under random faults: what they found, and what they never reached.

A campaign that stops at its first finding counts the runs up to that one and no more, so the totals and the
finding depend on the target and the options alone, and not on the number of workers.
"""

import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations_with_replacement, takewhile
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.history import History
from lab.kernel import Step
from lab.properties.history_verdict import OperationCounts, promises_of
from lab.properties.verdicts import Evidence, Violation
from lab.protocols import Algorithm
from lab.recording.records import Header, Record, header_in
from lab.tasks.analysis import Analysis
from lab.tasks.extension import analysis_of, extension_class, start_analysis
from lab.units import format_us
from lab.worlds.campaign.cluster import on_cluster
from lab.worlds.campaign.coverage import Way
from lab.worlds.campaign.finding import ShrunkFinding, counterexample_of
from lab.worlds.campaign.guidance import LAG, Assignment, Corpus, Guide, is_traced
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan
from lab.worlds.campaign.situations import Majority, Situations, majorities_in
from lab.worlds.campaign.systematic import TreeRun, roots
from lab.worlds.campaign.trial import FaultCount, SearchGoal, count_faults, run_trial
from lab.worlds.campaign.workers import map_chunks
from lab.worlds.loading.roles import wanted_in
from lab.worlds.loading.targets import load_protocol, user_files

_FEW = 50
"""A level of a tree with at most so many runs is not worth the start of other processes."""
_CHUNK = 5
"""The number of runs of a tree that are given to a worker at a time."""


class LivePlan(Struct, frozen=True):
    """How the runs on a program are made: live, each for ``run_us``.

    A finding is repeated so many times. ``digest`` is that of the program's files: a campaign goes on with the
    same program only.
    """

    run_us: int
    repetitions: int
    digest: str

    def __str__(self) -> str:
        return f"live for {format_us(self.run_us)}, repeated {self.repetitions} times, of program {self.digest}"


class Campaign(Struct, frozen=True, tag_field="of", tag="check"):
    """A campaign: one run for each seed from ``seed`` on. ``base`` is the header of all runs.

    ``runs`` is the number of runs; 0: until interrupted. If it is ``guided``, schedules that reached something new
    are varied; if not, each depends on its seed alone. With ``systematic``, a bound, the runs are the tree with
    that bound, and all have the same seed.

    The runs are divided into ``parts``, each guided by its own runs only: so a part can be made anywhere, and is
    the same wherever it is made. With ``shrinks_all``, each finding is shrunk where it is found. With ``live``,
    the runs are those of a program (``lab.worlds.campaign.live_campaign``).
    """

    target: str
    base: Header
    plan: SchedulePlan
    goal: SearchGoal
    seed: int
    runs: int
    guided: bool = True
    systematic: int = 0
    parts: int = 1
    shrinks_all: bool = False
    live: LivePlan | None = None

    def runs_of(self, part: int) -> range:
        """Return the numbers of the runs of a part; both count from 1. Of a campaign without end: empty."""
        return part_of(self.runs, part, self.parts)

    @property
    def targets(self) -> tuple[str, ...]:
        return (self.target,)

    @property
    def bases(self) -> tuple[Header, ...]:
        return (self.base,)

    @property
    def promises(self) -> tuple[str, ...]:
        """The assertions by which each run is judged."""
        return promises_of(self.base)

    def with_protocols(self, targets: Sequence[str], bases: Sequence[Header]) -> "Campaign":
        """Return the same campaign of these protocols."""
        return replace(self, target=targets[0], base=bases[0])

    def facts(self) -> dict[str, str]:
        """Return what distinguishes it from another campaign, in words."""
        plan, goal = self.plan, self.goal
        return {
            "the seed": str(self.seed),
            "the number of runs": str(self.runs or "unlimited"),
            "the number of parts": str(self.parts),
            "the number of nodes": "-".join(map(str, plan.nodes)),
            "the kinds of faults": ",".join(plan.faults),
            "T": format_us(plan.timing.t_us),
            "the way of drawing": "guided" if self.guided else "blind",
            "the number of events (--systematic)": str(self.systematic),
            "the clients and services": self._outside(),
            "the way of running": "simulated" if self.live is None else str(self.live),
            "what counts as a finding": goal.assertion or ("all violations" if goal.strict else "failures"),
        }

    def _outside(self) -> str:
        wanted = wanted_in(self.base.roles, self.plan.clients or 0)
        words = [*wanted.services]
        if wanted.workload is not None:
            words.append(f"{wanted.workload} by {wanted.clients or 'as many as nodes'}, {wanted.rate}/s each")
        if wanted.model:
            words.append(f"judged by {wanted.model}")
        return ", ".join(words) or "none"


def part_of(runs: int, part: int, parts: int) -> range:
    """Return the numbers of the runs that this part of so many has; all count from 1."""
    return range(runs * (part - 1) // parts + 1, runs * part // parts + 1)


CountedViolation = tuple[str, tuple[int | str, ...], int]
"""An assertion, the assumptions broken when it was violated, and how many of these violations there were."""


class RunOutcome(Struct, omit_defaults=True):
    """The outcome of one run, small enough to be sent between processes, and kept in a file.

    ``ways`` are the ways through the protocol's file, if they were collected: pairs of lines executed one after
    the other. ``outcomes``: what the analysis of the protocol counts, and ``states_at_once`` what it tells of
    states. ``majorities``: how many nodes could talk to each other. ``broken``, ``judged``, ``given_up``,
    ``events``: see ``Trial``. ``counterexample`` is what was found, shrunk, if that was asked for. ``operations``
    are those of the clients. ``unconfirmed``: the assertions that a live run seemed to violate, and no repetition.
    ``errors``: those in the code of assertions.
    """

    schedule: Schedule
    found: bool
    situations: Situations
    struck: tuple[int, ...]
    steps: int
    virtual_us: int
    faults: dict[str, FaultCount]
    violations: tuple[CountedViolation, ...]
    ways: frozenset[Way]
    outcomes: dict[str, int]
    states_at_once: frozenset[tuple[str, str]]
    broken: frozenset[int]
    judged: dict[str, Evidence]
    majorities: frozenset[Majority]
    given_up: bool = False
    events: tuple[ScheduledFault, ...] = ()
    counterexample: ShrunkFinding | None = None
    operations: OperationCounts = OperationCounts()
    unconfirmed: tuple[str, ...] = ()
    errors: dict[str, str] = {}


class CampaignTotals:
    """The sums over the runs of a campaign. ``judged_runs``: in how many of them each assertion was judged.

    ``judged`` counts by how many states, transactions and so on, and ``at_once`` how many pairs were concurrent.
    ``hits``: in how many of them each situation was reached, ``deliveries``: each (message kind, status).
    ``sizes``: how many had each number of nodes, ``broken``: in how many each assumption was broken,
    ``majorities``: in how many that many nodes could talk to each other.
    ``given_up``: the seeds of those given up. ``following``: how many runs follow from these in a tree.
    ``operations`` are those of the clients. ``unconfirmed``: in how many live runs each assertion only seemed to
    be violated. ``errors``: the first in the code of each assertion.
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
        self.operations = OperationCounts()
        self.unconfirmed: Counter[str] = Counter()
        self.errors: dict[str, str] = {}

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
        for assertion, broken, times in outcome.violations:
            self.violations[assertion, broken] += times
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
        self.operations += outcome.operations
        self.unconfirmed.update(outcome.unconfirmed)
        self.errors = outcome.errors | self.errors


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
    trial = run_trial(
        protocol,
        campaign.base,
        assignment.schedule,
        strikes=strikes,
        branch=branch,
        with_situations=True,
        ways=ways if assignment.traced else None,
    )
    analysis = _analysis_in(protocol, trial.records)
    found = any(map(campaign.goal.matches, trial.violations))
    is_shrunk = found and campaign.shrinks_all
    return RunOutcome(
        schedule=trial.schedule,
        found=found,
        situations=trial.situations,
        struck=trial.struck,
        steps=sum(isinstance(record, Step) for record in trial.records),
        virtual_us=trial.end_us,
        faults=count_faults(trial.records),
        violations=count_violations(trial.violations),
        ways=frozenset(ways),
        outcomes=analysis.count() if analysis is not None else {},
        states_at_once=analysis.states_at_once() if analysis is not None else frozenset(),
        broken=trial.broken,
        judged=trial.judged,
        majorities=majorities_in(trial.records),
        given_up=trial.given_up,
        events=trial.events,
        counterexample=(
            counterexample_of(protocol, campaign.base, campaign.goal, trial.schedule) if is_shrunk else None
        ),
        operations=trial.operations,
        errors=trial.errors,
    )


def count_violations(violations: Iterable[Violation]) -> tuple[CountedViolation, ...]:
    """Return how often each assertion was violated with the same assumptions broken."""
    counted = Counter((each.assertion, tuple(b.assumption for b in each.broken)) for each in violations)
    return tuple((*which, times) for which, times in counted.items())


def count_outcomes(protocol: type[Algorithm], records: list[Record]) -> dict[str, int]:
    """Return what the analysis of the protocol counts in a run: of a bank, its transactions by outcome.

    Raises ExtensionError if that fails.
    """
    analysis = _analysis_in(protocol, records)
    return {} if analysis is None else analysis.count()


def _analysis_in(protocol: type[Algorithm], records: list[Record]) -> Analysis | None:
    """Return the analysis that the protocol brings, of this run; None if it counts nothing."""
    header = header_in(records)
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
    part: int = 0,
    made: Mapping[int, Iterable[RunOutcome]] = MappingProxyType({}),
) -> Generator[RunOutcome, None, None]:
    """Yield the outcomes in the order of the runs; with ``for_s``, begin no more chunks after that time.

    A guided campaign begins with what is in ``corpus``, and adds to it. ``cluster`` is the address of a
    dask.distributed scheduler. Its workers must have this package, of the same version; a user's files travel to
    them. ``part``: make only this part. ``made`` has, by part, the outcomes of its first runs, which were made
    earlier; they are yielded first, and guide the others as they did. Close the iterator to stop.

    Raises RunawayError, WorkerDiedError and NotRepeatedError; with a cluster, also ImportError and OSError.
    """
    ends_s = None if for_s is None else time.monotonic() + for_s
    if campaign.systematic:
        yield from _run_tree(campaign, workers, cluster, ends_s, iter(made.get(1, ())))
        return
    guides = []
    for each in (part,) if part else range(1, campaign.parts + 1):
        runs = campaign.runs_of(each)
        first = runs.start - 1
        own = Corpus() if corpus is None and campaign.guided else corpus
        guide = Guide(campaign.plan, campaign.seed + first, len(runs), own)
        guides.append(guide)
        for outcome in made.get(each, ()):
            guide.skip(outcome.schedule, outcome.situations, outcome.struck)
            yield outcome
    for guide in guides:
        try:
            for outcome in _distribute(campaign, guide.chunks(ends_s), workers, cluster):
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


def _run_tree(
    campaign: Campaign, workers: int, cluster: str, ends_s: float | None, made: Iterator[RunOutcome]
) -> Iterator[RunOutcome]:
    """Make the runs of a systematic campaign: first those with the fewest events."""
    level = roots(campaign.plan, campaign.systematic)
    done = 0
    while level:
        wanted = level[: campaign.runs - done] if campaign.runs else level
        following: list[TreeRun] = []
        known = 0
        for branch, outcome in zip(wanted, made, strict=False):
            known += 1
            following += map(branch.followed_by, outcome.events)
            yield outcome
        done += known
        assignments = [
            Assignment(branch.schedule(campaign.plan, campaign.seed), is_traced(done + place), branch=branch)
            for place, branch in enumerate(wanted[known:])
        ]
        chunks = takewhile(
            lambda _: ends_s is None or time.monotonic() < ends_s,
            (assignments[first : first + _CHUNK] for first in range(0, len(assignments), _CHUNK)),
        )
        is_small = len(assignments) <= _FEW
        outcomes = _distribute(campaign, chunks, 1 if is_small else workers, "" if is_small else cluster)
        for branch, outcome in zip(wanted[known:], outcomes, strict=False):
            done += 1
            following += map(branch.followed_by, outcome.events)
            yield outcome
        level = following


def never_delivered(totals: CampaignTotals, protocol: type[Algorithm]) -> list[str]:
    """Return in words which messages were never delivered in which Status, of those that occurred.

    Some of these may be impossible.
    """
    statuses = sorted({status for _, status in totals.deliveries})
    kinds = sorted(protocol.payloads)
    words = {status: f" in {status}" if status else "" for status in statuses}
    missing = [(kind, status) for kind in kinds for status in statuses if (kind, status) not in totals.deliveries]
    return [f"{kind}{words[status]}" for kind, status in missing]


def never_at_once(totals: CampaignTotals, protocol: type[Algorithm]) -> list[str]:
    """Return in words the pairs of states in which no two nodes were at once in one transaction.

    Some of these must be impossible, such as committed and aborted.
    """
    states = analysis_of(extension_class(protocol)).states
    pairs = combinations_with_replacement(states, 2)
    return [" and ".join(pair) for pair in pairs if pair not in totals.states_at_once]


def unseen_share(totals: CampaignTotals) -> float | None:
    """Return the Good-Turing estimate: the probability that the next situation met is a new one.

    It is the share of those met once among all that were met; None if none was.
    """
    total = totals.hits.total()
    return sum(count == 1 for count in totals.hits.values()) / total if total else None


def unjudged(promises: Sequence[str], totals: CampaignTotals) -> list[str]:
    """Return the promised assertions that were judged in no run."""
    return [name for name in promises if not totals.judged_runs[name]]


def line_ranges(lines: list[int]) -> str:
    """Format 1, 2, 3, 7 as ``1-3, 7``."""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
