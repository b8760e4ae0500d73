"""Fingerprints and quiescent snapshots of nodes between steps, for exploration of the state space.

A quiescent node, one in which no procedure runs, is pure data: a fresh node can be restored from its snapshot. A
coroutine cannot be copied, but it can be inspected: where it waits, for what, and its local variables. Two nodes
with equal fingerprints behave identically from then on, whatever their histories. Fingerprints have ages in place
of instants, so the same history an hour later gives the same fingerprint; ages of messages heard and procedures
begun are equal above a bound (timer abstraction). Auxiliary fields are left out.
"""

import gc
from collections.abc import Callable, Container, Hashable, Iterable
from copy import copy
from enum import Enum
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from msgspec import Struct

from lab.kernel import protocol as kernel_protocol
from lab.kernel.log import Log
from lab.kernel.node import Node
from lab.kernel.procedure import RunningProcedure
from lab.kernel.protocol import Protocol
from lab.kernel.traps import Ask, Until

__all__ = [
    "EPOCH_US",
    "HEARD",
    "QuiescentSnapshot",
    "age_instants",
    "fingerprint",
    "oldest_us",
    "open_requests",
    "quiescent_snapshot",
    "resume",
]

EPOCH_US = 10**15
"""The start of a node's clock that makes every stored instant recognizable: no other number is as large."""

HEARD = ""
"""Stands for the instants at which peers were heard, among the names of procedures in ``asked``."""

_MOST_REQUESTS = 1 << 12
_MACHINERY = (CellType, CodeType, FrameType, FunctionType)
_ITERATORS = (type(iter(())), type(reversed(())), type(iter(range(0))))
_UNCHANGING = (tuple, range, str, bytes)


class QuiescentSnapshot(Struct, frozen=True):
    """The complete state of a node in which no procedure runs."""

    incarnation: int
    serial: int
    started_us: int
    heard: dict[int, int]
    begun: dict[str, int]
    values: dict[str, Any]


def quiescent_snapshot(node: Node) -> QuiescentSnapshot | None:
    """Return the node's state as data, or None while a procedure runs."""
    if node._running:
        return None
    heard, begun = dict(node._heard), dict(node._begun)
    return QuiescentSnapshot(
        node._incarnation, node._serial, node._started_us, heard, begun, node.protocol.values()
    )


def resume(fresh: Node, snapshot: QuiescentSnapshot) -> None:
    """Restore a fresh node from a quiescent snapshot. Its next step reports all fields as changed."""
    fresh._incarnation, fresh._serial, fresh._started_us = (
        snapshot.incarnation,
        snapshot.serial,
        snapshot.started_us,
    )
    fresh._heard, fresh._begun = dict(snapshot.heard), dict(snapshot.begun)
    for name, value in snapshot.values.items():
        setattr(fresh.protocol.layer_of(name), name, value)
    fresh.forget_timer()


def oldest_us(node: Node) -> int:
    """Return the earliest instant at which the node heard a peer, began a procedure, or started."""
    return min((node._started_us, *node._heard.values(), *node._begun.values()))


def age_instants(node: Node, before_us: int, by_us: int) -> None:
    """Move the instants up to ``before_us`` at which the node heard or began something ``by_us`` into the past."""

    def earlier(instant_us: int) -> int:
        return instant_us - by_us if instant_us <= before_us else instant_us

    node._started_us = earlier(node._started_us)
    node._heard = {peer: earlier(instant_us) for peer, instant_us in node._heard.items()}
    node._begun = {name: earlier(instant_us) for name, instant_us in node._begun.items()}
    node.forget_timer()


def open_requests(node: Node) -> dict[int, int]:
    """Return the serial of each open request with a number that does not depend on the node's history.

    The number is made of the procedure's name and the request's position in the wait. So it identifies another
    request only after the procedure has stopped waiting for this one.
    """
    return {
        serial: int.from_bytes(running.name.encode()) * _MOST_REQUESTS + place
        for running in node._running.values()
        for place, serial in enumerate(running.requests)
        if serial in node._requests
    }


def fingerprint(node: Node, now_us: int, old_us: int, asked: Container[str]) -> Hashable | None:
    """Return the fingerprint of the node at ``now_us``, or None if part of its state is opaque.

    All ages from ``old_us`` on are equal. Ages of procedures, and of peers (HEARD), count only if they are in
    ``asked``. A procedure is opaque if it waits in the middle of an expression, or of a ``for`` loop over anything
    but a tuple or range, or has a variable of a type that is not allowed in a protocol's state.
    """
    protocol, values = node.protocol, node.protocol.values()

    def age(instant_us: int) -> int:
        return min(now_us - instant_us, old_us)

    def canonical(value: Any) -> Hashable:
        return _canonical(value, now_us, protocol)

    due_us = sorted((r.until_us, r.timer) for r in node._running.values() if r.until_us is not None and r.timer)
    timer_order = {timer: place for place, (_, timer) in enumerate(due_us)}
    try:
        return (
            tuple(canonical(values[field.name]) for field in protocol.fields if not field.auxiliary),
            tuple(age(node.heard_us(peer)) for peer in protocol.peers) if HEARD in asked else (),
            tuple(age(node.begun_us(name)) for name in protocol.procedures if name in asked),
            tuple(_running(each, now_us, timer_order, canonical) for each in node._running.values()),
        )
    except _OpaqueError:
        return None


def count_timers(node: Node) -> int:
    """Return how many procedures of the node wait for a time."""
    return sum(running.until_us is not None and running.timer is not None for running in node._running.values())


class _OpaqueError(Exception):
    pass


def _running(
    running: RunningProcedure, now_us: int, timer_order: dict[int, int], canonical: Callable[[Any], Hashable]
) -> tuple[Hashable, ...]:
    trap = running.waits_for
    asked: Hashable = None
    if isinstance(trap, Ask):
        replies = tuple(sorted((peer, canonical(answer)) for peer, answer in running.replies.items()))
        asked = (trap.peers, canonical(trap.request), running.enough, replies)
    elif isinstance(trap, Until):
        asked = _condition(trap.condition, canonical)
    left_us = None if running.until_us is None else running.until_us - now_us
    place = None if running.timer is None else timer_order[running.timer]
    return running.name, left_us, place, asked, _suspended(running.coroutine, canonical)


def _condition(condition: Callable[[], bool], canonical: Callable[[Any], Hashable]) -> tuple[Hashable, ...]:
    function = getattr(condition, "__func__", condition)
    if not isinstance(function, FunctionType):
        raise _OpaqueError
    cells = tuple(canonical(cell.cell_contents) for cell in function.__closure__ or ())
    return (
        function.__code__,  # two of one name may differ
        cells,
        canonical(function.__defaults__),
        canonical(getattr(condition, "__self__", None)),
    )


def _suspended(coroutine: Any, canonical: Callable[[Any], Hashable]) -> tuple[Hashable, ...]:
    """Return the position and the variables of a coroutine, and of the protocol's coroutines that it awaits."""
    frame: FrameType = coroutine.cr_frame
    if frame.f_globals is vars(kernel_protocol):  # the wait itself is already in the trap
        return (frame.f_code.co_name,)
    variables, awaited = frame.f_locals, coroutine.cr_await
    in_cells = {*frame.f_code.co_cellvars, *frame.f_code.co_freevars}
    local = (value for name, value in variables.items() if name not in in_cells)
    # each is expected once: a value of which an expression waits may be that of a variable, too
    expected = [variables, awaited, coroutine.__name__, coroutine.__qualname__, *local]
    hidden = []
    for each in gc.get_referents(coroutine):
        place = next((place for place, one in enumerate(expected) if one is each), None)
        if place is not None:
            del expected[place]
        elif not isinstance(each, _MACHINERY):
            hidden.append(each)
    loops = tuple(canonical(_left_in(each)) for each in hidden)
    in_order = sorted(variables.items())  # a frame that was asked before has them in the order of their first use
    values = tuple((name, canonical(value)) for name, value in in_order)
    return (frame.f_code.co_qualname, frame.f_lasti, values, loops, _suspended(awaited, canonical))


def _left_in(iterator: Any) -> tuple[Any, ...]:
    """Return the rest of a ``for`` loop. Raises _OpaqueError if that may change, or if this is no loop."""
    if not isinstance(iterator, _ITERATORS) or not isinstance(iterator.__reduce__()[1][0], _UNCHANGING):
        raise _OpaqueError
    return tuple(copy(iterator))


def _canonical(value: Any, now_us: int, protocol: Protocol) -> Hashable:
    """Return a canonical hashable form of the value, with instants as ages."""
    kind = type(value)
    if kind is int:
        return ("age", now_us - value) if value > EPOCH_US // 2 else value
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
        return (kind.__name__, frozenset(_canonical(each, now_us, protocol) for each in value))
    else:
        raise _OpaqueError
    return (kind.__qualname__, *(_canonical(each, now_us, protocol) for each in parts))
