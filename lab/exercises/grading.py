"""Grade recordings by re-execution, and export the grades: as a table, and as Gradescope's ``results.json``.

A recording is trusted only as far as it can be reproduced. That shows that it is consistent, not that the run took
place: whoever has the program can simulate a live run. Only a seal of the server that made the recording shows it,
so each grade states whether there is one.
"""

import contextlib
import csv
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.assessment import Assessment, Result
from lab.exercises.attempts import attempt_in, decided_at
from lab.exercises.authenticity import authenticity_error
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import SHIPPED, ExerciseError, drawn_for, find_exercise
from lab.kernel import Step
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.records import End, ExerciseAttempt, Header, Keyframe
from lab.text import sanitize

_FIRST_STEPS = 200
UNPROVED = (
    "no server has sealed it; it may have been made on the student's own machine. It is consistent, but nothing "
    "shows that these nodes ran."
)


class Earned(Struct, frozen=True):
    """Points of one task, and when it was done: UTC, ISO 8601."""

    at: str
    points: int


class Grade(Struct, frozen=True):
    """The grade of an attempt. ``refused`` is the reason why it is not graded; then there are no results.

    ``run`` identifies the run: copies of an attempt share it, two attempts do not. For a live run it is when the
    nodes took their first steps, for a simulated one a digest of all records. ``cut_off``: the recording has no
    end, because of a crash or because it was edited. ``began`` is UTC, ISO 8601; empty in simulation.
    ``sealed``: a server made the recording, and it is unchanged since. ``earned`` has when points were earned;
    those of a simulated run when its file was written last. Of the tasks as the student got them, ``texts`` are
    the answers that a teacher reads, and ``explanations`` follow an answer: by the numbers of the tasks.
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
    sealed: bool = False
    earned: tuple[Earned, ...] = ()
    texts: dict[int, str] = {}
    explanations: dict[int, str] = {}

    @property
    def proof(self) -> str:
        """Return ``sealed`` or ``unproved``; empty if it is refused."""
        return "" if self.refused else "sealed" if self.sealed else "unproved"

    @property
    def points(self) -> int:
        """Points earned, without those that a teacher gives."""
        return sum(result.points for result in self.results)


ReportGrading = Callable[[float, str], None]
"""Called with the number of recordings or exercises done, with the share of the next one, and its name."""


def report_part(report: ReportGrading, graded: int, file: str) -> Callable[[float], None]:
    """Report the start of the next one, and return what reports the share of it that is done."""
    report(graded, file)
    return lambda share: report(graded + share, file)


def grade_recording(
    path: Path,
    folder: Path = SHIPPED,
    report_progress: Callable[[float], None] = lambda share: None,
    nonce: bytes = b"",
) -> Grade:
    """Re-execute the recording and grade it; ``folder`` holds the exercises. A symbolic link is refused.

    The exercise is drawn for the student whom the recording names; ``nonce`` is that of the course.
    ``report_progress`` is called with the share of the records done.
    """
    try:
        store = open_recording(path, follow_links=False)
    except NotARecordingError as error:
        return _refuse(path, attempt_in(path), str(error))
    with contextlib.closing(store):
        of = store.header.exercise
        if of is None:
            return _refuse(
                path, of, "it is not an attempt at an exercise; start one with: lab exercise start NAME"
            )
        try:
            exercise = drawn_for(find_exercise(of.name, folder), of.student, nonce)
        except ExerciseError as error:
            return _refuse(path, of, error.mistakes[0])
        if refused := authenticity_error(exercise, store, lambda done: report_progress(done / len(store))):
            return replace(_refuse(path, of, refused), most=exercise.points, began=store.header.began)
        return _assess(path, of, exercise, store)


def refuse_unread(path: Path, why: str) -> Grade:
    """Refuse a recording of which only the header is read, for the student's name."""
    with contextlib.suppress(NotARecordingError), contextlib.closing(open_recording(path)) as store:
        return _refuse(path, store.header.exercise, why)
    return _refuse(path, attempt_in(path), why)


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
    earned = (
        Earned(decided_at(store, result, path).isoformat(timespec="seconds"), result.points)
        for result in assessment.results
        if result.points
    )
    tasks = list(zip(exercise.tasks, assessment.results, strict=True))
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
        earned=tuple(earned),
        texts={task.number: result.answer for task, result in tasks if task.way == "explain"},
        explanations={task.number: task.explanation_after(result.answer) for task, result in tasks},
    )


def grade_recordings(
    paths: Iterable[Path],
    folder: Path = SHIPPED,
    report_progress: ReportGrading = lambda graded, file: None,
) -> list[Grade]:
    """Grade the recordings; refuse a run that several students handed in, for all of them."""
    grades = []
    for number, path in enumerate(paths):
        grades.append(grade_recording(path, folder, report_part(report_progress, number, path.name)))
    return refuse_shared(grades)


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
    """Return the best grade of each student and exercise, sorted by these; of equals, a sealed one, or the first.

    A text for the teacher that it has not is that of the latest attempt which has it. All grades of recordings
    that are not attempts are kept.
    """
    attempts: dict[tuple[str, str], list[Grade]] = {}
    for grade in sorted(grades, key=lambda each: (each.student, each.exercise, each.attempt)):
        key = (grade.student, grade.exercise) if grade.exercise else (grade.recording, "")
        attempts.setdefault(key, []).append(grade)
    return [_best(each) for each in attempts.values()]


def _best(attempts: Sequence[Grade]) -> Grade:
    """Return the best of the grades of a student's attempts at an exercise, the earliest first."""
    best = min(attempts, key=lambda each: (bool(each.refused), -each.points, not each.sealed))
    texts: dict[int, str] = {}
    for grade in (*attempts, best):
        texts |= {number: text for number, text in grade.texts.items() if text or number not in texts}
    return best if best.refused else replace(best, texts=texts)


# exports

_TEXT = "text "
"""The names of the columns with texts for the teacher begin so."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(grades: Sequence[Grade]) -> str:
    """Format a row for each grade, with a column for each task whose text a teacher must read."""
    rows = [_row(grade) for grade in grades]
    file = io.StringIO()
    texts = sorted({number for grade in grades for number in grade.texts})
    writer = csv.DictWriter(
        file, [*_row(Grade("")), *(f"{_TEXT}{number}" for number in texts)], lineterminator="\n"
    )
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {name: format_cell(value, has_lines=name.startswith(_TEXT)) for name, value in row.items()}
        )
    return file.getvalue()


def _row(grade: Grade) -> dict[str, object]:
    return {
        "student": grade.student,
        "exercise": grade.exercise,
        "points": "" if grade.refused else grade.points,
        "of": grade.most,
        "attempt": grade.attempt,
        "began": grade.began,
        "minutes": f"{grade.took_us / 60e6:.1f}",
        "hints": sum(result.hints for result in grade.results),
        "cut off": "yes" if grade.cut_off else "",
        "proof": grade.proof,
        "refused": grade.refused,
        "recording": grade.recording,
        **{f"{_TEXT}{number}": text for number, text in grade.texts.items()},
    }


def as_gradescope(grades: Sequence[Grade], exercises: dict[str, Exercise]) -> bytes:
    """Format ``results.json`` for one student: a test for each task of the best attempt at each exercise."""
    tests = [test for grade in grades for test in _tests(grade, exercises.get(grade.exercise))]
    unproved = [grade.exercise for grade in grades if grade.proof == "unproved"]
    found = {
        "score": sum(test["score"] for test in tests),
        "execution_time": round(sum(grade.took_us for grade in grades) / 1e6),
        "output": f"unproved ({', '.join(unproved)}): {UNPROVED}" if unproved else "",
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
        explanation = grade.explanations.get(task.number, "")
        output = grade.texts.get(task.number, "") if by_teacher else result.why or explanation
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
        "output": "\n".join(map(sanitize, output.split("\n")))[:1000],
        "output_format": "text",
        "visibility": "visible",
    }
    return {**test, "number": number} if number else test


def format_cell(value: object, has_lines: bool = False) -> object:
    """Quote a text that a spreadsheet would take for a formula; only one that ``has_lines`` keeps them."""
    if not isinstance(value, str):
        return value
    shown = "\n".join(map(sanitize, value.split("\n"))) if has_lines else sanitize(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
