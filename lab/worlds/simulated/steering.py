"""The commands by which a person decides what happens next, carried out on a ``Simulation``."""

from typing import TYPE_CHECKING

from lab.script import CommandError, WorldCommand, resolve_nodes
from lab.script.commands import Nodes
from lab.worlds.simulated.choices import Choice, Deliver, Fire

if TYPE_CHECKING:
    from lab.worlds.simulated.simulation import Simulation

__all__ = ["steer"]


def steer(simulation: "Simulation", command: WorldCommand) -> tuple[bool, str]:
    """(Whether anything changed, what in words). All of them freeze. CommandError."""
    if command.verb == "freeze":
        was_frozen, simulation.frozen = simulation.frozen, True
        return not was_frozen, "frozen already, nothing changed" if was_frozen else "time stands still"
    if command.verb in ("go", "speed", "step"):
        raise CommandError(f"{command.verb}: only in a run that goes on by the clock")
    named = (command.node,) if command.verb == "fire" else (command.source, command.node)
    resolve_nodes(Nodes(named), simulation.log.cluster)
    choice = _found(simulation, command)
    if choice is None:
        return False, f"{_missing(command)}, nothing changed"
    simulation.frozen = True
    early_us = choice.due_us - simulation.now_us
    simulation.choose(choice)
    early = f", {early_us / 1000:g} ms early" if early_us > 0 and isinstance(choice, Deliver) else ""
    return True, choice.said + early


def _found(simulation: "Simulation", command: WorldCommand) -> Choice | None:
    if command.verb == "fire":
        timers = (choice for choice in simulation.choices() if isinstance(choice, Fire))
        return next((choice for choice in timers if choice.node == command.node), None)
    for due_us, _, message in simulation.network.flying():
        on_it = (message.source, message.target) == (command.source, command.node)
        if on_it and command.kind in ("", message.kind):
            return Deliver(due_us, message.target, message.source, message.serial, message.kind)
    return None


def _missing(command: WorldCommand) -> str:
    if command.verb == "fire":
        return f"no timer of {command.node} is set"
    return f"no {command.kind or 'message'} is in flight from {command.source} to {command.node}"
