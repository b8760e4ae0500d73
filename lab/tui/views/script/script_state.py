"""The script in a recording, and the state of each of its lines as of a record. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.script_log import LineResult
from lab.properties import Violation
from lab.scenario.head import read_head, split_scenario
from lab.scenario.report import matches_violation
from lab.script import (
    CommandError,
    Expect,
    Expectation,
    ExpectThroughout,
    ExpectViolation,
    Statement,
    numbered_lines,
    parse,
    predecessors,
)

__all__ = ["LineState", "Script", "ScriptLine", "line_states", "parse_script"]

_HEAD = ("title", "shows", "source")


class ScriptLine(Struct, frozen=True):
    """A line of the file. ``is_statement``: it holds more than a comment.

    ``behind`` is the number of the line that it follows, if any. ``of_run``: it has no turn, but is expected of
    the whole run or of its end; ``verdict`` is the expected violation, if it is about verdicts. ``watches``: it is
    watched to the end of the run, from its turn or from its trigger on, and the lines after it do not wait for
    that.
    """

    number: int
    text: str
    is_statement: bool = False
    behind: int | None = None
    of_run: Literal["", "watched", "at the end"] = ""
    verdict: ExpectViolation | None = None
    watches: Literal["", "at once", "once triggered"] = ""


class Script(Struct, frozen=True):
    """The head, a paragraph each, and the lines of a script."""

    paragraphs: tuple[str, ...]
    lines: tuple[ScriptLine, ...]


class LineState(Struct, frozen=True):
    """The state of a line as a ``word``. ``record``, at ``at_us``, is where it was settled; ``why`` explains it.

    ``status``: as expected, not as expected, due now, or not known yet.
    """

    status: Literal["met", "unmet", "waits", "later"]
    word: str = ""
    record: int | None = None
    at_us: int = 0
    why: str = ""


def parse_script(text: str) -> Script:
    """Return the script of a scenario's text, or of a text that is only a script."""
    head, script, first = split_scenario(text)
    scripted = dict(_scripted(script, first))
    behind = predecessors(each for each in scripted.values() if each is not None)
    lines = [
        _line(number, text.rstrip(), number in scripted, scripted.get(number), behind.get(number))
        for number, text in enumerate(script.removesuffix("\n").split("\n"), first)
    ]
    return Script(_head_paragraphs(head), tuple(lines))


def _scripted(script: str, first: int) -> Iterator[tuple[int, Statement | None]]:
    """Yield each statement by line; None if this version of the language does not know it."""
    for number, line in numbered_lines(script, first):
        try:
            yield number, replace(parse(line), line=number)
        except CommandError:
            yield number, None


def _line(
    number: int, text: str, is_statement: bool, scripted: Statement | None, behind: int | None
) -> ScriptLine:
    line = ScriptLine(number, text, is_statement, behind)
    if scripted is None or not isinstance(scripted.command, Expectation):
        return line
    command, triggered = scripted.command, scripted.trigger is not None
    if not triggered and not scripted.follows:
        verdict = command if isinstance(command, ExpectViolation) else None
        return replace(line, of_run="at the end" if isinstance(command, Expect) else "watched", verdict=verdict)
    if isinstance(command, ExpectThroughout):
        return replace(line, watches="once triggered" if triggered else "at once")
    return line


def _head_paragraphs(head: str) -> tuple[str, ...]:
    values = read_head(head).values
    paragraphs = {name: " ".join(values[name].split()) for name in _HEAD if name in values}
    if "source" in paragraphs:
        paragraphs["source"] = f"source: {paragraphs['source']}"
    return tuple(paragraphs.values())


def line_states(
    script: Script, results: Sequence[LineResult], violations: Sequence[Violation], over: bool, is_judged: bool
) -> dict[int, LineState]:
    """Return the state of each statement by line number.

    ``over``: no line will be reached any more. ``is_judged``: nor will another violation be found.
    """
    times = Counter(result.line for result in results)
    states = {result.line: _state_after(result, times[result.line]) for result in results}
    lines = {line.number: line for line in script.lines}
    for line in script.lines:
        if line.verdict is not None:
            states[line.number] = _state_judged(line.verdict, violations, is_judged)
        elif line.is_statement and line.number not in states:
            states[line.number] = _state_without(line, lines, states, over)
    return states


def _state_after(result: LineResult, times: int) -> LineState:
    if not result.succeeded:
        return LineState("unmet", result.how.upper(), result.record, result.at_us, result.why)
    return LineState("met", result.how, result.record, result.at_us, f"{times} times so far" if times > 1 else "")


def _state_judged(expected: ExpectViolation, violations: Sequence[Violation], over: bool) -> LineState:
    """Return the state of an expected violation, from those found so far: verdicts are not recorded."""
    found = next((each for each in violations if matches_violation(expected, each)), None)
    if found is not None:
        if expected.none:
            return LineState("unmet", "NOT MET", found.record, found.at_us, f"{found}")
        return LineState("met", "met", found.record, found.at_us)
    if not over:
        return LineState("later", "watched")
    return (
        LineState("met", "met")
        if expected.none
        else LineState("unmet", "NOT MET", why="no such violation was found")
    )


def _state_without(
    line: ScriptLine, lines: dict[int, ScriptLine], states: dict[int, LineState], over: bool
) -> LineState:
    if line.of_run and not over:
        return LineState("later", line.of_run)
    number = line.behind
    while number is not None and lines[number].watches:
        number = lines[number].behind
    before = None if number is None else states.get(number)
    if over or (before is not None and before.word in ("NOT MET", "NEVER")):
        return LineState("unmet", "NEVER", why="" if over else "the line before it failed")
    if before is not None and before.record is None:
        return LineState("later")
    if line.watches == "at once" or (line.watches and _is_passed(line, lines, states)):
        return LineState("later", "watched")
    return LineState("waits", "waits")


def _is_passed(line: ScriptLine, lines: dict[int, ScriptLine], states: dict[int, LineState]) -> bool:
    """Return whether a line after it was reached. Then its trigger has fired too, which no record says."""
    return any(lines[number].behind == line.number for number in states if number in lines)
