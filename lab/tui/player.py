"""The cursor in time: its position and its moves, and what the time keys do to the clock of a simulated run."""

from collections.abc import Callable

from msgspec import Struct

from lab.analysis.bookmarks import Bookmarks
from lab.analysis.marks import MarkKind, Marks
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import LogLine
from lab.recording.reader import RecordStore
from lab.recording.timeline import Timeline
from lab.script.commands import FASTEST, SLOWEST
from lab.worlds.feed_protocol import Clock


class Picked(Struct, frozen=True):
    """The selection that all views share: a message, or the event of a record.

    ``record`` is the record, at ``at_us``, in which it happened or was sent, and ``node`` the node that did so.
    ``message`` is (source, serial), ``target`` its receiver; both are None if no message is selected.
    """

    record: int
    at_us: int
    node: int | None
    message: tuple[int, int] | None = None
    target: int | None = None

    @classmethod
    def of_line(cls, line: LogLine) -> "Picked":
        """Return what a line of the log is about."""
        if line.what != "message":
            return cls(line.record, line.at_us, line.source)
        return cls(line.record, line.at_us, line.source, line.message, line.target)

    def is_in(self, line: LogLine) -> bool:
        """Return whether a line of the log is about this."""
        if self.message is None:
            return line.record == self.record
        return line.what == "message" and line.message == self.message


class Cursor(Struct, frozen=True):
    """The cursor in time.

    ``cluster`` is the state at the cursor's record; it is valid until the next frame only. ``now_us`` advances
    between records. ``selected`` is the selected node. ``following``: the cursor is at the end of a run that is
    still going on. ``hides_future``: nothing after the cursor may be shown. ``jumps`` counts the user's moves.
    """

    cluster: ClusterState
    now_us: int
    selected: int | None = None
    following: bool = False
    hides_future: bool = False
    jumps: int = 0

    @property
    def record(self) -> int:
        """The number of the last record up to the cursor."""
        return self.cluster.record


FOLLOWING = "following the run"
_SEEK_US = 5_000_000
_MOST_SKIPPED = 3000
SCRIPT_MARKS: tuple[MarkKind, ...] = ("caption", "mark", "unmet")
"""The marks that a script makes for its audience."""
_KINDS: dict[str, tuple[MarkKind, ...]] = {
    "fault": ("fault", "repair"),
    "election": ("election", "leader"),
    "status": ("election", "leader", "status"),
    "mark": SCRIPT_MARKS,
}
_KIND_LABELS = {"mark": "bookmark, caption, mark or unmet expectation"}
SPEEDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class Player:
    """The one position in time that all panes share.

    While ``following``, it is at the end of a run that is still going on. ``number`` is the last record shown;
    ``now_us`` is the time shown, which advances between records. ``tick`` moves it by elapsed real time; ``jumps``
    counts all other moves. Playback pauses when it comes to the record ``stops_at``.
    """

    def __init__(self, store: RecordStore, marks: Marks, live: bool, bookmarks: Bookmarks | None = None) -> None:
        self.store = store
        self.marks = marks
        self.bookmarks = bookmarks
        self.live = live
        self.following = live
        self.playing = not live
        self.speed = 1.0
        self.stops_at: int | None = None
        self.jumps = 0
        self.number = len(store) - 1 if live else 0
        self.now_us = 0
        self._timeline = Timeline(store)
        self._end_timeline = Timeline(store)  # separate, so that a look at the end does not move the cursor's
        self._end_record = -1
        self._end_us = 0

    @property
    def end_us(self) -> int:
        """The time of the last record."""
        last = len(self.store) - 1
        if last != self._end_record:
            self._end_record, self._end_us = last, self._end_timeline.at(last).at_us
        return self._end_us

    @property
    def is_in_past(self) -> bool:
        """True if there is more of a run that is still going on, or was when this began."""
        return self.live and not self.following and self.number < len(self.store) - 1

    @property
    def is_at_end(self) -> bool:
        """True if the last record is shown and nothing plays."""
        return not self.playing and self.number >= len(self.store) - 1

    def cluster(self) -> ClusterState:
        """Return the state of the cluster at the cursor."""
        return self._timeline.at(self.number)

    def tick(self, elapsed_us: int, live_now_us: int | None) -> None:
        """Advance by elapsed real time. ``live_now_us`` is the clock of the run, or None once it is over."""
        if self.following:
            self.number = len(self.store) - 1
            self.now_us = self.end_us if live_now_us is None else live_now_us
            self.following = live_now_us is not None
        elif self.playing:
            before = self.number
            self.now_us += round(elapsed_us * self.speed)
            self._advance()
            if self.stops_at is not None and before < self.stops_at <= self.number:
                self.go(self.stops_at)
                return
            if self.number >= len(self.store) - 1:
                self.now_us = max(self.cluster().at_us, min(self.now_us, self.end_us))
                self.playing = False
                self.following = live_now_us is not None

    def go(self, number: int) -> None:
        """Move to a record and stay there."""
        self.playing = self.following = False
        self.jumps += 1
        self.number = max(0, min(number, len(self.store) - 1))
        self.now_us = self.cluster().at_us

    def step(self, by: int, is_skipped: Callable[[int], bool] = lambda _: False) -> None:
        """Move one record, 1 forward or -1 back, and past those that are skipped."""
        number = self.number + by
        farthest = number + by * _MOST_SKIPPED
        while 0 < number < len(self.store) - 1 and number != farthest and is_skipped(number):
            number += by
        self.go(number)

    def seek(self, at_us: int) -> None:
        """Move to an instant. Playback continues if it was running."""
        playing = self.playing
        self.go(self._timeline.record_at(max(0, at_us)))
        self.now_us = max(0, min(at_us, self.end_us))
        self.playing = playing

    def to_end(self) -> None:
        """Move to the end. In a live run, follow it."""
        self.go(len(self.store) - 1)
        self.following = self.live

    def toggle(self) -> None:
        """Play or pause. At the end of a recording, play from the start."""
        if self.following or self.playing:
            self.following = self.playing = False
            return
        if self.number >= len(self.store) - 1 and not self.live:
            self.go(0)
        self.playing = True

    def faster(self, by: int) -> None:
        """Change the speed by a number of steps, up or down."""
        place = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self.speed))
        self.speed = SPEEDS[max(0, min(place + by, len(SPEEDS) - 1))]

    def jump(self, forward: bool, matches: Callable[[MarkKind], bool], bookmarks: bool = False) -> bool:
        """Move to the nearest matching mark in one direction, or to a bookmark. Return False if there is none."""
        found = [self.marks.near(self.number, forward, matches)]
        if bookmarks and self.bookmarks is not None:
            found.append(self.bookmarks.near(self.number, forward))
        number = (min if forward else max)((each for each in found if each is not None), default=None)
        if number is not None:
            self.go(number)
        return number is not None

    def move(self, word: str, is_skipped: Callable[[int], bool] = lambda _: False) -> str:
        """Run an action of the group *time*, and return a message for the user. Steps go past what is skipped."""
        moves: dict[str, Callable[[], object]] = {
            "play": self.toggle,
            "back": lambda: self.step(-1, is_skipped),
            "step": lambda: self.step(1, is_skipped),
            "slower": lambda: self.faster(-1),
            "faster": lambda: self.faster(1),
            "rewind": lambda: self.seek(self.now_us - _SEEK_US),
            "forward": lambda: self.seek(self.now_us + _SEEK_US),
            "start": lambda: self.go(0),
            "end": self.to_end,
        }
        if word in moves:
            moves[word]()
        else:
            direction, _, kind = word.partition("-")
            if not self.jump(direction == "next", _KINDS[kind].__contains__, kind == "mark"):
                label = _KIND_LABELS.get(kind, kind)
                return f"no {label} {'after' if direction == 'next' else 'before'} this one"
        if not self.live:
            return ""
        if self.following:
            return FOLLOWING
        return "in the past; {end} returns to the present"

    def _advance(self) -> None:
        number = self.number
        last = len(self.store) - 1
        far = number < last and self._at_us(min(last, number + 2000)) <= self.now_us
        if far:
            number = max(number, self._timeline.record_at(self.now_us))
        while number < last and self._at_us(number + 1) <= self.now_us:
            number += 1
        self.number = number

    def _at_us(self, number: int) -> int:
        return getattr(self.store.record(number), "at_us", 0) or 0


WORLD_SPEEDS = (SLOWEST, 0.02, 0.05, *SPEEDS, 200.0, 500.0, FASTEST, None)
"""Virtual time per real time. None: as fast as it can be computed."""


def format_pace(clock: Clock) -> str:
    """Return the speed of virtual time, such as ``2x`` or ``max``."""
    return "max" if clock.factor is None else f"{clock.factor:g}x"


def time_command(word: str, clock: Clock | None, player: Player) -> str:
    """Return the command that a time key gives to the world, or an empty string if it only moves the cursor.

    The keys control the world while the cursor is at the end of the run, and the cursor while it is in the past.
    """
    if clock is None or not player.live:
        return ""
    if clock.frozen and player.number >= len(player.store) - 1:
        player.to_end()
    if not player.following:
        return ""
    if word == "play":
        return "go" if clock.frozen else "freeze"
    if word == "step":
        return "step"
    if word in ("slower", "faster"):
        return f"speed {_next_speed(clock.factor, 1 if word == 'faster' else -1)}"
    return ""


def _next_speed(factor: float | None, by: int) -> str:
    """Return the next speed up or down, as the command takes it."""
    fastest = len(WORLD_SPEEDS) - 1
    place = fastest
    if factor is not None:
        place = min(range(fastest), key=lambda i: abs((WORLD_SPEEDS[i] or 0) - factor))
    other = WORLD_SPEEDS[max(0, min(place + by, fastest))]
    return "max" if other is None else f"{other:g}"
