"""Grade recordings by re-execution: a recording is trusted only as far as it can be reproduced."""

import contextlib
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.assessment import Assessment, Result
from lab.exercises.authenticity import authenticity_error
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_library import SHIPPED, find_exercise
from lab.exercises.reading import ExerciseError
from lab.exercises.student_folder import attempt_in
from lab.kernel import Step
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.records import End, ExerciseAttempt, Header, Keyframe

__all__ = ["Grade", "best_grades", "grade_recording", "grade_recordings", "refuse_shared", "restrict_to_student"]

_FIRST_STEPS = 200


class Grade(Struct, frozen=True):
    """The grade of an attempt. ``refused`` is the reason why it is not graded; then there are no results.

    ``run`` identifies the run: copies of an attempt share it, two attempts do not. For a live run it is when the
    nodes took their first steps, for a simulated one a digest of all records. ``cut_off``: the recording has no
    end, because of a crash or because it was edited. ``began`` is UTC, ISO 8601; empty in simulation.
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
        """Points earned, without those that a teacher gives."""
        return sum(result.points for result in self.results)


def grade_recording(
    path: Path, folder: Path = SHIPPED, report_progress: Callable[[int], None] = lambda done: None
) -> Grade:
    """Re-execute the recording and grade it; ``folder`` holds the exercises.

    ``report_progress`` is called with the number of records done.
    """
    try:
        store = open_recording(path)
    except NotARecordingError as error:
        return _refuse(path, attempt_in(path), str(error))
    with contextlib.closing(store):
        of = store.header.exercise
        if of is None:
            return _refuse(
                path, of, "it is not an attempt at an exercise; start one with: lab exercise start NAME"
            )
        try:
            exercise = find_exercise(of.name, folder)
        except ExerciseError as error:
            return _refuse(path, of, error.mistakes[0])
        if refused := authenticity_error(exercise, store, report_progress):
            return replace(_refuse(path, of, refused), most=exercise.points, began=store.header.began)
        return _assess(path, of, exercise, store)


def _refuse(path: Path, of: ExerciseAttempt | None, why: str) -> Grade:
    if of is None:
        return Grade(str(path), refused=why)
    return Grade(str(path), of.name, of.student, of.attempt, refused=why)


def _assess(path: Path, of: ExerciseAttempt, exercise: Exercise, store: FileRecords) -> Grade:
    assessment = Assessment(exercise, store.header)
    digest, steps = hashlib.sha256(), set[str]()
    at_us, is_over = 0, False
    for number, record in enumerate(store.records()):
        assessment.observe(record)
        at_us = max(at_us, getattr(record, "at_us", 0))
        is_over = isinstance(record, End)
        if isinstance(record, Step) and len(steps) < _FIRST_STEPS:
            steps.add(f"{record.node} {record.at_us}")
        if not isinstance(record, Header | Keyframe | End):  # these depend on the student's name
            digest.update(store.raw(number))
    return Grade(
        str(path),
        of.name,
        of.student,
        of.attempt,
        assessment.results,
        exercise.points,
        store.header.began,
        at_us,
        frozenset(steps if store.header.world == "live" else {digest.hexdigest()}),
        not is_over,
    )


def grade_recordings(
    paths: Iterable[Path],
    folder: Path = SHIPPED,
    report_progress: Callable[[str, int], None] = lambda file, done: None,
) -> list[Grade]:
    """Grade the recordings; refuse a run that several students handed in, for all of them."""
    return refuse_shared([grade_recording(path, folder, partial(report_progress, path.name)) for path in paths])


def refuse_shared(grades: Sequence[Grade]) -> list[Grade]:
    """Refuse each recording that shares more than half of its ``run`` with another student."""
    owners: dict[str, set[str]] = {}
    for grade in grades:
        for mark in grade.run:
            owners.setdefault(mark, set()).add(grade.student)
    found = []
    for grade in grades:
        copies = Counter(owner for mark in grade.run for owner in owners[mark] - {grade.student})
        others = sorted(owner for owner, count in copies.items() if 2 * count > len(grade.run))
        shared = f"{', '.join(others)} handed in the same run" if others else ""
        found.append(replace(grade, results=(), refused=shared) if shared else grade)
    return found


def restrict_to_student(student: str, grades: Iterable[Grade]) -> list[Grade]:
    """Refuse the recordings of other students."""
    return [
        grade
        if grade.student == student or grade.refused
        else replace(grade, results=(), refused=f"it is {grade.student}'s attempt, not {student}'s")
        for grade in grades
    ]


def best_grades(grades: Iterable[Grade]) -> list[Grade]:
    """Return the best grade of each student and exercise, sorted by these; among equals, the first attempt.

    All grades of recordings that are not attempts are kept.
    """
    best: dict[tuple[str, str], Grade] = {}
    for grade in sorted(grades, key=lambda each: (each.student, each.exercise, each.attempt)):
        key = (grade.student, grade.exercise) if grade.exercise else (grade.recording, "")
        if key not in best or (bool(best[key].refused), -best[key].points) > (bool(grade.refused), -grade.points):
            best[key] = grade
    return list(best.values())
