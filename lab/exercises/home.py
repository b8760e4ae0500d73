"""A student's folder: the recordings of all attempts, and what they have come to.

A recording is written as the attempt goes on, so a crash costs none. What was reached is noted beside the
recordings the instant it is reached, and made durable: the list of exercises shows that, and does not have to read
everything again. It is no grade: a grade is made from the recordings alone.
"""

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.durable import alone, write_durably
from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise
from lab.recording.records import Exercised

__all__ = ["NAME", "PROGRESS", "Doing", "Home", "Standing", "attempt_in", "recording_of"]

_ATTEMPTS = "attempts"
PROGRESS = "progress.json"
_RECORDING = re.compile(r"(.+)-(\d+)\.jsonl")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
"""What a student, or an exercise, may be called: it is the name of a file too."""


class Standing(Struct, frozen=True, omit_defaults=True):
    """What a student has come to in an exercise: how many attempts, and the best of them, task by task.

    ``first_solved`` is when it was solved first, UTC, ISO 8601; empty where it is not.
    """

    attempts: int = 0
    best: tuple[Result, ...] = ()
    first_solved: str = ""

    @property
    def points(self) -> int:
        """Those of the best attempt."""
        return sum(result.points for result in self.best)


class Doing(Struct, frozen=True):
    """The attempt that was looked at last, and how many of its tasks are done.

    ``since`` is when the last of them was done, or else when the attempt was begun: UTC, ISO 8601.
    """

    exercise: str
    attempt: int
    done: int
    tasks: int
    since: str


class _Progress(Struct, frozen=True, omit_defaults=True):
    standings: dict[str, Standing] = {}
    doing: Doing | None = None

    def after(self, exercise: str, attempt: int, results: tuple[Result, ...], solved: str) -> "_Progress":
        """The progress when an attempt has come to this, too."""
        before = self.standings.get(exercise, Standing())
        better = sum(each.points for each in results) >= before.points or not before.best
        standing = Standing(
            max(before.attempts, attempt), results if better else before.best, before.first_solved or solved
        )
        doing = self._doing_after(exercise, attempt, results)
        return _Progress({**self.standings, exercise: standing}, doing)

    def _doing_after(self, exercise: str, attempt: int, results: tuple[Result, ...]) -> Doing:
        before, done = self.doing, sum(each.state == "done" for each in results)
        if before is not None:
            is_same = (before.exercise, before.attempt) == (exercise, attempt)
            # an attempt that is gone on with is looked at from its beginning once more; one that is over may be
            # noted when the next has begun
            if done <= before.done if is_same else not any(each.is_open for each in results):
                return before
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return Doing(exercise, attempt, done, len(results), now)


def recording_of(folder: Path, exercise: str, attempt: int) -> Path:
    """What an attempt is recorded in, in the folder of whoever makes it."""
    return folder / _ATTEMPTS / f"{exercise}-{attempt:03}.jsonl"


def attempt_in(path: Path) -> Exercised | None:
    """Which attempt is recorded in this file, as its name and folder tell."""
    folder, named = path.absolute().parent, _RECORDING.fullmatch(path.name)
    if named is None or folder.name != _ATTEMPTS:
        return None
    return Exercised(named[1], folder.parent.name, int(named[2]))


class Home:
    """The folder of one student. It is made if need be. OSError, also where its progress cannot be read.

    Several processes may note progress in it at once.
    """

    def __init__(self, folder: Path, student: str) -> None:
        self.folder = folder
        self.student = student
        self.attempts = folder / _ATTEMPTS
        self.attempts.mkdir(parents=True, exist_ok=True)
        self._file = folder / PROGRESS
        self._progress = self._read()

    def standing(self, exercise: str) -> Standing:
        """What there is of this exercise so far."""
        return self._progress.standings.get(exercise, Standing())

    @property
    def standings(self) -> dict[str, Standing]:
        """What there is of each exercise that was begun."""
        return self._progress.standings

    @property
    def doing(self) -> Doing | None:
        """What the student is at, or was at last."""
        return self._progress.doing

    def next_attempt(self, exercise: str) -> tuple[int, Path]:
        """(its number, the file that it is to be recorded in)."""
        taken = [int(path.stem.rpartition("-")[2]) for path in self.recordings(exercise)]
        number = max(taken, default=0) + 1
        return number, recording_of(self.folder, exercise, number)

    def recordings(self, exercise: str) -> list[Path]:
        """Those of all attempts at this exercise, the first one first."""
        named = re.compile(rf"{re.escape(exercise)}-\d+")
        return sorted(path for path in self.attempts.glob("*.jsonl") if named.fullmatch(path.stem))

    def note(self, exercise: Exercise, attempt: int, results: tuple[Result, ...], solved: str = "") -> None:
        """Note what an attempt has come to by now; ``solved``: when, if just now. OSError."""
        noted = exercise.name, attempt, results, solved
        if self._progress.after(*noted) == self._progress:
            return
        with alone(self._file):
            before = self._read(in_place=False)
            self._progress = before.after(*noted)
            if self._progress != before:
                write_durably(self._file, msgspec.json.format(msgspec.json.encode(self._progress)))

    def _read(self, in_place: bool = True) -> _Progress:
        """What is noted. What cannot be understood is left ``in_place``, or kept beside; the recordings count."""
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Progress)
        except FileNotFoundError:
            return _Progress()
        except ValueError:
            if not in_place:
                self._file.rename(f"{self._file}.bad")
            return _Progress()
