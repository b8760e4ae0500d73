"""The selection in the diagram: how it moves between steps and messages, its causal cone, and a text about it."""

from bisect import bisect_left, bisect_right

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
        begins = point_of(window, picked)
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
        return self._of == (picked, window.begun, window.start, point_of(window, picked))

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


def _record_of(happened: CausalEvent) -> int:
    return happened.record


def _first_after(window: Window, picked: Picked) -> int | None:
    """Return the record at which the causal future begins, or None if the message has not arrived."""
    if isinstance(picked, int):
        return picked
    edge = edge_of(window, picked)
    return edge.end.record if edge is not None and edge.arrived and edge.end is not None else None


def edge_of(window: Window, picked: Picked | None) -> MessageEdge | None:
    """Return the selected message, or None if a step or nothing is selected."""
    if not isinstance(picked, tuple):
        return None
    return next((edge for edge in window.space.messages if edge.line.message == picked), None)


def point_of(window: Window, picked: Picked) -> Point | None:
    """Return the point of a step, or where a message was sent; None if it is not in the window."""
    if isinstance(picked, tuple):
        edge = edge_of(window, picked)
        return None if edge is None else edge.sent
    happened = window.happened
    place = bisect_left(happened, picked, key=_record_of)
    if place == len(happened) or happened[place].record != picked:
        return None
    return Point(picked, happened[place].at_us)


def next_step(window: Window, node: int | None, here: int, by: int) -> int | None:
    """Return the record of the next or previous step from record ``here``; of any node if ``node`` is None."""
    seen = set(window.order.numbers)
    steps = [each.record for each in window.happened if each.record in seen and node in (None, each.node)]
    place = bisect_left(steps, here)
    if by > 0 and place < len(steps) and steps[place] == here:
        place += 1
    place -= by < 0
    return steps[place] if 0 <= place < len(steps) else None


def next_message(
    window: Window, hidden: frozenset[str], node: int | None, here: tuple[int, int], by: int
) -> tuple[int, int] | None:
    """Return the message sent next or before ``here``, a (record, serial); of any node if ``node`` is None."""
    edges = sorted(
        (edge.sent.record, edge.line.serial, edge.line.message)
        for edge in window.space.messages
        if edge.line.kind not in hidden
        and edge.sent.record >= 0
        and node in (None, edge.line.source, edge.line.target)
    )
    keys = [key[:2] for key in edges]
    place = bisect_left(keys, here)
    if by > 0 and place < len(keys) and keys[place] == here:
        place += 1
    place -= by < 0
    return edges[place][2] if 0 <= place < len(edges) else None


def describe_selection(window: Window, lines: RecordStore, picked: Picked, cone: CausalCone, upto: int) -> str:
    """Return the text about the selection and its causal past and future, up to the record ``upto``."""
    edge = edge_of(window, picked)
    if edge is not None:
        text = _describe_message(edge, upto)
    elif isinstance(picked, int):
        text = _describe_step(window, lines, picked)
    else:
        return "the selection is no longer visible here; Esc clears it"
    past, future = len(cone.past), sum(record <= upto for record in cone.future)
    if isinstance(picked, int):
        past, future = max(0, past - 1), max(0, future - 1)
    of = format_count(bisect_right(window.happened, upto, key=_record_of), "step")
    return f"{text} · causal past {past}, causal future {future}, of {of} here · Enter opens it, j goes there"


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


def _describe_step(window: Window, lines: RecordStore, number: int) -> str:
    record = lines.record(number)
    at = point_of(window, number)
    when = "" if at is None else f" at {at.at_us / 1e6:.3f} s"
    if not isinstance(record, Step):
        return f"record {number}{when}"
    node_input = record.input
    if isinstance(node_input, Received):
        kind = next(
            (
                a.line.kind
                for a in window.space.messages
                if a.line.message == (node_input.source, node_input.serial)
            ),
            "",
        )
        what = f"received {sanitize(kind, 30) or 'a message'} from {node_input.source}"
    elif isinstance(node_input, Fired):
        what = f"{sanitize(node_input.procedure, 30)}: timer expired"
    elif isinstance(node_input, CommandInput):
        what = f"received the command {sanitize(' '.join((node_input.command, *node_input.words)), 40)}"
    else:
        what = "started"
    return f"node {record.node}{when}: {what}"
