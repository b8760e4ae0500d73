"""The exercises that come with the program, or are in a teacher's folder."""

from pathlib import Path

from lab.exercises.exercise import Exercise
from lab.exercises.reading import ExerciseError, read_exercise
from lab.text import did_you_mean, sanitize

__all__ = ["SHIPPED", "all_exercises", "find_exercise", "names", "resolve_exercise"]

SHIPPED = Path(__file__).parent / "library"
_HEAD = "exercise.toml"


def names(folder: Path = SHIPPED) -> list[str]:
    """Return the names of the exercises in this folder, sorted."""
    return sorted(each.parent.name for each in folder.glob(f"*/{_HEAD}"))


def find_exercise(name: str, folder: Path = SHIPPED) -> Exercise:
    """Read the exercise of this name from this folder, and no other. Raises ExerciseError."""
    known = names(folder)
    if name not in known:
        else_ = "; lab exercise list shows all"
        raise ExerciseError([f"unknown exercise {sanitize(name, 60)}{did_you_mean(name, known) or else_}"])
    return read_exercise(folder / name)


def resolve_exercise(named: str, folder: Path = SHIPPED) -> Exercise:
    """Read the exercise that a user names, by its name or by a path: ./NAME. Raises ExerciseError."""
    return read_exercise(Path(named)) if "/" in named else find_exercise(named, folder)


def all_exercises(folder: Path = SHIPPED) -> list[Exercise]:
    """Read all exercises in this folder, sorted by level, place and name. Raises ExerciseError."""
    found = [read_exercise(folder / name) for name in names(folder)]
    return sorted(found, key=lambda each: (each.level, each.place, each.name))
