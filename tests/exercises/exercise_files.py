"""Exercises written for a test."""

from functools import cache
from pathlib import Path

from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import SHIPPED, all_exercises, names, read_exercise

HEAD = """\
title = "A test"
kind = "bring about"
level = 1
teaches = ["A1.1"]
may = ["pause", "resume", "kill", "restart", "cut"]
"""

SETUP = """\
title = "A test"
protocol = "bully"
nodes = "5"
t = "200ms"
latency = "10ms"
worlds = ["simulated"]
for = "10s"
---
when all normal: say "begin"
"""

TASK = '[[task]]\npoints = 2\nreach = "coordinators == 2"\n'


@cache
def shipped_exercises() -> tuple[Exercise, ...]:
    """Return the program's own exercises; to read them takes a second: no module does so when it is imported."""
    return tuple(all_exercises())


def shipped_with(text: str) -> list[str]:
    """Return the names of the program's own exercises that have this text in their head."""
    return [name for name in names() if text in (SHIPPED / name / "exercise.toml").read_text("utf-8")]


def write_exercise(
    folder: Path,
    tasks: str = TASK,
    *,
    head: str = HEAD,
    setup: str = SETUP,
    instructions: str | None = None,
    hints: str = "",
) -> Path:
    """Write the files of an exercise; without ``instructions``, its tasks are titled by number."""
    folder.mkdir(parents=True, exist_ok=True)
    named = "".join(f"## {n}. Task {n}\n\nDo it.\n\n" for n in range(1, tasks.count("[[task]]") + 1))
    (folder / "exercise.toml").write_text(head + tasks)
    (folder / "setup.scenario").write_text(setup)
    (folder / "instructions.md").write_text(
        "# A test\n\nText.\n\n" + named if instructions is None else instructions
    )
    (folder / "hints.md").write_text(hints)
    return folder


def make_exercise(folder: Path, tasks: str = TASK, *, hints: str = "", setup: str = SETUP) -> Exercise:
    """Write an exercise and read it."""
    return read_exercise(write_exercise(folder / "made", tasks, hints=hints, setup=setup))
