"""The exercises under a pilot: a student with a folder, an exercise of these tests, and its clusters."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from lab.exercises.attempts import LocalClusters, StudentFolder, attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import find_exercise, read_exercise
from lab.exercises.exercise_validation import read_commands
from lab.exercises.teacher import Notice
from lab.tui.apps.classroom_app import ClassroomApp
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.attempt_log import AttemptLog
from lab.tui.screen import RunScreen
from lab.worlds.host.runs import RunInfo
from lab.worlds.launch import HostFailedError
from lab.worlds.loading.config import HostReady, RunConfig
from lab.worlds.simulated.execution import run_to_end
from tests.tui.seen import Seen, Test

__all__ = [
    "HEAD",
    "INSTRUCTIONS",
    "LastingClusters",
    "QuietTeacher",
    "attempt_of",
    "attempted",
    "classroom",
    "listed",
    "made",
    "student",
    "taught",
]

_END_US = 5_000_000

HEAD = """\
title = "Pause one"
kind = "bring about"
level = 1
teaches = ["A1.1", "B1"]
may = ["pause", "resume"]

[[task]]
points = 1
question = "Who leads, when 5 is paused?"
choices = ["4", "5", "4 and 5"]
answer = "4 and 5"
before = "5 paused and 4 leads"
explains = "Silence is all that a paused node and a dead one have in common."

[[task]]
points = 2
reach = "5 leads and 4 leads"
at_most = 1
explains = "The bully takes silence for death."

[[task]]
points = 2
explain = "Why is that no failure of the bully?"

[[task]]
points = 1
question = "How many nodes are there?"
answer = ["5", "five"]
"""
SETUP = """\
title = "Pause one"
protocol = "bully"
nodes = "5"
t = "100ms"
worlds = ["simulated"]
for = "10m"
---
when all normal: say "begin"
"""
INSTRUCTIONS = """\
# Pause one

Five nodes run the **bully**. Press `5`, then `p`.

## 1. Predict

Say it before you do it.

## 2. Two leaders

Make two nodes lead.

## 3. Explain

In your own words.

## 4. Count

Look at them.
"""
HINTS = """\
# Task 2

## Free

Who has to be silent?

## Costs 1

`5`, then `p`.
"""


def made(
    folder: Path, head: str = HEAD, instructions: str = INSTRUCTIONS, hints: str = HINTS, name: str = "pause-one"
) -> Exercise:
    """Write an exercise to a folder and read it."""
    own = folder / name
    own.mkdir(parents=True)
    (own / "mended.py").write_text("")
    for file, text in (
        ("exercise.toml", head),
        ("setup.scenario", SETUP),
        ("instructions.md", instructions),
        ("hints.md", hints),
    ):
        (own / file).write_text(text)
    return read_exercise(own)


class LastingClusters(LocalClusters):
    """Clusters as on a server: they outlive the session."""

    def __init__(self) -> None:
        super().__init__()
        self._info: RunInfo | None = None

    def start(self, config: RunConfig) -> HostReady:
        ready = super().start(config)
        self._info = RunInfo(
            config.run, ready.pid, config.protocol, config.nodes, "", config.recording, ready.socket, config.world
        )
        return ready

    def end(self) -> str:
        self._info = None
        return super().end()

    def running(self) -> RunInfo | None:
        return self._info


class QuietTeacher:
    """A teacher whose notices the test sends itself; it notes what the student's session reports."""

    def __init__(self) -> None:
        self.votes: list[tuple[int, int]] = []
        self.read: list[int] = []
        self.following: list[bool] = []
        self.branched: list[tuple[str, int, int]] = []

    def listen(self, callback: Callable[[Notice], object]) -> None:
        """Send no notice."""

    def vote(self, serial: int, choice: int) -> None:
        self.votes.append((serial, choice))

    def mark_read(self, serials: tuple[int, ...]) -> None:
        self.read += serials

    def report_following(self, follows: bool) -> None:
        self.following.append(follows)

    def start_branch(self, lecture: str, run: int, record: int) -> HostReady:
        """Note it, and start none."""
        self.branched.append((lecture, run, record))
        raise HostFailedError("this teacher has no server")

    def end_branch(self) -> None:
        """End none."""


def student(folder: Path) -> StudentFolder:
    """Return the folder of the student anna."""
    return StudentFolder(folder / "anna", "anna")


def classroom(
    test: Test,
    home: StudentFolder,
    exercises: Sequence[Exercise],
    clusters: LocalClusters | None = None,
    is_served: bool = False,
    first: str = "",
    size: tuple[int, int] = (120, 40),
) -> ClassroomApp:
    """Run the interface over the exercises and the test in it; own clusters end with it."""
    own = clusters or LocalClusters()

    async def run() -> ClassroomApp:
        app = ClassroomApp(home, own, exercises, is_served, first)
        async with app.run_test(size=size) as pilot:
            seen = Seen(app, pilot)
            await seen.until(lambda: any(isinstance(each, ListScreen) for each in app.screen_stack), "the list")
            if first:
                await seen.until(lambda: seen.top is not listed(seen), "what it begins with")
            if isinstance(seen.top, RunScreen):
                await seen.drawn()
            await test(seen)
        return app

    try:
        return asyncio.run(run())
    finally:
        if clusters is None:
            own.end()


def taught(test: Test, folder: Path, size: tuple[int, int] = (120, 40), is_served: bool = False) -> StudentFolder:
    """Run a test in an attempt, once 5 leads; return the student's folder."""
    home = student(folder)

    async def ready(seen: Seen) -> None:
        await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")
        await test(seen)

    classroom(ready, home, [made(folder)], is_served=is_served, first="pause-one", size=size)
    return home


def attempted(path: Path, name: str = "two-coordinators") -> Path:
    """Record an attempt at a built-in exercise, with a hint and all tasks done."""
    exercise = find_exercise(name)
    commands = read_commands(exercise, (exercise.folder / "solution.script").read_text())
    config = replace(
        attempt_config(exercise, "anna", 2, path),
        world="simulated",
        commands=("when all normal: hint 2", *commands),
        speed=None,
    )
    run_to_end(config, _END_US, lambda now_us: "", lambda done: None)
    return path


def attempt_of(seen: Seen) -> AttemptLog:
    attempt = seen.source.attempt
    assert attempt is not None
    return attempt


def listed(seen: Seen) -> ListScreen:
    return next(each for each in seen.app.screen_stack if isinstance(each, ListScreen))
