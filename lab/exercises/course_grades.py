"""The grade of a course: points as they were earned, late days spent to the student's advantage, weights.

1. Points count at the time at which they were earned: when the task was done, not when the attempt ended.
2. A result needs as many late days as days have begun between the student's deadline and its time.
3. For each exercise, let p(j) be the most points that one attempt had with at most j late days. With j late days,
   p(j) counts for p(j) · (1 - j · cost).
4. Late days are spent for a group: once k are spent, each of its exercises counts with the best j ≤ k.
5. Over all groups a student spends at most the late days of the course, in the way that gives the highest grade;
   of several such ways, in the one with the fewest late days.
6. A group's share is its counted points divided by the points of its exercises. The grade is the mean of the
   shares, by weight, in percent. ``raw`` is the same without steps 2 to 5: as if nothing were late.

All numbers are exact fractions; they are rounded, half up, when they are printed.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from msgspec import Struct

from lab.exercises.assessment import Result
from lab.exercises.attempts import ExerciseProgress
from lab.exercises.course import Course, CourseSchedule, ExerciseGroup, late_days_of
from lab.exercises.exercise import Exercise
from lab.exercises.grading import Earned, Grade, format_cell

_NEVER = 1 << 30


class GroupGrade(Struct, frozen=True):
    """A student's result in a group: ``raw`` points ``of`` all, ``late_days`` spent, and the points that count."""

    group: str
    raw: int
    of: int
    late_days: int
    counted: Fraction


class CourseGrade(Struct, frozen=True):
    """A student's result in the course; ``raw`` and ``grade`` are in percent."""

    student: str
    groups: tuple[GroupGrade, ...]
    raw: Fraction
    grade: Fraction

    @property
    def late_days(self) -> int:
        return sum(group.late_days for group in self.groups)


def grade_course(
    course: Course, exercises: Mapping[str, Exercise], grades: Sequence[Grade], students: Iterable[str]
) -> list[CourseGrade]:
    """Return the grade of each student, sorted by name; ``grades`` are those of all attempts."""
    return [
        _grade_student(course, exercises, [grade for grade in grades if grade.student == student], student)
        for student in sorted(students)
    ]


def grade_progress(
    schedule: CourseSchedule, exercises: Mapping[str, Exercise], progress: Mapping[str, ExerciseProgress]
) -> CourseGrade:
    """Return a student's grade as of now, from the progress that was noted; recordings alone give the real one."""
    grades = [
        Grade(
            "",
            name,
            attempt=attempt,
            results=tuple(Result(each.task, "done", each.points) for each in tasks),
            earned=tuple(Earned(each.at.isoformat(), each.points) for each in tasks),
        )
        for name, made in progress.items()
        for attempt, tasks in made.earned.items()
    ]
    return _grade_student(schedule.course(), exercises, grades, "")


def _grade_student(
    course: Course, exercises: Mapping[str, Exercise], grades: Sequence[Grade], student: str
) -> CourseGrade:
    of = [sum(exercises[name].points for name in group.exercises) for group in course.groups]
    tables = [_group_values(course, group, grades, student) for group in course.groups]
    spent = _spend(course, of, tables)
    groups = tuple(
        GroupGrade(group.name, int(table[_NEVER]), points, days, table[days])
        for group, points, table, days in zip(course.groups, of, tables, spent, strict=True)
    )
    weights = [group.weight for group in course.groups]
    return CourseGrade(
        student,
        groups,
        _mean(weights, [Fraction(group.raw, group.of) for group in groups]),
        _mean(weights, [group.counted / group.of for group in groups]),
    )


def _mean(weights: Sequence[int], shares: Sequence[Fraction]) -> Fraction:
    weighted = (weight * share for weight, share in zip(weights, shares, strict=True))
    return 100 * sum(weighted, Fraction()) / sum(weights)


def _group_values(
    course: Course, group: ExerciseGroup, grades: Sequence[Grade], student: str
) -> dict[int, Fraction]:
    """Return what the group counts for each number of late days that changes it; ``_NEVER``: as if never late."""
    deadline = course.deadline_for(group, student)
    values = [
        _exercise_values(course, [grade for grade in grades if grade.exercise == name], deadline)
        for name in group.exercises
    ]
    days = sorted({0, *(day for value in values for day in value if day != _NEVER)})
    return {
        **{day: sum((_best(value, day) for value in values), Fraction()) for day in days},
        _NEVER: sum((value[_NEVER] for value in values), Fraction()),
    }


def _exercise_values(course: Course, grades: Sequence[Grade], deadline: datetime | None) -> dict[int, Fraction]:
    """Return what the best attempt counts with each number of late days at which points were earned."""
    attempts = [
        [(late_days_of(deadline, datetime.fromisoformat(each.at)), each.points) for each in grade.earned]
        for grade in grades
    ]
    late = {day for attempt in attempts for day, _ in attempt if day <= course.late.days}
    values = {_NEVER: Fraction(max((grade.points for grade in grades), default=0))}
    for day in late:
        points = max(sum(points for at, points in attempt if at <= day) for attempt in attempts)
        values[day] = Fraction(points * max(0, 100 - course.late.cost * day), 100)
    return values


def _best(values: Mapping[int, Fraction], days: int) -> Fraction:
    return max((value for day, value in values.items() if day <= days), default=Fraction())


def _spend(course: Course, of: Sequence[int], tables: Sequence[Mapping[int, Fraction]]) -> tuple[int, ...]:
    """Return the late days to spend in each group: for the highest grade, and of those the fewest."""
    best: dict[int, tuple[Fraction, tuple[int, ...]]] = {0: (Fraction(), ())}
    for group, points, table in zip(course.groups, of, tables, strict=True):
        further: dict[int, tuple[Fraction, tuple[int, ...]]] = {}
        for used, (value, spent) in best.items():
            for days in sorted(table.keys() - {_NEVER}):
                total = used + days
                candidate = value + group.weight * table[days] / points, (*spent, days)
                if total <= course.late.days and (total not in further or candidate[0] > further[total][0]):
                    further[total] = candidate
        best = further
    highest = max(value for value, _ in best.values())
    return best[min(used for used, (value, _) in best.items() if value == highest)][1]


def format_fraction(value: Fraction) -> str:
    """Format with one decimal, rounded half up: 28.25 → ``"28.3"``."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return str(exact.quantize(Decimal("0.1"), ROUND_HALF_UP))


def course_table(grades: Sequence[CourseGrade]) -> str:
    """Format the grades as CSV: a row for each student, with four columns for each group."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    groups = grades[0].groups if grades else ()
    parts = ("raw", "of", "late days", "counted")
    columns = [f"{group.group}: {part}" for group in groups for part in parts]
    writer.writerow(map(format_cell, ["student", *columns, "raw", "late days", "grade"]))
    for grade in grades:
        row: list[object] = [grade.student]
        for group in grade.groups:
            row += [group.raw, group.of, group.late_days, format_fraction(group.counted)]
        row += [format_fraction(grade.raw), grade.late_days, format_fraction(grade.grade)]
        writer.writerow(map(format_cell, row))
    return file.getvalue()
