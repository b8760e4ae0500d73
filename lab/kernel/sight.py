"""What can be seen of a node between two steps, for a world that must tell nodes apart and set them up again.

A node at rest, with no procedure running, is data, and another one can be set up from it. A coroutine cannot
be copied, but it can be looked at: where it waits, for what, and its variables. Two nodes of which all this is
equal do the same from then on, whatever their pasts. Instants are seen as ages, so a node that did all it did
an hour later looks the same; and of what was heard and begun, beyond some age, old is old. What is there only to
be shown counts for nothing.
"""

import gc
from collections.abc import Callable, Container, Hashable, Iterable
from enum import Enum
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from msgspec import Struct

from lab.kernel import protocol as kernel_protocol
from lab.kernel.log import Log
from lab.kernel.node import Node
from lab.kernel.procedure import Running
from lab.kernel.protocol import Protocol
from lab.kernel.traps import Ask, Until

__all__ = ["ERA_US", "HEARD", "Rest", "age", "oldest_us", "open_requests", "rest_of", "resume", "sight_of"]

ERA_US = 10**15
"""A node whose clock begins here betrays every instant that it keeps: no other number is as large."""

HEARD = ""
"""Stands beside the names of procedures for the peers that were heard."""

_MOST_REQUESTS = 1 << 12
_MACHINERY = (CellType, CodeType, FrameType, FunctionType)


class Rest(Struct, frozen=True):
    """All that a node is while no procedure of it runs."""

    incarnation: int
    serial: int
    started_us: int
    heard: dict[int, int]
    begun: dict[str, int]
    values: dict[str, Any]


def rest_of(node: Node) -> Rest | None:
    """The node as data; None while a procedure runs."""
    if node._running:
        return None
    heard, begun = dict(node._heard), dict(node._begun)
    return Rest(node._life, node._serial, node._started_us, heard, begun, node.protocol.values())


def resume(fresh: Node, rest: Rest) -> None:
    """Make a fresh node what another was when it was at rest. Its next step reports all fields as changed."""
    fresh._life, fresh._serial, fresh._started_us = rest.incarnation, rest.serial, rest.started_us
    fresh._heard, fresh._begun = dict(rest.heard), dict(rest.begun)
    for name, value in rest.values.items():
        setattr(fresh.protocol.layer_of(name), name, value)


def oldest_us(node: Node) -> int:
    """The earliest instant at which it heard a peer, or began something, or started."""
    return min((node._started_us, *node._heard.values(), *node._begun.values()))


def age(node: Node, before_us: int, by_us: int) -> None:
    """Let what it heard and began up to an instant have been so much earlier."""

    def earlier(instant_us: int) -> int:
        return instant_us - by_us if instant_us <= before_us else instant_us

    node._started_us = earlier(node._started_us)
    node._heard = {peer: earlier(instant_us) for peer, instant_us in node._heard.items()}
    node._begun = {name: earlier(instant_us) for name, instant_us in node._begun.items()}


def open_requests(node: Node) -> dict[int, int]:
    """The serials of the requests whose answers are waited for, each with a name that no past shows in.

    The name is made of the procedure's and the request's place in what it asked, so it means another request
    only once the procedure waits for this one no longer.
    """
    return {
        serial: int.from_bytes(running.name.encode()) * _MOST_REQUESTS + place
        for running in node._running.values()
        for place, serial in enumerate(running.requests)
        if serial in node._requests
    }


def sight_of(node: Node, now_us: int, old_us: int, asked: Container[str]) -> Hashable | None:
    """What the node looks like at ``now_us``, all ages from ``old_us`` on being one; None if not all can be seen.

    Of how long ago procedures began and peers were heard (HEARD), only what is in ``asked`` counts. A procedure
    holds something unseen when it waits in the middle of an expression or of a ``for`` loop, or has a variable
    whose value is none of the kinds that a protocol's state may have.
    """
    protocol, values = node.protocol, node.protocol.values()

    def age(instant_us: int) -> int:
        return min(now_us - instant_us, old_us)

    def seen(value: Any) -> Hashable:
        return _seen(value, now_us, protocol)

    due_us = sorted((r.until_us, r.timer) for r in node._running.values() if r.until_us is not None and r.timer)
    turns = {timer: turn for turn, (_, timer) in enumerate(due_us)}
    try:
        return (
            tuple(seen(values[field.name]) for field in protocol.fields if not field.shown),
            tuple(age(node.heard_us(peer)) for peer in protocol.peers) if HEARD in asked else (),
            tuple(age(node.begun_us(name)) for name in protocol.procedures if name in asked),
            tuple(_running(each, now_us, turns, seen) for each in node._running.values()),
        )
    except _UnseenError:
        return None


class _UnseenError(Exception):
    pass


def _running(
    running: Running, now_us: int, turns: dict[int, int], seen: Callable[[Any], Hashable]
) -> tuple[Hashable, ...]:
    wanted = running.waits_for
    asked: Hashable = None
    if isinstance(wanted, Ask):
        answers = tuple(sorted((peer, seen(answer)) for peer, answer in running.answers.items()))
        asked = (wanted.peers, seen(wanted.request), running.enough, answers)
    elif isinstance(wanted, Until):
        asked = _condition(wanted.condition, seen)
    left_us = None if running.until_us is None else running.until_us - now_us
    turn = None if running.timer is None else turns[running.timer]
    return running.name, left_us, turn, asked, _suspended(running.coroutine, seen)


def _condition(condition: Callable[[], bool], seen: Callable[[Any], Hashable]) -> tuple[Hashable, ...]:
    function = getattr(condition, "__func__", condition)
    if not isinstance(function, FunctionType):
        raise _UnseenError
    cells = tuple(seen(cell.cell_contents) for cell in function.__closure__ or ())
    return function.__qualname__, cells, seen(function.__defaults__), seen(getattr(condition, "__self__", None))


def _suspended(coroutine: Any, seen: Callable[[Any], Hashable]) -> tuple[Hashable, ...]:
    """The place and the variables of a coroutine, and of whatever of the protocol's it awaits."""
    frame: FrameType = coroutine.cr_frame
    if frame.f_globals is vars(kernel_protocol):  # what it awaits is seen in what the procedure waits for
        return (frame.f_code.co_name,)
    variables, awaited = frame.f_locals, coroutine.cr_await
    known = (variables, awaited, coroutine.__name__, coroutine.__qualname__, *variables.values())
    for each in gc.get_referents(coroutine):
        if not isinstance(each, _MACHINERY) and not any(each is one for one in known):
            raise _UnseenError
    values = tuple((name, seen(value)) for name, value in variables.items())
    return (frame.f_code.co_qualname, frame.f_lasti, values, _suspended(awaited, seen))


def _seen(value: Any, now_us: int, protocol: Protocol) -> Hashable:
    """The value in a form that two equal ones share, with instants as ages."""
    kind = type(value)
    if kind is int:
        return ("age", now_us - value) if value > ERA_US // 2 else value
    if value is None or kind in (bool, float, str, bytes) or isinstance(value, Enum | type):
        return (kind.__qualname__, value)
    if isinstance(value, Protocol) and value in protocol.layers:
        return type(value).__name__
    parts: Iterable[Any]
    if kind in (tuple, list, Log):
        parts = value
    elif kind is dict:
        parts = value.items()
    elif isinstance(value, Struct):
        parts = (getattr(value, name) for name in value.__struct_fields__)
    elif kind in (set, frozenset):
        return (kind.__name__, frozenset(_seen(each, now_us, protocol) for each in value))
    else:
        raise _UnseenError
    return (kind.__qualname__, *(_seen(each, now_us, protocol) for each in parts))
