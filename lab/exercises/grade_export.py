"""Export grades: a table for spreadsheets, and Gradescope's ``results.json``."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from lab.exercises.exercise import Exercise
from lab.exercises.grading import Grade
from lab.text import sanitize

__all__ = ["as_csv", "as_gradescope", "format_results"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = (
    *("student", "exercise", "points", "of", "attempt", "began", "minutes", "hints"),
    *("cut off", "refused", "recording"),
)


def as_csv(grades: Iterable[Grade], exercises: dict[str, Exercise]) -> str:
    """Format a row for each grade, with a column for each text that a teacher must read."""
    rows = list(grades)
    written = max((len(_texts(grade, exercises)) for grade in rows), default=0)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(f"text {number}" for number in range(1, written + 1))])
    for grade in rows:
        cells = (
            grade.student,
            grade.exercise,
            "" if grade.refused else grade.points,
            grade.most,
            grade.attempt,
            grade.began,
            f"{grade.took_us / 60e6:.1f}",
            sum(result.hints for result in grade.results),
            "yes" if grade.cut_off else "",
            grade.refused,
            grade.recording,
        )
        writer.writerow([_cell(cell) for cell in (*cells, *_texts(grade, exercises))])
    return file.getvalue()


def as_gradescope(grades: Sequence[Grade], exercises: dict[str, Exercise]) -> bytes:
    """Format ``results.json`` for one student: a test for each task of the best attempt at each exercise."""
    tests = [test for grade in grades for test in _tests(grade, exercises.get(grade.exercise))]
    found = {
        "score": sum(test["score"] for test in tests),
        "execution_time": round(sum(grade.took_us for grade in grades) / 1e6),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }
    return msgspec.json.format(msgspec.json.encode(found)) + b"\n"


def format_results(grade: Grade, exercise: Exercise) -> list[str]:
    """Format a line for each task: its state, its points, and the reason."""
    lines = []
    for task, result in zip(exercise.tasks, grade.results, strict=True):
        costs = f", {result.hints} hints taken" if result.hints else ""
        why = f": {sanitize(result.why, 120)}" if result.why else ""
        lines.append(f"{task.number}. {task.title}: {result.state}, {result.points} of {task.points}{costs}{why}")
    return lines


def _tests(grade: Grade, exercise: Exercise | None) -> list[dict[str, Any]]:
    if grade.refused or exercise is None:
        name, most = f"{grade.exercise or grade.recording}", grade.most
        return [_test(name, "", 0, most, "failed", f"not graded: {grade.refused}")]
    found = []
    for task, result in zip(exercise.tasks, grade.results, strict=True):
        by_teacher = task.way == "explain"
        output = result.answer if by_teacher else result.why or task.explains
        is_done = result.state == "done"
        name = f"{exercise.title}: {task.title}" + (" (your teacher reads it)" if by_teacher else "")
        most = 0 if by_teacher else task.points
        number = f"{exercise.name}.{task.number}"
        found.append(_test(name, number, result.points, most, "passed" if is_done else "failed", output))
    return found


def _test(name: str, number: str, score: int, most: int, status: str, output: str) -> dict[str, Any]:
    test = {
        "name": sanitize(name, 200),
        "score": score,
        "max_score": most,
        "status": status,
        "output": sanitize(output, 1000),
        "output_format": "text",
        "visibility": "visible",
    }
    return {**test, "number": number} if number else test


def _texts(grade: Grade, exercises: dict[str, Exercise]) -> list[str]:
    exercise = exercises.get(grade.exercise)
    if exercise is None or not grade.results:
        return []
    asked = [task.number for task in exercise.tasks if task.way == "explain"]
    return [result.answer for result in grade.results if result.task in asked]


def _cell(value: object) -> object:
    """Quote a text that a spreadsheet would take for a formula."""
    if not isinstance(value, str):
        return value
    shown = sanitize(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
