"""A student's attempts: what they run as, and the folder with their recordings and the progress made.

A recording is written during the attempt, so a crash loses none. Progress is stored durably beside the recordings
the moment it is made, so that the list of exercises need not read them all. It is not a grade: grades come from
the recordings alone. A file with a protocol or a program leaves no recording: its progress is made when the
student has it graded.
"""

import contextlib
import getpass
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from lab.durable import exclusive_lock, write_durably
from lab.exercises.assessment import Assessment, Result, State
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import drawn_for
from lab.foreign_file import read_foreign
from lab.recording.reader import RecordStore, open_recording
from lab.recording.records import ExerciseAttempt, Header
from lab.scenario.file import World
from lab.scenario.run_scenario import config_of
from lab.worlds.host.runs import RunInfo
from lab.worlds.launch import HostProcess
from lab.worlds.loading.config import HostReady, RunConfig


def attempt_config(exercise: Exercise, student: str, attempt: int, recording: Path) -> RunConfig:
    """Build the configuration: the exercise's setup, for as long as an attempt may take.

    The exercise is as it was drawn for the student. It is live if the setup supports that. The header names the
    student and the attempt. A simulated attempt is paced by the clock, so that there is time to look at it.
    """
    world: World = "live" if "live" in exercise.setup.worlds else "simulated"
    return replace(
        config_of(exercise.setup, world, recording),
        remark=exercise.title,
        exercise=ExerciseAttempt(exercise.name, student, attempt, exercise.drawn),
        may=exercise.allowed,
    )


class Clusters(Protocol):
    """Starts and ends clusters, one at a time. All calls block."""

    def start(self, config: RunConfig) -> HostReady:
        """Start a run, and wait until it serves its feed. A run in progress ends first.

        Raises HostFailedError.
        """

    def end(self) -> str:
        """End the run, and wait for its end; return why it failed, if it did."""

    def running(self) -> RunInfo | None:
        """Return the run in progress, which an earlier session may have started."""


class LocalClusters:
    """Hosts that this process starts, and that end with it."""

    def __init__(self) -> None:
        self._host: HostProcess | None = None

    def start(self, config: RunConfig) -> HostReady:
        self.end()
        self._host = HostProcess(config)
        return self._host.ready()

    def end(self) -> str:
        host, self._host = self._host, None
        if host is None:
            return ""
        failed = host.end()
        host.close()
        return failed

    def running(self) -> RunInfo | None:
        """Return None: no run outlives the process that started it."""
        return None


# a student's folder


_ATTEMPTS = "attempts"
PROGRESS = "progress.json"
_RECORDING = re.compile(r"(.+)-(\d+)\.jsonl")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
"""The form of the name of a student or an exercise, which is a file name, too."""


def login_name() -> str:
    """Return the user's login name with other characters than those of a student's name replaced."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", getpass.getuser())[:32]


class TaskPoints(Struct, frozen=True):
    """The points of one task, and when it was done."""

    task: int
    points: int
    at: Annotated[datetime, Meta(tz=True)]


class ExerciseProgress(Struct, frozen=True, omit_defaults=True):
    """A student's progress in an exercise: the number of attempts, and the results of the best one.

    ``first_solved`` is when it was first solved, UTC, ISO 8601; empty if it is not. ``earned`` are the points of
    each attempt, by its number; a file of an earlier version has none.
    """

    attempts: int = 0
    best: tuple[Result, ...] = ()
    first_solved: str = ""
    earned: dict[int, tuple[TaskPoints, ...]] = {}

    @property
    def points(self) -> int:
        return sum(result.points for result in self.best)


class CurrentAttempt(Struct, frozen=True):
    """The latest attempt, and how many of its tasks are done.

    ``since`` is when the last of these was done, or when the attempt began: UTC, ISO 8601. ``states`` are those of
    its tasks; a file of an earlier version has none.
    """

    exercise: str
    attempt: int
    done: int
    tasks: int
    since: str
    states: tuple[State, ...] = ()


class _Progress(Struct, frozen=True, omit_defaults=True):
    all_progress: dict[str, ExerciseProgress] = field(default_factory=dict, name="standings")
    current: CurrentAttempt | None = field(default=None, name="doing")

    def after(
        self, exercise: str, attempt: int, results: tuple[Result, ...], solved: str, times: Mapping[int, datetime]
    ) -> "_Progress":
        """Return the progress updated with the results of an attempt; ``times`` is when its tasks were done."""
        before = self.all_progress.get(exercise, ExerciseProgress())
        better = sum(each.points for each in results) >= before.points or not before.best
        earned = _earned_after(before.earned.get(attempt, ()), results, times)
        progress = ExerciseProgress(
            max(before.attempts, attempt),
            results if better else before.best,
            before.first_solved or solved,
            {**before.earned, attempt: earned} if earned else before.earned,
        )
        current = self._current_after(exercise, attempt, results)
        return _Progress({**self.all_progress, exercise: progress}, current)

    def _current_after(self, exercise: str, attempt: int, results: tuple[Result, ...]) -> CurrentAttempt:
        before, done = self.current, sum(each.state == "done" for each in results)
        states = tuple(each.state for each in results)
        if before is not None:
            is_same = (before.exercise, before.attempt) == (exercise, attempt)
            # a resumed attempt is assessed from its beginning again, and a finished one may be noted only after
            # the next has begun
            if not is_same and not any(each.is_open for each in results):
                return before
            if is_same and done <= before.done:
                decided = sum(state not in ("open", "answered") for state in before.states)
                is_behind = sum(not each.is_open for each in results) < decided
                return before if is_behind else replace(before, states=states)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return CurrentAttempt(exercise, attempt, done, len(results), now, states)


def _earned_after(
    before: tuple[TaskPoints, ...], results: tuple[Result, ...], times: Mapping[int, datetime]
) -> tuple[TaskPoints, ...]:
    """Return the points of an attempt; a task was done when ``times`` has it, or else when it was first noted."""
    noted = {each.task: each.at for each in before}
    now = datetime.now(UTC).replace(microsecond=0)
    return tuple(
        TaskPoints(each.task, each.points, times.get(each.task) or noted.get(each.task, now))
        for each in results
        if each.points
    )


def recording_of(folder: Path, exercise: str, attempt: int) -> Path:
    """Return the path of an attempt's recording in the student's folder."""
    return folder / _ATTEMPTS / f"{exercise}-{attempt:03}.jsonl"


def attempt_in(path: Path) -> ExerciseAttempt | None:
    """Return which attempt this file records, judging by its name and folder."""
    folder, named = path.absolute().parent, _RECORDING.fullmatch(path.name)
    if named is None or folder.name != _ATTEMPTS:
        return None
    return ExerciseAttempt(named[1], folder.parent.name, int(named[2]))


class StudentFolder:
    """The folder of one student, created if needed. Several processes may update its progress at once.

    ``nonce`` is that of the course; at home there is none. Raises OSError, also if the progress cannot be read.
    """

    def __init__(self, folder: Path, student: str, nonce: bytes = b"") -> None:
        self.folder = folder
        self.student = student
        self.nonce = nonce
        self.attempts = folder / _ATTEMPTS
        self.attempts.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = folder / PROGRESS
        self._progress = self._read()

    def progress_of(self, exercise: str) -> ExerciseProgress:
        """Return the progress made in this exercise."""
        return self._progress.all_progress.get(exercise, ExerciseProgress())

    @property
    def all_progress(self) -> dict[str, ExerciseProgress]:
        """The progress in each exercise that was started."""
        return self._progress.all_progress

    @property
    def current(self) -> CurrentAttempt | None:
        """The current attempt, or the last one."""
        return self._progress.current

    def next_attempt(self, exercise: str) -> tuple[int, Path]:
        """Return the next attempt's number, and the path of its recording."""
        taken = [int(path.stem.rpartition("-")[2]) for path in self.recordings(exercise)]
        number = max(taken, default=0) + 1
        return number, recording_of(self.folder, exercise, number)

    def recordings(self, exercise: str) -> list[Path]:
        """Return the recordings of all attempts at this exercise, in order."""
        named = re.compile(rf"{re.escape(exercise)}-\d+")
        return sorted(path for path in self.attempts.glob("*.jsonl") if named.fullmatch(path.stem))

    def note(
        self,
        exercise: Exercise,
        attempt: int,
        results: tuple[Result, ...],
        solved: str = "",
        times: Mapping[int, datetime] | None = None,
    ) -> None:
        """Store the results of an attempt. ``solved`` is the time if it was solved just now.

        ``times`` is when its tasks were done, if that is known better than *now*. Raises OSError.
        """
        update = exercise.name, attempt, results, solved, times or {}
        if self._progress.after(*update) == self._progress:
            return
        with exclusive_lock(self._file):
            before = self._read(in_place=False)
            self._progress = before.after(*update)
            if self._progress != before:
                write_durably(self._file, msgspec.json.format(msgspec.json.encode(self._progress)))

    def note_file(self, exercise: Exercise, results: tuple[Result, ...]) -> None:
        """Store the results of a file that was graded, as those of the next attempt. Raises OSError."""
        is_solved = all(result.state == "done" for result in results)
        solved = datetime.now(UTC).isoformat(timespec="seconds") if is_solved else ""
        self.note(exercise, self.progress_of(exercise.name).attempts + 1, results, solved)

    def _read(self, in_place: bool = True) -> _Progress:
        """Read the progress; none if the file cannot be decoded, which is then renamed unless ``in_place``."""
        try:
            return msgspec.json.decode(read_foreign(self._file), type=_Progress)
        except FileNotFoundError:
            return _Progress()
        except ValueError:
            if not in_place:
                self._file.rename(f"{self._file}.bad")
            return _Progress()


def record_progress(folder: StudentFolder, recording: Path, exercises: Mapping[str, Exercise]) -> None:
    """Store in the student's folder what this attempt achieved. Raises NotARecordingError or OSError.

    A recording that is not this student's attempt at one of these exercises is ignored.
    """
    with contextlib.closing(open_recording(recording)) as store:
        of = store.header.exercise
        if of is None or of.student != folder.student or of.name not in exercises:
            return
        exercise = drawn_for(exercises[of.name], folder.student, folder.nonce)
        assessment = Assessment(exercise, store.header)
        for record in store.records():
            assessment.observe(record)
        status = assessment.status
        times = {
            result.task: decided_at(store, result, recording)
            for result in status.results
            if result.state == "done"
        }
        solved = max(times.values()).isoformat(timespec="seconds") if status.is_solved else ""
        folder.note(exercise, of.attempt, status.results, solved, times)


def decided_at(store: RecordStore, result: Result, recording: Path) -> datetime:
    """Return when a task was decided, in UTC and whole seconds."""
    at_us = getattr(store.record(result.record), "at_us", 0)
    return record_time(store.header, at_us, recording).astimezone(UTC).replace(microsecond=0)


def record_time(header: Header, at_us: int, recording: Path) -> datetime:
    """Return the time of day of an instant of the run; of a simulated run, the last write to its file."""
    if header.began:
        return datetime.fromisoformat(header.began) + timedelta(microseconds=at_us)
    return datetime.fromtimestamp(recording.stat().st_mtime, UTC)
