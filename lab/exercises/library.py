"""The exercises that come with the program, or are in a folder of a teacher's."""

from pathlib import Path

from lab.exercises.exercise import Exercise
from lab.exercises.reading import ExerciseError, read_exercise
from lab.text import did_you_mean, sanitize

__all__ = ["SHIPPED", "all_exercises", "exercise_called", "exercise_named", "names"]

SHIPPED = Path(__file__).parent / "library"
_HEAD = "exercise.toml"


def names(folder: Path = SHIPPED) -> list[str]:
    """Their names, in the order of the alphabet."""
    return sorted(each.parent.name for each in folder.glob(f"*/{_HEAD}"))


def exercise_called(name: str, folder: Path = SHIPPED) -> Exercise:
    """The exercise of that name in this folder, and in no other, whatever the name is. ExerciseError."""
    known = names(folder)
    if name not in known:
        else_ = "; lab exercise list says which there are"
        raise ExerciseError([f"there is no exercise {sanitize(name, 60)}{did_you_mean(name, known) or else_}"])
    return read_exercise(folder / name)


def exercise_named(named: str, folder: Path = SHIPPED) -> Exercise:
    """The exercise that a user names, perhaps by a path: ./NAME. ExerciseError."""
    return read_exercise(Path(named)) if "/" in named else exercise_called(named, folder)


def all_exercises(folder: Path = SHIPPED) -> list[Exercise]:
    """Those in this folder, the easy ones first. ExerciseError."""
    found = [read_exercise(folder / name) for name in names(folder)]
    return sorted(found, key=lambda each: (each.level, each.place, each.name))
