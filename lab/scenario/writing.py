"""The text of a scenario that was made from a recording: its head, its aligned script, and what is expected."""

import os
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from lab.recording.records import Header, Link
from lab.scenario.head import quoted
from lab.scenario.outcome import Outcome
from lab.scenario.searching import Found, Line
from lab.scenario.story import Story
from lab.scenario.telling import remark_on, shows_of, title_of
from lab.script import At, Caption, Expect
from lab.script.predicates import All, Is, Predicate
from lab.script.printing import said
from lab.text import sanitize
from lab.units import format_us
from lab.worlds.targets import recorded_target

__all__ = ["Source", "scenario_text"]

_WIDEST_TRIGGER = 44
_WIDEST_COMMAND = 36
_WIDTH = 115


class Source(Struct, frozen=True):
    """Where a scenario comes from: a recording, and, where the protocol is the user's own, its target."""

    recording: Path
    target: str = ""
    folder: Path = Path()
    title: str = ""


def scenario_text(
    story: Story,
    outcome: Outcome,
    found: Found,
    source: Source,
    worlds: Sequence[str],
    notes: Sequence[str] = (),
) -> str:
    """The text of the file; ``source.folder`` is where it will be. ``notes`` come as remarks before the script."""
    shows = shows_of(story, outcome, found)
    head = [
        _pair("title", source.title or title_of(story, found)),
        'shows = """',
        *textwrap.wrap(sanitize(shows).replace("\\", "/").replace('"', "'"), _WIDTH),
        '"""',
        _pair("source", f"made from the recording {sanitize(source.recording.name)}"),
        *_run(story.header, source, found.draft.nodes),
        f"worlds = [{', '.join(map(quoted, worlds))}]",
        _pair("for", format_us(found.draft.end_us)),
    ]
    remarks = [
        line
        for note in notes
        for line in textwrap.wrap(sanitize(note), _WIDTH, initial_indent="# ", subsequent_indent="#   ")
    ]
    script = [*_lines(story, found), *_expected(story, outcome, found, worlds)]
    return "\n".join([*head, "---", *remarks, *script]) + "\n"


def _pair(name: str, value: str) -> str:
    return f"{name} = {quoted(value)}"


def _run(header: Header, source: Source, nodes: tuple[int, ...]) -> Iterator[str]:
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
    chosen = [_pair(name, value) for name, _, value in pairs if value != "0s"]  # which stands for a default
    if chosen:
        yield f"set = {{ {', '.join(chosen)} }}"


def _seen_from(folder: Path, target: str) -> str:
    """A target whose file is named as it is seen from the scenario's folder."""
    task, above, election = target.rpartition(" above ")
    file, colon, name = election.partition(".py")
    if not colon:
        return target
    return f"{task}{above}{os.path.relpath(f'{file}.py', folder)}{name}"


def _lines(story: Story, found: Found) -> Iterator[str]:
    """The commands: triggers in one column, commands in the next, and what came of them in the last."""
    lines = found.draft.lines
    waits = [_waits(line) for line in lines]
    first = max((len(each) for each in waits if len(each) <= _WIDEST_TRIGGER), default=0)
    commands = [sanitize(line.given.command) for line in lines]
    second = max((len(each) for each in commands if len(each) <= _WIDEST_COMMAND), default=0)
    for place, line in enumerate(lines):
        behind = (each.given for each in lines[place + 1 :])
        after = next((each for each in behind if not isinstance(each.line.command, Caption)), None)
        remark = remark_on(story, line.given, after)
        if any(isinstance(trigger, At) for trigger in line.anchor.triggers):
            remark = "; ".join(filter(None, ("by the clock: nothing else comes to the same", remark)))
        if line in found.idle:
            remark = "; ".join(filter(None, ("touches nothing", remark)))
        said_ = f"{waits[place]:<{first}}  {commands[place]:<{second}}" + (f"  # {remark}" if remark else "")
        yield said_.strip()


def _waits(line: Line) -> str:
    return f"{line.anchor}:" if line.anchor.triggers else str(line.anchor)


def _expected(story: Story, outcome: Outcome, found: Found, worlds: Sequence[str]) -> Iterator[str]:
    """What came of it. That nothing is violated is said for simulation alone: a live machine may be too slow.

    A failure fails a scenario in any case.
    """
    if outcome.agreed is not None:
        yield said(Expect(outcome.agreed, story.within_us))
    if outcome.agreed is not None or found.draft.lines:
        yield ""
    for predicate in _at_end(outcome):
        yield said(Expect(predicate))
    for verdict in outcome.verdicts:
        if not verdict.none or "live" not in worlds:
            yield said(verdict)


def _at_end(outcome: Outcome) -> list[Predicate]:
    """All that is so at the end; whom all agree on in one line."""
    end = [each for each in outcome.end if each != Is("all", "normal")]
    if outcome.agreed is None:
        return end
    is_whole = isinstance(outcome.agreed, All)
    return [outcome.agreed if is_whole else All((Is("all", "normal"), outcome.agreed)), *end]
