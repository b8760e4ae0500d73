"""Compare several protocols under the same schedules, each run in virtual time, judged and measured.

A schedule is drawn from a seed, as in a campaign, or comes from a script; then the seed determines the links
alone. Faults strike at given times, not at messages, because messages have different names in different protocols.
So all protocols get the same faults and the same links, and, after the last fault, the longest time to settle that
any of them asks for. What is measured is up to the ``Comparison`` that the protocols bring.
"""

from collections.abc import Generator
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lab.protocols import Algorithm
from lab.recording.records import Header, Link
from lab.script.parse import read_script
from lab.script.statements import After, At, Statement
from lab.tasks.extension import comparison_of
from lab.worlds.campaign.schedule import SchedulePlan, draw
from lab.worlds.campaign.trial import RunawayError, judging_log, start_simulation
from lab.worlds.campaign.workers import map_chunks, split_seeds
from lab.worlds.loading.targets import load_protocol

_CHUNK = 2
"""Small, because several protocols with a task take a while."""


class ProtocolComparison(Struct, frozen=True):
    """A comparison: each target with its header in ``bases``, for ``runs`` seeds from ``seed`` on.

    ``script`` are lines of the command language, instead of random faults; None: random faults. With ``load`` the
    nodes get the work that the protocols' comparison has for them, in addition to those.
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
    """One run of one protocol: what its comparison ``measured``.

    ``violations``: for each promised assertion, the number of failures and of excused violations.
    """

    measured: Any
    violations: dict[str, tuple[int, int]]


def run_comparison(
    comparison: ProtocolComparison, workers: int = 1
) -> Generator[tuple[RunMeasurement, ...], None, None]:
    """Yield the measurements of each seed, in order, one for each protocol. Raises RunawayError."""
    seeds = split_seeds(comparison.seed, comparison.seed + comparison.runs, _CHUNK)
    return map_chunks(partial(_compare, comparison), seeds, workers)


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
        load: tuple[str, ...] = ()
        if comparison.load:
            brought = comparison_of(load_protocol(comparison.targets[0]))
            load = brought.load(drawn.nodes, comparison.plan.timing, drawn.end_us)
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
    violations = {verdict.assertion: (verdict.failures, verdict.excused) for verdict in judge.verdicts()}
    return RunMeasurement(comparison_of(protocol).measure(header, log.records, course.end_us), violations)
