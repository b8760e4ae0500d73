"""Variations of a schedule that reached something new, to reach more of its kind.

A variation makes one to three small changes: it moves a fault to another message or time, lets a second fault
strike in the reaction to the first, exchanges two nodes, repeats a fault, leaves one out or adds one, draws other
links, or joins two schedules. It depends on its arguments alone.
"""

from collections.abc import Callable
from random import Random

from msgspec.structs import replace

from lab.worlds.campaign.schedule import (
    Schedule,
    ScheduledFault,
    ScheduleGenerator,
    SchedulePlan,
    draw_link,
    finished,
    unfinished,
)

_MOST_FAULTS = 40
"""A schedule with more commands is only made shorter."""


def vary(plan: SchedulePlan, parent: Schedule, other: Schedule, seed: int) -> Schedule:
    """Return a variation of ``parent``, with this seed for its links; ``other`` is one to join it with."""
    rng = Random(f"{seed}/variation")
    varied = replace(unfinished(parent), seed=seed)
    for _ in range(rng.randint(1, 3)):
        change = _leave_out if len(varied.faults) > _MOST_FAULTS else rng.choice(_CHANGES)
        varied = change(plan, varied, rng) if change is not _join else _join(plan, varied, rng, other)
    last_us = max((fault.at_us for fault in varied.faults), default=0)
    return finished(replace(varied, end_us=max(varied.end_us, last_us + plan.timing.t_us)))


def _with(schedule: Schedule, place: int, *faults: ScheduledFault) -> Schedule:
    """Return the schedule with these in place of the one fault."""
    return replace(schedule, faults=(*schedule.faults[:place], *faults, *schedule.faults[place + 1 :]))


def _place(schedule: Schedule, rng: Random) -> int | None:
    """Draw the place of a fault, and not of a command of the protocol, if there is one."""
    places = [place for place, fault in enumerate(schedule.faults) if not fault.command.startswith("tell ")]
    return rng.choice(places) if places else None


def _retrigger(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    place = _place(schedule, rng)
    if place is None:
        return schedule
    trigger = ScheduleGenerator.varying(plan, schedule, rng).draw_trigger()
    return _with(schedule, place, replace(schedule.faults[place], on=trigger))


def _shift(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Move a fault; sometimes all later ones with it."""
    place = _place(schedule, rng)
    if place is None:
        return schedule
    t_us, fault = plan.timing.t_us, schedule.faults[place]
    by_us = rng.choice([rng.randint(-t_us, t_us), rng.randint(-5 * t_us, 5 * t_us)]) // 1000 * 1000
    moved = replace(fault, at_us=max(0, fault.at_us + by_us))
    if rng.random() < 0.5:
        return _with(schedule, place, moved)
    later = (replace(each, at_us=max(0, each.at_us + by_us)) for each in schedule.faults[place:])
    return replace(schedule, faults=(*schedule.faults[:place], *later))


def _follow(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Let another fault strike in the reaction to one."""
    place = _place(schedule, rng)
    at_us = 0 if place is None else schedule.faults[place].at_us
    generator = ScheduleGenerator.varying(plan, schedule, rng)
    added = generator.add_fault(at_us + rng.randint(0, 3 * plan.timing.t_us) // 1000 * 1000)
    return replace(schedule, faults=(*schedule.faults, *added))


def _add(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    generator = ScheduleGenerator.varying(plan, schedule, rng)
    return replace(schedule, faults=(*schedule.faults, *generator.add_fault(rng.randint(0, schedule.end_us))))


def _leave_out(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    place = _place(schedule, rng)
    return schedule if place is None else _with(schedule, place)


def _repeat(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Repeat a fault, a while later, sometimes with another node as its victim."""
    place = _place(schedule, rng)
    if place is None:
        return schedule
    fault = schedule.faults[place]
    again = replace(fault, at_us=fault.at_us + rng.randint(0, 8 * plan.timing.t_us) // 1000 * 1000)
    if rng.random() < 0.5 and len(schedule.nodes) > 1:
        one, other = rng.sample(schedule.nodes, 2)
        again = again.renamed({one: other, other: one})
    return _with(schedule, place, fault, again)


def _exchange(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Exchange two nodes, in one fault or in all."""
    if len(schedule.nodes) < 2:
        return schedule
    one, other = rng.sample(schedule.nodes, 2)
    names, place = {one: other, other: one}, _place(schedule, rng)
    if place is not None and rng.random() < 0.5:
        return _with(schedule, place, schedule.faults[place].renamed(names))
    return replace(schedule, faults=tuple(fault.renamed(names) for fault in schedule.faults))


def _relink(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    return replace(schedule, link=draw_link(plan.timing, rng))


def _shrink(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Leave out a node, if there are more than the least."""
    if len(schedule.nodes) <= max(2, plan.nodes[0]):
        return schedule
    return schedule.without_node(rng.choice(schedule.nodes))


def _join(plan: SchedulePlan, schedule: Schedule, rng: Random, other: Schedule | None = None) -> Schedule:
    """Append the faults of the other schedule that name nodes of this one."""
    if other is None:
        return schedule
    begin_us = rng.randint(0, schedule.end_us) // 1000 * 1000
    fitting = (fault for fault in unfinished(other).faults if fault.named_nodes() <= set(schedule.nodes))
    later = tuple(replace(fault, at_us=fault.at_us + begin_us) for fault in fitting)
    return replace(schedule, faults=(*schedule.faults, *later))


_CHANGES: tuple[Callable[..., Schedule], ...] = (
    *(_retrigger, _retrigger, _shift, _shift, _follow, _follow, _follow),
    *(_add, _leave_out, _repeat, _exchange, _relink, _shrink, _join),
)
"""The changes; the frequent ones are there more than once."""
