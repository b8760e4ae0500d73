"""Grading is re-execution: what is handed in is a recording, and it is believed as far as it can be run again."""

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.assessment import Assessment, Result
from lab.exercises.exercise import Exercise
from lab.exercises.genuine import why_not_genuine
from lab.exercises.library import SHIPPED, exercise_called
from lab.exercises.reading import ExerciseError
from lab.journal import NotARecordingError, RecordedLines, open_recording

__all__ = ["Grade", "best_of", "grade_recording", "grade_recordings"]


class Grade(Struct, frozen=True):
    """What an attempt is worth. ``refused`` says why it is not graded; then there are no results.

    ``tasks`` and ``results`` are in the same order. ``run`` is a digest of all that the nodes did, by which two
    copies of one attempt are known. ``began`` is UTC, ISO 8601; empty in simulation.
    """

    recording: str
    exercise: str = ""
    student: str = ""
    attempt: int = 0
    results: tuple[Result, ...] = ()
    most: int = 0
    began: str = ""
    took_us: int = 0
    run: str = ""
    refused: str = ""

    @property
    def points(self) -> int:
        """How many it brings, without those that a teacher gives."""
        return sum(result.points for result in self.results)


def grade_recording(path: Path, folder: Path = SHIPPED, tell: Callable[[int], None] = lambda done: None) -> Grade:
    """Run it again, and see what it came to; ``folder`` has the exercises. ``tell``: how many records are done."""
    try:
        lines = open_recording(path)
    except NotARecordingError as error:
        return Grade(str(path), refused=str(error))
    with contextlib.closing(lines):
        of = lines.header.exercise
        if of is None:
            return Grade(str(path), refused="it is a run of no exercise; lab exercise start NAME begins one")
        grade = Grade(str(path), of.name, of.student, of.attempt, began=lines.header.began)
        try:
            exercise = exercise_called(of.name, folder)
        except ExerciseError as error:
            return replace(grade, refused=error.mistakes[0])
        if refused := why_not_genuine(exercise, lines, tell):
            return replace(grade, most=exercise.points, refused=refused)
        return _assessed(grade, exercise, lines)


def _assessed(grade: Grade, exercise: Exercise, lines: RecordedLines) -> Grade:
    assessment = Assessment(exercise, lines.header)
    digest = hashlib.sha256()
    at_us = 0
    for number, record in enumerate(lines.records()):
        assessment.observe(record)
        at_us = max(at_us, getattr(record, "at_us", 0))
        if number:  # the header says whose it is
            digest.update(lines.raw(number))
    return replace(grade, results=assessment.results, most=exercise.points, took_us=at_us, run=digest.hexdigest())


def grade_recordings(
    paths: Iterable[Path], folder: Path = SHIPPED, tell: Callable[[str, int], None] = lambda file, done: None
) -> list[Grade]:
    """All of them; where one was handed in by several students, it is graded for none of them."""
    grades = [grade_recording(path, folder, partial(tell, path.name)) for path in paths]
    owners: dict[str, set[str]] = {}
    for grade in grades:
        if grade.run:
            owners.setdefault(grade.run, set()).add(grade.student)
    return [_unless_shared(grade, owners.get(grade.run, set()) - {grade.student}) for grade in grades]


def _unless_shared(grade: Grade, others: set[str]) -> Grade:
    if not others:
        return grade
    return replace(grade, results=(), refused=f"the same run was handed in by {', '.join(sorted(others))}")


def best_of(grades: Iterable[Grade]) -> list[Grade]:
    """Of each student's attempts at an exercise the best; of equal ones the first. By student, then exercise."""
    best: dict[tuple[str, str], Grade] = {}
    for grade in sorted(grades, key=lambda each: (each.student, each.exercise, each.attempt)):
        key = grade.student, grade.exercise
        if key not in best or (bool(best[key].refused), -best[key].points) > (bool(grade.refused), -grade.points):
            best[key] = grade
    return list(best.values())
