"""``lab`` without a command: show the home screen and run what is chosen, until the user leaves."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from lab.cli.terminal import EXIT_INTERRUPTED
from lab.exercises.attempts import ExerciseProgress, StudentFolder, login_name
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import ExerciseError, all_exercises, find_exercise
from lab.output import print_line
from lab.places import exercises_folder, recordings_folder, shipped_recordings
from lab.protocols import CURRICULUM, PROTOCOLS, TASKS
from lab.scenario.file import read_head, shipped, split_scenario
from lab.tui.apps.home_items import ExerciseState, HomeItem, RecordingFile, ScenarioFile, Variant
from lab.tui.terminal.guard import run_guarded
from lab.units import format_count, format_ranges
from lab.worlds.host.runs import list_runs

RECOMMENDED = (
    "figure-3-12",
    "pause-makes-two-coordinators",
    "invitation-partition-in-two",
    "2pc-all-must-wait",
    "3pc-a-partition-breaks-it",
)
"""The scenarios that are listed unfolded."""
_MOST_RECORDINGS = 4
_MOST_EXERCISES = 4
"""Listed unfolded."""
_TOUR = (
    "Real processes elect a coordinator, or commit the transactions of a bank. You watch, and kill, pause, delay "
    "or partition them.\n\nThe tour shows how, in five steps of a minute each: kill a coordinator, find when its "
    "successor was elected, export the run."
)


def home_items() -> list[HomeItem]:
    """Return all items but the exercises, which are read more slowly."""
    running, _ = list_runs()
    unfinished = {Path(info.recording).resolve() for info in running}
    recordings = [path for path in _own_recordings() if path.resolve() not in unfinished]
    last = [
        *_last_attempt(),
        *((date, _recording("continue", path, date)) for date, path in _dated(recordings[:1])),
    ]
    found = [item for _, item in sorted(last, key=lambda each: each[0], reverse=True)]
    tour = (Variant("", ("tour",)),)
    found.append(HomeItem("learn" if found else "new here?", "tour", tour, _TOUR, "five steps, five minutes"))
    known = {**PROTOCOLS, **TASKS}
    found += [HomeItem("start", name, _variants_of(name), known[name]) for name in CURRICULUM]
    for place, (date, path) in enumerate(_dated(recordings)):
        found.append(_recording("look: recordings", path, date, is_folded=place >= _MOST_RECORDINGS))
    found += [_recording("look: recordings", path, "an example") for path in shipped_recordings()]
    found += _scenarios()
    for info in running:
        began = f"since {_local(datetime.fromisoformat(info.began))}" if info.began else ""
        text = (
            f"A run that is going on: {info.protocol}, nodes {format_ranges(info.nodes)}, {info.world}, {began}."
        )
        attach = (Variant("", ("attach", info.run)),)
        found.append(
            HomeItem("running", info.run, attach, f"{text} It may be somebody's work: q leaves it.", began)
        )
    return found


def exercise_items() -> list[HomeItem]:
    """Return the exercises: those begun first, those solved last."""
    own = _student_folder()
    try:
        exercises = all_exercises()
    except ExerciseError:  # lab exercise check reports it
        return []
    states = [_state_of(each, own) for each in exercises]
    states.sort(key=lambda state: (bool(state.progress.first_solved), not state.progress.attempts))
    return [_exercise("learn", state, place >= _MOST_EXERCISES) for place, state in enumerate(states)]


def _variants_of(protocol: str) -> tuple[Variant, ...]:
    """Return the ways to run an algorithm."""
    return (
        Variant("five nodes", ("run", protocol)),
        Variant("eight nodes, 0 to 7", ("run", protocol, "--nodes", "0-7")),
        Variant("slow enough to follow every message", ("run", protocol, "--t", "1s")),
        Variant("simulated: freeze, step, choose the next event", ("run", protocol, "--sim", "--speed", "0.1")),
    )


# recordings and scenarios


def _own_recordings() -> list[Path]:
    """Return the user's recordings, the newest first."""
    return sorted(recordings_folder().glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)


def _dated(recordings: list[Path]) -> Iterator[tuple[datetime, Path]]:
    """Yield the recordings with the dates of their last records."""
    return ((datetime.fromtimestamp(path.stat().st_mtime, UTC), path) for path in recordings)


def _recording(section: str, path: Path, note: datetime | str, is_folded: bool = False) -> HomeItem:
    replay = (Variant("", ("replay", str(path))),)
    text = note if isinstance(note, str) else _local(note)
    return HomeItem(section, path.stem, replay, RecordingFile(path), text, is_folded)


def _scenarios() -> Iterator[HomeItem]:
    """Yield the scenarios, the recommended ones first."""
    places = {name: place for place, name in enumerate(RECOMMENDED)}
    for path in sorted(shipped(), key=lambda path: places.get(path.stem, len(places))):
        head, _, _ = split_scenario(path.read_text("utf-8"))
        title = str(read_head(head).values.get("title", ""))
        run, is_folded = (Variant("", ("run", path.stem)),), path.stem not in RECOMMENDED
        yield HomeItem("look: scenarios", path.stem, run, ScenarioFile(path), title, is_folded)


def _local(date: datetime) -> str:
    """Format a date in the time zone of this machine."""
    return f"{date.astimezone():%Y-%m-%d %H:%M}"


# exercises


def _last_attempt() -> Iterator[tuple[datetime, HomeItem]]:
    """Yield the exercise attempted last, with the date; nothing if there is none."""
    own = _student_folder()
    current = None if own is None else own.current
    if current is None:
        return
    try:
        exercise = find_exercise(current.exercise)
    except ExerciseError:  # one of a teacher's own
        return
    yield datetime.fromisoformat(current.since), _exercise("continue", _state_of(exercise, own))


def _student_folder() -> StudentFolder | None:
    """Return the folder of the user's own attempts, if there is one."""
    name = login_name()
    folder = exercises_folder(name)
    try:
        return StudentFolder(folder, name) if folder.is_dir() else None
    except OSError:
        return None


def _state_of(exercise: Exercise, own: StudentFolder | None) -> ExerciseState:
    return ExerciseState(exercise, ExerciseProgress() if own is None else own.progress_of(exercise.name))


def _exercise(section: str, state: ExerciseState, is_folded: bool = False) -> HomeItem:
    exercise, progress = state.exercise, state.progress
    note = "new"
    if progress.attempts:
        solved = "solved, " if progress.first_solved else ""
        note = f"{solved}best {progress.points} of {format_count(exercise.points, 'point')}"
    start = (Variant("", ("exercise", "start", exercise.name)),)
    return HomeItem(section, exercise.name, start, state, f"{note}: {exercise.title}", is_folded)


# the loop


def run_home() -> int:
    """Show the home screen, run what is chosen, repeat; return the exit status."""
    chosen: tuple[str, ...] = ()
    while True:
        items = home_items()
        reading, writing = os.pipe()

        def interface(
            writing: int = writing, items: list[HomeItem] = items, last: tuple[str, ...] = chosen
        ) -> int:
            from lab.tui.apps.home_app import show_home  # noqa: PLC0415 - loads the interface

            arguments, status = show_home(items, exercise_items, last)
            os.write(writing, msgspec.json.encode(arguments or ()))
            return status

        status = run_guarded(interface)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        chosen = msgspec.json.decode(answer, type=tuple[str, ...]) if answer else ()
        if not chosen:
            return status
        print_line(f"lab {shlex.join(chosen)}")
        status = subprocess.run([sys.executable, "-P", "-m", "lab", *chosen], check=False).returncode
        if status not in (0, EXIT_INTERRUPTED):
            return status
