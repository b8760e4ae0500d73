"""Check that the answers of questions follow from runs.

A teacher who writes down the right answer can be wrong, and nobody notices: a solution may pass by another way,
and students are marked wrong. So each question names the run that its answer follows from. The run is simulated
here under several seeds, and what follows is compared with the answer. Where no run shows the answer, because the
question is about a definition or a reason, the question names the rule that it rests on.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from lab.exercises.assessment import ObservedRun, ScriptMonitor
from lab.exercises.exercise import RULES, AnswerKey, Exercise, ExerciseTask
from lab.exercises.handout import format_table
from lab.exercises.tool_keys import CompareKey, ExplorationKey, ScaleKey, ToolKeyError
from lab.properties.assertions import ASSERTIONS, ASSUMPTIONS
from lab.properties.judge import Judge
from lab.recording.records import End, Header, Record
from lab.scenario.file import Scenario, ScenarioError, scenario_in, split_scenario
from lab.scenario.run_scenario import config_of
from lab.script.parse import parse_watch, read_script
from lab.script.scope import CommandError, Scope
from lab.script.statements import Expectation
from lab.text import UserError, did_you_mean, sanitize
from lab.units import format_rounded
from lab.worlds.loading.config import header_of
from lab.worlds.loading.targets import load_protocol
from lab.worlds.simulated.execution import simulate_in_memory

LONGEST_US = 60_000_000
_SLICE_US = 200_000
_REACHED = "live >= 0"
_KNOWN = (*RULES, *ASSERTIONS, *(f"assumption {number}" for number in ASSUMPTIONS))
_KEY_FORMS = ("rule", "value", "holds", "explore", "scale", "compare")
_FORMS = 'key = { rule = ["B4"] }, or a run: [task.key] with at = "…", and value or holds'


class KeyedQuestion(Protocol):
    """A question with its accepted answers, its choices, if it has any, and what the answer follows from."""

    @property
    def accepted_answers(self) -> tuple[str, ...]: ...

    @property
    def options(self) -> tuple[str, ...]: ...

    @property
    def key(self) -> AnswerKey | None: ...

    def accepts(self, answer: str) -> bool:
        """Return whether this is an accepted answer."""


def key_problems(
    exercise: Exercise, seeds: Sequence[int], report_progress: Callable[[], None] = lambda: None
) -> Iterator[str]:
    """Yield the problems of the answers: those that do not follow, and those that follow from nothing.

    A run is simulated under each of the ``seeds``. ``report_progress`` is called after each task.
    """
    for task in exercise.tasks:
        if task.accepted_answers:
            problems = list(answer_problems(task, exercise.setup, seeds)) or _refusals(task, exercise.setup.nodes)
            yield from (f"task {task.number}: {problem}" for problem in problems)
        report_progress()


def _refusals(task: ExerciseTask, nodes: Sequence[int]) -> Iterator[str]:
    """Yield the accepted answers that no student could hand in."""
    for answer in task.accepted_answers:
        if refused := task.reason_impossible(answer, nodes, 0):
            yield f"the answer given is refused: {sanitize(refused, 120)}"


def answer_problems(question: KeyedQuestion, setup: Scenario, seeds: Sequence[int]) -> Iterator[str]:
    """Yield the problems of one answer; its run is that of the ``setup``, under each of the ``seeds``."""
    try:
        yield from _problems(question, setup, seeds)
    except (CommandError, ScenarioError) as error:
        yield f"key: {error}"


def _problems(question: KeyedQuestion, setup: Scenario, seeds: Sequence[int]) -> Iterator[str]:
    key = question.key
    if key is None:
        yield f"nothing shows that its answer is right; name what it follows from: {_FORMS}"
        return
    forms = [name for name in _KEY_FORMS if getattr(key, name)]
    if len(forms) != 1:
        expected = f"{', '.join(_KEY_FORMS[:-1])} and {_KEY_FORMS[-1]}"
        yield f"key: expected one of {expected}; got {' and '.join(forms) or 'none'}"
        return
    if tool_key := key.explore or key.scale or key.compare:
        yield from _tool_problems(question, tool_key)
        return
    for name in key.rule:
        if name not in _KNOWN:
            yield f"key: unknown rule {sanitize(name, 40)}{did_you_mean(name, _KNOWN)}"
    for answer in key.holds:
        if question.options and answer not in question.options:
            yield f"key: {sanitize(answer, 60)} is not one of the choices"
    if key.holds and not any(map(question.accepts, key.holds)):
        yield "key: holds has no condition for the answer"
        return
    if key.rule:
        return
    for changes in key.setups:
        changed = _changed(setup, key, changes)
        for seed in seeds:
            followed, looked_at_us = _what_follows(changed, key, seed)
            if len(followed) == 1 and question.accepts(followed[0]):
                continue
            where = "".join(f", {name} = {value}" for name, value in changes.items())
            yield (
                f"the answer given is {sanitize(question.accepted_answers[0], 80)!r}, but with seed {seed}{where} "
                f"{_describe(followed, key)}, at {format_rounded(looked_at_us)}"
            )
            break


def _tool_problems(question: KeyedQuestion, key: ExplorationKey | ScaleKey | CompareKey) -> Iterator[str]:
    """Yield what is wrong with the answer to a question about an exploration, about costs or a comparison."""
    try:
        followed = key.answer()
    except (ToolKeyError, CommandError, UserError) as error:
        yield f"key: {error}"
        return
    if not question.accepts(followed):
        yield f"the answer given is {sanitize(question.accepted_answers[0], 80)!r}, but {followed!r} followed"


def _describe(followed: Sequence[str], key: AnswerKey) -> str:
    if not followed:
        return f"nothing followed: {'no condition was met' if key.holds else 'this was not reached'}: {key.at}"
    return f"{' and '.join(repr(sanitize(each, 80)) for each in followed)} followed"


# the run


def _changed(setup: Scenario, key: AnswerKey, changes: dict[str, object]) -> Scenario:
    """Return the setup with these changes to its head, and with the lines of the key. Raises ScenarioError."""
    head, script, _ = split_scenario(setup.text)
    values = {**tomllib.loads(head), "script": script, **changes}
    lines = f"{str(values.pop('script')).rstrip()}\n{key.run}"
    return scenario_in(f"{format_table(values)}---\n{lines}", Path(setup.path))


def _what_follows(setup: Scenario, key: AnswerKey, seed: int) -> tuple[list[str], int]:
    """Simulate the run; return the answers that follow from it, and when that was decided, in us.

    Raises CommandError.
    """
    config = replace(config_of(setup, "simulated", Path()), seed=seed)
    protocol = load_protocol(config.protocol)
    scope = Scope(protocol, setup.nodes, setup.parameters)
    header = header_of(config, protocol)
    observed = _Values(key, header, scope) if key.value else _Conditions(key, header, scope)
    end_us = min(setup.ends_us, LONGEST_US)
    simulate_in_memory(config, header, observed.observe, lambda: observed.is_decided, end_us, _SLICE_US)
    return observed.followed, observed.looked_at_us


class _Observation:
    """The observation of a run, which gets each record, the header first.

    ``looked_at_us``: when it was decided, or the present, as long as it is not.
    """

    def __init__(self, header: Header, scope: Scope) -> None:
        self._judge = Judge(header)
        self._run = ObservedRun(header, self._judge)
        self._scope = scope
        self.looked_at_us = 0

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        was_decided = self.is_decided
        self._judge.observe(record)
        self._run.observe(record)
        self._note(record)
        if not was_decided:
            self.looked_at_us = self._run.now_us

    def _note(self, record: Record | None) -> None:
        """Note what the record changed in the run."""
        raise NotImplementedError

    def _monitor(self, at: str, condition: str) -> ScriptMonitor:
        """Return what waits for the condition after the triggers. Raises CommandError."""
        is_line = re.search(r"\bexpect\b", condition) is not None
        text = ": ".join(filter(None, (at.strip(), condition if is_line else f"expect {condition}")))
        for line in read_script(text, self._scope.protocol):
            line.check(self._scope)
            if not isinstance(line.command, Expectation):
                raise CommandError(f"{line.source}: expected one condition")
        return ScriptMonitor(text, self._run)

    @property
    def is_decided(self) -> bool:
        """True if the rest of the run makes no difference."""
        raise NotImplementedError

    @property
    def followed(self) -> list[str]:
        """The answers that follow, once the run is over."""
        raise NotImplementedError


class _Conditions(_Observation):
    def __init__(self, key: AnswerKey, header: Header, scope: Scope) -> None:
        super().__init__(header, scope)
        self._monitors = {answer: self._monitor(key.at, text) for answer, text in key.holds.items()}

    def _note(self, record: Record | None) -> None:
        for monitor in self._monitors.values():
            monitor.observe(record)
            if isinstance(record, End):
                monitor.finish()

    @property
    def is_decided(self) -> bool:
        return all(monitor.met != "open" for monitor in self._monitors.values())

    @property
    def followed(self) -> list[str]:
        return [answer for answer, monitor in self._monitors.items() if monitor.met == "met"]


class _Values(_Observation):
    def __init__(self, key: AnswerKey, header: Header, scope: Scope) -> None:
        super().__init__(header, scope)
        self._watch = parse_watch(key.value, scope.protocol)
        self._watch.check(scope)
        self._since = self._monitor(key.since, _REACHED) if key.since else None
        self._at = self._monitor(key.at, _REACHED)
        self._before: str | None = None
        self._value: str | None = None

    def _note(self, record: Record | None) -> None:
        for monitor in filter(None, (self._since, self._at)):
            monitor.observe(record)
            if isinstance(record, End):
                monitor.finish()
        if self._since is not None and self._before is None and self._since.met == "met":
            self._before = self._read()
        if self._value is None and self._at.met == "met":
            self._value = self._read()

    def _read(self) -> str:
        """Return the value; a list without its brackets."""
        return " ".join(map(str, self._watch.read(self._run.cluster))).strip("[]")

    @property
    def is_decided(self) -> bool:
        return self._value is not None

    @property
    def followed(self) -> list[str]:
        if self._value is None:
            return []
        if self._since is None:
            return [self._value]
        is_number = self._before is not None and self._before.isdecimal() and self._value.isdecimal()
        return [str(int(self._value) - int(self._before or 0))] if is_number else []
