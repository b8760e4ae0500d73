"""``lab`` without a command: show the home screen and run what is chosen, until the user leaves."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Set
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from lab.cli.terminal import EXIT_INTERRUPTED
from lab.exercises.attempts import ExerciseProgress, StudentFolder, login_name
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import ExerciseError, all_exercises, find_exercise, titles
from lab.foreign_file import open_foreign
from lab.output import print_line
from lab.places import exercises_folder, recordings_folder, shipped_recordings
from lab.protocols import PROTOCOLS, TASKS
from lab.recording.reader import LARGEST_RECORDING, NotARecordingError, read_header_from
from lab.scenario.file import read_head, shipped, split_scenario
from lab.text import sanitize
from lab.tui.apps.home_items import ExerciseState, HomeChoice, HomeItem, RecordingFile, ScenarioFile, Variant
from lab.tui.terminal.guard import run_guarded
from lab.units import format_count, format_ranges
from lab.worlds.campaign.campaign import Campaign
from lab.worlds.campaign.campaign_recording import COMMANDS, CampaignHeader, read_campaign_header
from lab.worlds.campaign.exploration import ExplorationCampaign
from lab.worlds.host.runs import RunInfo, list_runs

RECOMMENDED = (
    "figure-3-12",
    "pause-makes-two-coordinators",
    "invitation-partition-in-two",
    "2pc-all-must-wait",
    "3pc-a-partition-breaks-it",
)
"""The scenarios that are listed unfolded."""
_PHRASES = {
    "bully": ("the highest node that is up leads", "highest leads"),
    "bully-tanenbaum": ("Tanenbaum's version, with OK answers", "bully with OK"),
    "ring": ("a list of ids goes round a ring", "ids round a ring"),
    "invitation": ("a leader in each group; groups merge", "groups merge"),
    "token": ("only the holder of the token enters", "mutual exclusion"),
    "field": ("a group surveys, a majority agrees", "a group surveys"),
    "2pc": ("all commit or none; may block", "commit or block"),
    "3pc": ("all or none; a majority finishes it", "a majority ends"),
    "e3pc": ("all or none; no majority ever blocks", "never blocks"),
}
"""A phrase about each algorithm, at length and for a narrow list."""
_SLOW = ("--t", "2s", "--latency", "500ms")
"""A message and its answer take half of T, so that no node suspects another one."""
_RUN_NAME = re.compile(r"(.+)-\d{4}-\d{6}-[0-9a-f]{4}")
"""The name of a run that was not named by the user: what ran, date, time, and a random number."""
_SHORT_NAME = 18
_MOST_RECORDINGS = 4
_MOST_CAMPAIGNS = 2
_MOST_EXERCISES = 4
"""Listed unfolded."""
_TOUR = (
    "Real processes elect a coordinator, or commit the transactions of a bank. You watch, and kill, pause, delay "
    "or partition them.\n\nThe tour shows how, in five steps of a minute each: kill a coordinator, find when its "
    "successor was elected, export the run."
)


def home_items() -> list[HomeItem]:
    """Return all items; the exercises, which are read more slowly, without their texts."""
    running, _ = list_runs()
    unfinished = {Path(info.recording).resolve() for info in running}
    recordings = [
        path for path in _own_recordings() if path.resolve() not in unfinished and _campaign_in(path) is None
    ]
    last = [
        *_last_attempt(),
        *((date, _recording("continue", path, date)) for date, path in _dated(recordings[:1])),
    ]
    found = [item for _, item in sorted(last, key=lambda each: each[0], reverse=True)]
    tour = (Variant("", ("tour",)),)
    section, minutes = "learn" if found else "new here?", "five steps, five minutes"
    found.append(HomeItem(section, "tour", tour, _TOUR, minutes, short_note="five minutes"))
    known = {**PROTOCOLS, **TASKS}
    for name, (note, short) in _PHRASES.items():
        found.append(HomeItem("start", name, _variants_of(name), known[name], note, short_note=short))
    found += _unread_exercises()
    for place, (date, path) in enumerate(_dated(recordings)):
        found.append(_recording("look: recordings", path, date, is_folded=place >= _MOST_RECORDINGS))
    found += [_recording("look: recordings", path, "an example") for path in shipped_recordings()]
    found += _campaigns()
    found += _scenarios()
    return found + [_running(info) for info in running]


def exercise_items() -> list[HomeItem]:
    """Return the exercises: those begun first, those solved last."""
    own = _student_folder()
    try:
        exercises = all_exercises()
    except ExerciseError:  # lab exercise check reports it
        return []
    states = [_state_of(each, own) for each in exercises]
    states.sort(key=lambda state: _place_of(state.progress))
    return [_exercise("learn", state, place >= _MOST_EXERCISES) for place, state in enumerate(states)]


def _unread_exercises() -> Iterator[HomeItem]:
    """Yield items in the places of ``exercise_items``, until those are read: so no row has to move."""
    own = _student_folder()
    known = {name: (title, _progress_in(name, own)) for name, title in titles().items()}
    names = sorted(known, key=lambda name: _place_of(known[name][1]))
    for place, name in enumerate(names):
        title, progress = known[name]
        note = "begun" if progress.attempts else "new"
        is_folded = place >= _MOST_EXERCISES
        text = "reading the exercise …"
        yield HomeItem("learn", name, _start(name), text, f"{note}: {title}", is_folded, short_note=note)


def _place_of(progress: ExerciseProgress) -> tuple[bool, bool]:
    """Return what exercises are sorted by: those begun come first, those solved last."""
    return bool(progress.first_solved), not progress.attempts


def _variants_of(protocol: str) -> tuple[Variant, ...]:
    """Return the ways to run an algorithm."""
    return (
        Variant("five nodes", ("run", protocol)),
        Variant("eight nodes, 0 to 7", ("run", protocol, "--nodes", "0-7")),
        Variant("twelve nodes, or as many as --nodes says", ("run", protocol, "--nodes", "12")),
        Variant("slow enough to follow every message", ("run", protocol, *_SLOW)),
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
    """Return the item of a recording; the name of a run says less than what ran, on how many nodes, and when."""
    replay = (Variant("", ("replay", str(path))),)
    text = note if isinstance(note, str) else format_age(note, datetime.now(UTC))
    ran = _RUN_NAME.fullmatch(path.stem)
    if ran is None or isinstance(note, str):
        return HomeItem(section, path.stem, replay, RecordingFile(path), text, is_folded)
    label = ", ".join(filter(None, (ran[1], _nodes_in(path), text)))
    short = f"{sanitize(ran[1], _SHORT_NAME)}, {text}"
    subject = RecordingFile(path)
    return HomeItem(section, path.stem, replay, subject, "", is_folded, label=label, short_label=short)


def _campaigns() -> Iterator[HomeItem]:
    """Yield the campaigns in this folder and among the user's recordings, the newest first."""
    files = [*Path.cwd().glob("*.jsonl"), *recordings_folder().glob("*.jsonl")]
    known = {path.resolve(): header for path in files if (header := _campaign_in(path)) is not None}
    dated = sorted(_dated(list(known)), reverse=True)
    for place, (date, path) in enumerate(dated):
        plan = known[path].campaign
        protocols = ", ".join(base.protocol.title for base in plan.bases)
        made_by = COMMANDS[type(plan)]
        runs = format_count(plan.runs, "run") if plan.runs else "runs without end"
        text = (
            f"A campaign of lab {made_by}: {sanitize(protocols, 200)}, {runs}.\n\nEnter shows what was tried, "
            "and what was found, in groups; Enter on a group opens its smallest finding."
        )
        show = (Variant("", ("campaign", "show", str(path))),)
        note = f"campaign, {format_age(date, datetime.now(UTC))}"
        is_folded = place >= _MOST_CAMPAIGNS
        yield HomeItem("look: recordings", path.stem, show, text, note, is_folded, short_note="campaign")


def _campaign_in(path: Path) -> CampaignHeader | None:
    """Return the first line of a campaign with findings; None of any other file."""
    try:
        header = read_campaign_header(path)
    except OSError:
        return None
    return header if header is not None and isinstance(header.campaign, Campaign | ExplorationCampaign) else None


def _nodes_in(path: Path) -> str:
    """Return how many nodes a recording is of; nothing if it cannot be read."""
    try:
        with open_foreign(path, LARGEST_RECORDING) as file:
            return format_count(len(read_header_from(file, str(path)).nodes), "node")
    except (OSError, NotARecordingError):
        return ""


def format_age(date: datetime, now: datetime) -> str:
    """Return when something was, as briefly as one may say it, in the time zone of this machine."""
    minutes, days = (now - date) // timedelta(minutes=1), (now.astimezone().date() - date.astimezone().date()).days
    if 0 <= minutes < 60:
        return f"{minutes} min ago" if minutes else "just now"
    if days == 0:
        return f"today {date.astimezone():%H:%M}"
    return f"{date.astimezone():%d %b %H:%M}" if 0 < days < 300 else f"{date.astimezone():%Y-%m-%d}"


def _running(info: RunInfo) -> HomeItem:
    """Return the item of a run that is going on."""
    began = datetime.fromisoformat(info.began) if info.began else None
    since = "" if began is None else f"since {began.astimezone():%H:%M}"
    owner = _owner_of(info)
    ran = _RUN_NAME.fullmatch(info.run)
    name = info.run if ran is None else ran[1]
    text = (
        f"A run that is going on: {info.protocol}, nodes {format_ranges(info.nodes)}, {info.world}, {since}.\n\n"
        f"It is {owner}. Enter joins it, and q leaves it going on; what you do in it happens to all who watch it."
    )
    return HomeItem(
        "running",
        info.run,
        (Variant("", ("attach", info.run)),),
        text,
        since,
        label=f"{name}, {format_count(len(info.nodes), 'node')}, {owner}",
        short_label=f"{sanitize(name, _SHORT_NAME)}, {owner}",
    )


def _owner_of(info: RunInfo) -> str:
    """Return whose a run is: it is recorded in its owner's folder, unless the owner named another file."""
    recording = Path(info.recording).resolve()
    own = recordings_folder(), exercises_folder(login_name())
    if any(recording.is_relative_to(folder.resolve()) for folder in own):
        return "yours"
    try:
        owner = recording.owner()
    except (OSError, KeyError):
        owner = ""
    return "somebody's" if owner in ("", login_name()) else f"{sanitize(owner, _SHORT_NAME)}'s"


def _scenarios() -> Iterator[HomeItem]:
    """Yield the scenarios, the recommended ones first."""
    places = {name: place for place, name in enumerate(RECOMMENDED)}
    for path in sorted(shipped(), key=lambda path: places.get(path.stem, len(places))):
        head, _, _ = split_scenario(path.read_text("utf-8"))
        title = str(read_head(head).values.get("title", ""))
        run, is_folded = (Variant("", ("run", path.stem)),), path.stem not in RECOMMENDED
        yield HomeItem("look: scenarios", path.stem, run, ScenarioFile(path), title, is_folded)


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
    return ExerciseState(exercise, _progress_in(exercise.name, own))


def _progress_in(exercise: str, own: StudentFolder | None) -> ExerciseProgress:
    return ExerciseProgress() if own is None else own.progress_of(exercise)


def _start(exercise: str) -> tuple[Variant, ...]:
    return (Variant("", ("exercise", "start", exercise)),)


def _exercise(section: str, state: ExerciseState, is_folded: bool = False) -> HomeItem:
    exercise, progress = state.exercise, state.progress
    note = "new"
    if progress.attempts:
        solved = "solved, " if progress.first_solved else ""
        note = f"{solved}best {progress.points} of {format_count(exercise.points, 'point')}"
    title = f"{note}: {exercise.title}"
    return HomeItem(section, exercise.name, _start(exercise.name), state, title, is_folded, short_note=note)


# the loop


def run_home() -> int:
    """Show the home screen, run what is chosen, repeat; return the exit status."""
    chosen, message = HomeChoice(), ""
    while True:
        items = home_items()
        reading, writing = os.pipe()

        def interface(
            writing: int = writing,
            items: list[HomeItem] = items,
            last: HomeChoice = chosen,
            message: str = message,
        ) -> int:
            from lab.tui.apps.home_app import show_home  # noqa: PLC0415 - loads the interface

            choice, status = show_home(items, exercise_items, last, message)
            os.write(writing, msgspec.json.encode(choice or HomeChoice()))
            return status

        status = run_guarded(interface)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        chosen = msgspec.json.decode(answer, type=HomeChoice) if answer else HomeChoice()
        if not chosen.arguments:
            return status
        before = set(_own_recordings())
        print_line(f"lab {shlex.join(chosen.arguments)}")
        command = [sys.executable, "-P", "-m", "lab", *chosen.arguments]
        status = subprocess.run(command, check=False).returncode
        if status not in (0, EXIT_INTERRUPTED):
            return status
        message = describe_end(chosen.arguments, before)


def describe_end(arguments: tuple[str, ...], before: Set[Path]) -> str:
    """Return what became of the run of these arguments; ``before`` are the recordings made before it."""
    running = {info.run for info in list_runs()[0]}
    if arguments[0] == "attach":
        return f"{arguments[1]} {'goes on' if arguments[1] in running else 'has ended'}"
    recorded = [path.stem for path in _own_recordings() if path not in before and path.stem not in running]
    if not recorded:
        return ""
    continued = [item.title for item in home_items() if item.section == "continue"]
    where = "first row under CONTINUE" if continued[:1] == recorded[:1] else "listed under LOOK: RECORDINGS"
    return f"{recorded[0]} ended; recorded, {where}"
