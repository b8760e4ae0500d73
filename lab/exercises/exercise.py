"""An exercise, as read from its folder, and the topics that exercises teach."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct, field

from lab.exercises.draws import DrawTable
from lab.exercises.handout import LockedText, fill, normalize_answer
from lab.exercises.tool_keys import CompareKey, ExplorationKey, ScaleKey
from lab.properties.assertions import ASSERTIONS, ASSUMPTIONS
from lab.scenario.file import Scenario, as_key
from lab.text import did_you_mean
from lab.worlds.loading.settings import positive
from lab.worlds.loading.targets import load_protocol

Kind = Literal["bring about", "predict", "find", "explore", "repair", "write", "program", "explain"]
KINDS: dict[Kind, str] = {
    "bring about": "make it happen, with the allowed commands",
    "predict": "predict what will happen",
    "find": "find it in a run",
    "explore": "find it with lab explore, lab scale or lab compare, in a terminal of your own",
    "repair": "repair a protocol that leaves out a rule; not on the server",
    "write": "write a protocol from an empty file, stage by stage; not on the server",
    "program": "write a program in any language, stage by stage; not on the server",
    "explain": "explain in your own words, for the teacher",
}
"""The kinds of exercises: what the student mainly does."""

LEVELS = {1: "first steps", 2: "middle", 3: "hard"}

Edition = Literal["teacher", "student"]

Way = Literal["reach", "script", "question", "explain", "repair", "stage", "program"]
WAYS: tuple[Way, ...] = get_args(Way)

FREE = ("answer", "hint", "mark", "say", "freeze", "go", "speed", "step")
"""Commands that are allowed in every exercise and are not counted: they do not affect the nodes."""


class Hint(Struct, frozen=True):
    """A hint, in Markdown, and the points that it costs."""

    costs: int
    text: str


class Requirement(Struct, frozen=True, forbid_unknown_fields=True):
    """The requirements for a protocol file: keep ``promises`` in ``runs`` runs with these ``faults``.

    Each run has a random number of ``nodes`` (from, to), random times and links, and executes ``commands``, or by
    default those of its protocol. If ``like`` names a built-in protocol, the student's may send at most ``times``
    times as many messages.
    """

    promises: tuple[str, ...]
    faults: tuple[str, ...] = ("kill",)
    runs: int = 200
    nodes: tuple[int, int] = (3, 6)
    commands: tuple[str, ...] = ()
    like: str = ""
    times: float = 1.5


EVENT_NODES = ("highest", "other", "any")
"""The names for nodes in the events of a stage."""


class VisibleCampaign(Struct, frozen=True, forbid_unknown_fields=True):
    """The part of a stage that students run by themselves; what is empty is as in the hidden campaign."""

    runs: int = 60
    nodes: tuple[int, int] | None = None
    faults: tuple[str, ...] | None = None


class Stage(Requirement, frozen=True, forbid_unknown_fields=True):
    """The requirements for a stage of a protocol that is written from an empty file.

    Without ``faults`` its runs have none but the ``events``: commands that each run gives in this order, a short
    and random time apart. In them ``{highest}`` is the highest node, ``{other}`` a random one of the others, and
    ``{any}`` a random one of all. ``messages``, if given, are the most messages in a run for each of its commands
    and each node but one.
    """

    events: tuple[str, ...] = ()
    messages: float | None = None
    visible: VisibleCampaign = VisibleCampaign()


START_US = 2_000_000
"""Programs have started by then, and events begin."""
EVENTS_OVER, _FAULTS_OVER = 0.4, 0.7
"""The shares of a run after which all events, or faults, are over."""


class ProgramStage(Struct, frozen=True, forbid_unknown_fields=True):
    """The requirements for a stage of a program, in any language: to be met in ``runs`` live runs.

    Each run takes ``run_us``, and has a random number of ``nodes`` (from, to). It must keep ``promises`` of the
    lens, or serve the clients of a ``workload``, each with ``rate`` operations a second; a run without faults may
    have ``events``, as in a ``Stage``. ``visible_runs``: how many runs students make by themselves.
    """

    promises: tuple[str, ...] = ()
    workload: str = ""
    rate: int = 10
    faults: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    runs: int = 6
    nodes: tuple[int, int] = (3, 5)
    lasts: str = field(default="10s", name="for")
    visible_runs: int = 3

    @property
    def run_us(self) -> int:
        """The time of each run. Raises SettingError."""
        return positive("for", self.lasts, as_key)

    def least_run_us(self, settles_us: int) -> int:
        """Return the least time of a run in which nodes that settle within ``settles_us`` can be judged."""
        over = _FAULTS_OVER if self.faults else EVENTS_OVER if self.events else 0.0
        starts_us = 0 if over else START_US
        return max(3_000_000, int((starts_us + settles_us) / (1 - over)) // 100_000 * 100_000)

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The promises, and the workload."""
        return (*self.promises, self.workload) if self.workload else self.promises


class AnswerKey(Struct, frozen=True, forbid_unknown_fields=True):
    """What the accepted answer of a question follows from: a run, or ``rule``.

    The run is simulated: the exercise's setup, and the lines ``run`` after those of its script. It is looked at
    when the triggers ``at`` have fired, or at its end if there are none. The answer that follows is the one whose
    condition in ``holds`` is met then (what may stand after *expect*; or further triggers, *expect* and that), or
    the ``value`` of an expression, less its value when the triggers ``since`` had fired. It must follow under
    every seed, and in each of ``setups``: values that replace those in the head of the setup, and ``script`` its
    script.

    ``rule`` names the rules, assertions and assumptions that a question is about whose answer no run shows.
    ``explore``, ``scale`` and ``compare`` are for questions that are answered with these tools.
    """

    rule: tuple[str, ...] = ()
    run: str = ""
    since: str = ""
    at: str = ""
    value: str = ""
    holds: dict[str, str] = {}
    setups: tuple[dict[str, Any], ...] = ({},)
    explore: ExplorationKey | None = None
    scale: ScaleKey | None = None
    compare: CompareKey | None = None


class TaskHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task as described in ``exercise.toml``; it is done in one of seven ways.

    ``reach``: a predicate becomes true. ``script``: all lines of a script are met. ``question``: the answer is one
    of ``accepted_answers``, or the number of the record with which ``record`` becomes true (a predicate, or
    ``violation A1.1``). An answer counts only until ``before`` becomes true, and only the first one counts.
    ``explain``: a text that a teacher reads. ``repair``, ``stage`` and ``program``: a file is graded, not an
    attempt.

    ``at_most`` is the number of commands allowed, not counting those in ``FREE``; None means any number.
    ``explanation`` is shown afterwards. ``key`` is what the answer follows from. In the students' edition of a
    question, ``locked`` is in place of ``accepted_answers``, ``key`` and ``explanation``.
    """

    points: int
    reach: str = ""
    script: str = ""
    question: str = ""
    explain: str = ""
    options: tuple[str, ...] = field(default=(), name="choices")
    answer: str | tuple[str, ...] = ()
    key: AnswerKey | None = None
    record: str = ""
    before: str = ""
    at_most: int | None = None
    explanation: str = field(default="", name="explains")
    repair: Requirement | None = None
    stage: Stage | None = None
    program: ProgramStage | None = None
    locked: LockedText | None = None

    @property
    def accepted_answers(self) -> tuple[str, ...]:
        return (self.answer,) if isinstance(self.answer, str) else self.answer

    @property
    def requirement(self) -> Requirement | None:
        """The requirements for the protocol file; None if no such file is graded."""
        return self.stage or self.repair

    @property
    def grades_file(self) -> bool:
        """True if a file is graded, not an attempt."""
        return self.requirement is not None or self.program is not None

    @property
    def ways(self) -> list[Way]:
        """The ways that are described; a valid task has one."""
        return [way for way in WAYS if getattr(self, way)]


def _is_number(answer: str) -> bool:
    return answer.isascii() and answer.isdecimal()


_ASKS_FOR_NUMBER = re.compile(r"\bhow (many|much)\b|\bin whole\b", re.IGNORECASE)
_ASKS_FOR_NODE = re.compile(r"\bwhich node\b", re.IGNORECASE)
_NOT_OPENED = "The right answer opens the explanation; your teacher has it, too."


class ExerciseTask(TaskHead, frozen=True, kw_only=True):
    """A task. ``number`` counts from 1; ``text`` holds its instructions, in Markdown.

    ``drawn`` are the values that its texts were filled with.
    """

    number: int
    title: str
    text: str
    way: Way
    hints: tuple[Hint, ...]
    drawn: dict[str, str] = {}

    def accepts(self, answer: str) -> bool:
        """Return whether this is an accepted answer, one of ``accepted_answers``."""
        if self.locked is not None:
            return self.locked.open_with(answer) is not None
        return normalize_answer(answer) in map(normalize_answer, self.accepted_answers)

    def option_named(self, answer: str) -> str:
        """Return the option that is meant by its place, from 1, if no option is a number; else the answer."""
        plain = normalize_answer(answer)
        is_place = plain.isascii() and plain.isdecimal() and 1 <= int(plain) <= len(self.options)
        if not is_place or any(normalize_answer(each).isdecimal() for each in self.options):
            return answer
        return self.options[int(plain) - 1]

    def reason_impossible(self, answer: str, nodes: Collection[int], last_record: int) -> str:
        """Return why this cannot be an answer in a run with these nodes and records; empty if it can.

        It says nothing about what the correct answer is.
        """
        number = normalize_answer(answer)
        is_number = _is_number(number)
        if self.options and number not in map(normalize_answer, self.options):
            meant = did_you_mean(answer, self.options)
            return f"{answer} is none of the choices, {', '.join(self.options)}{meant}"
        accepted = map(normalize_answer, self.accepted_answers)
        # in the students' edition the answer is locked, and may be a word, such as five
        is_digits = any(map(str.isdecimal, number)) or (
            bool(self.accepted_answers) and all(map(_is_number, accepted))
        )
        if is_digits and _ASKS_FOR_NUMBER.search(self.question) and not is_number:
            return f"{answer} is no whole number: type digits, without a sign or a unit"
        if self.record and not (is_number and int(number) <= last_record):
            return f"there is no record {answer}: type a number from 0 to {last_record}"
        if _ASKS_FOR_NODE.search(self.question) and is_number and int(number) not in nodes:
            return f"there is no node {answer}: the nodes are {', '.join(map(str, nodes))}"
        return ""

    def correct_answer(self) -> str:
        """Return the correct answer; empty if it is locked, and is not one of the options."""
        return next(filter(self.accepts, self.accepted_answers or self.options), "")

    def explanation_after(self, answer: str) -> str:
        """Return the explanation, in Markdown, for a student whose answer has been judged."""
        if self.locked is None:
            return self.explanation
        opened = self.locked.open_with(answer if self.accepts(answer) else self.correct_answer())
        return _NOT_OPENED if opened is None else fill(opened, self.drawn)


class Exercise(Struct, frozen=True):
    """An exercise. ``intro`` is the text before the tasks, in Markdown.

    ``teaches`` names rules, assertions, properties of the setup and assumptions. ``setup`` is the scenario that an
    attempt starts from; its ``for`` limits the attempt's time. ``may`` lists the commands that are allowed besides
    those in ``FREE``. ``starting_files`` has the protocol file to be repaired, or the skeleton of the one to be
    written, if there is one: then a file is handed in. A program has a skeleton for each of some languages. Within
    a ``level``, exercises are sorted by ``place``. The ``student`` edition has neither solutions nor wrong
    attempts. ``draws`` lists the values that are drawn for a student, and ``drawn`` are those that this exercise
    was filled with.
    """

    name: str
    folder: Path
    title: str
    kind: Kind
    level: int
    teaches: tuple[str, ...]
    intro: str
    setup: Scenario
    may: tuple[str, ...]
    tasks: tuple[ExerciseTask, ...]
    starting_files: tuple[Path, ...] = ()
    place: int = 50
    edition: Edition = "teacher"
    draws: DrawTable = {}
    drawn: dict[str, str] = {}

    @property
    def points(self) -> int:
        """Points that can be earned without a teacher."""
        return sum(task.points for task in self.tasks if task.way != "explain")

    @property
    def starting_file(self) -> Path | None:
        """The file to begin with, the first if there are several; None if no file is handed in."""
        return next(iter(self.starting_files), None)

    @property
    def is_on_server(self) -> bool:
        """True if it is done where a class is served, too: there no file is handed in."""
        return not self.starting_files

    @property
    def is_program(self) -> bool:
        """True if a program is to be written, in any language."""
        return any(task.program is not None for task in self.tasks)

    @property
    def is_in_stages(self) -> bool:
        """True if a protocol or a program is to be written from an empty file."""
        return self.is_program or any(task.stage is not None for task in self.tasks)

    @property
    def allowed(self) -> tuple[str, ...]:
        return (*self.may, *FREE)

    @property
    def script_values(self) -> dict[str, str]:
        """The values of a script's braces: those drawn, and for ``{answer_2}`` the answer of task 2."""
        answered = (task for task in self.tasks if task.accepted_answers)
        return self.drawn | {f"answer_{task.number}": task.accepted_answers[0] for task in answered}

    def load_properties(self) -> None:
        """Judge runs of its protocol by the properties that its setup names, not by those of another exercise.

        To be called before a judge of such a run is made, as properties are looked up by the protocol's name.
        """
        load_protocol(self.setup.protocol)

    def describe_topics(self) -> str:
        """Return what it teaches, each topic with a word on what it is."""
        self.load_properties()
        return ", ".join(map(describe_topic, self.teaches))


RULES = {
    "M1": "ids and priorities",
    "M2": "the state vector",
    "M3": "stable storage",
    "M4": "a crash halts a node",
    "M5": "the bounds T, Tm and Tp",
    "M6": "links keep their order",
    "M7": "only Normal nodes work",
    "B1": "a silent coordinator is noticed",
    "B2": "recovery",
    "B3": "the coordinator's check",
    "B4": "stage 1: ask the higher nodes",
    "B5": "stage 2: halt the lower nodes",
    "B6": "stage 3: set the coordinator",
    "B7": "stage 4: hand out the new state",
    "B8": "answers to messages",
    "B9": "late answers do not count",
    "B10": "no finished work is lost",
    "T1": "ELECTION to the higher nodes",
    "T2": "OK to a lower node",
    "T3": "no OK: COORDINATOR to all",
    "T4": "recovery",
    "T5": "the run of figure 3-12",
    "R1": "the ring",
    "R2": "ELECTION, and dead successors",
    "R3": "the list becomes COORDINATOR",
    "R4": "elections at the same time",
    "R5": "a message whose starter crashed",
    "R6": "recovery",
    "I1": "group identifiers",
    "I2": "recovery: a group of one",
    "I3": "the coordinator's check",
    "I4": "a silent coordinator is noticed",
    "I5": "merging groups",
    "I6": "an invitation",
    "I7": "answers to messages",
    "I8": "nothing waits forever",
    "I9": "optional behaviours",
    "I10": "the history of groups",
    "F1": "regions and readings",
    "F2": "a new division of the field",
    "F3": "double work, and joining results",
    "F4": "publishing with a majority",
    "C1": "votes and the commit point",
    "C2": "uncertain after YES",
    "C3": "abort before voting",
    "C4": "cooperative termination and blocking",
    "C5": "recovery from the log",
    "C6": "locks",
    "P1": "the PreCommit phase",
    "P2": "electing a new coordinator",
    "P3": "the termination rules",
    "P4": "majorities count all participants",
    "P5": "no blocking with a majority",
    "P6": "who must have acknowledged PreCommit",
    "P7": "a majority may block; E3PC does not",
    "P8": "commit protocols compared",
    "K1": "one token",
    "K2": "every request is served",
}
"""The rules of the algorithms by their ids."""


def describe_topic(topic: str) -> str:
    """Return a topic with a word on what it is: ``B3 (the coordinator's check)``."""
    words = RULES.get(topic, "")
    if topic in ASSERTIONS:
        found = ASSERTIONS[topic]
        words = found.short or found.statement
    elif topic.startswith("assumption "):
        number = topic.removeprefix("assumption ")
        words = ASSUMPTIONS.get(int(number), "") if number.isdecimal() else ""
    return f"{topic} ({words})" if words else topic
