"""Selecting in the diagram: from step to step, from message to message, and what there is to say of each."""

from bisect import bisect_left, bisect_right

from lab.analysis.causal_cone import Future, Happened, past_of
from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge
from lab.kernel import CommandInput, Fired, Received, Step
from lab.recording.reader import RecordStore
from lab.text import sanitize
from lab.tui.views.diagram.window import Window
from lab.units import count_of

__all__ = ["Cone", "Picked", "arrow_of", "next_message", "next_step", "point_of", "said_of"]

Picked = tuple[int, int] | int
"""A message, by source and serial; or the record of a step."""


class Cone:
    """The records that can have led to what is picked, itself included, and those that can have come of it.

    Within the window; what comes of a message begins where it arrived. ``records`` are those of both, ``bounds``
    says of each node where its past ends, and where its future begins.
    """

    def __init__(self, window: Window, picked: Picked) -> None:
        begins = point_of(window, picked)
        self._picked = picked
        self._of = (picked, window.begun, window.start, begins)
        self.past = frozenset() if begins is None else past_of(window.happened, begins.record)
        self.records = set(self.past)
        self.bounds: dict[int, tuple[Point | None, Point | None]] = {
            each.node: (Point(each.record, each.at_us), None)
            for each in window.happened
            if each.record in self.past
        }
        self._future: Future | None = None
        self._learnt = -1

    def is_of(self, window: Window, picked: Picked) -> bool:
        """Whether that is what is picked still, and the window has forgotten nothing since."""
        return self._of == (picked, window.begun, window.start, point_of(window, picked))

    @property
    def future(self) -> set[int]:
        """What can have come of it, as far as was learnt."""
        return set() if self._future is None else self._future.records

    def learn(self, window: Window) -> None:
        """Take what the window has learnt since."""
        if self._future is None:
            first = _first_after(window, self._picked)
            if first is None:
                return
            self._future = Future(first)
        happened = window.happened
        for each in happened[bisect_right(happened, self._learnt, key=_record_of) :]:
            self._learnt = each.record
            if self._future.observe(each) and each.record not in self.records:
                self.records.add(each.record)
                past, future = self.bounds.get(each.node, (None, None))
                self.bounds[each.node] = (past, future or Point(each.record, each.at_us))


def _record_of(happened: Happened) -> int:
    return happened.record


def _first_after(window: Window, picked: Picked) -> int | None:
    """The record that what comes of it begins with."""
    if isinstance(picked, int):
        return picked
    arrow = arrow_of(window, picked)
    return arrow.end.record if arrow is not None and arrow.arrived and arrow.end is not None else None


def arrow_of(window: Window, picked: Picked | None) -> MessageEdge | None:
    """The message that is picked."""
    if not isinstance(picked, tuple):
        return None
    return next((arrow for arrow in window.space.arrows if arrow.line.message == picked), None)


def point_of(window: Window, picked: Picked) -> Point | None:
    """Where it is: of a message, where it was sent. None where the window does not know it."""
    if isinstance(picked, tuple):
        arrow = arrow_of(window, picked)
        return None if arrow is None else arrow.sent
    happened = window.happened
    place = bisect_left(happened, picked, key=_record_of)
    if place == len(happened) or happened[place].record != picked:
        return None
    return Point(picked, happened[place].at_us)


def next_step(window: Window, node: int | None, here: int, by: int) -> int | None:
    """The record of the step after that record, or before it: of the node, if one is given."""
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
    """The message sent after, or before, that one of (record, serial): from the node or to it, if one is given."""
    arrows = sorted(
        (arrow.sent.record, arrow.line.serial, arrow.line.message)
        for arrow in window.space.arrows
        if arrow.line.kind not in hidden
        and arrow.sent.record >= 0
        and node in (None, arrow.line.source, arrow.line.target)
    )
    keys = [key[:2] for key in arrows]
    place = bisect_left(keys, here)
    if by > 0 and place < len(keys) and keys[place] == here:
        place += 1
    place -= by < 0
    return arrows[place][2] if 0 <= place < len(arrows) else None


def said_of(window: Window, lines: RecordStore, picked: Picked, cone: Cone, upto: int) -> str:
    """What it is, and how much of what is known here has to do with it; nothing is told of after that record."""
    arrow = arrow_of(window, picked)
    if arrow is not None:
        said = _message_said(arrow, upto)
    elif isinstance(picked, int):
        said = _step_said(window, lines, picked)
    else:
        return "what was selected is not seen here any more; Esc selects nothing"
    past, future = len(cone.past), sum(record <= upto for record in cone.future)
    if isinstance(picked, int):
        past, future = max(0, past - 1), max(0, future - 1)
    of = count_of(bisect_right(window.happened, upto, key=_record_of), "step")
    return f"{said} · {past} in its past, {future} in its future, of {of} here · Enter opens it, j goes there"


def _message_said(arrow: MessageEdge, upto: int) -> str:
    line = arrow.line
    said = f"{sanitize(line.kind, 30)} {line.source} to {line.target}, sent at {line.at_us / 1e6:.3f} s"
    if arrow.end is None or arrow.end.record > upto:
        return f"{said}, {'in flight' if arrow.end else arrow.fate}"
    after = f"{(arrow.end.at_us - line.at_us) / 1000:.1f} ms later"
    delayed = ", touched by a fault" if arrow.by else ""
    again = sum(point.record <= upto for point in arrow.again)
    more = f", and again {count_of(again, 'time')}" if again else ""
    return f"{said}, {arrow.fate} {after}{more}{delayed}"


def _step_said(window: Window, lines: RecordStore, number: int) -> str:
    record = lines.record(number)
    at = point_of(window, number)
    when = "" if at is None else f" at {at.at_us / 1e6:.3f} s"
    if not isinstance(record, Step):
        return f"record {number}{when}"
    given = record.input
    if isinstance(given, Received):
        kind = next(
            (a.line.kind for a in window.space.arrows if a.line.message == (given.source, given.serial)), ""
        )
        what = f"took {sanitize(kind, 30) or 'a message'} of {given.source}"
    elif isinstance(given, Fired):
        what = f"{sanitize(given.procedure, 30)}: its time was up"
    elif isinstance(given, CommandInput):
        what = f"was told to {sanitize(' '.join((given.command, *given.words)), 40)}"
    else:
        what = "came up"
    return f"node {record.node}{when}: {what}"
