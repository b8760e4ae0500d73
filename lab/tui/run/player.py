"""The cursor in time: where in the run the whole screen is, and how it moves."""

from collections.abc import Callable

from lab.analysis.bookmarks import Bookmarks
from lab.analysis.marks import MarkKind, Marks
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import RecordStore
from lab.recording.timeline import Timeline

__all__ = ["FOLLOWING", "SAID", "SPEEDS", "Player"]

FOLLOWING = "where the run is"
_SEEK_US = 5_000_000
SAID: tuple[MarkKind, ...] = ("caption", "mark", "unmet")
"""The marks that a script makes for those who watch."""
_KINDS: dict[str, tuple[MarkKind, ...]] = {
    "fault": ("fault",),
    "election": ("election",),
    "status": ("election", "status"),
    "mark": SAID,
}
_CALLED = {"mark": "bookmark, caption, mark or unmet expectation"}
SPEEDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class Player:
    """One focus in time, shared by all panes.

    While ``following`` it is at the end of a run that is still going on. ``number`` is the last record seen,
    ``now_us`` the time shown, which moves on between records. ``tick`` moves it by elapsed real time.
    """

    def __init__(self, lines: RecordStore, marks: Marks, live: bool, bookmarks: Bookmarks | None = None) -> None:
        self.lines = lines
        self.marks = marks
        self.bookmarks = bookmarks
        self.live = live
        self.following = live
        self.playing = not live
        self.speed = 1.0
        self.number = len(lines) - 1 if live else 0
        self.now_us = 0
        self._timeline = Timeline(lines)
        self._ends = Timeline(lines)  # of its own, so that looking at the end does not move the cursor's
        self._end_of = -1
        self._end_us = 0

    @property
    def end_us(self) -> int:
        """The time of the last record."""
        last = len(self.lines) - 1
        if last != self._end_of:
            self._end_of, self._end_us = last, self._ends.at(last).at_us
        return self._end_us

    @property
    def stands_at_end(self) -> bool:
        """Whether the last record is seen, and nothing plays."""
        return not self.playing and self.number >= len(self.lines) - 1

    def cluster(self) -> ClusterState:
        """The cluster at the cursor."""
        return self._timeline.at(self.number)

    def tick(self, elapsed_us: int, live_now_us: int | None) -> None:
        """Let time pass. ``live_now_us``: the clock of the run, if it is going on."""
        if self.following:
            self.number = len(self.lines) - 1
            self.now_us = self.end_us if live_now_us is None else live_now_us
            self.following = live_now_us is not None
        elif self.playing:
            self.now_us += round(elapsed_us * self.speed)
            self._advance()
            if self.number >= len(self.lines) - 1:
                self.now_us = max(self.cluster().at_us, min(self.now_us, self.end_us))
                self.playing = False
                self.following = live_now_us is not None

    def go(self, number: int) -> None:
        """To that record, and stay there."""
        self.playing = self.following = False
        self.number = max(0, min(number, len(self.lines) - 1))
        self.now_us = self.cluster().at_us

    def step(self, count: int) -> None:
        """So many records forward, or back."""
        self.go(self.number + count)

    def seek(self, at_us: int) -> None:
        """To that instant; playing goes on if it did."""
        playing = self.playing
        self.go(self._timeline.record_at(max(0, at_us)))
        self.now_us = max(0, min(at_us, self.end_us))
        self.playing = playing

    def to_end(self) -> None:
        """To the end: of a run that is going on, to follow it."""
        self.go(len(self.lines) - 1)
        self.following = self.live

    def toggle(self) -> None:
        """Play or pause. At the end of a recording it plays from the start."""
        if self.following or self.playing:
            self.following = self.playing = False
            return
        if self.number >= len(self.lines) - 1 and not self.live:
            self.go(0)
        self.playing = True

    def faster(self, by: int) -> None:
        """So many speeds up, or down."""
        place = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self.speed))
        self.speed = SPEEDS[max(0, min(place + by, len(SPEEDS) - 1))]

    def jump(self, forward: bool, wanted: Callable[[MarkKind], bool], bookmarks: bool = False) -> bool:
        """To the next wanted mark, or the one before, or a bookmark; False where there is none."""
        found = [self.marks.near(self.number, forward, wanted)]
        if bookmarks and self.bookmarks is not None:
            found.append(self.bookmarks.near(self.number, forward))
        number = (min if forward else max)((each for each in found if each is not None), default=None)
        if number is not None:
            self.go(number)
        return number is not None

    def move(self, word: str) -> str:
        """Do what the table of actions calls so, of the group *time*; what there is to say of it."""
        moves: dict[str, Callable[[], object]] = {
            "play": self.toggle,
            "back": lambda: self.step(-1),
            "step": lambda: self.step(1),
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
                sought = _CALLED.get(kind, kind)
                return f"no {sought} {'after' if direction == 'next' else 'before'} this one"
        if not self.live:
            return ""
        if self.following:
            return FOLLOWING
        return "looking at the past; End goes back to where the run is"

    def _advance(self) -> None:
        number = self.number
        last = len(self.lines) - 1
        far = number < last and self._at_us(min(last, number + 2000)) <= self.now_us
        if far:
            number = max(number, self._timeline.record_at(self.now_us))
        while number < last and self._at_us(number + 1) <= self.now_us:
            number += 1
        self.number = number

    def _at_us(self, number: int) -> int:
        return getattr(self.lines.record(number), "at_us", 0) or 0
