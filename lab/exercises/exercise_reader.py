"""Read exercises, from the library or a teacher's folder, and report every mistake in them."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from lab.exercises.draws import (
    DrawnValues,
    DrawTable,
    as_drawn,
    draw,
    fill_all,
    first_values,
    is_possible,
    mistakes_in_cases,
    mistakes_in_draws,
)
from lab.exercises.exercise import (
    EVENT_NODES,
    FREE,
    LEVELS,
    WAYS,
    Edition,
    Exercise,
    ExerciseTask,
    Hint,
    Kind,
    ProgramStage,
    Requirement,
    Stage,
    TaskHead,
)
from lab.exercises.handout import HEAD as _HEAD
from lab.exercises.handout import decode_tasks, fill
from lab.foreign_file import read_foreign_text
from lab.protocols import PROTOCOLS, Algorithm
from lab.recording.records import ExerciseAttempt
from lab.scenario.file import Scenario, ScenarioError, as_key, check_promise, read_scenario, scenario_in
from lab.script.parse import parse, parse_predicate, read_script
from lab.script.scope import CommandError, Scope
from lab.script.statements import Expectation
from lab.script.verbs import VERBS, bare_commands
from lab.text import UserError, did_you_mean, sanitize
from lab.units import format_us
from lab.worlds.campaign.live_campaign import LIVE_FAULTS
from lab.worlds.campaign.schedule import FAULTS
from lab.worlds.loading.config import settling_us
from lab.worlds.loading.roles import HIGHEST_RATE, Wanted, roles_of
from lab.worlds.loading.settings import SettingError
from lab.worlds.loading.targets import load_protocol

V = TypeVar("V")

SHIPPED = Path(__file__).parent / "library"
_SETUP, _INSTRUCTIONS, _HINTS = "setup.scenario", "instructions.md", "hints.md"
_MOST_POINTS = 10
_VIOLATION = "violation "
_HEADING = re.compile(r"^(#{1,2})[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"(\d+)\.\s+(.+)")
_HINTS_FOR = re.compile(r"Task (\d+)")
_COSTS = re.compile(r"Costs (\d+)")


class ExerciseError(UserError):
    """An exercise that cannot be used; ``mistakes`` are messages for the user, each with its file."""


def names(folder: Path = SHIPPED) -> list[str]:
    """Return the names of the exercises in this folder, sorted."""
    return sorted(each.parent.name for each in folder.glob(f"*/{_HEAD}"))


def find_exercise(name: str, folder: Path = SHIPPED) -> Exercise:
    """Read the exercise of this name from this folder, and no other. Raises ExerciseError."""
    known = names(folder)
    if name not in known:
        else_ = "; lab exercise list shows all"
        raise ExerciseError(f"unknown exercise {sanitize(name, 60)}{did_you_mean(name, known) or else_}")
    return read_exercise(folder / name)


def resolve_exercise(named: str, folder: Path = SHIPPED) -> Exercise:
    """Read the exercise that a user names, by its name or by a path: ./NAME. Raises ExerciseError."""
    return read_exercise(Path(named)) if "/" in named else find_exercise(named, folder)


def all_exercises(folder: Path = SHIPPED) -> list[Exercise]:
    """Read all exercises in this folder, sorted by level, place and name. Raises ExerciseError."""
    found = [read_exercise(folder / name) for name in names(folder)]
    return sorted(found, key=lambda each: (each.level, each.place, each.name))


def titles(folder: Path = SHIPPED) -> dict[str, str]:
    """Return the titles by name, in the order of ``all_exercises``, but quickly: nothing is checked."""
    heads = {name: _Reading(folder / name).head() for name in names(folder)}
    known = [(head.level, head.place, name, head.title) for name, head in heads.items() if head is not None]
    return {name: title for _, _, name, title in sorted(known)}


class _Head(Struct, forbid_unknown_fields=True):
    title: str
    kind: Kind
    level: int
    teaches: tuple[str, ...]
    task: tuple[TaskHead, ...]
    may: tuple[str, ...] = ()
    repairs: str = ""
    writes: str | tuple[str, ...] = ()
    place: int = 50
    edition: Edition = "teacher"
    draw: dict[str, DrawnValues] = {}

    @property
    def files_to_write(self) -> tuple[str, ...]:
        """The files that students begin with, when they write a protocol or a program."""
        return tuple(filter(None, (self.writes,) if isinstance(self.writes, str) else self.writes))

    def mistakes(self) -> Iterator[str]:
        """Yield what is wrong beside the tasks and what is drawn."""
        if self.level not in LEVELS:
            levels = ", ".join(f"{level} ({name})" for level, name in LEVELS.items())
            yield f"level = {self.level}: expected {levels}"
        known = [*(verb for verb in VERBS if verb not in FREE), *bare_commands()]
        for verb in self.may:
            if verb not in known:
                yield f"may: unknown command {verb}{did_you_mean(verb, known)}"
        if not self.task:
            yield "it has no [[task]]; an exercise needs at least one"
        if not self.teaches:
            yield 'teaches is empty; name rules, assertions or assumptions: teaches = ["B4", "A1.1"]'


def drawn_for(exercise: Exercise, student: str, nonce: bytes = b"") -> Exercise:
    """Return the exercise as this student gets it; ``nonce`` is the course's. Raises ExerciseError."""
    return _drawn_as(exercise, draw(exercise.draws, exercise.name, student, nonce))


def drawn_as(exercise: Exercise, attempt: ExerciseAttempt) -> Exercise:
    """Return the exercise as the header of this attempt has it; as it is if no student can get it so."""
    return _drawn_as(exercise, attempt.drawn) if is_possible(exercise.draws, attempt.drawn) else exercise


def _drawn_as(exercise: Exercise, drawn: Mapping[str, str]) -> Exercise:
    return exercise if drawn == exercise.drawn else read_exercise(exercise.folder, drawn)


def read_exercise(folder: Path, drawn: Mapping[str, str] | None = None) -> Exercise:
    """Read the exercise in this folder, filled with the values ``drawn``, or the first ones.

    Raises ExerciseError with all mistakes.
    """
    reading = _Reading(folder, drawn)
    exercise = reading.exercise()
    if exercise is None or reading.mistakes:
        raise ExerciseError(*reading.mistakes)
    return exercise


class _Reading:
    """Reads on after a mistake, as far as the rest can be understood."""

    def __init__(self, folder: Path, drawn: Mapping[str, str] | None = None) -> None:
        self.mistakes: list[str] = []
        self._folder = folder
        self._drawn = drawn or {}

    def exercise(self) -> Exercise | None:
        if not (self._folder / _HEAD).is_file():
            self._wrong("", f"not an exercise: it has no {_HEAD}; lab exercise list shows all exercises")
            return None
        head = self.head()
        setup = self._setup()
        intro, texts = self._try(_INSTRUCTIONS, lambda: instructions_in(self._text(_INSTRUCTIONS))) or ("", [])
        hints = self._try(_HINTS, lambda: hints_in(self._text(_HINTS))) or {}
        if head is None or setup is None:
            return None
        self._wrong(_HEAD, *head.mistakes())
        if len(head.task) != len(texts):
            self._wrong(_INSTRUCTIONS, f"it has {len(texts)} tasks, but {_HEAD} has {len(head.task)} [[task]]")
            return None
        for number in hints.keys() - set(range(1, len(texts) + 1)):
            self._wrong(_HINTS, f"task {number} does not exist")
        tasks = tuple(
            self._task(number, each, text, tuple(hints.get(number, ())), setup)
            for number, (each, text) in enumerate(zip(head.task, texts, strict=True), 1)
        )
        named = [head.repairs] if head.repairs else head.files_to_write
        for name in named:
            if not os.path.isfile(self._folder / name):  # Path raises if the name is too long
                self._wrong(_HEAD, f"{'repairs' if head.repairs else 'writes'}: file {name} not found")
        if head.repairs and head.writes:
            self._wrong(
                _HEAD, "it has both repairs and writes: a file is to be repaired or to be written; leave out one"
            )
        self._wrong(_HEAD, *_mistakes_in_files(head, tasks))
        return Exercise(
            name=self._folder.name,
            folder=self._folder,
            title=head.title,
            kind=head.kind,
            level=head.level,
            teaches=head.teaches,
            intro=intro,
            setup=setup,
            may=head.may,
            tasks=tasks,
            starting_files=tuple(self._folder / name for name in named),
            place=head.place,
            edition=head.edition,
            draws=head.draw,
            drawn=dict(self._drawn),
        )

    def head(self) -> _Head | None:
        try:
            read = decode_tasks(msgspec.toml.decode(self._file_text(_HEAD)))
            draws = read.pop("draw", {})
            table = msgspec.convert(draws, DrawTable)
            mistakes = [*mistakes_in_draws(table), *_mistakes_in_cases(read.get("task"), table)]
            if mistakes:
                self._wrong(_HEAD, *mistakes)
                return None
            self._drawn = self._drawn or first_values(table)
            if "task" in read:
                read["task"] = [as_drawn(task, self._drawn) for task in read["task"]]
            return msgspec.convert({**fill_all(read, self._drawn), "draw": draws}, _Head)
        except (msgspec.DecodeError, ValueError) as error:
            self._wrong(_HEAD, str(error))
            return None

    def _setup(self) -> Scenario | None:
        try:
            path = self._folder / _SETUP
            return scenario_in(self._text(_SETUP), path) if path.is_file() else read_scenario(path)
        except ValueError as error:
            self._wrong(_SETUP, str(error))
            return None
        except ScenarioError as error:
            self.mistakes += error.mistakes
            return None

    def _text(self, name: str) -> str:
        return fill(self._file_text(name), self._drawn)

    def _file_text(self, name: str) -> str:
        try:
            return read_foreign_text(self._folder / name)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise ValueError(error.strerror) from None

    def _task(
        self, number: int, head: TaskHead, text: tuple[str, str], hints: tuple[Hint, ...], setup: Scenario
    ) -> ExerciseTask:
        where = f"task {number}: "
        self._wrong(_HEAD, *(where + mistake for mistake in _mistakes_in(head, setup)))
        if sum(hint.costs for hint in hints) > head.points:
            self._wrong(_HINTS, f"{where}its hints cost more than its {head.points} points")
        way = head.ways[0] if head.ways else "explain"
        return ExerciseTask(
            number=number,
            title=text[0],
            text=text[1],
            way=way,
            hints=hints,
            drawn=dict(self._drawn),
            **asdict(head),
        )

    def _try(self, name: str, read: Callable[[], V]) -> V | None:
        try:
            return read()
        except TextError as error:
            self._wrong(f"{name}:{error.line}", str(error))
        except ValueError as error:
            self._wrong(name, str(error))
        return None

    def _wrong(self, name: str, *mistakes: str) -> None:
        self.mistakes += (sanitize(f"{self._folder / name}: {mistake}") for mistake in mistakes)


def _mistakes_in_cases(tasks: object, table: DrawTable) -> Iterator[str]:
    """Yield the mistakes in the cases of undecoded tasks."""
    for number, task in enumerate(tasks if isinstance(tasks, list) else [], 1):
        if isinstance(task, dict):
            yield from (f"task {number}: {mistake}" for mistake in mistakes_in_cases(task, table))


def _mistakes_in_files(head: _Head, tasks: Sequence[ExerciseTask]) -> Iterator[str]:
    """Yield how the files to begin with and the tasks do not fit together."""
    ways = {task.way for task in tasks}
    if any((way == "repair") != bool(head.repairs) for way in ways):
        yield "with repairs = FILE.py every task needs repair = { … }; without it no task may have one"
    written = ways & {"stage", "program"}
    if len(written) > 1 or ((written or head.files_to_write) and written != ways):
        yield ("with writes = FILE every task needs stage = { … } or, in any language, every task program = { … }")
    elif written and not head.files_to_write:
        yield "stage and program require a file to begin with: writes = FILE"
    elif "stage" in written and len(head.files_to_write) > 1:
        yield "writes: a protocol is written in one file; several are for programs: program = { … }"


def _mistakes_in(head: TaskHead, setup: Scenario) -> Iterator[str]:
    if len(head.ways) != 1:
        yield f"expected one of {', '.join(WAYS)}; got {' and '.join(head.ways) or 'none'}"
    if not 1 <= head.points <= _MOST_POINTS:
        yield f"points = {head.points}: expected 1 to {_MOST_POINTS}"
    if head.question and sum(map(bool, (head.accepted_answers, head.record, head.locked))) != 1:
        yield "a question needs either an answer, or record = the condition of the record asked for"
    if not head.question and (head.accepted_answers or head.options or head.before or head.record or head.locked):
        yield "answer, choices, before and record belong to a question"
    if head.key is not None and not head.accepted_answers:
        yield "key belongs to a question with an answer"
    if head.options and not head.locked and not set(head.accepted_answers) <= set(head.options):
        yield "the answer is not one of the choices"
    protocol = load_protocol(setup.protocol)
    scope = Scope(protocol, setup.nodes, setup.parameters)
    conditions = [(_check_condition, text) for text in (head.reach, head.before, head.record)]
    for check, text in [*conditions, (_check_script, head.script)]:
        try:
            if text:
                check(text, scope, protocol)
        except CommandError as error:
            yield str(error)
    if head.repair is not None:
        yield from (f"repair: {mistake}" for mistake in _requirement_mistakes(head.repair, protocol))
    if head.stage is not None:
        yield from (f"stage: {mistake}" for mistake in _stage_mistakes(head.stage, scope, protocol))
    if head.program is not None:
        yield from (f"program: {mistake}" for mistake in _program_mistakes(head.program, scope, setup))


def _requirement_mistakes(needed: Requirement, protocol: type[Algorithm]) -> Iterator[str]:
    for named, known in (
        (needed.promises, protocol.promises),
        (needed.faults, tuple(FAULTS)),
        ((needed.like,) if needed.like else (), tuple(PROTOCOLS)),
    ):
        for name in named:
            if name not in known:
                yield f"unknown {name}; expected one of {', '.join(known)}"
    if not needed.promises or needed.runs < 1 or not 1 <= needed.nodes[0] <= needed.nodes[1]:
        yield "expected promises, at least one run, and nodes from-to: nodes = [3, 6]"


def _stage_mistakes(stage: Stage, scope: Scope, protocol: type[Algorithm]) -> Iterator[str]:
    yield from _requirement_mistakes(stage, protocol)
    visible = stage.visible
    least, most = visible.nodes or stage.nodes
    if visible.runs < 1 or not 1 <= least <= most:
        yield "visible: expected at least one run, and nodes from-to: visible = { runs = 60, nodes = [3, 4] }"
    for name in visible.faults or ():
        if name not in stage.faults:
            yield f"visible: {sanitize(name, 40)} is not among its faults"
    yield from _command_mistakes([f"tell {scope.ids[0]} {command}" for command in stage.commands], scope)
    yield from _command_mistakes(stage.events, scope)
    if stage.events and stage.faults:
        yield "it has both faults, which are drawn, and events, which are given; leave out one"
    if stage.messages is not None and (stage.faults or stage.events or not stage.commands):
        yield 'messages are counted for each command, in runs without faults: faults = [], commands = ["…"]'


def _command_mistakes(commands: Iterable[str], scope: Scope) -> Iterator[str]:
    names = dict.fromkeys(EVENT_NODES, str(scope.ids[-1]))
    for command in commands:
        try:
            parse(fill(command, names), scope.protocol).check(scope)
        except CommandError as error:
            yield str(error)


def _program_mistakes(stage: ProgramStage, scope: Scope, setup: Scenario) -> Iterator[str]:
    protocol = load_protocol(setup.protocol)
    if not protocol.is_program:
        yield 'the setup has a protocol; it needs program = "./my_node.py", and a lens: lens = "election"'
        return
    for names, expected in ((stage.promises, protocol.promises), (stage.faults, LIVE_FAULTS)):
        for name in names:
            if name not in expected:
                yield f"unknown {sanitize(name, 40)}; expected one of {', '.join(expected)}"
    if (
        not stage.judged_by
        or stage.runs < 1
        or stage.visible_runs < 1
        or not 1 <= stage.nodes[0] <= stage.nodes[1]
    ):
        yield "expected promises or a workload, at least one run, and nodes from-to: nodes = [3, 5]"
    if stage.events and stage.faults:
        yield "it has both faults, which are drawn, and events, which are given; leave out one"
    yield from _command_mistakes(stage.events, scope)
    if not 1 <= stage.rate <= HIGHEST_RATE:
        yield f"rate = {stage.rate}: expected 1 to {HIGHEST_RATE:,}"
        return
    try:
        run_us = stage.run_us
        roles_of(
            Wanted(stage.workload or None, None, stage.rate), protocol, setup.nodes, setup.timing, run_us, as_key
        )
    except SettingError as error:
        yield str(error)
        return
    settles_us = settling_us(protocol, setup.parameters, setup.timing, stage.nodes[1]) if stage.promises else 0
    least_us = stage.least_run_us(settles_us)
    if run_us < least_us:
        yield f'for = "{stage.lasts}": at least {format_us(least_us)}, so that what follows a fault can be judged'


def _check_condition(text: str, scope: Scope, protocol: type[Algorithm]) -> None:
    """Check the condition ``reach``, ``before`` or ``record`` of a task. Raises CommandError."""
    if text.startswith(_VIOLATION):
        _check_script(f"expect {text}", scope, protocol)
    else:
        parse_predicate(text, scope.protocol).check(scope)


def _check_script(text: str, scope: Scope, protocol: type[Algorithm]) -> None:
    """Check the ``script`` of a task. Raises CommandError."""
    lines = read_script(text, scope.protocol)
    for line in lines:
        line.check(scope)
        check_promise(line, protocol)
        if not isinstance(line.command, Expectation):
            raise CommandError(
                f"{line.source}: a condition may only contain expectations: expect all.coordinator == 4"
            )
    if not lines:
        raise CommandError("the script is empty: expect all.coordinator == 4 within 60s")


# texts: Markdown, split at its headings


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
