"""The script that a recording holds, and what has come of each of its lines by some record: pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from lab.journal import Captioned, Commanded, Deed, Expected
from lab.properties import Violation
from lab.scenario.head import read_head
from lab.scenario.report import is_meant
from lab.script import CommandError, Expect, Expectation, ExpectViolation, Scripted, numbered_lines, parse

__all__ = ["Script", "ScriptLine", "State", "script_in", "states_of"]

_DIVIDER = "---"
_HEAD = ("title", "shows", "source")


class ScriptLine(Struct, frozen=True):
    """A line of the file. ``says``: whether there is more in it than a remark.

    ``behind`` is the number of the line that it follows, if it follows one. ``of_run``: it takes no turn, but is
    expected of the whole run, or of its end; ``verdict`` is what it expects of the verdicts, if it does.
    """

    number: int
    text: str
    says: bool = False
    behind: int | None = None
    of_run: Literal["", "watched", "at the end"] = ""
    verdict: ExpectViolation | None = None


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
    lines = text.splitlines()
    first = lines.index(_DIVIDER) + 1 if _DIVIDER in lines else 0
    script = lines[first:]
    scripted = dict(_scripted("\n".join(script), first + 1))
    found, before = [], None
    for number, said in enumerate(script, first + 1):
        line = ScriptLine(number, said.rstrip(), number in scripted)
        each = scripted.get(number)
        if (
            each is not None
            and each.trigger is None
            and isinstance(each.command, Expectation)
            and not each.follows
        ):
            verdict = each.command if isinstance(each.command, ExpectViolation) else None
            line = replace(
                line, of_run="at the end" if isinstance(each.command, Expect) else "watched", verdict=verdict
            )
        elif each is not None:
            line = replace(line, behind=before if each.follows else None)
            before = number
        found.append(line)
    return Script(_about("\n".join(lines[: max(0, first - 1)])), tuple(found))


def _scripted(script: str, first: int) -> Iterator[tuple[int, Scripted | None]]:
    """Each line that says something; None where this version of the language does not know it."""
    for number, line in numbered_lines(script, first):
        try:
            yield number, parse(line)
        except CommandError:
            yield number, None


def _about(head: str) -> tuple[str, ...]:
    try:
        told = read_head(head).values
    except RecursionError:  # a recording of bad faith
        return ()
    paragraphs = {name: " ".join(told[name].split()) for name in _HEAD if name in told}
    if "source" in paragraphs:
        paragraphs["source"] = f"source: {paragraphs['source']}"
    return tuple(paragraphs.values())


def states_of(
    script: Script, deeds: Iterable[tuple[int, Deed]], violations: Sequence[Violation], over: bool, is_judged: bool
) -> dict[int, State]:
    """The state of each line that says something, by its number.

    ``over``: nothing more will come of any; ``is_judged``: nor will any other violation be found.
    """
    states: dict[int, State] = {}
    times: dict[int, int] = {}
    for record, deed in deeds:
        times[deed.line] = times.get(deed.line, 0) + 1
        states[deed.line] = _state_after(record, deed, times[deed.line])
    for line in script.lines:
        if line.verdict is not None:
            states[line.number] = _state_judged(line.verdict, violations, is_judged)
        elif line.says and line.number not in states:
            states[line.number] = _state_without(line, states, over)
    return states


def _state_after(record: int, deed: Deed, times: int) -> State:
    again = f"{times} times so far" if times > 1 else ""
    if isinstance(deed, Captioned):
        return State("met", "marked" if deed.mark else "said", record, deed.at_us, again)
    if isinstance(deed, Expected):
        sort, word = ("met", "met") if deed.met else ("unmet", "NOT MET")
        return State(sort, word, record, deed.at_us, deed.why)  # type: ignore[arg-type]
    assert isinstance(deed, Commanded)
    if deed.changed:
        return State("met", "done", record, deed.at_us, again)
    return State("unmet", "REFUSED" if deed.refused else "NO EFFECT", record, deed.at_us, deed.outcome)


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


def _state_without(line: ScriptLine, states: dict[int, State], over: bool) -> State:
    before = None if line.behind is None else states.get(line.behind)
    if line.of_run and not over:
        return State("later", line.of_run)
    if over or (before is not None and before.word in ("NOT MET", "NEVER")):
        return State("unmet", "NEVER", why="" if over else "it follows a line that came to nothing")
    if before is None or before.record is not None:
        return State("waits", "waits")
    return State("later")
