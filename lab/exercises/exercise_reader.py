"""Read exercises, from the library or a teacher's folder, and report every mistake in them.

Texts are Markdown, split at their headings.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from lab.exercises.exercise import FREE, LEVELS, Exercise, Hint, Kind, Repair, Task, Way
from lab.protocols import PROTOCOLS, Algorithm
from lab.scenario.file import Scenario, ScenarioError, read_scenario
from lab.script.parse import parse_predicate, read_script
from lab.script.scope import CommandError, Scope
from lab.script.statements import Expectation
from lab.script.verbs import VERBS, bare_commands
from lab.text import UserError, did_you_mean, sanitize
from lab.worlds.campaign.schedule import FAULTS
from lab.worlds.loading.targets import load_protocol

_HEADING = re.compile(r"^(#{1,2})[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"(\d+)\.\s+(.+)")
_HINTS_FOR = re.compile(r"Task (\d+)")
_COSTS = re.compile(r"Costs (\d+)")


class TextError(Exception):
    """A mistake in a text, described for the user; ``line`` starts at 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def instructions_in(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text before the tasks, and (title, text) of each task. Raises TextError.

    The tasks are the headings ``## 1. Make it so``, numbered from 1. A heading ``# Title`` before them is left
    out.
    """
    intro, tasks = "", list[tuple[str, str]]()
    for line, depth, heading, body in _sections(text):
        found = _TASK.fullmatch(heading) if depth == 2 else None
        if found is None:
            if tasks or depth == 2:
                raise TextError(line, f"'{heading}' is not a task; expected: ## {len(tasks) + 1}. TITLE")
            intro = "\n\n".join(filter(None, [intro, body]))
        elif int(found[1]) != len(tasks) + 1:
            raise TextError(line, f"tasks are numbered in order; expected: ## {len(tasks) + 1}. {found[2]}")
        else:
            tasks.append((found[2], body))
    return intro, tasks


def hints_in(text: str) -> dict[int, list[Hint]]:
    """Return the hints of each task, by its number, in order. Raises TextError.

    Under a heading ``# Task 1`` each hint has its own heading: ``## Free``, or ``## Costs 1``.
    """
    hints: dict[int, list[Hint]] = {}
    task = 0
    for line, depth, heading, body in _sections(text):
        of, costs = _HINTS_FOR.fullmatch(heading), _COSTS.fullmatch(heading)
        if depth == 0:
            if body:
                raise TextError(line, "hints start with a heading: # Task 1")
        elif depth == 1 and of is not None:
            task = int(of[1])
        elif depth == 2 and task and (heading == "Free" or costs is not None):
            if not body:
                raise TextError(line, "this hint is empty")
            hints.setdefault(task, []).append(Hint(0 if costs is None else int(costs[1]), body))
        else:
            raise TextError(line, f"'{heading}': expected # Task 1, and below it ## Free or ## Costs 1")
    return hints


def _sections(text: str) -> list[tuple[int, int, str, str]]:
    """Split the text into (line, depth, heading, body); the first section, of depth 0, has no heading."""
    shown = _without_code(text)
    found = list(_HEADING.finditer(shown))
    starts = [0, *(each.end() for each in found)]
    ends = [*(each.start() for each in found), len(text)]
    bodies = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    rest = [
        (text.count("\n", 0, each.start()) + 1, len(each[1]), each[2], body)
        for each, body in zip(found, bodies[1:], strict=True)
    ]
    return [(1, 0, "", bodies[0]), *rest]


def _without_code(text: str) -> str:
    """Blank out fenced code, in which a # starts a comment, not a heading."""
    return re.sub(
        r"^```.*?^```", lambda code: re.sub(r"[^\n]", " ", code[0]), text, flags=re.MULTILINE | re.DOTALL
    )


V = TypeVar("V")

_HEAD, _SETUP, _INSTRUCTIONS, _HINTS = "exercise.toml", "setup.scenario", "instructions.md", "hints.md"
_WAYS: tuple[Way, ...] = ("reach", "script", "question", "explain", "repair")
_MOST_POINTS = 10
_VIOLATION = "violation "


class ExerciseError(UserError):
    """An exercise that cannot be used; ``mistakes`` are messages for the user, each with its file."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__(*mistakes)


class _TaskHead(Struct, forbid_unknown_fields=True):
    points: int
    reach: str = ""
    script: str = ""
    question: str = ""
    explain: str = ""
    options: list[str] = field(default_factory=list, name="choices")
    answer: str | list[str] = []
    record: str = ""
    before: str = ""
    at_most: int | None = None
    explains: str = ""
    repair: Repair | None = None


class _Head(Struct, forbid_unknown_fields=True):
    title: str
    kind: Kind
    level: int
    teaches: list[str]
    task: list[_TaskHead]
    may: list[str] = []
    repairs: str = ""
    place: int = 50


def read_exercise(folder: Path) -> Exercise:
    """Read the exercise in this folder. Raises ExerciseError with all mistakes."""
    reading = _Reading(folder)
    exercise = reading.exercise()
    if exercise is None or reading.mistakes:
        raise ExerciseError(reading.mistakes)
    return exercise


class _Reading:
    """Reads on after a mistake, as far as the rest can be understood."""

    def __init__(self, folder: Path) -> None:
        self.mistakes: list[str] = []
        self._folder = folder

    def exercise(self) -> Exercise | None:
        if not (self._folder / _HEAD).is_file():
            self._wrong("", f"not an exercise: it has no {_HEAD}; lab exercise list shows all exercises")
            return None
        head = self._head()
        setup = self._setup()
        intro, texts = self._try(_INSTRUCTIONS, lambda: instructions_in(self._text(_INSTRUCTIONS))) or ("", [])
        hints = self._try(_HINTS, lambda: hints_in(self._text(_HINTS))) or {}
        if head is None or setup is None:
            return None
        self._check_head(head)
        if len(head.task) != len(texts):
            self._wrong(_INSTRUCTIONS, f"it has {len(texts)} tasks, but {_HEAD} has {len(head.task)} [[task]]")
            return None
        for number in hints.keys() - set(range(1, len(texts) + 1)):
            self._wrong(_HINTS, f"task {number} does not exist")
        tasks = [
            self._task(number, each, text, tuple(hints.get(number, ())), setup)
            for number, (each, text) in enumerate(zip(head.task, texts, strict=True), 1)
        ]
        repairs = self._folder / head.repairs if head.repairs else None
        if repairs is not None and not repairs.is_file():
            self._wrong(_HEAD, f"repairs: file {head.repairs} not found")
        if any((task.way == "repair") != bool(head.repairs) for task in tasks):
            self._wrong(
                _HEAD, "with repairs = FILE.py every task needs repair = { … }; without it no task may have one"
            )
        return Exercise(
            self._folder.name,
            self._folder,
            head.title,
            head.kind,
            head.level,
            tuple(head.teaches),
            intro,
            setup,
            tuple(head.may),
            tuple(tasks),
            repairs,
            head.place,
        )

    def _head(self) -> _Head | None:
        try:
            return msgspec.toml.decode(self._text(_HEAD), type=_Head)
        except (msgspec.DecodeError, ValueError) as error:
            self._wrong(_HEAD, str(error))
            return None

    def _setup(self) -> Scenario | None:
        try:
            return read_scenario(self._folder / _SETUP)
        except ScenarioError as error:
            self.mistakes += error.mistakes
            return None

    def _text(self, name: str) -> str:
        try:
            return (self._folder / name).read_text("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(error.strerror if isinstance(error, OSError) else "not a text file") from None

    def _check_head(self, head: _Head) -> None:
        if head.level not in LEVELS:
            self._wrong(
                _HEAD, f"level = {head.level}: expected {', '.join(f'{n} ({name})' for n, name in LEVELS.items())}"
            )
        known = [*(verb for verb in VERBS if verb not in FREE), *bare_commands()]
        for verb in head.may:
            if verb not in known:
                self._wrong(_HEAD, f"may: unknown command {verb}{did_you_mean(verb, known)}")
        if not head.task:
            self._wrong(_HEAD, "it has no [[task]]; an exercise needs at least one")
        if not head.teaches:
            self._wrong(_HEAD, 'teaches is empty; name rules, assertions or assumptions: teaches = ["B4", "A1.1"]')

    # tasks

    def _task(
        self, number: int, head: _TaskHead, text: tuple[str, str], hints: tuple[Hint, ...], setup: Scenario
    ) -> Task:
        ways = [way for way in _WAYS if getattr(head, way)]
        where = f"task {number}: "
        if len(ways) != 1:
            self._wrong(_HEAD, f"{where}expected one of {', '.join(_WAYS)}; got {' and '.join(ways) or 'none'}")
        if not 1 <= head.points <= _MOST_POINTS:
            self._wrong(_HEAD, f"{where}points = {head.points}: expected 1 to {_MOST_POINTS}")
        if sum(hint.costs for hint in hints) > head.points:
            self._wrong(_HINTS, f"{where}its hints cost more than its {head.points} points")
        accepted_answers = (head.answer,) if isinstance(head.answer, str) else tuple(head.answer)
        if head.question and bool(accepted_answers) == bool(head.record):
            self._wrong(
                _HEAD,
                f"{where}a question needs either an answer, or record = the condition of the record asked for",
            )
        if not head.question and (accepted_answers or head.options or head.before or head.record):
            self._wrong(_HEAD, f"{where}answer, choices, before and record belong to a question")
        if head.options and not set(accepted_answers) <= set(head.options):
            self._wrong(_HEAD, f"{where}the answer is not one of the choices")
        protocol = load_protocol(setup.protocol)
        for predicate in filter(None, [head.reach, head.before, head.record]):
            self._check(where, lambda name=predicate: _check_predicate(name, setup, protocol))  # type: ignore[misc]
        if head.repair is not None:
            self._check_repair(where, head.repair, protocol)
        if head.script:
            self._check(where, lambda: _check_script(head.script, setup, protocol))
        return Task(
            number,
            text[0],
            text[1],
            head.points,
            ways[0] if ways else "explain",
            head.reach,
            head.script,
            head.question,
            tuple(head.options),
            accepted_answers,
            head.record,
            head.before,
            head.explain,
            head.at_most,
            head.explains,
            hints,
            head.repair,
        )

    def _check_repair(self, where: str, repair: Repair, protocol: type[Algorithm]) -> None:
        for named, known in (
            (repair.promises, protocol.promises),
            (repair.faults, tuple(FAULTS)),
            ((repair.like,) if repair.like else (), tuple(PROTOCOLS)),
        ):
            for name in named:
                if name not in known:
                    self._wrong(_HEAD, f"{where}repair: unknown {name}; expected one of {', '.join(known)}")
        if not repair.promises or repair.runs < 1 or not 1 <= repair.nodes[0] <= repair.nodes[1]:
            self._wrong(
                _HEAD, f"{where}repair: expected promises, at least one run, and nodes from-to: nodes = [3, 6]"
            )

    def _check(self, where: str, check: Callable[[], None]) -> None:
        try:
            check()
        except CommandError as error:
            self._wrong(_HEAD, f"{where}{error}")

    def _try(self, name: str, read: Callable[[], V]) -> V | None:
        try:
            return read()
        except TextError as error:
            self._wrong(f"{name}:{error.line}", str(error))
        except ValueError as error:
            self._wrong(name, str(error))
        return None

    def _wrong(self, name: str, text: str) -> None:
        self.mistakes.append(sanitize(f"{self._folder / name}: {text}"))


def _check_predicate(text: str, setup: Scenario, protocol: type[Algorithm]) -> None:
    if text.startswith(_VIOLATION):
        _check_script(f"expect {text}", setup, protocol)
    else:
        parse_predicate(text, protocol).check(Scope(protocol, setup.nodes, setup.parameters))


def _check_script(text: str, setup: Scenario, protocol: type[Algorithm]) -> None:
    lines = read_script(text, protocol)
    for line in lines:
        line.check(Scope(protocol, setup.nodes, setup.parameters))
        if not isinstance(line.command, Expectation):
            raise CommandError(
                f"{line.source}: a condition may only contain expectations: expect all.coordinator == 4"
            )
    if not lines:
        raise CommandError("the script is empty: expect all.coordinator == 4 within 60s")


SHIPPED = Path(__file__).parent / "library"


def names(folder: Path = SHIPPED) -> list[str]:
    """Return the names of the exercises in this folder, sorted."""
    return sorted(each.parent.name for each in folder.glob(f"*/{_HEAD}"))


def find_exercise(name: str, folder: Path = SHIPPED) -> Exercise:
    """Read the exercise of this name from this folder, and no other. Raises ExerciseError."""
    known = names(folder)
    if name not in known:
        else_ = "; lab exercise list shows all"
        raise ExerciseError([f"unknown exercise {sanitize(name, 60)}{did_you_mean(name, known) or else_}"])
    return read_exercise(folder / name)


def resolve_exercise(named: str, folder: Path = SHIPPED) -> Exercise:
    """Read the exercise that a user names, by its name or by a path: ./NAME. Raises ExerciseError."""
    return read_exercise(Path(named)) if "/" in named else find_exercise(named, folder)


def all_exercises(folder: Path = SHIPPED) -> list[Exercise]:
    """Read all exercises in this folder, sorted by level, place and name. Raises ExerciseError."""
    found = [read_exercise(folder / name) for name in names(folder)]
    return sorted(found, key=lambda each: (each.level, each.place, each.name))
