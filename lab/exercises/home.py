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

from lab.durable import write_durably
from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise

__all__ = ["NAME", "Doing", "Home", "Standing", "recording_of"]

_ATTEMPTS = "attempts"
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


class _Progress(Struct, omit_defaults=True):
    standings: dict[str, Standing] = {}
    doing: Doing | None = None


def recording_of(folder: Path, exercise: str, attempt: int) -> Path:
    """What an attempt is recorded in, in the folder of whoever makes it."""
    return folder / _ATTEMPTS / f"{exercise}-{attempt:03}.jsonl"


class Home:
    """The folder of one student. It is made if need be."""

    def __init__(self, folder: Path, student: str) -> None:
        self.folder = folder
        self.student = student
        self.attempts = folder / _ATTEMPTS
        self.attempts.mkdir(parents=True, exist_ok=True)
        self._file = folder / "progress.json"
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
        before = self.standing(exercise.name)
        better = sum(each.points for each in results) >= before.points or not before.best
        standing = Standing(
            max(before.attempts, attempt), results if better else before.best, before.first_solved or solved
        )
        doing = self._doing(exercise, attempt, results)
        if (standing, doing) != (before, self.doing):
            self._progress.standings[exercise.name] = standing
            self._progress.doing = doing
            write_durably(self._file, msgspec.json.format(msgspec.json.encode(self._progress)))

    def _doing(self, exercise: Exercise, attempt: int, results: tuple[Result, ...]) -> Doing:
        before, done = self.doing, sum(each.state == "done" for each in results)
        is_same = before is not None and (before.exercise, before.attempt) == (exercise.name, attempt)
        if before is not None and is_same and done <= before.done:
            return before  # an attempt that is gone on with is looked at from its beginning once more
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return Doing(exercise.name, attempt, done, len(results), now)

    def _read(self) -> _Progress:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Progress)
        except FileNotFoundError:
            return _Progress()
        except (OSError, msgspec.DecodeError):  # the recordings are there still, and a grade is made from them
            return _Progress()
