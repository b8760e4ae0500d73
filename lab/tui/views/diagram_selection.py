"""The selection in the diagram: how it moves between steps and messages, its causal cone, and a text about it."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from lab.analysis.causality import CausalEvent, CausalFuture, causal_past
from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge
from lab.kernel import CommandInput, Fired, Received, Step
from lab.recording.reader import RecordStore
from lab.text import sanitize
from lab.tui.views.diagram_window import Window
from lab.units import format_count

Picked = tuple[int, int] | int
"""A message as (source, serial), or the record of a step."""


class CausalCone:
    """The causal past and the causal future of the selection, within the window.

    The past includes the selected step, or the step that sent the selected message. The future of a message begins
    at its delivery. ``records`` are the records of both. ``bounds`` are, for each node, the points where the past
    ends and the future begins.
    """

    def __init__(self, window: Window, picked: Picked) -> None:
        begins = _point_of(window, picked)
        self._picked = picked
        self._of = (picked, window.begun, window.start, begins)
        self.past = frozenset() if begins is None else causal_past(window.happened, begins.record)
        self.records = set(self.past)
        self.bounds: dict[int, tuple[Point | None, Point | None]] = {
            each.node: (Point(each.record, each.at_us), None)
            for each in window.happened
            if each.record in self.past
        }
        self._future: CausalFuture | None = None
        self._learnt = -1

    def is_of(self, window: Window, picked: Picked) -> bool:
        """Return whether this is the cone of the selection, and the window has forgotten nothing since."""
        return self._of == (picked, window.begun, window.start, _point_of(window, picked))

    @property
    def future(self) -> set[int]:
        """The causal future, as far as the window has been read."""
        return set() if self._future is None else self._future.records

    def learn(self, window: Window) -> None:
        """Add what the window has read since."""
        if self._future is None:
            first = _first_after(window, self._picked)
            if first is None:
                return
            self._future = CausalFuture(first)
        happened = window.happened
        for each in happened[bisect_right(happened, self._learnt, key=_record_of) :]:
            self._learnt = each.record
            if self._future.observe(each) and each.record not in self.records:
                self.records.add(each.record)
                past, future = self.bounds.get(each.node, (None, None))
                self.bounds[each.node] = (past, future or Point(each.record, each.at_us))


class Selection:
    """The selection in a window: a message or a step is ``picked``, or nothing."""

    def __init__(self, window: Window) -> None:
        self.picked: Picked | None = None
        self._window = window
        self._cone: CausalCone | None = None

    @property
    def edge(self) -> MessageEdge | None:
        """The message, if one is picked and in the window."""
        return _edge_of(self._window, self.picked)

    @property
    def point(self) -> Point | None:
        """The point of the step, or where the message was sent; None if it is not in the window."""
        return _point_of(self._window, self.picked)

    @property
    def cone(self) -> CausalCone | None:
        """The causal cone. It is extended while it is valid, else replaced."""
        if self.picked is None:
            return None
        if self._cone is None or not self._cone.is_of(self._window, self.picked):
            self._cone = CausalCone(self._window, self.picked)
        self._cone.learn(self._window)
        return self._cone

    def next_step(self, node: int | None, here: int, by: int) -> int | None:
        """Return the record of the next or previous step from record ``here``; of any node if ``node`` is None."""
        seen = set(self._window.order.numbers)
        happened = self._window.happened
        steps = [each.record for each in happened if each.record in seen and node in (None, each.node)]
        place = _neighbour(steps, here, by)
        return None if place is None else steps[place]

    def next_message(self, node: int | None, here: int, by: int, hidden: frozenset[str]) -> tuple[int, int] | None:
        """Return the message sent next or before record ``here``; of any node if ``node`` is None.

        If it is a message that is picked, those of the same record come in the order of their serial numbers.
        """
        edges = sorted(
            (edge.sent.record, edge.line.serial, edge.line.message)
            for edge in self._window.space.messages
            if edge.line.kind not in hidden
            and edge.sent.record >= 0
            and node in (None, edge.line.source, edge.line.target)
        )
        serial = self.picked[1] if isinstance(self.picked, tuple) else 0
        place = _neighbour([edge[:2] for edge in edges], (here, serial), by)
        return None if place is None else edges[place][2]

    def describe(self, store: RecordStore, upto: int) -> str:
        """Return the text about it and its causal past and future, up to the record ``upto``."""
        window, edge, cone = self._window, self.edge, self.cone
        if cone is None or (edge is None and isinstance(self.picked, tuple)):
            return "the selection is no longer visible here; Esc clears it"
        past, future = len(cone.past), sum(record <= upto for record in cone.future)
        if edge is not None:
            text = _describe_message(edge, upto)
        else:
            text = self._describe_step(store)
            past, future = max(0, past - 1), max(0, future - 1)
        of = format_count(bisect_right(window.happened, upto, key=_record_of), "step")
        return f"{text} · causal past {past}, causal future {future}, of {of} here · Enter opens it, j goes there"

    def _describe_step(self, store: RecordStore) -> str:
        assert isinstance(self.picked, int)
        record, point = store.record(self.picked), self.point
        when = "" if point is None else f" at {point.at_us / 1e6:.3f} s"
        if not isinstance(record, Step):
            return f"record {self.picked}{when}"
        match record.input:
            case Received(source, serial):
                edge = _edge_of(self._window, (source, serial))
                kind = "" if edge is None else sanitize(edge.line.kind, 30)
                what = f"received {kind or 'a message'} from {source}"
            case Fired(procedure):
                what = f"{sanitize(procedure, 30)}: timer expired"
            case CommandInput(command, words):
                what = f"received the command {sanitize(' '.join((command, *words)), 40)}"
            case _:
                what = "started"
        return f"node {record.node}{when}: {what}"


def _describe_message(edge: MessageEdge, upto: int) -> str:
    line = edge.line
    text = f"{sanitize(line.kind, 30)} {line.source} to {line.target}, sent at {line.at_us / 1e6:.3f} s"
    if edge.end is None or edge.end.record > upto:
        return f"{text}, {'in flight' if edge.end else edge.fate}"
    after = f"{(edge.end.at_us - line.at_us) / 1000:.1f} ms later"
    delayed = ", touched by a fault" if edge.by else ""
    again = sum(point.record <= upto for point in edge.again)
    more = f", and {format_count(again, 'time')} more" if again else ""
    return f"{text}, {edge.fate} {after}{more}{delayed}"


def _first_after(window: Window, picked: Picked) -> int | None:
    """Return the record at which the causal future begins, or None if the message has not arrived."""
    if isinstance(picked, int):
        return picked
    edge = _edge_of(window, picked)
    return edge.end.record if edge is not None and edge.arrived and edge.end is not None else None


def _edge_of(window: Window, picked: Picked | None) -> MessageEdge | None:
    if not isinstance(picked, tuple):
        return None
    return next((edge for edge in window.space.messages if edge.line.message == picked), None)


def _point_of(window: Window, picked: Picked | None) -> Point | None:
    if not isinstance(picked, int):
        edge = _edge_of(window, picked)
        return None if edge is None else edge.sent
    place = bisect_left(window.happened, picked, key=_record_of)
    found = window.happened[place : place + 1]
    return Point(picked, found[0].at_us) if found and found[0].record == picked else None


def _neighbour(keys: Sequence[Any], here: Any, by: int) -> int | None:
    """Return the place of the key after or before ``here`` in the ascending keys."""
    place = bisect_right(keys, here) if by > 0 else bisect_left(keys, here) - 1
    return place if 0 <= place < len(keys) else None


def _record_of(happened: CausalEvent) -> int:
    return happened.record
