"""The commands by which a person decides what happens next, carried out on a ``Simulation``."""

from typing import TYPE_CHECKING

from lab.script import CommandError, WorldCommand, resolve_nodes
from lab.script.commands import Nodes
from lab.units import count_of
from lab.worlds.handles import WATCHED
from lab.worlds.simulated.choices import Choice, Deliver, Fire

if TYPE_CHECKING:
    from lab.worlds.simulated.simulation import Simulation

__all__ = ["steer"]


def steer(simulation: "Simulation", command: WorldCommand) -> tuple[bool, str]:
    """(Whether anything changed, what in words). Where somebody watches, time then stands still. CommandError.

    What only changes how the run is watched is told in words that are the same whoever watches.
    """
    if command.verb in WATCHED:
        simulation.wanted.append(command)
        return True, f"{_course(command)}, for those who watch"
    if command.verb == "step":
        raise CommandError("step: give it by hand: with : or lab ctl")
    named = {"deliver": (command.source, command.node), "fire": (command.node,)}.get(command.verb, ())
    resolve_nodes(Nodes(named), simulation.log.cluster)
    choice = _found(simulation, command)
    if choice is None:
        return False, f"{_missing(simulation, command)}, nothing changed"
    simulation.wanted.append(WorldCommand("freeze"))
    early_us = choice.due_us - simulation.now_us
    simulation.choose(choice)
    early = f", {early_us / 1000:g} ms early" if early_us > 0 and isinstance(choice, Deliver) else ""
    return True, choice.said + early


def _course(command: WorldCommand) -> str:
    if command.verb == "speed":
        return "as fast as it can be computed" if command.factor is None else f"{command.factor:g}x"
    return "time stands still" if command.verb == "freeze" else "time goes on"


def _found(simulation: "Simulation", command: WorldCommand) -> Choice | None:
    if command.verb == "choose":
        return next(iter(simulation.choices()[command.count - 1 :]), None)
    if command.verb == "fire":
        timers = (choice for choice in simulation.choices() if isinstance(choice, Fire))
        return next((choice for choice in timers if choice.node == command.node), None)
    for due_us, _, message in simulation.network.flying():
        on_it = (message.source, message.target) == (command.source, command.node)
        if on_it and command.kind in ("", message.kind):
            return Deliver(due_us, message.target, message.source, message.serial, message.kind)
    return None


def _missing(simulation: "Simulation", command: WorldCommand) -> str:
    if command.verb == "choose":
        return f"{count_of(len(simulation.choices()), 'event')} may happen next, there is no {command.count}"
    if command.verb == "fire":
        incarnation = simulation.lives.get(command.node)
        in_step = incarnation is not None and incarnation.stepping
        return f"{command.node} is in the middle of a step" if in_step else f"no timer of {command.node} is set"
    return f"no {command.kind or 'message'} is in flight from {command.source} to {command.node}"
