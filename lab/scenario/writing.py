"""Write the text of a scenario made from a recording: its head, its aligned script and its expectations."""

import os
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from lab.recording.records import Header, Link
from lab.scenario.command_history import CommandHistory
from lab.scenario.descriptions import comment_for, shows_of, title_of
from lab.scenario.expected_outcome import ExpectedOutcome
from lab.scenario.head import quoted
from lab.scenario.script_search import DraftLine, TriedDraft
from lab.script import At, Caption, Expect
from lab.script.predicates import All, Is, Predicate
from lab.script.printing import unparse
from lab.text import sanitize
from lab.units import format_us
from lab.worlds.targets import recorded_target

__all__ = ["ScenarioSource", "scenario_text"]

_WIDEST_TRIGGER = 44
_WIDEST_COMMAND = 36
_WIDTH = 115


class ScenarioSource(Struct, frozen=True):
    """The source of a scenario: a recording, and the protocol's target if it is not built in."""

    recording: Path
    target: str = ""
    folder: Path = Path()
    title: str = ""


def scenario_text(
    history: CommandHistory,
    outcome: ExpectedOutcome,
    found: TriedDraft,
    source: ScenarioSource,
    worlds: Sequence[str],
    notes: Sequence[str] = (),
) -> str:
    """Return the text of the file, for ``source.folder``; ``notes`` become comments before the script."""
    shows = shows_of(history, outcome, found)
    head = [
        _pair("title", source.title or title_of(history, found)),
        'shows = """',
        *textwrap.wrap(sanitize(shows).replace("\\", "/").replace('"', "'"), _WIDTH),
        '"""',
        _pair("source", f"made from the recording {sanitize(source.recording.name)}"),
        *_run(history.header, source, found.draft.nodes),
        f"worlds = [{', '.join(map(quoted, worlds))}]",
        _pair("for", format_us(found.draft.end_us)),
    ]
    comments = [
        line
        for note in notes
        for line in textwrap.wrap(sanitize(note), _WIDTH, initial_indent="# ", subsequent_indent="#   ")
    ]
    script = [*_lines(history, found), *_expected(history, outcome, found, worlds)]
    return "\n".join([*head, "---", *comments, *script]) + "\n"


def _pair(name: str, value: str) -> str:
    return f"{name} = {quoted(value)}"


def _run(header: Header, source: ScenarioSource, nodes: tuple[int, ...]) -> Iterator[str]:
    info, timing, link = header.protocol, header.timing, header.link
    target = recorded_target(info, source.target)
    yield _pair("protocol", _seen_from(source.folder, target))
    all_there = nodes == tuple(range(1, len(nodes) + 1))
    yield _pair("nodes", str(len(nodes)) if all_there else ",".join(map(str, nodes)))
    if timing.tm_us == timing.t_us * 2 // 5:
        yield _pair("t", format_us(timing.t_us))
    else:
        yield _pair("tm", format_us(timing.tm_us))
        yield _pair("tp", format_us(timing.tp_us))
    if link != (Link() if header.world == "live" else Link(timing.tm_us // 4, timing.tm_us // 8)):
        yield _pair("latency", format_us(link.latency_us))
        yield _pair("jitter", format_us(link.jitter_us))
    yield _pair("seed", str(header.seed))
    pairs = (setting.partition("=") for setting in info.settings)
    chosen = [_pair(name, value) for name, _, value in pairs if value != "0s"]  # 0s stands for the default
    if chosen:
        yield f"set = {{ {', '.join(chosen)} }}"


def _seen_from(folder: Path, target: str) -> str:
    """Return the target with its file relative to the scenario's folder."""
    task, separator, election = target.rpartition(" above ")
    file, colon, name = election.partition(".py")
    if not colon:
        return target
    return f"{task}{separator}{os.path.relpath(f'{file}.py', folder)}{name}"


def _lines(history: CommandHistory, found: TriedDraft) -> Iterator[str]:
    """Yield the lines of the commands in three columns: triggers, commands, and comments with their effects."""
    lines = found.draft.lines
    waits = [_waits(line) for line in lines]
    first = max((len(each) for each in waits if len(each) <= _WIDEST_TRIGGER), default=0)
    commands = [sanitize(line.given.command) for line in lines]
    second = max((len(each) for each in commands if len(each) <= _WIDEST_COMMAND), default=0)
    for place, line in enumerate(lines):
        behind = (each.given for each in lines[place + 1 :])
        after = next((each for each in behind if not isinstance(each.line.command, Caption)), None)
        comment = comment_for(history, line.given, after)
        if any(isinstance(trigger, At) for trigger in line.anchor.triggers):
            comment = "; ".join(filter(None, ("by the clock: no other trigger has the same outcome", comment)))
        if line in found.idle:
            comment = "; ".join(filter(None, ("no effect", comment)))
        text = f"{waits[place]:<{first}}  {commands[place]:<{second}}" + (f"  # {comment}" if comment else "")
        yield text.strip()


def _waits(line: DraftLine) -> str:
    return f"{line.anchor}:" if line.anchor.triggers else str(line.anchor)


def _expected(
    history: CommandHistory, outcome: ExpectedOutcome, found: TriedDraft, worlds: Sequence[str]
) -> Iterator[str]:
    """Yield the expectations of the outcome.

    ``expect no violation`` is omitted for live runs, where a slow machine may cause excused violations. A failure
    makes a scenario fail in any case.
    """
    if outcome.agreed is not None:
        yield unparse(Expect(outcome.agreed, history.within_us))
    if outcome.agreed is not None or found.draft.lines:
        yield ""
    for predicate in _at_end(outcome):
        yield unparse(Expect(predicate))
    for verdict in outcome.verdicts:
        if not verdict.none or "live" not in worlds:
            yield unparse(verdict)


def _at_end(outcome: ExpectedOutcome) -> list[Predicate]:
    """Return the predicates that hold at the end, with the agreement in one line."""
    end = [each for each in outcome.end if each != Is("all", "normal")]
    if outcome.agreed is None:
        return end
    is_whole = isinstance(outcome.agreed, All)
    return [outcome.agreed if is_whole else All((Is("all", "normal"), outcome.agreed)), *end]
