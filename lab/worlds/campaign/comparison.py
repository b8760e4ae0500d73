"""Compare several protocols under the same schedules, each run in virtual time, judged and measured.

A schedule is drawn from a seed, as in a campaign, or comes from a script; then the seed determines the links
alone. Faults strike at given times, not at messages, because messages have different names in different protocols.
So all protocols get the same faults and the same links, and, after the last fault, the longest time to settle that
any of them asks for. What is measured is up to the ``Comparison`` that the protocols bring.
"""

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.protocols import Algorithm
from lab.recording.records import Header, Link
from lab.script.parse import read_script
from lab.script.statements import After, At, Statement
from lab.tasks.extension import comparison_of, comparison_of_run
from lab.units import format_us
from lab.worlds.campaign.campaign import part_of
from lab.worlds.campaign.schedule import SchedulePlan, draw
from lab.worlds.campaign.trial import RunawayError, judging_log, start_simulation
from lab.worlds.campaign.workers import in_chunks, map_chunks
from lab.worlds.loading.targets import load_protocol

_CHUNK = 2
"""Small, because several protocols with a task take a while."""


class ProtocolComparison(Struct, frozen=True, tag_field="of", tag="compare"):
    """A comparison: each target with its header in ``bases``, for ``runs`` seeds from ``seed`` on.

    ``names`` are the protocols as reports name them, ``conditions`` what they have in common, in words. The runs
    are divided into ``parts``, which can be made anywhere.

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
    names: tuple[str, ...] = ()
    conditions: str = ""
    parts: int = 1

    def runs_of(self, part: int) -> range:
        """Return the numbers of the runs of a part; both count from 1."""
        return part_of(self.runs, part, self.parts)

    def with_protocols(self, targets: Sequence[str], bases: Sequence[Header]) -> "ProtocolComparison":
        """Return the same comparison of these protocols."""
        return replace(self, targets=tuple(targets), bases=tuple(bases))

    def facts(self) -> dict[str, str]:
        """Return what distinguishes it from another comparison, in words."""
        return {
            "the seed": str(self.seed),
            "the number of runs": str(self.runs),
            "the number of parts": str(self.parts),
            "what the protocols have in common": self.conditions,
            "T": format_us(self.plan.timing.t_us),
        }


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


def measured_of(comparison: ProtocolComparison, plain: Sequence[RunMeasurement]) -> tuple[RunMeasurement, ...]:
    """Return what was measured of a run, from what was read of it. Raises msgspec.ValidationError.

    The types are those of the installed protocols' comparisons; of any other protocol, that of an election.
    """
    found = zip(plain, comparison.bases, strict=True)
    return tuple(
        replace(each, measured=msgspec.convert(each.measured, comparison_of_run(base).Measured))
        for each, base in found
    )


def run_comparison(
    comparison: ProtocolComparison, workers: int = 1, numbers: Iterable[int] | None = None
) -> Generator[tuple[RunMeasurement, ...], None, None]:
    """Yield the measurements of each run, in order, one for each protocol. Raises RunawayError.

    ``numbers`` are those of the runs to make, from 1; None: all.
    """
    wanted = range(1, comparison.runs + 1) if numbers is None else numbers
    seeds = ([comparison.seed + number - 1 for number in chunk] for chunk in in_chunks(wanted, _CHUNK))
    return map_chunks(partial(_compare, comparison), seeds, workers)


def _compare(comparison: ProtocolComparison, seeds: Sequence[int]) -> list[tuple[RunMeasurement, ...]]:
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
