"""A file that is handed in: graded or tried, as a protocol or as a program."""

from collections.abc import Iterator
from pathlib import Path

from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise
from lab.exercises.program_grading import grade_program
from lab.exercises.protocol_grading import ReportProgress, grade_protocol
from lab.exercises.visible_campaign import (
    Evidence,
    TriedStage,
    grade_with_evidence,
    try_program_stages,
    try_stages,
)


def grade_file(
    exercise: Exercise, file: Path, seed: int, report_progress: ReportProgress = lambda text: None
) -> tuple[Result, ...]:
    """Return the results of the tasks for this file, by the hidden campaigns that follow from the ``seed``.

    ``report_progress`` is called with a line of text. Raises UnjudgedError.
    """
    grade = grade_program if exercise.is_program else grade_protocol
    return grade(exercise, file, seed, report_progress)


def grade_own_file(
    exercise: Exercise, file: Path, seed: int, to: Path, report_progress: ReportProgress = lambda text: None
) -> tuple[tuple[Result, ...], Evidence | None]:
    """Grade a file like ``grade_file``; return also the run that breaks a protocol, recorded to ``to``."""
    if exercise.is_program:
        return grade_program(exercise, file, seed, report_progress), None
    return grade_with_evidence(exercise, file, seed, to, report_progress)


def try_file(
    exercise: Exercise, file: Path, seed: int, to: Path, report_progress: ReportProgress = lambda text: None
) -> Iterator[TriedStage]:
    """Yield each stage when its visible campaign has been run; what breaks one is recorded to the folder ``to``.

    Raises TargetError if the file cannot be loaded, NotRepeatedError if its protocol is not deterministic, and
    UnjudgedError.
    """
    campaigns = try_program_stages if exercise.is_program else try_stages
    return campaigns(exercise, file, seed, to, report_progress)
