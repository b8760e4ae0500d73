"""Several protocols under the same courses of events, each run in virtual time, judged and measured.

A course is drawn from a seed, as a campaign's are, or follows a script; then the seed draws the links alone. What
it strikes it strikes at certain times: messages have other names in other protocols. So all of them get the same
strikes and the same links, and as long to settle after the last strike as the slowest of them asks for. Commit
protocols get transactions beside the drawn strikes.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from math import ceil
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.commit_history import CommitLog, Commits
from lab.analysis.field_work import Work, WorkLog
from lab.analysis.leadership import Leadership
from lab.protocols import Algorithm, CommitCost, Field, commit_protocol
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Link, Record
from lab.script import After, At, Scripted, read_script
from lab.worlds.campaign.bank_courses import load_until
from lab.worlds.campaign.draw import Plan, draw
from lab.worlds.campaign.trial import RunawayError, judged_log
from lab.worlds.campaign.workers import chunks_of, spread
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.targets import load_protocol
from lab.worlds.watchdog import watch_steps

__all__ = ["Comparison", "Course", "Measured", "Sums", "compared", "course_of", "measure", "quantile"]

_CHUNK = 2
"""Several protocols with a task above them take a while."""


class Comparison(Struct, frozen=True):
    """What to run: each target with its header in ``bases``, for ``runs`` seeds from ``seed`` on.

    ``script``: lines of the command language, instead of drawn strikes; None: there is none. With ``load`` there
    are transactions beside those.
    """

    targets: tuple[str, ...]
    bases: tuple[Header, ...]
    plan: Plan
    script: tuple[str, ...] | None
    seed: int
    runs: int
    load: bool = False


class Course(Struct, frozen=True):
    """What happens to the cluster in one run, whatever protocol it runs."""

    seed: int
    nodes: tuple[int, ...]
    link: Link
    commands: tuple[Scripted, ...]
    end_us: int


class Measured(Struct, frozen=True):
    """One run of one protocol. ``elections`` has the messages of each, ``several_us`` how long several led.

    ``violations``: for each assertion that is promised, how many are failures, and how many outside the promise.
    """

    elections: tuple[int, ...]
    outages_us: tuple[int, ...]
    several_us: int
    violations: dict[str, tuple[int, int]]
    work: Work | None
    commits: Commits | None = None


class Sums:
    """All runs of one protocol, from ``seed`` on; ``cost``: of a commit by the formula, where it commits."""

    def __init__(self, name: str, cost: CommitCost | None = None, seed: int = 1) -> None:
        self.name = name
        self.cost = cost
        self.seed = seed
        self.runs = 0
        self.elections: list[int] = []
        self.outages_us: list[int] = []
        self.several_us: list[int] = []
        self.violations: dict[str, tuple[int, int]] = {}
        self.work: Work | None = None
        self.commits: list[Commits] = []

    def add(self, measured: Measured) -> None:
        """One more run."""
        self.runs += 1
        self.elections += measured.elections
        self.outages_us += measured.outages_us
        self.several_us.append(measured.several_us)
        for assertion, (failures, outside) in measured.violations.items():
            before = self.violations.get(assertion, (0, 0))
            self.violations[assertion] = (before[0] + failures, before[1] + outside)
        if measured.work is not None:
            self.work = measured.work if self.work is None else self.work + measured.work
        if measured.commits is not None:
            self.commits.append(measured.commits)


def quantile(values: Sequence[int], share: float) -> int | None:
    """The least value that this share of all values does not exceed; None where there are none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


def compared(comparison: Comparison, workers: int = 1) -> Iterator[tuple[Measured, ...]]:
    """What each run came to, of each protocol in its turn, in the order of the seeds. RunawayError."""
    seeds = chunks_of(comparison.seed, comparison.seed + comparison.runs, _CHUNK)
    return spread(partial(_compare, comparison), seeds, workers)


def _compare(comparison: Comparison, seeds: range) -> list[tuple[Measured, ...]]:
    found = []
    for seed in seeds:
        course = course_of(comparison, seed)
        each = zip(comparison.targets, comparison.bases, strict=True)
        found.append(tuple(measure(load_protocol(target), base, course) for target, base in each))
    return found


def course_of(comparison: Comparison, seed: int) -> Course:
    """The course of this seed."""
    drawn = draw(comparison.plan, seed)
    if comparison.script is None:
        load = load_until(drawn.nodes, comparison.plan.timing, drawn.end_us) if comparison.load else ()
        commands, last_us = read_script("\n".join([*map(str, drawn.strikes), *load])), drawn.end_us
    else:
        commands = read_script("\n".join(comparison.script))
        last_us = _last_us(commands)
    settle_us = max(base.protocol.settles_within_us for base in comparison.bases)
    return Course(seed, drawn.nodes, drawn.link, tuple(commands), last_us + settle_us)


def _last_us(lines: list[Scripted]) -> int:
    """When the last line is due at the latest, as far as the triggers tell."""
    triggers = [trigger for line in lines for trigger in (line.trigger, *line.then)]
    at_us = [trigger.us for trigger in triggers if isinstance(trigger, At)]
    return max(at_us, default=0) + sum(trigger.us for trigger in triggers if isinstance(trigger, After))


def measure(protocol: type[Algorithm], base: Header, course: Course) -> Measured:
    """One run of one protocol. RunawayError."""
    watch_steps()
    run = f"{base.protocol.name} seed {course.seed}"
    header = replace(base, run=run, nodes=course.nodes, link=course.link, seed=course.seed)
    log, judge = judged_log(header)
    simulation = Simulation(protocol, header, log)
    simulation.director.add_script(course.commands)
    simulation.start()
    try:
        simulation.run_to(course.end_us)
    except RunawayError as error:
        raise RunawayError(f"{protocol.name}, {error}") from None
    violations = {verdict.assertion: (verdict.failures, verdict.outside) for verdict in judge.verdicts()}
    if commit_protocol(protocol) is not None:
        return Measured((), (), 0, violations, None, _commits(header, log.records, course.end_us))
    leadership, work = _folded(header, protocol, log.records)
    return Measured(
        tuple(leadership.elections),
        tuple(outage.us(course.end_us) for outage in leadership.outages),
        sum(span.us(course.end_us) for span in leadership.several),
        violations,
        work,
    )


def _commits(header: Header, records: list[Record], end_us: int) -> Commits:
    """What became of the transactions."""
    commits = CommitLog(header.protocol.heartbeats)
    for record in records:
        commits.observe(record)
    return commits.commits(end_us)


def _folded(header: Header, protocol: type[Algorithm], records: list[Record]) -> tuple[Leadership, Work | None]:
    """Who led, and, where there is a field above, what became of the work."""
    cluster, leadership, work = ClusterState.of(header), Leadership(header.protocol.heartbeats), WorkLog()
    for record in records:
        cluster.apply(record)
        leadership.observe(record, cluster)
    if protocol.carries is None or not issubclass(protocol.carries, Field):
        return leadership, None
    for record in records:
        work.observe(record)
    parameters: Any = msgspec.convert(header.protocol.parameters, protocol.Parameters)
    return leadership, work.work(cluster, parameters.regions)
