"""A course file: what it holds, its mistakes with their lines, and the grade that follows from it."""

import csv
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
from msgspec.structs import replace

import lab.exercises.course
from lab.exercises.assessment import Result
from lab.exercises.attempts import StudentFolder
from lab.exercises.course import (
    Course,
    CourseError,
    LateRule,
    describe_changes,
    describe_deadline,
    late_days_of,
    parse_course,
    read_course,
    without_extensions,
)
from lab.exercises.course_grades import (
    CourseGrade,
    course_table,
    format_fraction,
    grade_course,
    grade_progress,
)
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.grading import Earned, Grade
from lab.guide.contents import find_page

TEXT = """\
title = "Distributed algorithms"

[late]
days = 3
cost = 10

[[group]]
name = "First"
weight = 20
deadline = 2026-12-04T12:00:00Z
exercises = ["first-election", "two-coordinators"]

[[group]]
name = "Second"
weight = 30
deadline = 2026-12-11T12:00:00Z
exercises = ["stand-in-line"]

[[extension]]
student = "ben"
group = "First"
days = 2

[[extension]]
student = "ben"
days = 1
"""
DUE = datetime(2026, 12, 4, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@cache
def exercises() -> dict[str, Exercise]:
    names = ("first-election", "two-coordinators", "stand-in-line", "mend-the-bully")
    return {name: find_exercise(name) for name in names}


def course(text: str = TEXT) -> Course:
    return parse_course(text, "course.toml", exercises())


def mistakes(text: str) -> list[str]:
    """Return the mistakes of this file."""
    with pytest.raises(CourseError) as raised:
        course(text)
    return [*raised.value.mistakes]


def attempt(exercise: str, *earned: tuple[datetime, int], student: str = "anna", number: int = 1) -> Grade:
    """Return the grade of an attempt with points earned at these times."""
    results = tuple(Result(place, "done", points) for place, (_, points) in enumerate(earned, 1))
    times = tuple(Earned(at.isoformat(), points) for at, points in earned)
    return Grade("x", exercise, student, number, results, exercises()[exercise].points, earned=times)


def graded(*grades: Grade, text: str = TEXT, student: str = "anna") -> CourseGrade:
    (found,) = grade_course(course(text), exercises(), grades, [student])
    return found


def test_a_student_s_late_days_follow_from_the_progress(tmp_path: Path) -> None:
    """As the grade has them: when a task was first done counts, with the student's own deadline."""
    home = StudentFolder(tmp_path, "anna")
    first, two, line, _ = exercises().values()
    late = DUE + DAY + HOUR
    home.note(first, 1, (Result(1, "done", 1), Result(2, "open")), times={1: DUE - HOUR})
    home.note(first, 1, (Result(1, "done", 1), Result(2, "done", 3)), times={2: late})
    home.note(two, 1, (Result(1, "done", 2),), times={1: DUE})
    progress = StudentFolder(tmp_path, "anna").all_progress
    assert [each.at for each in progress[first.name].earned[1]] == [DUE - HOUR, late]
    grade = grade_progress(course().schedule_for("anna"), exercises(), progress)
    expected = graded(attempt(first.name, (DUE - HOUR, 1), (late, 3)), attempt(two.name, (DUE, 2)))
    assert grade == replace(expected, student="")
    assert [group.late_days for group in grade.groups] == [2, 0]
    extended = grade_progress(course().schedule_for("ben"), exercises(), progress)
    assert [group.late_days for group in extended.groups] == [0, 0]
    assert line.name not in progress


def test_a_course_is_read() -> None:
    """Groups in their order, with the deadline of each student."""
    found = course()
    assert (found.title, found.late) == ("Distributed algorithms", LateRule(3, 10))
    first, second = found.groups
    assert (first.name, first.weight, first.exercises) == ("First", 20, ("first-election", "two-coordinators"))
    assert found.deadline_for(first, "anna") == DUE
    assert found.deadline_for(first, "ben") == DUE + 3 * DAY
    assert found.deadline_for(second, "ben") == datetime(2026, 12, 12, 12, tzinfo=UTC)
    assert [group.extended for group in found.schedule_for("anna").groups] == [False, False]
    assert [group.extended for group in found.schedule_for("ben").groups] == [True, True]


def test_extensions_are_tables_of_their_own() -> None:
    """Those of a student who is erased are taken out of the file table by table, so an array is refused."""
    one_line = TEXT[: TEXT.index("[[extension]]")].replace(
        "title =", 'extension = [{student = "ben", days = 3}]\ntitle ='
    )
    assert "extension" in one_line
    (mistake,) = mistakes(one_line)
    assert "each extension is a table of its own: write [[extension]] above it" in mistake
    kept = without_extensions(f'{TEXT}\n[[extension]]\nstudent = "anna"\ndays = 1\n', "ben")
    assert [each.student for each in course(kept).extensions] == ["anna"]
    assert course(kept).title == course(TEXT).title


def test_a_deadline_may_be_local_or_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day lasts until its last second."""
    local = course(TEXT.replace("2026-12-04T12:00:00Z", "2026-12-04T12:00:00")).groups[0].deadline
    day = course(TEXT.replace("2026-12-04T12:00:00Z", "2026-12-04")).groups[0].deadline
    assert local is not None
    assert day is not None
    assert local == datetime(2026, 12, 4, 12).astimezone()
    assert day - local == timedelta(hours=11, minutes=59, seconds=59)
    assert course(TEXT.replace("deadline = 2026-12-04T12:00:00Z\n", "")).groups[0].deadline is None


@pytest.mark.parametrize(
    ("right", "wrong", "mistake"),
    [
        ("days = 3\n", "days = -1\n", "4: days: expected a whole number from 0 to 60"),
        ("days = 3\n", "days = true\n", "4: days: expected a whole number from 0 to 60"),
        ("cost = 10", "cost = 101", "5: cost: expected percent of the points, from 0 to 100"),
        ("cost = 10", "costs = 10", "5: unknown key costs; did you mean cost?"),
        ("title =", "titel =", "1: unknown key titel; did you mean title?"),
        ("weight = 20", 'weight = "20"', "9: weight: expected a whole number from 1 to 1000: weight = 20"),
        ("weight = 20\n", "", "7: this group has no weight; expected a whole number from 1 to 1000"),
        ("2026-12-04T12:00:00Z", '"Friday"', "10: deadline: expected a date and time without quotes"),
        ("2026-12-04T12:00:00Z", "0001-01-01", "10: deadline: expected a date and time without"),
        ("2026-12-04T12:00:00Z", "9999-12-31", "10: deadline: expected a date and time without"),
        ('"two-coordinators"', '"two-cordinators"', "11: unknown exercise two-cordinators; did you mean two-c"),
        ('"two-coordinators"', '"stand-in-line"', "17: stand-in-line is in group First already"),
        ('"two-coordinators"', '"mend-the-bully"', "11: mend-the-bully is not on the server: grade it with lab "),
        ('"Second"', '"First"', "14: a second group First; give each its own name"),
        ('student = "ben"\ngroup = "First"', 'student = "../x"\ngroup = "First"', "20: student: expected the"),
        ('group = "First"', 'group = "Frist"', "21: unknown group Frist; did you mean First?"),
        ("[late]", "late = 3\n[x]", "3: late is a table: write [late] on a line of its own"),
        ("[late]", "[late", "3:6: Expected ']' at the end of a table declaration"),
        ('"First"\nweight', '"\\u001bc"\nweight', "21: unknown group First; the groups are \\x1bc, Second"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_line_and_the_next_step(right: str, wrong: str, mistake: str) -> None:
    assert right in TEXT
    assert any(found.startswith(f"course.toml:{mistake}") for found in mistakes(TEXT.replace(right, wrong, 1)))


def test_all_mistakes_are_reported_at_once() -> None:
    text = TEXT.replace("weight = 20", "weight = 0").replace("days = 1", "days = 0").replace("cost", "price")
    assert [mistake.split(":")[1] for mistake in mistakes(text)] == ["5", "9", "26"]


def test_what_is_no_course_is_refused(tmp_path: Path) -> None:
    """Nothing, other files, and no file."""
    assert mistakes("")[0].startswith("course.toml:1: it has no group; write at least one: [[group]]")
    assert "write TOML, as lab guide class shows" in mistakes("[" * 5000)[0]
    with pytest.raises(CourseError, match="No such file or directory; name a course file in TOML"):
        read_course(tmp_path / "gone.toml", exercises())
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CourseError, match="not a text file; name a course file"):
        read_course(tmp_path / "binary", exercises())


def test_the_example_in_the_guide_is_a_course() -> None:
    """With the built-in exercises, in the guide and in the module."""
    page = find_page("class").text
    example = dedent(page[page.index('    title = "Distributed') : page.index("    lab serve --course FILE")])
    names = set(re.findall(r"[\w-]+", " ".join(re.findall(r"exercises = \[(.*)\]", example))))
    found = parse_course(example, "example", {name: find_exercise(name) for name in names})
    assert [group.name for group in found.groups] == ["First steps", "Commit"]
    module = lab.exercises.course.__doc__ or ""
    text = dedent(module[module.index("    title =") : module.index("A deadline without")])
    assert course(text).extensions == found.extensions


def test_changes_are_described() -> None:
    """For the log; none if nothing changed."""
    assert not list(describe_changes(course(), course()))
    changed = TEXT.replace("days = 3\ncost = 10", "days = 2\ncost = 10").replace("12-11T12", "12-12T12")
    changed = changed[: changed.rindex("[[extension]]")].replace("days = 2\n\n[[ext", "days = 5\n\n[[ext")
    assert list(describe_changes(course(), course(changed))) == [
        "late days: 3 at 10 % each, now 2 at 10 % each",
        "group Second: weight 30, due 2026-12-11T12:00+00:00, stand-in-line; "
        "now weight 30, due 2026-12-12T12:00+00:00, stand-in-line",
        "extension withdrawn: ben, all groups, 1 day",
    ]
    assert list(describe_changes(Course(), course()))[-1] == "extension: ben, all groups, 1 day"


def test_a_begun_day_is_a_late_day() -> None:
    assert [late_days_of(DUE, DUE + timedelta(seconds=s)) for s in (-1, 0, 1, 86400, 86401)] == [0, 0, 1, 1, 2]
    assert late_days_of(None, DUE) == 0


def test_a_deadline_is_described_with_what_remains() -> None:
    """Before it, with late days, and when it is closed."""
    (group, _), late = course().schedule_for("anna").groups, LateRule(3, 10)
    assert describe_deadline(group, late, DUE - 3 * DAY - HOUR).endswith(", in 3 d 1 h")
    assert describe_deadline(group, late, DUE - 90 * HOUR / 60).endswith(", in 1 h 30 min")
    assert describe_deadline(group, late, DUE + DAY + HOUR).endswith(": now 2 of 3 late days, costs 20 %")
    assert describe_deadline(group, late, DUE + 4 * DAY).endswith(": closed")
    assert "(extended)" in describe_deadline(course().schedule_for("ben").groups[0], late, DUE)


# the grade


FIRST, TWO, LINE = "first-election", "two-coordinators", "stand-in-line"


def test_points_in_time_count_in_full() -> None:
    """The grade is the mean of the groups by weight; the best attempt counts."""
    most = {name: exercises()[name].points for name in (FIRST, TWO, LINE)}
    full = [attempt(name, (DUE - HOUR, points)) for name, points in most.items()]
    assert graded(*full).grade == 100
    worse = attempt(TWO, (DUE - HOUR, 1), number=2)
    half = graded(attempt(TWO, (DUE - HOUR, 3)), worse)
    assert half.groups[0].counted == 3
    share = Fraction(3, most[FIRST] + most[TWO])
    assert half.grade == half.raw == 100 * share * Fraction(20, 50)
    assert graded().grade == 0


def test_late_days_cost_a_share_of_the_points() -> None:
    """Only those earned late; the raw points are as if nothing were late."""
    found = graded(attempt(TWO, (DUE + HOUR, 5)))
    assert (found.late_days, found.groups[0].counted, found.groups[0].raw) == (1, Fraction(9, 2), 5)
    # three points in time; the two that came later would cost one day: 5 · 0.8 > 3
    assert graded(attempt(TWO, (DUE, 3), (DUE + DAY + HOUR, 2))).groups[0].counted == 4
    # but here 5 · 0.7 < 4, so the late point does not count
    few = graded(attempt(TWO, (DUE, 4), (DUE + 2 * DAY + HOUR, 1)))
    assert (few.groups[0].counted, few.late_days) == (Fraction(4), 0)


def test_after_the_last_late_day_nothing_counts() -> None:
    found = graded(attempt(TWO, (DUE + 3 * DAY + HOUR, 5)))
    assert (found.grade, found.groups[0].raw, found.late_days) == (Fraction(), 5, 0)
    none = TEXT.replace("days = 3\n", "days = 0\n", 1)
    assert graded(attempt(TWO, (DUE + HOUR, 5)), text=none).grade == 0


def test_late_days_are_spent_where_they_help_most() -> None:
    """Three in all: two for one group and two for the other are too many."""
    late_first = attempt(TWO, (DUE + 2 * DAY - HOUR, 5))
    points = exercises()[LINE].points
    late_second = attempt(LINE, (DUE + 9 * DAY - HOUR, points))
    found = graded(late_first, late_second)
    assert [group.late_days for group in found.groups] == [0, 2]  # the second has the larger weight
    assert found.grade == 100 * Fraction(8, 10) * Fraction(30, 50)
    both = graded(late_first, late_second, text=TEXT.replace("days = 3\n", "days = 4\n", 1))
    assert [group.late_days for group in both.groups] == [2, 2]


def test_a_day_spent_for_a_group_covers_its_exercises() -> None:
    """Each costs by its own lateness."""
    points = exercises()[FIRST].points
    found = graded(attempt(TWO, (DUE + 2 * DAY, 5)), attempt(FIRST, (DUE + DAY, points)))
    assert found.late_days == 2
    assert found.groups[0].counted == 5 * Fraction(8, 10) + points * Fraction(9, 10)


def test_an_extension_moves_the_deadline_of_one_student() -> None:
    at = DUE + 2 * DAY
    grades = [attempt(TWO, (at, 5), student=name) for name in ("anna", "ben")]
    anna, ben = grade_course(course(), exercises(), grades, ["ben", "anna"])
    assert (anna.student, anna.late_days, ben.late_days) == ("anna", 2, 0)
    assert ben.grade > anna.grade


def test_of_equal_ways_the_one_with_the_fewest_late_days_is_taken() -> None:
    free = TEXT.replace("cost = 10", "cost = 0")
    in_time = attempt(TWO, (DUE, 5))
    assert graded(in_time, attempt(TWO, (DUE + DAY, 5), number=2), text=free).late_days == 0


def test_numbers_are_rounded_half_up() -> None:
    assert [format_fraction(Fraction(n, 100)) for n in (2825, 2824, 5, 4)] == ["28.3", "28.2", "0.1", "0.0"]


def test_the_table_has_a_row_for_each_student() -> None:
    """Names that a spreadsheet would take for formulas are quoted."""
    hostile = TEXT.replace('name = "First"', 'name = "=HYPERLINK(1)"').replace(
        'group = "First"', 'group = "=HYPERLINK(1)"'
    )
    grades = grade_course(course(hostile), exercises(), [attempt(TWO, (DUE + HOUR, 5))], ["ben", "anna"])
    rows = list(csv.DictReader(course_table(grades).splitlines()))
    assert [row["student"] for row in rows] == ["anna", "ben"]
    assert (rows[0]["'=HYPERLINK(1): counted"], rows[0]["late days"], rows[1]["grade"]) == ("4.5", "1", "0.0")
