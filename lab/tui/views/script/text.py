"""The script that a recording holds, and what has come of each of its lines by some record: pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.script_log import Deed
from lab.properties import Violation
from lab.scenario.head import read_head, split_scenario
from lab.scenario.report import is_meant
from lab.script import (
    CommandError,
    Expect,
    Expectation,
    ExpectThroughout,
    ExpectViolation,
    Scripted,
    numbered_lines,
    parse,
    predecessors,
)

__all__ = ["Script", "ScriptLine", "State", "script_in", "states_of"]

_HEAD = ("title", "shows", "source")


class ScriptLine(Struct, frozen=True):
    """A line of the file. ``says``: whether there is more in it than a remark.

    ``behind`` is the number of the line that it follows, if it follows one. ``of_run``: it takes no turn, but is
    expected of the whole run, or of its end; ``verdict`` is what it expects of the verdicts, if it does.
    ``watches``: from its turn on, or from its trigger on, it is watched to the end of the run, and what is behind
    it does not wait for that.
    """

    number: int
    text: str
    says: bool = False
    behind: int | None = None
    of_run: Literal["", "watched", "at the end"] = ""
    verdict: ExpectViolation | None = None
    watches: Literal["", "at once", "once triggered"] = ""


class Script(Struct, frozen=True):
    """What the run is to show, paragraph by paragraph, and the lines of the script."""

    about: tuple[str, ...]
    lines: tuple[ScriptLine, ...]


class State(Struct, frozen=True):
    """What came of a line, in a ``word``; ``record`` is that of it, at ``at_us``, and ``why`` says more of it.

    ``sort``: it is as it was meant to be, or not, or it is its turn, or it is not known yet.
    """

    sort: Literal["met", "unmet", "waits", "later"]
    word: str = ""
    record: int | None = None
    at_us: int = 0
    why: str = ""


def script_in(text: str) -> Script:
    """The script of a scenario's text, or of a text that is all script."""
    head, script, first = split_scenario(text)
    scripted = dict(_scripted(script, first))
    behind = predecessors(each for each in scripted.values() if each is not None)
    lines = [
        _line(number, said.rstrip(), number in scripted, scripted.get(number), behind.get(number))
        for number, said in enumerate(script.removesuffix("\n").split("\n"), first)
    ]
    return Script(_about(head), tuple(lines))


def _scripted(script: str, first: int) -> Iterator[tuple[int, Scripted | None]]:
    """Each line that says something; None where this version of the language does not know it."""
    for number, line in numbered_lines(script, first):
        try:
            yield number, replace(parse(line), line=number)
        except CommandError:
            yield number, None


def _line(number: int, text: str, says: bool, scripted: Scripted | None, behind: int | None) -> ScriptLine:
    line = ScriptLine(number, text, says, behind)
    if scripted is None or not isinstance(scripted.command, Expectation):
        return line
    command, triggered = scripted.command, scripted.trigger is not None
    if not triggered and not scripted.follows:
        verdict = command if isinstance(command, ExpectViolation) else None
        return replace(line, of_run="at the end" if isinstance(command, Expect) else "watched", verdict=verdict)
    if isinstance(command, ExpectThroughout):
        return replace(line, watches="once triggered" if triggered else "at once")
    return line


def _about(head: str) -> tuple[str, ...]:
    told = read_head(head).values
    paragraphs = {name: " ".join(told[name].split()) for name in _HEAD if name in told}
    if "source" in paragraphs:
        paragraphs["source"] = f"source: {paragraphs['source']}"
    return tuple(paragraphs.values())


def states_of(
    script: Script, deeds: Sequence[Deed], violations: Sequence[Violation], over: bool, is_judged: bool
) -> dict[int, State]:
    """The state of each line that says something, by its number.

    ``over``: nothing more will come of any; ``is_judged``: nor will any other violation be found.
    """
    times = Counter(deed.line for deed in deeds)
    states = {deed.line: _state_after(deed, times[deed.line]) for deed in deeds}
    lines = {line.number: line for line in script.lines}
    for line in script.lines:
        if line.verdict is not None:
            states[line.number] = _state_judged(line.verdict, violations, is_judged)
        elif line.says and line.number not in states:
            states[line.number] = _state_without(line, lines, states, over)
    return states


def _state_after(deed: Deed, times: int) -> State:
    if not deed.is_well:
        return State("unmet", deed.how.upper(), deed.record, deed.at_us, deed.why)
    return State("met", deed.how, deed.record, deed.at_us, f"{times} times so far" if times > 1 else "")


def _state_judged(expected: ExpectViolation, violations: Sequence[Violation], over: bool) -> State:
    """The verdicts of the run are no records: they are told from what was found so far."""
    found = next((each for each in violations if is_meant(expected, each)), None)
    if found is not None:
        if expected.none:
            return State("unmet", "NOT MET", found.record, found.at_us, f"{found}")
        return State("met", "met", found.record, found.at_us)
    if not over:
        return State("later", "watched")
    return State("met", "met") if expected.none else State("unmet", "NOT MET", why="no such violation was found")


def _state_without(line: ScriptLine, lines: dict[int, ScriptLine], states: dict[int, State], over: bool) -> State:
    if line.of_run and not over:
        return State("later", line.of_run)
    number = line.behind
    while number is not None and lines[number].watches:
        number = lines[number].behind
    before = None if number is None else states.get(number)
    if over or (before is not None and before.word in ("NOT MET", "NEVER")):
        return State("unmet", "NEVER", why="" if over else "it follows a line that came to nothing")
    if before is not None and before.record is None:
        return State("later")
    if line.watches == "at once" or (line.watches and _is_passed(line, lines, states)):
        return State("later", "watched")
    return State("waits", "waits")


def _is_passed(line: ScriptLine, lines: dict[int, ScriptLine], states: dict[int, State]) -> bool:
    """Whether the line behind it has come, so that its own trigger has, which no record tells."""
    return any(lines[number].behind == line.number for number in states if number in lines)
