"""Grading is re-execution: what is handed in is a recording, and it is believed as far as it can be run again."""

import contextlib
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.assessment import Assessment, Result
from lab.exercises.exercise import Exercise
from lab.exercises.genuine import why_not_genuine
from lab.exercises.home import attempt_in
from lab.exercises.library import SHIPPED, exercise_called
from lab.exercises.reading import ExerciseError
from lab.kernel import Step
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.records import End, Exercised, Header, Keyframe

__all__ = ["Grade", "best_of", "grade_recording", "grade_recordings", "only_of", "unless_shared"]

_FIRST_STEPS = 200


class Grade(Struct, frozen=True):
    """What an attempt is worth. ``refused`` says why it is not graded; then there are no results.

    ``run`` is what copies of one attempt have in common, and two attempts have not: of a live one when its nodes
    took their first steps, of a simulated one a digest of all. ``cut_off``: it has no end, of which a crash takes
    it, and who edits what is before it. ``began`` is UTC, ISO 8601; empty in simulation.
    """

    recording: str
    exercise: str = ""
    student: str = ""
    attempt: int = 0
    results: tuple[Result, ...] = ()
    most: int = 0
    began: str = ""
    took_us: int = 0
    run: frozenset[str] = frozenset()
    cut_off: bool = False
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
        return _refused(path, attempt_in(path), str(error))
    with contextlib.closing(lines):
        of = lines.header.exercise
        if of is None:
            return _refused(path, of, "it is a run of no exercise; lab exercise start NAME begins one")
        try:
            exercise = exercise_called(of.name, folder)
        except ExerciseError as error:
            return _refused(path, of, error.mistakes[0])
        if refused := why_not_genuine(exercise, lines, tell):
            return replace(_refused(path, of, refused), most=exercise.points, began=lines.header.began)
        return _assessed(path, of, exercise, lines)


def _refused(path: Path, of: Exercised | None, why: str) -> Grade:
    if of is None:
        return Grade(str(path), refused=why)
    return Grade(str(path), of.name, of.student, of.attempt, refused=why)


def _assessed(path: Path, of: Exercised, exercise: Exercise, lines: FileRecords) -> Grade:
    assessment = Assessment(exercise, lines.header)
    digest, steps = hashlib.sha256(), set[str]()
    at_us, is_over = 0, False
    for number, record in enumerate(lines.records()):
        assessment.observe(record)
        at_us = max(at_us, getattr(record, "at_us", 0))
        is_over = isinstance(record, End)
        if isinstance(record, Step) and len(steps) < _FIRST_STEPS:
            steps.add(f"{record.node} {record.at_us}")
        if not isinstance(record, Header | Keyframe | End):  # the header says whose it is, the others digest it
            digest.update(lines.raw(number))
    return Grade(
        str(path),
        of.name,
        of.student,
        of.attempt,
        assessment.results,
        exercise.points,
        lines.header.began,
        at_us,
        frozenset(steps if lines.header.world == "live" else {digest.hexdigest()}),
        not is_over,
    )


def grade_recordings(
    paths: Iterable[Path], folder: Path = SHIPPED, tell: Callable[[str, int], None] = lambda file, done: None
) -> list[Grade]:
    """All of them; where one was handed in by several students, it is graded for none of them."""
    return unless_shared([grade_recording(path, folder, partial(tell, path.name)) for path in paths])


def unless_shared(grades: Sequence[Grade]) -> list[Grade]:
    """The same, but refused where most of a run is that of another student's, whatever was done to the copy."""
    owners: dict[str, set[str]] = {}
    for grade in grades:
        for mark in grade.run:
            owners.setdefault(mark, set()).add(grade.student)
    found = []
    for grade in grades:
        marks = Counter(owner for mark in grade.run for owner in owners[mark] - {grade.student})
        others = sorted(owner for owner, count in marks.items() if 2 * count > len(grade.run))
        shared = f"the same run was handed in by {', '.join(others)}" if others else ""
        found.append(replace(grade, results=(), refused=shared) if shared else grade)
    return found


def only_of(student: str, grades: Iterable[Grade]) -> list[Grade]:
    """The same, but those of others are refused."""
    return [
        grade
        if grade.student == student or grade.refused
        else replace(grade, results=(), refused=f"it is an attempt of {grade.student}, and not of {student}")
        for grade in grades
    ]


def best_of(grades: Iterable[Grade]) -> list[Grade]:
    """Of each student's attempts at an exercise the best; of equal ones the first. By student, then exercise.

    What is an attempt at none stays.
    """
    best: dict[tuple[str, str], Grade] = {}
    for grade in sorted(grades, key=lambda each: (each.student, each.exercise, each.attempt)):
        key = (grade.student, grade.exercise) if grade.exercise else (grade.recording, "")
        if key not in best or (bool(best[key].refused), -best[key].points) > (bool(grade.refused), -grade.points):
            best[key] = grade
    return list(best.values())
