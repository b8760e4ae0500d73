"""The commands that steer a simulation's time or choose its next event."""

from typing import TYPE_CHECKING

from lab.script import CommandError, WorldCommand, resolve_nodes
from lab.script.commands import Nodes
from lab.units import format_count
from lab.worlds.operations import WATCHED
from lab.worlds.simulated.enabled_events import Delivery, EnabledEvent, TimerExpiry

if TYPE_CHECKING:
    from lab.worlds.simulated.simulation import Simulation

__all__ = ["steer"]


def steer(simulation: "Simulation", command: WorldCommand) -> tuple[bool, str]:
    """Execute a command on time; return (whether anything changed, a description). Raises CommandError.

    After an event was chosen, time freezes for those who watch. The description of a command that changes only how
    the run is watched is the same whether or not anyone watches, because it is recorded.
    """
    if command.verb in WATCHED:
        simulation.time_requests.append(command)
        return True, f"{_describe_pace(command)}, when watched"
    if command.verb == "step":
        raise CommandError("step: only by hand, with : or lab ctl")
    named = {"deliver": (command.source, command.node), "fire": (command.node,)}.get(command.verb, ())
    resolve_nodes(Nodes(named), simulation.log.cluster)
    event = _find_event(simulation, command)
    if event is None:
        return False, f"{_describe_missing(simulation, command)}, nothing changed"
    simulation.time_requests.append(WorldCommand("freeze"))
    early_us = event.due_us - simulation.now_us
    simulation.schedule(event)
    early = f", {early_us / 1000:g} ms early" if early_us > 0 and isinstance(event, Delivery) else ""
    return True, event.text + early


def _describe_pace(command: WorldCommand) -> str:
    if command.verb == "speed":
        return "as fast as possible" if command.factor is None else f"{command.factor:g}x"
    return "time is frozen" if command.verb == "freeze" else "time is running"


def _find_event(simulation: "Simulation", command: WorldCommand) -> EnabledEvent | None:
    if command.verb == "choose":
        return next(iter(simulation.enabled_events()[command.count - 1 :]), None)
    if command.verb == "fire":
        timers = (event for event in simulation.enabled_events() if isinstance(event, TimerExpiry))
        return next((event for event in timers if event.node == command.node), None)
    for due_us, _, message in simulation.network.in_flight():
        on_it = (message.source, message.target) == (command.source, command.node)
        if on_it and command.kind in ("", message.kind):
            return Delivery(due_us, message.target, message.source, message.serial, message.kind)
    return None


def _describe_missing(simulation: "Simulation", command: WorldCommand) -> str:
    if command.verb == "choose":
        enabled = format_count(len(simulation.enabled_events()), "event")
        return f"{enabled} enabled, there is no number {command.count}"
    if command.verb == "fire":
        incarnation = simulation.incarnations.get(command.node)
        in_step = incarnation is not None and incarnation.stepping
        return f"{command.node} is in the middle of a step" if in_step else f"no timer of {command.node} is set"
    return f"no {command.kind or 'message'} is in flight from {command.source} to {command.node}"
