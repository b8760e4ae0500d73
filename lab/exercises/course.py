"""A course: groups of exercises with weights and deadlines, late days, and extensions of single students.

A teacher writes it as TOML:

    title = "Distributed algorithms"

    [late]
    days = 4        # the late days of each student, in all
    cost = 10       # what each costs, in percent of the points

    [[group]]
    name = "First steps"
    weight = 20
    deadline = 2026-12-04T23:59:00
    exercises = ["first-election", "two-coordinators"]

    [[extension]]
    student = "anna"
    group = "First steps"
    days = 3

A deadline without an offset is in this machine's time zone; a date alone means the end of that day. An extension
without a group applies to all of them. ``lab.exercises.course_grades`` has the arithmetic.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from lab.exercises.attempts import NAME
from lab.exercises.exercise import Exercise
from lab.foreign_file import TOMLError, parse_toml, read_foreign_text
from lab.text import UserError, did_you_mean, sanitize
from lab.units import format_count

_LONGEST_NAME = 40
_MOST_GROUPS = 40
_YEARS = range(2000, 2101)


class CourseError(UserError):
    """Mistakes in a course file; each names the file, the line and the next step."""


class LateRule(Struct, frozen=True):
    """The late days of each student, in all, and what each costs, in percent of the points."""

    days: int = 0
    cost: int = 0


class ExerciseGroup(Struct, frozen=True):
    """A group of exercises; without a ``deadline`` its attempts are never late."""

    name: str
    weight: int
    exercises: tuple[str, ...]
    deadline: datetime | None = None


class DeadlineExtension(Struct, frozen=True):
    """More days for one student, in one group, or in all if ``group`` is empty."""

    student: str
    days: int
    group: str = ""


class Course(Struct, frozen=True):
    """A course as read from its file."""

    title: str = ""
    late: LateRule = LateRule()
    groups: tuple[ExerciseGroup, ...] = ()
    extensions: tuple[DeadlineExtension, ...] = ()

    def deadline_for(self, group: ExerciseGroup, student: str) -> datetime | None:
        """Return the student's deadline: that of the group, with all extensions of the student."""
        if group.deadline is None:
            return None
        own = (each for each in self.extensions if each.student == student and each.group in ("", group.name))
        return group.deadline + timedelta(days=sum(each.days for each in own))

    def schedule_for(self, student: str) -> "CourseSchedule":
        """Return what this student is shown of the course."""
        groups = []
        for group in self.groups:
            deadline = self.deadline_for(group, student)
            due = "" if deadline is None else deadline.astimezone(UTC).isoformat(timespec="seconds")
            groups.append(
                ScheduledGroup(group.name, group.weight, group.exercises, due, deadline != group.deadline)
            )
        return CourseSchedule(self.title, tuple(groups), self.late)


class ScheduledGroup(Struct, frozen=True):
    """A group as a student has it; ``extended``: the student has longer than others.

    ``deadline`` is UTC, ISO 8601; empty if there is none.
    """

    name: str
    weight: int
    exercises: tuple[str, ...]
    deadline: str = ""
    extended: bool = False


class CourseSchedule(Struct, frozen=True, tag="schedule"):
    """The course as one student has it; without groups there is no course."""

    title: str = ""
    groups: tuple[ScheduledGroup, ...] = ()
    late: LateRule = LateRule()

    def course(self) -> Course:
        """Return the course, with the deadlines of this student."""
        groups = (
            ExerciseGroup(
                each.name,
                each.weight,
                each.exercises,
                datetime.fromisoformat(each.deadline) if each.deadline else None,
            )
            for each in self.groups
        )
        return Course(self.title, self.late, tuple(groups))


def describe_deadline(group: ScheduledGroup, late: LateRule, now: datetime) -> str:
    """Describe when the group is due, and what remains: ``due Fri 4 Dec 23:59, in 2 d 3 h``."""
    if not group.deadline:
        return "no deadline"
    deadline = datetime.fromisoformat(group.deadline)
    at = f"{format_date(deadline)}{' (extended)' if group.extended else ''}"
    if now <= deadline:
        return f"due {at}, in {_format_span(deadline - now)}"
    days = late_days_of(deadline, now)
    if days > late.days:
        return f"was due {at}: closed"
    cost = f"costs {min(100, days * late.cost)} %" if late.cost else "costs nothing"
    return f"was due {at}: now {days} of {format_count(late.days, 'late day')}, {cost}"


def late_days_of(deadline: datetime | None, at: datetime) -> int:
    """Return how many late days a result of this time needs: each begun day after the deadline counts."""
    if deadline is None or at <= deadline:
        return 0
    return -((deadline - at) // timedelta(days=1))


def format_date(at: datetime) -> str:
    """Format a time in this machine's time zone: ``Fri 4 Dec 23:59``."""
    local = at.astimezone()
    return f"{local:%a} {local.day} {local:%b %H:%M}"


def _format_span(left: timedelta) -> str:
    minutes = int(left.total_seconds()) // 60
    hours = minutes // 60
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


def describe_changes(before: Course, now: Course) -> Iterator[str]:
    """Describe each difference between two versions of a course, for the log."""
    if before.title != now.title:
        yield f"title: {before.title or 'none'}, now {now.title or 'none'}"
    if before.late != now.late:
        rules = (f"{rule.days} at {rule.cost} % each" for rule in (before.late, now.late))
        yield f"late days: {', now '.join(rules)}"
    old, new = ({each.name: each for each in course.groups} for course in (before, now))
    yield from (f"group {name} removed" for name in old if name not in new)
    for name, group in new.items():
        if name not in old:
            yield f"group {name} added: {_describe_group(group)}"
        elif group != old[name]:
            yield f"group {name}: {_describe_group(old[name])}; now {_describe_group(group)}"
    for extension in before.extensions:
        if extension not in now.extensions:
            yield f"extension withdrawn: {describe_extension(extension)}"
    for extension in now.extensions:
        if extension not in before.extensions:
            yield f"extension: {describe_extension(extension)}"


def _describe_group(group: ExerciseGroup) -> str:
    due = "no deadline" if group.deadline is None else f"due {group.deadline.isoformat(timespec='minutes')}"
    return f"weight {group.weight}, {due}, {', '.join(group.exercises)}"


def without_extensions(text: str, student: str) -> str:
    """Return the text of a course file without the extensions of this student."""

    def is_kept(table: str) -> bool:
        try:
            extensions = parse_toml(table).get("extension", [])
        except TOMLError:  # a bracket in a text of several lines
            return True
        return not any(each.get("student") == student for each in extensions if isinstance(each, dict))

    return "".join(filter(is_kept, re.split(r"(?m)^(?=\s*\[)", text)))


def describe_extension(extension: DeadlineExtension) -> str:
    """Describe an extension: ``anna, First steps, 3 days``."""
    return f"{extension.student}, {extension.group or 'all groups'}, {format_count(extension.days, 'day')}"


# the file


def read_course(path: Path, exercises: Mapping[str, Exercise]) -> Course:
    """Read a course file; ``exercises`` are those that the server has. Raises CourseError with all mistakes."""
    try:
        text = read_foreign_text(path)
    except OSError as error:
        raise CourseError(f"{path}: {error.strerror}; name a course file in TOML: lab guide class") from None
    return parse_course(text, str(path), exercises)


def parse_course(text: str, file: str, exercises: Mapping[str, Exercise]) -> Course:
    """Read a course from the text of ``file``. Raises CourseError with all mistakes."""
    try:
        document = parse_toml(text)
    except TOMLError as error:
        where = "".join(f":{number}" for number in (error.line, error.column) if number)
        raise CourseError(f"{file}{where}: {error}; write TOML, as lab guide class shows") from None
    reading = _Reading(text, file, exercises)
    course = reading.course(document)
    if reading.mistakes:
        raise CourseError(*reading.mistakes)
    return course


class _Key(Struct, frozen=True):
    """A key of a table: which values it takes, in words and with an example."""

    accepts: Callable[[Any], bool]
    expected: str
    is_required: bool = False


def _is_number(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _LONGEST_NAME


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


_TITLE = f"a text of at most {_LONGEST_NAME} characters"
_TABLES = {
    "": {"title": _Key(_is_text, f'{_TITLE}: title = "Distributed algorithms"')},
    "late": {
        "days": _Key(_is_number(0, 60), "a whole number from 0 to 60: days = 4"),
        "cost": _Key(_is_number(0, 100), "percent of the points, from 0 to 100: cost = 10"),
    },
    "group": {
        "name": _Key(_is_text, f'{_TITLE}: name = "First steps"', True),
        "weight": _Key(_is_number(1, 1000), "a whole number from 1 to 1000: weight = 20", True),
        "exercises": _Key(_is_list_of_texts, 'names of exercises: exercises = ["first-election"]', True),
        "deadline": _Key(
            lambda value: isinstance(value, date) and value.year in _YEARS,
            "a date and time without quotes, from 2000 to 2100: deadline = 2026-12-04T23:59:00",
        ),
    },
    "extension": {
        "student": _Key(
            lambda value: isinstance(value, str) and NAME.fullmatch(value) is not None,
            'the name of a student: student = "anna"',
            True,
        ),
        "days": _Key(_is_number(1, 366), "a whole number from 1 to 366: days = 3", True),
        "group": _Key(_is_text, 'the name of a group: group = "First steps"'),
    },
}


class _Reading:
    """Reads on after a mistake, so that one call names all of them."""

    def __init__(self, text: str, file: str, exercises: Mapping[str, Exercise]) -> None:
        self.mistakes: list[str] = []
        self._file = file
        self._exercises = exercises
        self._lines = _LineIndex(text)

    def course(self, document: dict[str, Any]) -> Course:
        head = {key: value for key, value in document.items() if key not in _TABLES or not key}
        self._check("", 0, head)
        late = self._table(document, "late")
        tables = self._tables(document, "group")
        groups = list(self._groups(tables))
        if not groups and not self.mistakes:
            self._wrong("", 0, "", 'it has no group; write at least one: [[group]], name = "First steps", …')
        known = [str(table["name"]) for table in tables if "name" in table]
        extensions = list(self._extensions(self._tables(document, "extension"), known))
        if self.mistakes:
            return Course()
        return Course(head.get("title", ""), LateRule(**late), tuple(groups), tuple(extensions))

    def _groups(self, tables: list[dict[str, Any]]) -> Iterator[ExerciseGroup]:
        names: set[str] = set()
        owners: dict[str, str] = {}
        if len(tables) > _MOST_GROUPS:
            self._wrong("group", _MOST_GROUPS, "", f"more than {_MOST_GROUPS} groups; join some")
        for place, table in enumerate(tables):
            if not self._check("group", place, table):
                continue
            name = table["name"]
            if name in names:
                self._wrong("group", place, "name", f"a second group {name}; give each its own name")
            names.add(name)
            self._check_exercises(place, table, owners)
            yield ExerciseGroup(
                name, table["weight"], tuple(table["exercises"]), _as_deadline(table.get("deadline"))
            )

    def _check_exercises(self, place: int, table: dict[str, Any], owners: dict[str, str]) -> None:
        for name in table["exercises"]:
            exercise, fault = self._exercises.get(name), ""
            if exercise is None:
                hint = did_you_mean(name, list(self._exercises)) or "; lab exercise list shows all"
                fault = f"unknown exercise {name}{hint}"
            elif exercise.starting_file is not None:
                fault = f"{name} is not on the server: grade it with lab exercise grade, and leave it out here"
            elif name in owners:
                fault = f"{name} is in group {owners[name]} already; leave it out of one"
            if fault:
                self._wrong("group", place, "exercises", fault, name)
            owners.setdefault(name, table["name"])
        known = [self._exercises[name] for name in table["exercises"] if name in self._exercises]
        if known and not any(exercise.points for exercise in known):
            fault = "its exercises have no points, as you grade them by hand; add one that has some"
            self._wrong("group", place, "exercises", fault)

    def _extensions(self, tables: list[dict[str, Any]], groups: list[str]) -> Iterator[DeadlineExtension]:
        for place, table in enumerate(tables):
            if not self._check("extension", place, table):
                continue
            group = table.get("group", "")
            if group and group not in groups:
                hint = did_you_mean(group, groups) or f"; the groups are {', '.join(groups)}"
                self._wrong("extension", place, "group", f"unknown group {group}{hint}")
            yield DeadlineExtension(table["student"], table["days"], group)

    def _table(self, document: dict[str, Any], name: str) -> dict[str, Any]:
        table = document.get(name, {})
        if not isinstance(table, dict):
            self._wrong(name, 0, "", f"{name} is a table: write [{name}] on a line of its own")
            return {}
        return table if self._check(name, 0, table) else {}

    def _tables(self, document: dict[str, Any], name: str) -> list[dict[str, Any]]:
        tables: list[dict[str, Any]] = document.get(name, [])
        # an array in one line would be TOML, too; but the tables of a student are erased with their lines
        is_array = isinstance(tables, list) and all(isinstance(each, dict) for each in tables)
        if not is_array or len(tables) > self._lines.count(name):
            self._wrong(name, 0, "", f"each {name} is a table of its own: write [[{name}]] above it")
            return []
        return tables

    def _check(self, table: str, place: int, values: dict[str, Any]) -> bool:
        """Check the keys and values of a table; return whether all are right."""
        keys, before = _TABLES[table], len(self.mistakes)
        for key, value in values.items():
            if key not in keys:
                known = [*keys, *filter(None, _TABLES)] if not table else list(keys)
                hint = did_you_mean(key, known) or f"; expected one of {', '.join(known)}"
                self._wrong(table, place, key, f"unknown key {key}{hint}")
            elif not keys[key].accepts(value):
                self._wrong(table, place, key, f"{key}: expected {keys[key].expected}")
        for name, required in keys.items():
            if required.is_required and name not in values:
                self._wrong(table, place, "", f"this {table} has no {name}; expected {required.expected}")
        return len(self.mistakes) == before

    def _wrong(self, table: str, place: int, key: str, mistake: str, value: str = "") -> None:
        self.mistakes.append(sanitize(f"{self._file}:{self._lines.find(table, place, key, value)}: {mistake}"))


def _as_deadline(value: date | None) -> datetime | None:
    """Return the deadline in UTC: a date means the end of that day, a time without offset is local."""
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.combine(value, time(23, 59, 59))
    return moment.astimezone(UTC)


_HEADER = re.compile(r"\s*\[\[?\s*[\"']?([\w-]+)[\"']?\s*\]")
_ASSIGNMENT = re.compile(r"\s*[\"']?([\w-]+)[\"']?\s*=")


class _LineIndex:
    """Finds the lines of tables and keys, which the parser of TOML does not report."""

    def __init__(self, text: str) -> None:
        self._texts = text.splitlines()
        self._places: dict[tuple[str, int, str], int] = {("", 0, ""): 1}
        self._counts = counts = Counter[str]()
        table, place = "", 0
        for number, line in enumerate(self._texts, 1):
            if header := _HEADER.match(line):
                table, place = header[1], counts[header[1]]
                counts[table] += 1
                self._places[table, place, ""] = number
            elif assignment := _ASSIGNMENT.match(line):
                self._places.setdefault((table, place, assignment[1]), number)
                if not table:
                    self._places.setdefault((assignment[1], 0, ""), number)

    def count(self, table: str) -> int:
        """Return the number of headers of tables with this name."""
        return self._counts[table]

    def find(self, table: str, place: int, key: str, value: str = "") -> int:
        """Return the line of the key, or of the value in it if that is quoted below; else that of its table."""
        first = self._places.get((table, place, key)) or self._places.get((table, place, ""), 1)
        if not value:
            return first
        quoted = (f'"{value}"', f"'{value}'")
        following = range(first, len(self._texts) + 1)
        return next((line for line in following if any(each in self._texts[line - 1] for each in quoted)), first)
