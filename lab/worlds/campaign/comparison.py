"""Compare several protocols under the same schedules, each run in virtual time, judged and measured.

A schedule is drawn from a seed, as in a campaign, or comes from a script; then the seed determines the links
alone. Faults strike at given times, not at messages, because messages have different names in different protocols.
So all protocols get the same faults and the same links, and, after the last fault, the longest time to settle that
any of them asks for. Commit protocols get transactions in addition to random faults.
"""

from collections.abc import Generator, Sequence
from functools import partial
from math import ceil
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.elections import Leadership
from lab.kernel import Timing
from lab.protocols import Algorithm, CommitCost, Field, commit_protocol
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Link, Record
from lab.script.parse import read_script
from lab.script.statements import After, At, Statement
from lab.tasks.bank.commit_history import CommitHistory, CommitLog
from lab.tasks.field_map import Work, WorkLog
from lab.units import format_us
from lab.worlds.campaign.campaign import RunawayError, judging_log, start_simulation
from lab.worlds.campaign.schedule import SchedulePlan, draw
from lab.worlds.campaign.workers import map_seeds, split_seeds
from lab.worlds.loading.targets import load_protocol

_CHUNK = 2
"""Small, because several protocols with a task take a while."""


class ProtocolComparison(Struct, frozen=True):
    """A comparison: each target with its header in ``bases``, for ``runs`` seeds from ``seed`` on.

    ``script`` are lines of the command language, instead of random faults; None: random faults. With ``load``
    there are transactions in addition to those.
    """

    targets: tuple[str, ...]
    bases: tuple[Header, ...]
    plan: SchedulePlan
    script: tuple[str, ...] | None
    seed: int
    runs: int
    load: bool = False


class SharedSchedule(Struct, frozen=True):
    """The events of one run, the same for every protocol."""

    seed: int
    nodes: tuple[int, ...]
    link: Link
    commands: tuple[Statement, ...]
    end_us: int


class RunMeasurement(Struct, frozen=True):
    """One run of one protocol. ``elections``: the messages of each; ``several_us``: time with several leaders.

    ``violations``: for each promised assertion, the number of failures and of excused violations.
    """

    elections: tuple[int, ...]
    outages_us: tuple[int, ...]
    several_us: int
    violations: dict[str, tuple[int, int]]
    work: Work | None
    commits: CommitHistory | None = None


class ProtocolTotals:
    """All runs of one protocol, from ``seed`` on. ``cost``: of a commit, by formula, for commit protocols."""

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
        self.commits: list[CommitHistory] = []

    def add(self, measured: RunMeasurement) -> None:
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
    """Return the least value that at least this share of all values do not exceed; None if there are none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


def run_comparison(
    comparison: ProtocolComparison, workers: int = 1
) -> Generator[tuple[RunMeasurement, ...], None, None]:
    """Yield the measurements of each seed, in order, one for each protocol. Raises RunawayError."""
    seeds = split_seeds(comparison.seed, comparison.seed + comparison.runs, _CHUNK)
    return map_seeds(partial(_compare, comparison), seeds, workers)


def _compare(comparison: ProtocolComparison, seeds: range) -> list[tuple[RunMeasurement, ...]]:
    found = []
    for seed in seeds:
        course = shared_schedule(comparison, seed)
        each = zip(comparison.targets, comparison.bases, strict=True)
        found.append(tuple(measure_run(load_protocol(target), base, course) for target, base in each))
    return found


def shared_schedule(comparison: ProtocolComparison, seed: int) -> SharedSchedule:
    drawn = draw(comparison.plan, seed)
    if comparison.script is None:
        load = transaction_load(drawn.nodes, comparison.plan.timing, drawn.end_us) if comparison.load else ()
        commands, last_us = read_script("\n".join([*map(str, drawn.faults), *load])), drawn.end_us
    else:
        commands = read_script("\n".join(comparison.script))
        last_us = _last_us(commands)
    settle_us = max(base.protocol.settles_within_us for base in comparison.bases)
    return SharedSchedule(seed, drawn.nodes, drawn.link, tuple(commands), last_us + settle_us)


def _last_us(lines: list[Statement]) -> int:
    """Return when the last line is due at the latest, as far as triggers state times."""
    triggers = [trigger for line in lines for trigger in line.triggers]
    at_us = [trigger.us for trigger in triggers if isinstance(trigger, At)]
    return max(at_us, default=0) + sum(trigger.us for trigger in triggers if isinstance(trigger, After))


def measure_run(protocol: type[Algorithm], base: Header, course: SharedSchedule) -> RunMeasurement:
    """Run one protocol and measure it. Raises RunawayError."""
    run = f"{base.protocol.name} seed {course.seed}"
    header = replace(base, run=run, nodes=course.nodes, link=course.link, seed=course.seed)
    log, judge = judging_log(header)
    simulation = start_simulation(protocol, log, course.commands)
    try:
        simulation.run_to(course.end_us)
    except RunawayError as error:
        raise RunawayError(f"{protocol.name}, {error}") from None
    violations = {verdict.assertion: (verdict.failures, verdict.outside) for verdict in judge.verdicts()}
    if commit_protocol(protocol) is not None:
        return RunMeasurement((), (), 0, violations, None, _commits(header, log.records, course.end_us))
    leadership, work = _folded(header, protocol, log.records)
    return RunMeasurement(
        tuple(leadership.elections),
        tuple(outage.us(course.end_us) for outage in leadership.outages),
        sum(span.us(course.end_us) for span in leadership.multiple_leaders),
        violations,
        work,
    )


def _commits(header: Header, records: list[Record], end_us: int) -> CommitHistory:
    commits = CommitLog(header.protocol.heartbeats)
    for record in records:
        commits.observe(record)
    return commits.commits(end_us)


def _folded(header: Header, protocol: type[Algorithm], records: list[Record]) -> tuple[Leadership, Work | None]:
    """Return who led, and the work done if the protocol's upper layer is a field."""
    cluster, leadership, work = ClusterState.of(header), Leadership(header.protocol.heartbeats), WorkLog()
    for record in records:
        cluster.apply(record)
        leadership.observe(record, cluster)
    if protocol.upper_protocol is None or not issubclass(protocol.upper_protocol, Field):
        return leadership, None
    for record in records:
        work.observe(record)
    parameters: Any = msgspec.convert(header.protocol.parameters, protocol.Parameters)
    return leadership, work.work(cluster, parameters.regions)


# transactions as the load: by default in succession, with a crash during a vote


# The highest node coordinates: it may begin transactions under every protocol, because any election elects it. It
# crashes in a transaction with a majority of participants left without it; otherwise no protocol could continue.
# That transaction is short: over slow links, participants would time out of a longer one before there are votes.
_ELECTED_T, _LOAD_T, _CRASH_T, _SUCCESSOR_T, _RESTART_T, _AGAIN_T = 10, 20, 30, 15, 15, 10
_TRANSACTIONS = 40


def default_script(nodes: Sequence[int], timing: Timing) -> tuple[str, ...]:
    """Return a script: the coordinator crashes as a vote arrives, its successor gets a load, and it restarts."""
    *_, heir, highest = sorted(nodes)
    return (
        f"{_at(timing, _ELECTED_T)} {_load(highest, timing)}",
        f"{_at(timing, _CRASH_T)} tell {highest} transfer 100 savings checking",
        f"then on send Vote {min(nodes)}->{highest} kill {highest}",
        f"{_after(timing, _SUCCESSOR_T)} {_load(heir, timing)}",
        f"{_after(timing, _RESTART_T)} restart {highest}",
        f"{_after(timing, _AGAIN_T)} {_load(highest, timing)}",
    )


def transaction_load(nodes: Sequence[int], timing: Timing, end_us: int) -> tuple[str, ...]:
    """Return the lines of a script with a continuous load; the last transactions begin before ``end_us``."""
    last_t = max(_ELECTED_T, end_us // timing.t_us)
    load = _load(max(nodes), timing)
    return tuple(f"{_at(timing, t)} {load}" for t in range(_ELECTED_T, last_t + 1, _LOAD_T))


def _load(node: int, timing: Timing) -> str:
    """Return a command whose transactions last for 10 T."""
    rate = max(1, _TRANSACTIONS * 1_000_000 // (10 * timing.t_us))
    return f"tell {node} transactions {_TRANSACTIONS} at {rate}/s"


def _at(timing: Timing, t: int) -> str:
    return f"at {format_us(t * timing.t_us)}"


def _after(timing: Timing, t: int) -> str:
    return f"after {format_us(t * timing.t_us)}"
