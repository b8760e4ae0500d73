"""Stack a task on an election: one protocol with the task's name, and the promises and parameters of both."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from lab.kernel import ProtocolError, Timing
from lab.protocols.election import Election
from lab.protocols.task import Task

__all__ = ["ELECTION", "stacked"]

ELECTION = "election"
"""The parameter that chooses the election below a task."""


def stacked(task: type[Task], election: type[Election]) -> type[Election]:
    """Return the class of the task above the election; cached. Raises ProtocolError if they do not fit."""
    return _stacked(task, election)  # type: ignore[arg-type]


@cache
def _stacked(task: type[Task], election: type[Election]) -> type[Election]:
    return type(
        f"{task.__name__}Above{election.__name__}",
        (election,),
        {
            "__module__": election.__module__,
            "__doc__": task.__doc__,
            "name": task.name,
            "upper_protocol": task,
            "fixed_parameters": {ELECTION: election.name},
            "promises": (*election.promises, *task.promises),
            "relies_on": {**election.relies_on, **task.relies_on},
            "promises_with": classmethod(_combined_promises(task, election)),
            "relied_on": classmethod(_combined_reliance(task, election)),
            "readings": (*task.readings, *election.readings),
            "heartbeats": (*election.heartbeats, *task.heartbeats),
            "workload": (*election.workload, *task.workload),
            "extension": task.extension,
            "settles_within_us": classmethod(_combined_settling(task, election)),
            "parameter_refusal": classmethod(_combined_refusal(task, election)),
            "Parameters": _parameters(task, election),
        },
    )


def _combined_settling(task: type[Task], election: type[Election]) -> Callable[[type, Timing, Any, int], int]:
    """Return a ``settles_within_us`` that adds up the times of both: the task settles after the election."""

    def settles_within_us(cls: type, timing: Timing, parameters: Any, nodes: int) -> int:
        bounds = (each.settles_within_us(timing, parameters, nodes) for each in (election, task))
        return sum(bounds)

    return settles_within_us


def _combined_refusal(task: type[Task], election: type[Election]) -> Callable[[type, Timing, Any], str]:
    def parameter_refusal(cls: type, timing: Timing, parameters: Any) -> str:
        return election.parameter_refusal(timing, parameters) or task.parameter_refusal(timing, parameters)

    return parameter_refusal


def _combined_promises(
    task: type[Task], election: type[Election]
) -> Callable[[type[Election], Any], tuple[str, ...]]:
    """Return a ``promises_with`` that returns those of both, and what a subclass promises besides."""

    def promises_with(cls: type[Election], parameters: Any) -> tuple[str, ...]:
        more = (each for each in cls.promises if each not in (*election.promises, *task.promises))
        return (*election.promises_with(parameters), *task.promises_with(parameters), *more)

    return promises_with


def _combined_reliance(
    task: type[Task], election: type[Election]
) -> Callable[[type, Any], Mapping[str, tuple[int | str, ...]]]:
    def relied_on(cls: type, parameters: Any) -> Mapping[str, tuple[int | str, ...]]:
        return {**election.relied_on(parameters), **task.relied_on(parameters)}

    return relied_on


def _parameters(task: type[Task], election: type[Election]) -> type[msgspec.Struct]:
    own, lower = task.Parameters, election.Parameters
    twice = [name for name in lower.__struct_fields__ if name in (*own.__struct_fields__, ELECTION)]
    if twice:
        raise ProtocolError(
            f"{task.__name__} cannot run above {election.__name__}: both have the parameter {', '.join(twice)}; "
            "rename one"
        )
    fields = [(field.name, field.type, field.default) for field in msgspec.structs.fields(own)]
    fields.append((ELECTION, str, election.name))
    return msgspec.defstruct("Parameters", fields, bases=(lower,), frozen=True, module=election.__module__)
