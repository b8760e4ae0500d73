"""Read lectures, and report every mistake in them with its line.

A lecture is a Markdown file. Its first heading is its title; each heading of the second depth begins a step. In a
step, fenced blocks say what happens beside its text::

    ```scenario     a scenario, as in a file of its own: the run that begins here
    ```show         TOML: where the run stops, and what to look at
    ```question     TOML: a question, its choices, its answer, and what the answer follows from

What stands below ``### Notes``, in any case, is for the teacher alone; similar headings are refused. A step
without a scenario goes on with the run of the step before it. The stops become lines of the run's script, so each
is a record at exactly its time.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from markdown_it import MarkdownIt
from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.handout import normalize_answer
from lab.exercises.teacher import LONGEST_TEXT
from lab.foreign_file import TOMLError, parse_toml, read_foreign_text
from lab.lectures.lecture import LONGEST_TITLE, Lecture, LectureRun, LectureStep, Question
from lab.scenario.file import (
    Scenario,
    ScenarioError,
    find,
    is_path,
    quoted,
    read_head,
    read_scenario,
    scenario_in,
    split_scenario,
)
from lab.scenario.run_scenario import config_of
from lab.script.parse import read_script
from lab.script.scope import CommandError, Scope
from lab.script.statements import At, Every
from lab.tasks.extension import extension_of
from lab.text import UserError, did_you_mean, sanitize
from lab.units import format_us
from lab.worlds.loading.config import header_of
from lab.worlds.loading.targets import load_protocol

S = TypeVar("S", bound=Struct)

SHIPPED = Path(__file__).parent / "library"
SUFFIX = ".md"
COURSE = (
    "what-an-election-is-for",
    "bully-and-its-price",
    "groups-and-invitation",
    "ring-and-messages",
    "two-phases-three-phases",
    "what-a-majority-buys",
)
"""The built-in lectures."""
VIEWS = ("log", "diagram", "groups", "network", "script", "code", "inspect", "assertions")
"""The views of every run that a step may open; a protocol may bring more."""
_LARGEST = 1 << 18
_BLOCKS = ("scenario", "show", "question")
_NOTES = "notes"
_LIKE_NOTES = re.compile(r"(note|remark)", re.IGNORECASE)
_STEP_LIKE_NOTES = re.compile(r"(notes?|remarks?)(\s+(for|to)\s.*)?\s*:?", re.IGNORECASE)
_FEWEST_CHOICES, _MOST_CHOICES = 2, 9


class LectureError(UserError):
    """A lecture that cannot be used; ``mistakes`` are messages for the user, each with file and line."""


def names() -> list[str]:
    """Return the names of the built-in lectures, in the order in which they are given."""
    return [name for name in COURSE if (SHIPPED / f"{name}{SUFFIX}").is_file()]


def find_lecture(named: str) -> Path:
    """Return the file of a lecture, given its name or its path. Raises LectureError."""
    if named.endswith(SUFFIX) or "/" in named:
        return Path(named)
    if named not in names():
        near = did_you_mean(named, names()) or f"; see lab lecture list, or name a file: FILE{SUFFIX}"
        raise LectureError(f"unknown lecture {sanitize(named, 60)}{near}")
    return SHIPPED / f"{named}{SUFFIX}"


def read_lecture(path: Path) -> Lecture:
    """Read the lecture in this file. Raises LectureError with all mistakes.

    A protocol file that it names is executed.
    """
    try:
        text = read_foreign_text(path, _LARGEST)
    except OSError as error:
        raise LectureError(f"{path}: {error.strerror}; name a lecture, NAME{SUFFIX}") from None
    return lecture_in(text, path)


def lecture_in(text: str, path: Path) -> Lecture:
    """Parse the text of a lecture; ``path`` is where it is, or would be. Raises LectureError."""
    reading = _Reading(text, path)
    lecture = reading.lecture()
    if reading.mistakes:
        raise LectureError(*(text for _, text in sorted(reading.mistakes, key=lambda each: each[0])))
    return lecture


# the parts of the file


class _Block(Struct, frozen=True):
    """A fenced block; ``line`` is that of the fence, so the text begins in the next one."""

    kind: str
    text: str
    line: int

    def line_of(self, key: str) -> int:
        """Return the line of a key, or that of the fence."""
        for number, line in enumerate(self.text.split("\n"), self.line + 1):
            if re.match(rf"\s*\[?(\w+\.)?{re.escape(key)}\b", line):
                return number
        return self.line


class _Section(Struct):
    """A step as written, or, first of all, what stands before the steps."""

    title: str
    line: int
    text: list[str]
    notes: list[str]
    blocks: list[_Block]
    is_step: bool = True

    def block(self, kind: str) -> _Block | None:
        return next((block for block in self.blocks if block.kind == kind), None)


def _sections(text: str) -> Iterator[_Section]:
    lines = text.split("\n")
    section, is_notes, shown = _Section("", 1, [], [], [], is_step=False), False, 0
    tokens = MarkdownIt("commonmark").parse(text)
    for place, token in enumerate(tokens):
        if token.level or token.map is None or token.type not in ("heading_open", "fence"):
            continue
        first, end = token.map
        is_block = token.type == "fence" and token.info.strip() in _BLOCKS
        heading = tokens[place + 1].content if token.type == "heading_open" else ""
        begins_notes = token.tag == "h3" and heading.strip().lower() == _NOTES
        if not (is_block or begins_notes or token.tag in ("h1", "h2")):
            continue
        (section.notes if is_notes else section.text).extend(lines[shown:first])
        shown = end
        if is_block:
            section.blocks.append(_Block(token.info.strip(), token.content, first + 1))
        elif begins_notes:
            is_notes = True
        else:
            yield section
            section, is_notes = _Section(heading, first + 1, [], [], []), False
            if token.tag == "h1":
                section.blocks.append(_Block("title", heading, first + 1))
    (section.notes if is_notes else section.text).extend(lines[shown:])
    yield section


def _odd_headings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and a message for each heading that looks as if notes stood below it, which students read."""
    tokens = MarkdownIt("commonmark").parse(text)
    for place, token in enumerate(tokens):
        if token.type != "heading_open" or token.map is None or token.tag == "h1":
            continue
        heading, line = tokens[place + 1].content.strip(), token.map[0] + 1
        written = sanitize(f"{token.markup} {heading}", 40)
        is_notes = token.tag == "h3" and heading.lower() == _NOTES and not token.level
        if token.tag == "h2" and _STEP_LIKE_NOTES.fullmatch(heading):
            yield line, f"{written} would be a step for students; your notes stand below: ### Notes"
        elif token.tag != "h2" and _LIKE_NOTES.match(heading) and not is_notes:
            yield line, f"students would read what is below {written}; your notes stand below: ### Notes"


def _odd_fences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and a message for each fenced block whose kind is almost one of a lecture's."""
    for token in MarkdownIt("commonmark").parse(text):
        kind = token.info.strip() if token.type == "fence" else ""
        if kind and token.map is not None and kind not in _BLOCKS and (near := did_you_mean(kind, _BLOCKS)):
            yield token.map[0] + 1, f"unknown block {sanitize(kind, 30)}{near}"


# the reading


class _Show(Struct, frozen=True, forbid_unknown_fields=True):
    """The block ``show``. ``run`` is a scenario by name or path; ``caption`` is shown where the run stops."""

    run: str = ""
    stop: str = ""
    view: str = ""
    node: int | None = None
    caption: str = ""


class _Reading:
    """Reads on after a mistake, as far as the rest can be understood."""

    def __init__(self, text: str, path: Path) -> None:
        self.mistakes: list[tuple[int, str]] = []
        self._text = text
        self._path = path
        self._runs: list[LectureRun] = []
        self._stops: list[list[str]] = []
        self._focus: tuple[str, int | None] = "", None
        self._is_unreadable = False

    def lecture(self) -> Lecture:
        head, steps = _Section("", 1, [], [], []), list[LectureStep]()
        for section in _sections(self._text):
            if any(block.kind == "title" for block in section.blocks):
                if head.title or steps:
                    self._wrong(section.line, f"a second title; a step begins with ## {section.title}")
                head = section
            elif section.title:
                steps.append(self._step(len(steps) + 1, section))
            elif section.is_step:
                self._wrong(section.line, "this step has no title; write one: ## TITLE")
            else:
                self._refuse_blocks(section.blocks)
        for line, text in (*_odd_fences(self._text), *_odd_headings(self._text)):
            self._wrong(line, text)
        if not head.title:
            self._wrong(1, "there is no title; begin with: # What an election is for")
        if len(head.title) > LONGEST_TITLE:
            self._wrong(head.line, f"the title has {len(head.title)} characters; {LONGEST_TITLE} are the most")
        self._refuse_blocks(head.blocks[1:])
        if not steps:
            self._wrong(head.line, "there are no steps; each begins with a heading: ## TITLE")
        elif not self._runs and not self.mistakes:
            self._wrong(
                head.line, "no step has a run; write a ```scenario block, or run = NAME in a ```show block"
            )
        return Lecture(
            self._path.stem,
            str(self._path),
            head.title,
            _joined(head.text),
            tuple(steps),
            tuple(map(_with_stops, self._runs, self._stops)),
            hashlib.sha256(self._text.encode()).hexdigest(),
        )

    def _refuse_blocks(self, blocks: Sequence[_Block]) -> None:
        for block in blocks:
            self._wrong(block.line, f"{block.kind} belongs to a step; begin one with: ## TITLE")

    def _step(self, number: int, section: _Section) -> LectureStep:
        for kind in _BLOCKS:
            for again in [block for block in section.blocks if block.kind == kind][1:]:
                self._wrong(again.line, f"a second {kind} block in this step; begin another step: ## TITLE")
        shown, asked = section.block("show"), section.block("question")
        show = None if shown is None else self._decoded(shown, _Show)
        self._begin_run(section, show)
        stop, view, node = 0, "", None
        if shown is not None and show is not None:
            stop = self._stop(shown, show, section.title)
        elif shown is None and section.block("scenario") is not None:
            self._wrong(section.line, 'where does the run stop? Add a ```show block: stop = "when all normal"')
        if stop and show is not None:
            view, node = self._focus = (
                show.view or self._focus[0],
                self._focus[1] if show.node is None else show.node,
            )
        question = None if asked is None else self._question(asked)
        return LectureStep(
            number=number,
            title=section.title,
            text=_joined(section.text),
            notes=_joined(section.notes),
            line=section.line,
            run=len(self._runs) - 1 if self._runs else None,
            stop=stop,
            stop_line=0 if shown is None else shown.line_of("stop"),
            view=view,
            node=node,
            question=question,
            question_line=0 if asked is None else asked.line,
        )

    # runs

    def _begin_run(self, section: _Section, show: _Show | None) -> None:
        block, shown = section.block("scenario"), section.block("show")
        named = "" if show is None else show.run
        if block is not None:
            if named:
                self._wrong(block.line, f"this step has a scenario already: run = {quoted(named)}")
            self._add_run(block.line, self._scenario(block, section.title))
        elif named and shown is not None:
            line = shown.line_of("run")
            self._add_run(line, self._named_scenario(named, line), named)

    def _add_run(self, line: int, scenario: Scenario | None, named: str = "") -> None:
        """Let the steps from here on show this run; None: its scenario cannot be read."""
        self._focus = "", None
        self._is_unreadable = scenario is None
        if scenario is None:
            return
        if "simulated" not in scenario.worlds:
            self._wrong(line, "this scenario has no simulated runs, and a lecture is the same in every hall")
        self._runs.append(LectureRun(scenario, line, named))
        self._stops.append([])

    def _scenario(self, block: _Block, title: str) -> Scenario | None:
        """Read a scenario at its place in the file, so that its mistakes and its report have the right lines."""
        head, _, _ = split_scenario(block.text)
        title_line = "" if "title" in read_head(head).values else f"title = {quoted(title)}"
        padding = "\n" * (block.line - 1)
        try:
            return scenario_in(f"{padding}{title_line}\n{block.text}", self._path)
        except ScenarioError as error:
            self.mistakes += ((block.line, mistake) for mistake in error.mistakes)
        return None

    def _named_scenario(self, named: str, line: int) -> Scenario | None:
        try:
            return read_scenario(self._path.parent / named if is_path(named) else find(named))
        except ScenarioError as error:
            self._wrong(line, *error.mistakes)
        return None

    def _stop(self, block: _Block, show: _Show, title: str) -> int:
        """Add the line at which the run stops to its script, and return its number; 0 if it cannot be used."""
        if not show.stop:
            self._wrong(block.line, 'show has no stop; for example: stop = "when 5 down after 1s"')
            return 0
        if not self._runs or self._is_unreadable:
            if not self._is_unreadable:
                self._wrong(block.line, "no run has begun; write a ```scenario block, or run = NAME")
            return 0
        scenario, stops, line = self._runs[-1].scenario, self._stops[-1], block.line_of("stop")
        waits_for_last = bool(stops) and not show.stop.startswith(("then ", "after "))
        triggers = f"{'then ' if waits_for_last else ''}{show.stop.rstrip(': ')}"
        verb, text = ("say", show.caption) if show.caption else ("mark", title)
        written = f'{triggers}: {verb} "{_quotable(text)}"'
        try:
            self._check_stop(written, scenario, line)
        except CommandError as error:
            self._wrong(line, f"stop: {re.sub(r'^column [0-9]+: ', '', str(error))}")
            return 0
        self._check_focus(scenario, block, show)
        stops.append(written)
        return scenario.first_line + scenario.script.rstrip().count("\n") + len(stops)

    def _check_stop(self, written: str, scenario: Scenario, line: int) -> None:
        """Raise CommandError if the run cannot wait for this."""
        protocol = load_protocol(scenario.protocol)
        found = read_script(written, protocol, line)
        if len(found) != 1 or not found[0].triggers:
            raise CommandError('name what to wait for: stop = "when all normal", or "at 2s", or "after 500ms"')
        found[0].check(Scope(protocol, scenario.nodes, scenario.parameters))
        for trigger in found[0].triggers:
            if isinstance(trigger, Every):
                raise CommandError("a run stops once; write at, after, when or on")
            if isinstance(trigger, At) and trigger.us >= scenario.ends_us:
                raise CommandError(f"{trigger} is after the end of the run, for = {format_us(scenario.ends_us)}")

    def _check_focus(self, scenario: Scenario, block: _Block, show: _Show) -> None:
        header = header_of(config_of(scenario, "simulated", Path()), load_protocol(scenario.protocol))
        known = (*VIEWS, *(view.word for view in extension_of(header).views))
        if show.view and show.view not in known:
            near = did_you_mean(show.view, known) or f"; the views of this run are {', '.join(known)}"
            self._wrong(block.line_of("view"), f"unknown view {sanitize(show.view, 30)}{near}")
        if show.node is not None and show.node not in scenario.nodes:
            nodes = ", ".join(map(str, scenario.nodes))
            self._wrong(block.line_of("node"), f"there is no node {show.node}; the nodes are {nodes}")

    # questions

    def _question(self, block: _Block) -> Question | None:
        question = self._decoded(block, Question)
        if question is None:
            return None
        for key, text in (("question", question.text), *(("choices", each) for each in question.options)):
            if len(text) > LONGEST_TEXT:
                longest = f"{LONGEST_TEXT} are the most that fit the students' screens"
                self._wrong(block.line_of(key), f"{len(text)} characters; {longest}")
        different = len(set(map(normalize_answer, question.options)))
        if not _FEWEST_CHOICES <= different == len(question.options) <= _MOST_CHOICES:
            expected = f"{_FEWEST_CHOICES} to {_MOST_CHOICES} choices, each another answer"
            self._wrong(
                block.line_of("choices"),
                f"a question has {expected}; got {', '.join(map(repr, question.options))}",
            )
        elif not any(map(question.accepts, question.options)):
            self._wrong(block.line_of("answer"), f"the answer {question.answer!r} is not one of the choices")
        needs_run = not (question.key.rule or question.key.explore or question.key.scale)
        if needs_run and not self._runs and not self._is_unreadable:
            self._wrong(block.line_of("key"), "no run has begun from which the answer could follow")
        return question

    # the common parts

    def _decoded(self, block: _Block, kind: type[S]) -> S | None:
        try:
            return msgspec.convert(parse_toml("\n" * block.line + block.text), kind)
        except TOMLError as error:
            self._wrong(error.line or block.line, f"{block.kind} is TOML, with texts in quotes; {error}")
        except msgspec.ValidationError as error:
            self._wrong(*_explained(block, kind, str(error)))
        return None

    def _wrong(self, line: int, *texts: str) -> None:
        self.mistakes += ((line, sanitize(f"{self._path}:{line}: {text}")) for text in texts)


def _explained(block: _Block, kind: type[Struct], message: str) -> tuple[int, str]:
    """Return the line and the text of a mistake in a block of this kind, from msgspec's message."""
    tables: dict[str, Any] = msgspec.json.schema(kind)["$defs"]
    known: dict[str, Any] = tables[kind.__name__]["properties"]
    if inner := re.search(r"`\$\.(\w+)`$", message):
        reference = known[inner[1]].get("$ref", "").rpartition("/")[2]
        known = tables[reference]["properties"] if reference else known
    unknown, missing = (re.search(rf"{how} field `(\w+)`", message) for how in ("unknown", "required"))
    if unknown is not None:
        name = unknown[1]
        near = did_you_mean(name, list(known)) or f"; the keys are {', '.join(known)}"
        return block.line_of(name), f"unknown key {name}{near}"
    if missing is not None:
        return block.line, f"this {block.kind} has no {missing[1]}; its keys are {', '.join(known)}"
    field = re.search(r"`\$\.(\w+)", message)
    return block.line if field is None else block.line_of(field[1]), f"{block.kind}: {message}"


def _quotable(text: str) -> str:
    """Return a text that can stand between quotation marks in a script."""
    return " ".join(text.replace('"', "'").split())


def _joined(lines: Sequence[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _with_stops(run: LectureRun, stops: list[str]) -> LectureRun:
    """Return the run with its stops as the last lines of its script."""
    scenario = run.scenario
    added = "".join(f"\n{stop}" for stop in stops) + "\n"
    script, text = scenario.script.rstrip() + added, scenario.text.rstrip() + added
    return replace(run, scenario=replace(scenario, script=script, text=text))
