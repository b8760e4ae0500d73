"""Schedules for the majority guard: random faults, and repeated attempts of all leaders to publish."""

from random import Random

from msgspec.structs import replace

from lab.protocols import Election, Field, stacked
from lab.recording.records import Header
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan, draw, plan_of
from lab.worlds.campaign.trial import Trial, run_trial
from tests.campaign.trials import TIMING
from tests.harness import simulated_header

__all__ = ["FAULTS", "plain_trial", "publishing_trial"]

FAULTS = ("kill", "pause", "partition", "delay", "loss", "duplicate", "reorder")
"""All but a wipe, which breaks the one assumption that the guard needs."""

_PARTS = ("AreYouReady", "Vote", "Published")


def publishing_trial(
    election: type[Election], seed: int, field: type[Field] = Field, faults: tuple[str, ...] = FAULTS
) -> Trial:
    """Run the schedule of that seed, with three to seven nodes that have little to survey."""
    protocol = stacked(field, election)
    plan = plan_of(protocol, (3, 7), faults, TIMING)
    return run_trial(protocol, _base(protocol), _with_publishing(plan, draw(plan, seed)), extend=False)


def plain_trial(election: type[Election], seed: int, faults: tuple[str, ...] = FAULTS) -> Trial:
    """Run the schedule of that seed, surveying the field without publishing."""
    protocol = stacked(Field, election)
    base = simulated_header(protocol, (1,), TIMING)
    return run_trial(protocol, base, draw(plan_of(protocol, (3, 5), faults, TIMING), seed), extend=False)


def _base(protocol: type[Election]) -> Header:
    seldom = protocol.Parameters(reading_every_us=20 * TIMING.t_us)
    return simulated_header(protocol, (1,), TIMING, parameters=seldom)


def _with_publishing(plan: SchedulePlan, drawn: Schedule) -> Schedule:
    """Add attempts to publish, for a while after everything is healed."""
    chance, t_us = Random(f"{drawn.seed}/publish"), plan.timing.t_us
    end_us = drawn.end_us + 15 * t_us
    strikes = [*drawn.faults]
    for _ in range(chance.randint(4, 12)):
        who = chance.choice(["", "", " all", f" {chance.choice(drawn.nodes)}"])
        strikes.append(ScheduledFault(chance.randint(0, end_us), "", f"publish{who}"))
    for _ in range(chance.randint(0, 3)):  # in the middle of an operation
        kind = chance.choice(_PARTS)
        victim = chance.choice(drawn.nodes)
        cut = f"partition {victim} | {' '.join(str(node) for node in drawn.nodes if node != victim)}"
        what = chance.choice([f"kill {victim}", f"pause {victim}", cut, "publish"])
        mended = {"k": f"restart {victim}", "p": "heal", "pause": f"resume {victim}"}
        at_us = chance.randint(0, drawn.end_us)
        strikes.append(ScheduledFault(at_us, f"{chance.choice(['send', 'deliver'])} {kind}", what))
        if what != "publish":
            undo = mended["pause" if what.startswith("pause") else what[0]]
            strikes.append(ScheduledFault(at_us + chance.randint(0, 10 * t_us), "", undo))
    ordered = tuple(sorted(strikes, key=lambda strike: strike.at_us))
    return replace(drawn, faults=ordered, end_us=end_us)
