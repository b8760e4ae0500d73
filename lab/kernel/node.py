"""A node: a deterministic function from inputs to steps.

``step(input, now_us)`` gives the input to the node's protocol, runs the procedures that become ready until all
of them wait, and returns the effects as one ``Step``. The node reads no clock; ``next_timer`` returns its next
timer. The order within a step is fixed: the handler, then the procedures that it made ready, in that order, then
procedures whose ``until`` condition holds, in the order in which they began. Timers fire by due time, those of one
instant in the order of setting, and periodic starts after them.
"""

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from msgspec import MsgspecError, Raw, Struct, json

from lab.kernel.draws import Draws, NodeRandom
from lab.kernel.errors import DriverError, ProtocolError, format_traceback
from lab.kernel.payload import Payload, encode
from lab.kernel.plain import format_plain, plain
from lab.kernel.procedure import RunningProcedure, procedure_name
from lab.kernel.protocol import Port, Protocol, Timing
from lab.kernel.state import Changes, StateVector
from lab.kernel.step import CommandInput, Fired, Input, Message, Received, Started, Step, Wait, Wrote
from lab.kernel.traps import Ask, Sleep, Trap, Until, foreign_await, foreign_raise

__all__ = ["Node", "SteppedNode", "Timers", "new_node"]

_MOST_ADVANCES = 10_000
"""The limit of resumptions within one step: a procedure that never waits fails the node instead of hanging it."""


_NO_CHANGES = Changes()
"""The changes of a step that assigned nothing, as values are immutable. Steps share it: nobody changes one."""


_serial_of = attrgetter("serial")

_NOBODY: Mapping[int, str] = MappingProxyType({})
_NO_STRANGERS = frozenset[int]()


@cache
def _decoder(kind: type[Payload]) -> Callable[[Any], Any]:
    return json.Decoder(kind).decode


class SteppedNode(ABC):
    """One incarnation of a node, as the world that drives it knows it. It has ``halted`` once it has failed."""

    __slots__ = ()

    id: int
    halted: bool

    @abstractmethod
    def step(self, given: Input, now_us: int, draws: Sequence[float] = ()) -> Step:
        """Feed one input; return what the node did. The first random numbers that it draws are ``draws``."""

    @abstractmethod
    def next_timer(self) -> tuple[int, Fired] | None:
        """Return the next timer as (due time, input), or None if the node waits for messages only."""


def new_node(
    protocol: type[Protocol],
    node: int,
    ids: tuple[int, ...],
    timing: Timing,
    parameters: Struct,
    seed: int,
    run: object,
    outside: Mapping[int, str] = _NOBODY,
    strangers: frozenset[int] = _NO_STRANGERS,
) -> SteppedNode:
    """Return a node of the protocol: of the kernel, unless the protocol is executed in another process.

    ``run`` is any object that this node shares with all nodes of its run, and with no other.
    """
    node_class: Callable[..., SteppedNode] | None = protocol.node_class
    if node_class is None:
        return Node(protocol, node, ids, timing, parameters, seed, outside, strangers)
    return node_class(protocol, node, ids, timing, parameters, seed, run)


class _Layer:
    """One protocol of a node's stack. ``periodic``: the starts of its periodic procedures, and their instants."""

    def __init__(self, protocol: Protocol, procedures: dict[str, Callable[[Any], int | None] | None]) -> None:
        self.protocol = protocol
        self.procedures = frozenset(procedures)
        self.periodic = tuple((Fired(name), due) for name, due in procedures.items() if due is not None)


def _layers_of(stack: Protocol) -> tuple[_Layer, ...]:
    """Return the layers of a node, the lowest first."""
    procedures: dict[Protocol, dict[str, Any]] = {protocol: {} for protocol in stack.layers}
    for name, due in stack.procedures.items():
        procedures[stack.layer_of(name)][name] = due
    return tuple(_Layer(protocol, own) for protocol, own in procedures.items())


class Timers:
    """A queue of timers by absolute due time in microseconds; equal times fire in the order of setting."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str]] = []
        self._live: dict[int, str] = {}
        self._serial = 0

    def set(self, due_us: int, owner: str) -> int:
        """Arm a timer for the procedure ``owner``; return its serial."""
        self._serial += 1
        heapq.heappush(self._heap, (due_us, self._serial, owner))
        self._live[self._serial] = owner
        return self._serial

    def cancel(self, serial: int) -> None:
        """Disarm a timer; do nothing if it has fired already."""
        self._live.pop(serial, None)
        if len(self._heap) > 32 and len(self._heap) > 4 * len(self._live):
            self._heap = [entry for entry in self._heap if entry[1] in self._live]
            heapq.heapify(self._heap)

    def next(self) -> tuple[int, int, str] | None:
        """Return (due, serial, owner) of the first timer, or None."""
        heap = self._heap
        while heap and heap[0][1] not in self._live:
            heapq.heappop(heap)
        return heap[0] if heap else None


class Node(SteppedNode, Port):
    """One incarnation of a node, from its start to its crash.

    ``ids`` are this node and its peers, ``outside`` the further nodes that it can reach, with their names;
    ``strangers`` are peers that execute another protocol, so that their messages need not be readable here.
    ``seed`` is that of their random numbers. The first input must be ``Started``. After a step with ``failed`` set
    the node has halted; further input raises DriverError.
    """

    # more attributes than Python keeps without a dictionary: with it, a step takes a fifteenth longer
    __slots__ = (
        "_announced",
        "_answered",
        "_begun",
        "_conditions",
        "_current",
        "_displayed",
        "_draws",
        "_ended",
        "_fired",
        "_fired_us",
        "_heard",
        "_ids",
        "_incarnation",
        "_is_timer_known",
        "_kinds",
        "_late",
        "_layers",
        "_notes",
        "_planned",
        "_procedures",
        "_random",
        "_ready",
        "_requests",
        "_running",
        "_seed",
        "_sent",
        "_serial",
        "_started_us",
        "_state",
        "_timer",
        "_timer_needs_heard",
        "_timers",
        "_waited",
        "halted",
        "handled",
        "id",
        "outside",
        "protocol",
        "strangers",
    )

    def __init__(
        self,
        protocol: type[Protocol],
        node: int,
        ids: tuple[int, ...],
        timing: Timing,
        parameters: Struct | None = None,
        seed: int = 0,
        outside: Mapping[int, str] = _NOBODY,
        strangers: frozenset[int] = _NO_STRANGERS,
    ) -> None:
        self.id = node
        self.outside = outside
        self.strangers = strangers
        self.handled = 0
        self._ids = frozenset((*ids, *outside))
        self.now_us = 0
        self.halted = False
        self.touched = True
        self._seed = seed
        self._draws: Draws | None = None
        self._planned: Sequence[float] | None = None
        self._incarnation = 0
        self._serial = 0
        self._started_us = 0
        self._timers = Timers()
        self._running: dict[str, RunningProcedure] = {}
        self._ready: deque[tuple[RunningProcedure, Any]] = deque()
        self._current: RunningProcedure | None = None
        self._requests: dict[int, RunningProcedure] = {}
        self._heard: dict[int, int] = {}
        self._begun: dict[str, int] = {}
        self._sent: list[Message] = []
        self._notes: list[str] = []
        self._late = False
        self._procedures = 0
        self._waited: list[RunningProcedure] = []
        self._ended: list[str] = []
        self._answered = ""
        self._announced: tuple[int, Fired] | None = None
        self._timer: tuple[int, Fired] | None = None
        self._is_timer_known = False
        self._timer_needs_heard = False
        self._conditions = 0
        self._fired_us = self._fired = 0
        peers = tuple(sorted(set(ids) - {node}))
        self.protocol = protocol(self, node, peers, timing, parameters or protocol.Parameters())
        self._layers = _layers_of(self.protocol)
        self._displayed = [field.name for field in protocol.fields if field.displayed]
        self._kinds = {
            kind: (_decoder(payload), self._handler(kind)) for kind, payload in protocol.payloads.items()
        }
        layer_of = self.protocol.layer_of
        self._state = StateVector(tuple((field, layer_of(field.name)) for field in protocol.fields))

    def step(self, given: Input, now_us: int, draws: Sequence[float] = ()) -> Step:
        """Feed one input. Raises DriverError if the node is not started, has halted, or the timer is wrong.

        The first random numbers drawn are ``draws``, such as those of a recorded step.
        """
        if self.halted or not self._incarnation:
            self._require_startable(given)
        cause = Received(given.source, given.serial) if isinstance(given, Message) else given
        self.now_us = now_us
        self._sent, self._notes, self._late = [], [], False
        self._planned = draws
        if self._draws is not None:
            self._draws.begin(draws)
        try:
            if isinstance(given, Message):
                self._on_message(given)
            elif isinstance(given, Fired):
                self._on_timer(given)
            elif isinstance(given, CommandInput):
                self._on_command(given)
            elif isinstance(given, Wrote):
                self.protocol.on_line(given.line, given.log)
            else:
                self._on_start(given)
            if self._ready or self._conditions:
                self._run()
            changes = self._changes() if self.touched else _NO_CHANGES
            if self._displayed:
                self._note_displayed(changes)
            self._planned = self._announced = None
            drawn = () if self._draws is None else self._draws.end()
        except DriverError:
            raise
        except (Exception, SystemExit) as error:  # a handler cannot end the program that runs its node
            return self._fail(cause, error)
        answered, self._answered = self._answered, ""
        return Step(
            now_us,
            self.id,
            self._incarnation,
            cause,
            changes.changed,
            changes.stored,
            tuple(self._sent),
            self._waits_begun() if self._waited else (),
            tuple(self._notes),
            self._late,
            "",
            changes.logged,
            drawn,
            changes.edits,
            changes.stored_edits,
            self._waits_ended() if self._ended else (),
            answered,
        )

    def next_timer(self) -> tuple[int, Fired] | None:
        """Return the next timer as (due time, input), or None if the node waits for messages only.

        At equal times the timers of waiting procedures come before the starts of periodic ones.
        """
        if self.halted:
            return None
        if not self._is_timer_known:
            self._timer, self._is_timer_known = self.earliest_timer(), True
        self._announced = self._timer
        return self._timer

    def earliest_timer(self) -> tuple[int, Fired] | None:
        """Compute the next timer of a node that has not halted.

        The result depends on the declared fields, on which procedures run and where they wait, and, if a periodic
        procedure's instant does, on when peers were heard. ``next_timer`` repeats it until one of these changes.
        """
        self._timer_needs_heard = False
        first = self._timers.next()
        due = None if first is None else (first[0], Fired(first[2]))
        if self._incarnation:
            for layer in self._layers:
                if layer.periodic and not (self._running and self._runs_procedure_of(layer)):
                    for start, instant in layer.periodic:
                        at_us = instant(layer.protocol)
                        if at_us is not None and (due is None or at_us < due[0]):
                            due = (at_us, start)
        return due

    def _runs_procedure_of(self, layer: _Layer) -> bool:
        return any(running.method in layer.procedures for running in self._running.values())

    def forget_timer(self) -> None:
        """Compute the next timer anew when it is asked for: the node was changed from outside."""
        self._is_timer_known = False

    def waits(self) -> tuple[Wait, ...]:
        """Return where each running procedure waits, in the order in which they began."""
        return tuple(running.wait() for running in self._running.values() if running.waits_for is not None)

    def _waits_begun(self) -> tuple[Wait, ...]:
        """Return the waits that began in this step, and are not over yet."""
        waited, self._waited = self._waited, []
        if len(waited) > 1:
            waited = sorted(dict.fromkeys(waited), key=_serial_of)
        began = []
        for running in waited:
            if running.waits_for is not None and not running.ended:
                running.is_recorded = True
                began.append(running.wait())
        return tuple(began)

    def _waits_ended(self) -> tuple[str, ...]:
        ended = tuple(self._ended)
        self._ended.clear()
        return ended

    def _note_displayed(self, changes: Changes) -> None:
        changed = {**changes.changed, **changes.stored}
        for name in (*changes.edits, *changes.stored_edits):
            changed[name] = plain(getattr(self.protocol.layer_of(name), name))
        shown = [f"{name} {format_plain(changed[name])}" for name in self._displayed if name in changed]
        if shown:
            self._notes.append(", ".join(shown))

    # services to the protocol

    @property
    def random(self) -> NodeRandom:  # type: ignore[override]
        """The random numbers of this incarnation, made when they are first used."""
        if self._draws is None:
            self._draws = Draws(f"{self._seed} {self.id} {self._incarnation}")
            if self._planned is not None:
                self._draws.begin(self._planned)
            self._random = NodeRandom(self._draws.draw)
        return self._random

    def send(self, target: int, payload: Payload, reply_to: int = 0) -> None:
        """Add a message to this step. Raises ProtocolError if it is none, or there is no such node."""
        if target not in self._ids:
            raise self._no_such_node(target)
        if not isinstance(payload, Payload):
            raise ProtocolError(
                f"{payload!r} is no message: its class must be one like Name(Payload, frozen=True)"
            )
        self.post(target, type(payload).__name__, encode(payload), reply_to)

    def post(self, target: int, kind: str, body: Raw, reply_to: int = 0) -> int:
        """Add a message to this step whose body is encoded already; return its serial."""
        serial = self._serial
        self._serial = serial + 1
        self._sent.append(Message(self.id, target, serial, kind, body, reply_to))
        return serial

    def _no_such_node(self, target: int) -> ProtocolError:
        known = " ".join(map(str, sorted(self._ids)))
        return ProtocolError(f"there is no node {target!r} to send to; the nodes are {known}")

    def note(self, text: str) -> None:
        """Add a note to this step."""
        self._notes.append(text)

    def is_running(self, method: str, key: Hashable | None = None) -> bool:
        """Return whether the procedure runs, or will begin within this step."""
        return procedure_name(method, key) in self._running

    def begun_us(self, name: str) -> int:
        """Return when the procedure last began."""
        return self._begun.get(name, self._started_us)

    def heard_us(self, peer: int) -> int:
        """Return when a message of ``peer`` was last delivered."""
        self._timer_needs_heard = True
        return self._heard.get(peer, self._started_us)

    def begin(self, method: str, key: Hashable | None = None) -> None:
        """Begin the procedure in this step unless it runs already."""
        if method not in self.protocol.procedures:
            raise ProtocolError(f"{method} is not a procedure: decorate it with @procedure")
        name, current = procedure_name(method, key), self._current
        if current is not None and current.name == name:
            current.successor = True
        elif name not in self._running:
            start = getattr(self.protocol.layer_of(method), method)
            self._procedures += 1
            coroutine = start() if key is None else start(key)
            running = RunningProcedure(method, key, coroutine, self._procedures)
            self._running[name] = running
            if key is None:
                self._begun[name] = self.now_us
            self._ready.append((running, None))

    def restart(self, method: str, key: Hashable | None = None) -> None:
        """Stop the procedure if it runs, then begin it."""
        if self._current is None or self._current.name != procedure_name(method, key):
            self.stop(method, key)
        self.begin(method, key)

    def stop(self, method: str, key: Hashable | None = None) -> None:
        """Stop the procedure at once; none of its code runs after this call."""
        name = procedure_name(method, key)
        running = self._running.get(name)
        if running is None:
            return
        if running is self._current:
            raise ProtocolError(f"{name} cannot stop itself: return instead")
        del self._running[name]
        self._is_timer_known = False
        self._forget_wait(running)
        self._note_end(running)
        running.ended = True
        running.coroutine.close()

    # the inputs

    def _require_startable(self, given: Input) -> None:
        if self.halted:
            raise DriverError(f"node {self.id} has halted and takes no input")
        if not isinstance(given, Started):
            raise DriverError(f"node {self.id} has not been started")

    def _handler(self, kind: str) -> Callable[[int, Any], Payload | None] | None:
        name = self.protocol.handlers.get(kind)
        return None if name is None else getattr(self.protocol.layer_of(name), name)

    def _on_start(self, given: Started) -> None:
        if self._incarnation:
            raise DriverError(f"node {self.id} was started already")
        self._incarnation, self._serial = given.incarnation, given.serial
        self._started_us = self.now_us
        self._state.restore(given.stored)
        for layer in self._layers:
            layer.protocol.started()

    def _on_command(self, given: CommandInput) -> None:
        if given.command not in self.protocol.commands:
            raise DriverError(f"node {self.id}: {given.command} is not a command of its protocol")
        self.protocol.handle_command(given.command, given.words)

    def _on_message(self, message: Message) -> None:
        self._heard[message.source] = self.now_us
        if self._timer_needs_heard:
            self._is_timer_known = False
        kind = self._kinds.get(message.kind)
        if kind is None:
            self.protocol.on_other(message)
            return
        decode, handler = kind
        try:
            payload = decode(message.body)
        except MsgspecError as error:
            if message.source not in self.strangers:
                raise
            self.note(f"{message.kind} of node {message.source} has another payload here: {error}")
            return
        if message.reply_to:
            self._on_reply(message, payload)
            return
        if handler is None:
            self.note(f"{message.kind} arrived without a request that it answers")
            return
        self.handled = message.serial
        answer: object = handler(message.source, payload)
        if isinstance(answer, Payload):
            self.send(message.source, answer, message.serial)
        elif answer is not None:
            name = self.protocol.handlers[message.kind]
            raise ProtocolError(f"{name} returns {answer!r}: a handler returns a message, its answer, or None")

    def _on_reply(self, message: Message, payload: Payload) -> None:
        running = self._requests.pop(message.reply_to, None)
        if running is None:
            self._late = True  # rule B9
            return
        if running.add_reply(message.source, payload):
            self._resume(running, running.ordered_replies())
        else:
            self._answered = running.name

    def _on_timer(self, given: Fired) -> None:
        if self.now_us != self._fired_us:
            self._fired_us, self._fired = self.now_us, 0
        self._fired += 1
        if self._fired > _MOST_ADVANCES:
            raise ProtocolError(f"{given.procedure} is due at one instant for ever: let it wait for longer than 0")
        announced, due = self._announced, self.earliest_timer()
        if due is None or due[1] != given or due[0] > self.now_us:
            if announced is not None and announced[1] == given and announced[0] <= self.now_us:
                raise ProtocolError(
                    f"{given.procedure} was due at {announced[0]}, and now is not: compute the instant from the "
                    "state alone, so that it is the same whenever it is asked for"
                )
            raise DriverError(f"node {self.id}: the timer of {given.procedure} is not the next one due")
        running = self._running.get(given.procedure)
        if running is None:
            self.begin(given.procedure)
        elif isinstance(running.waits_for, Ask):
            self._resume(running, running.ordered_replies())
        else:
            self._resume(running, False)

    # running

    def _changes(self) -> Changes:
        self.touched = self._is_timer_known = False
        return self._state.changes()

    def _run(self) -> None:
        advances = 0
        while True:
            while self._ready:
                running, value = self._ready.popleft()
                if not running.ended:
                    advances += 1
                    if advances > _MOST_ADVANCES:
                        raise ProtocolError(f"{running.name} loops without waiting: add a self.sleep or self.ask")
                    self._advance(running, value)
            held = self._find_held()
            if held is None:
                return
            self._resume(held, True)

    def _find_held(self) -> RunningProcedure | None:
        """Return the procedure that began first of those whose condition holds, None if there is none."""
        unseen = self._conditions
        for running in self._running.values() if unseen else ():
            if type(running.waits_for) is Until:
                if running.waits_for.condition():
                    return running
                unseen -= 1
                if not unseen:
                    break
        return None

    def _resume(self, running: RunningProcedure, value: Any) -> None:
        self._forget_wait(running)
        self._ready.append((running, value))

    def _advance(self, running: RunningProcedure, value: Any) -> None:
        self._current, self._is_timer_known = running, False
        try:
            trap = running.coroutine.send(value)
        except StopIteration:
            self._current = None
            del self._running[running.name]
            self._note_end(running)
            if running.successor:
                self.begin(running.method, running.key)
            return
        except Exception as error:
            foreign = foreign_raise(running.name, error)
            if foreign is None:
                raise
            raise foreign from error
        self._current = None
        if running.successor:
            raise ProtocolError(f"{running.name} began its successor and waited: it must return first")
        if not isinstance(trap, Trap):
            raise foreign_await(running.name, running.coroutine, trap)
        self._wait(running, trap)

    def _wait(self, running: RunningProcedure, trap: Trap) -> None:
        until_us: int | None
        if isinstance(trap, Ask):
            for peer in trap.peers:
                if peer not in self._ids:
                    raise self._no_such_node(peer)
            kind, body = type(trap.request).__name__, encode(trap.request)
            if kind not in self._kinds and type(trap.request) not in self.protocol.asks:
                raise ProtocolError(f"no node handles {kind}: write a handler for it, @on({kind})")
            if trap.enough <= 0:  # such as of no peers
                for peer in trap.peers:
                    self.post(peer, kind, body)
                self._ready.append((running, {}))
                return
            running.ask(trap)
            for peer in trap.peers:
                serial = self.post(peer, kind, body)
                self._requests[serial] = running
                running.requests.append(serial)
            until_us = self.now_us + trap.within_us
        elif isinstance(trap, Sleep):
            until_us = self.now_us + trap.us
        else:
            self._conditions += 1
            until_us = None if trap.within_us is None else self.now_us + trap.within_us
        timer = None if until_us is None else self._timers.set(until_us, running.name)
        running.wait_for(trap, self.now_us, until_us, timer)
        self._waited.append(running)

    def _note_end(self, running: RunningProcedure) -> None:
        if running.is_recorded:
            self._ended.append(running.name)

    def _forget_wait(self, running: RunningProcedure) -> None:
        for serial in running.requests:
            self._requests.pop(serial, None)
        if isinstance(running.waits_for, Until):
            self._conditions -= 1
        if running.timer is not None:
            self._timers.cancel(running.timer)
        running.clear_wait()

    def _fail(self, cause: Started | Received | Fired | CommandInput | Wrote, error: BaseException) -> Step:
        self.halted = True
        self._current = None
        while self._running:
            _, running = self._running.popitem()
            try:  # noqa: SIM105 - a watchdog may raise in what is not of the kernel, so also in ``suppress``
                running.coroutine.close()
            except (Exception, SystemExit):
                pass  # the first error is the one to report
        self._planned = self._announced = None
        drawn = () if self._draws is None else self._draws.end()
        return Step(self.now_us, self.id, self._incarnation, cause, failed=format_traceback(error), draws=drawn)
