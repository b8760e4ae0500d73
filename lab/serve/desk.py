"""The teacher's desk: what the teacher says goes from here to the sessions, and their votes come back.

What holds for a while (the keys of a cluster, a lecture) holds as long as the teacher's connection does, however
that ends.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab.exercises.teacher import Announcement, Asked, KeysTaken, Lecture, Notice, OfficeError, Tally
from lab.serve.log import Log
from lab.text import sanitize

__all__ = ["LONGEST_TEXT", "Desk"]

LONGEST_TEXT = 280
_MOST_CHOICES = 9
_Tell = Callable[[Notice], None]


class Desk:
    """``lectures_at_once``: a lecture is shown to all without being asked, not only to those who log in."""

    def __init__(self, log: Log, lectures_at_once: bool = False) -> None:
        self._log = log
        self._lectures_at_once = lectures_at_once
        self._sessions: dict[str, list[_Tell]] = {}
        self._keys: dict[str, int] = {}
        self.lecture: Lecture | None = None
        self._asked: Asked | None = None
        self._votes: dict[str, int] = {}
        self._serial = 0

    # sessions

    @contextmanager
    def heard_by(self, student: str, tell: _Tell) -> Iterator[None]:
        """As long as this lasts ``tell`` is given what is for this student, and what holds already."""
        self._sessions.setdefault(student, []).append(tell)
        if self._keys.get(student):
            tell(KeysTaken(held=True))
        if self.lecture is not None:
            tell(Lecture(self.lecture.socket, self.lecture.title, at_once=True))
            if self._asked is not None:
                tell(self._asked)
        try:
            yield
        finally:
            self._sessions[student].remove(tell)
            if not self._sessions[student]:
                del self._sessions[student]

    def vote(self, student: str, serial: int, choice: int) -> None:
        """What the student says to what was asked; the last word counts, as long as it is asked."""
        asked = self._asked
        if asked is not None and asked.serial == serial and 0 <= choice < len(asked.choices):
            self._votes[student] = choice

    # the teacher

    def has_keys(self, student: str) -> bool:
        """Whether the teacher has the keys of this student's cluster."""
        return bool(self._keys.get(student))

    def tell(self, students: tuple[str, ...], text: str) -> list[str]:
        """Tell these, or all, who are on; who was told. OfficeError."""
        said = _checked(text)
        named = students or tuple(self._sessions)
        missing = [name for name in named if name not in self._sessions]
        if missing:
            raise OfficeError(
                f"{', '.join(sanitize(name, 40) for name in missing)} is not on; lab serve status says who is"
            )
        for name in named:
            self._say(name, Announcement(said))
        self._log.say("message", f"to {', '.join(named) if students else 'all'}: {said}")
        return list(named)

    @contextmanager
    def keys_of(self, student: str, recording: str) -> Iterator[None]:
        """The teacher has the keys of this student's cluster, and the student sees that. OfficeError."""
        if not recording:
            raise OfficeError(f"{sanitize(student, 40)} has no cluster just now")
        self._keys[student] = self._keys.get(student, 0) + 1
        self._log.say("keys", f"the teacher has the keys of {recording}", student=student)
        self._say(student, KeysTaken(held=True))
        try:
            yield
        finally:
            self._keys[student] -= 1
            if not self._keys[student]:
                self._log.say("keys", "the teacher has them no longer", student=student)
                self._say(student, KeysTaken(held=False))

    @contextmanager
    def lecture_on(self, socket: str, title: str) -> Iterator[None]:
        """All see the cluster whose feed is on this socket. OfficeError."""
        if self.lecture is not None:
            raise OfficeError(f"a lecture goes on already: {self.lecture.title}; end it with q")
        self.lecture = Lecture(socket, sanitize(title, 60), self._lectures_at_once)
        self._log.say("lecture", self.lecture.title)
        self._say_all(self.lecture)
        try:
            yield
        finally:
            self.lecture, self._asked = None, None
            self._log.say("lecture", "over")
            self._say_all(Lecture("", ""))

    def ask(self, text: str, choices: tuple[str, ...]) -> None:
        """Ask all who are on, and all who come as long as it is asked. OfficeError."""
        if not 2 <= len(choices) <= _MOST_CHOICES:
            raise OfficeError(f'write a question and 2 to {_MOST_CHOICES} choices: ask "who leads next?" | 4 | 5')
        self._serial += 1
        self._asked = Asked(self._serial, _checked(text), tuple(_checked(choice) for choice in choices))
        self._votes = {}
        self._log.say("asked", f"{self._asked.text}: {' | '.join(self._asked.choices)}")
        self._say_all(self._asked)

    def tally(self) -> Tally:
        """What was said so far. OfficeError."""
        if self._asked is None:
            raise OfficeError('nothing is asked; in a lecture, type ask "TEXT" | CHOICE | CHOICE')
        return self._tally(self._asked, is_open=True)

    def close_vote(self) -> Tally:
        """No more votes count, and all see the tally. OfficeError."""
        self.tally()
        assert self._asked is not None
        tally = self._tally(self._asked, is_open=False)
        self._asked = None
        said = (f"{choice} {count}" for choice, count in zip(tally.choices, tally.votes, strict=True))
        self._log.say("tally", f"{tally.text}: {', '.join(said)}")
        self._say_all(tally)
        return tally

    def _tally(self, asked: Asked, is_open: bool) -> Tally:
        votes = list(self._votes.values())
        counts = tuple(votes.count(place) for place in range(len(asked.choices)))
        return Tally(asked.serial, asked.text, asked.choices, counts, is_open)

    def _say_all(self, notice: Notice) -> None:
        for student in list(self._sessions):
            self._say(student, notice)

    def _say(self, student: str, notice: Notice) -> None:
        for tell in self._sessions.get(student, []):
            tell(notice)


def _checked(text: str) -> str:
    said = sanitize(" ".join(text.split()))
    if not said:
        raise OfficeError("an empty text says nothing")
    if len(said) > LONGEST_TEXT:
        raise OfficeError(f"{len(said)} letters: {LONGEST_TEXT} is the most that fits the students' screens")
    return said
