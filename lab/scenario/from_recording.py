"""Turn a recording into a scenario that reproduces it: find its script, and write its text.

The text has a head with a title and ``shows`` in English, notes on what was left out and what the recording lacks,
an aligned script with a comment on each command, and expectations.
"""

import contextlib
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from lab.analysis.elections import agreed_coordinator
from lab.properties.registry import has_programs
from lab.protocols.clients import Client
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import open_recording
from lab.recording.records import Header
from lab.scenario.command_history import CommandHistory, GivenCommand, happened_between, read_history
from lab.scenario.file import (
    LONGEST_TITLE,
    LONGEST_US,
    MOST_NODES,
    SUFFIX,
    Scenario,
    ScenarioError,
    World,
    quoted,
    scenario_in,
)
from lab.scenario.run_scenario import run_simulated
from lab.scenario.script_search import (
    DraftLine,
    ExpectedOutcome,
    ScriptSearch,
    TriedDraft,
    expected_outcome,
    shrink_script,
)
from lab.script.commands import (
    Caption,
    Heal,
    Inject,
    LinkFault,
    NodeCommand,
    Nodes,
    Partition,
    ProtocolCommandLine,
    Slow,
    SlowDisk,
)
from lab.script.predicates import And, Is, Predicate
from lab.script.scope import CommandError
from lab.script.statements import At, Expect, ExpectViolation
from lab.text import UserError, sanitize
from lab.units import format_count, format_us
from lab.worlds.loading.roles import wanted_in
from lab.worlds.loading.settings import usual_link
from lab.worlds.loading.targets import recorded_protocols, recorded_targets, split_task, stacked_target


class ScenarioSource(Struct, frozen=True):
    """The source of a scenario: a recording, and the protocol's target if it is not built in."""

    recording: Path
    target: str = ""
    folder: Path = Path()
    title: str = ""


class UnsuitableRecordingError(UserError):
    """No scenario can be made from this recording; the message is for the user."""


class GeneratedScenario(Struct, frozen=True):
    """The text of a scenario. ``is_same``: whether it has the outcome of the recording when run in simulation.

    ``doubts``: what is wrong with the scenario, ``notes``: what of the recording is missing in it; a line each.
    """

    text: str
    is_same: bool
    doubts: tuple[str, ...]
    notes: tuple[str, ...] = ()


def make_scenario(source: ScenarioSource, shrink: bool, on_progress: Callable[[str], None]) -> GeneratedScenario:
    """Return a scenario that reproduces the recording; ``on_progress`` is called with a progress message.

    Raises NotARecordingError, UnsuitableRecordingError, and TargetError if the protocol is not built in and not
    named.
    """
    with contextlib.closing(open_recording(source.recording)) as store:
        protocol = recorded_protocols(store.header, source.target or None)
        if has_programs(store.header):
            raise UnsuitableRecordingError(
                f"{source.recording} is a run of programs, which cannot be executed again to compare outcomes; "
                "write a scenario by hand, with the program in its head: lab guide programs"
            )
        try:
            history = read_history(store)
        except CommandError as error:
            raise UnsuitableRecordingError(f"{source.recording} has an invalid command: {error}") from None
    _check_size(source.recording, history)
    outcome = expected_outcome(
        history.cluster, history.judge, history.clients, history.faults, store.header.world == "live"
    )
    search = ScriptSearch(history, protocol, outcome, lambda tried: on_progress(f"{tried} runs tried"))
    found = search.find()
    if history.steered and not found.is_same:
        raise UnsuitableRecordingError(
            f"in {source.recording} the user chose the next event ({history.steered[0]}), which a script cannot, "
            f"and without that the outcome is different; branch from it instead: lab branch FILE --at RECORD"
        )
    least = shrink_script(search, found) if shrink and found.is_same else found
    notes = tuple(notes_on(history, found, least is None))
    found = least or found
    worlds = _worlds(history, search, found)
    text = scenario_text(history, search.outcome, found, source, worlds, notes)
    return GeneratedScenario(text, found.is_same, tuple(_doubts(_read(text, source), found, worlds)), notes)


def _check_size(recording: Path, history: CommandHistory) -> None:
    """Raise UnsuitableRecordingError for a recording beyond the limits of a scenario."""
    nodes, took_us = len(history.header.nodes), history.cluster.at_us
    if nodes > MOST_NODES:
        raise UnsuitableRecordingError(
            f"{recording} has {nodes} nodes, a scenario at most {MOST_NODES}; record fewer"
        )
    if took_us > LONGEST_US:
        raise UnsuitableRecordingError(
            f"{recording} lasts {format_us(took_us)}, a scenario at most {format_us(LONGEST_US)}; "
            f"record a shorter run"
        )


def _read(text: str, source: ScenarioSource) -> Scenario:
    """Parse the generated text. Raises UnsuitableRecordingError if it is no valid scenario."""
    try:
        return scenario_in(text, source.folder / f"recorded{SUFFIX}")
    except ScenarioError as error:
        mistake = error.mistakes[0]
        raise UnsuitableRecordingError(f"the scenario of {source.recording} would be invalid: {mistake}") from None


def _worlds(history: CommandHistory, search: ScriptSearch, found: TriedDraft) -> tuple[World, ...]:
    """Return both worlds if the outcome is the same with other seeds and delays; else the one where it is."""
    if found.is_good and search.is_steady(found):
        return ("simulated", "live")
    return ("simulated",) if found.is_same else (history.header.world,)


def _doubts(scenario: Scenario, found: TriedDraft, worlds: tuple[World, ...]) -> list[str]:
    if not found.is_same:
        missed = "; ".join(map(str, found.missed)) or "it did not end"
        return [f"in simulation its outcome is different: {missed}"]
    report = run_simulated(scenario)
    doubts = [f"line {each.line}: {each.expected}: {each.was}" for each in report.findings]
    if "live" not in worlds:
        doubts.append("with other seeds or delays its outcome is different, so it is for simulation only")
    return doubts


# the text


_WIDEST_TRIGGER = 44
_WIDEST_COMMAND = 36
_WIDTH = 115
_MOST_NAMES = 10
"""Limit of the number of commands named."""
_MOST_PHRASES = 2
_AT_ONCE_US = 1_000
_NODE_VERBS = {
    "kill": ("crashes", "crash"),
    "restart": ("recovers", "recover"),
    "pause": ("is paused", "are paused"),
    "resume": ("resumes", "resume"),
    "wipe": ("loses its stable storage", "lose their stable storage"),
    "unwrite": ("loses writes", "lose writes"),
    "tear": ("has a torn write", "have torn writes"),
    "flip": ("has a flipped bit", "have flipped bits"),
}
_LINK_VERBS = {
    "delay": "messages are delayed",
    "lose": "messages are lost",
    "cut": "links are cut",
    "duplicate": "messages are duplicated",
    "reorder": "messages are reordered",
    "hold": "messages are held",
    "heal": "the links are healed",
    "release": "held messages are released",
    "join": "cut links are restored",
}


def scenario_text(
    history: CommandHistory,
    outcome: ExpectedOutcome,
    found: TriedDraft,
    source: ScenarioSource,
    worlds: Sequence[str],
    notes: Sequence[str],
) -> str:
    """Return the text of the file, for ``source.folder``; ``notes`` become comments before the script."""
    shows = _shows(history, outcome, found)
    head = [
        _pair("title", source.title or _title(history, found)),
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
    target, of_members = recorded_targets(header, source.target)
    yield _pair("protocol", _seen_from(source.folder, target))
    all_there = nodes == tuple(range(1, len(nodes) + 1))
    yield _pair("nodes", str(len(nodes)) if all_there else ",".join(map(str, nodes)))
    if timing.tm_us == timing.t_us * 2 // 5:
        yield _pair("t", format_us(timing.t_us))
    else:
        yield _pair("tm", format_us(timing.tm_us))
        yield _pair("tp", format_us(timing.tp_us))
    if link != usual_link(timing, header.world != "live"):
        yield _pair("latency", format_us(link.latency_us))
        yield _pair("jitter", format_us(link.jitter_us))
    yield _pair("seed", str(header.seed))
    if header.members:
        named = (",".join(map(str, role.nodes)) for role in header.members)
        seen = (_seen_from(source.folder, each) for each in of_members)
        roles = (f"{quoted(one)} = {quoted(other)}" for one, other in zip(named, seen, strict=True))
        yield f"role = {{ {', '.join(roles)} }}"
    yield from _outside(header)
    pairs = (setting.partition("=") for setting in info.settings)
    # 0s and no value stand for the default
    chosen = [_pair(name, value) for name, _, value in pairs if value not in ("0s", "")]
    if chosen:
        yield f"set = {{ {', '.join(chosen)} }}"


def _outside(header: Header) -> Iterator[str]:
    """Yield the keys of the clients and services, as far as they are not the defaults."""
    count = sum(len(role.nodes) for role in header.roles if role.protocol == Client.name)
    wanted = wanted_in(header.roles, count)
    if wanted.workload is not None:
        yield _pair("workload", wanted.workload)
        yield f"clients = {wanted.clients}"
        yield f"rate = {wanted.rate}"
        if wanted.model:
            yield _pair("model", wanted.model)
    if wanted.services:
        yield _pair("service", ",".join(wanted.services))


def _seen_from(folder: Path, target: str) -> str:
    """Return the target with its file relative to the scenario's folder."""
    task, election = split_task(target)
    file, suffix, name = election.rpartition(".py")
    if not suffix:
        return target
    seen = f"{os.path.relpath(f'{file}.py', folder)}{name}"
    return stacked_target(task, seen) if task else seen


# the script


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
        comment = _comment(history, line.given, after)
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
        yield str(Expect(outcome.agreed, history.within_us))
    if outcome.agreed is not None or found.draft.lines:
        yield ""
    for predicate in _at_end(outcome):
        yield str(Expect(predicate))
    for verdict in outcome.stated:
        if not verdict.none or "live" not in worlds:
            yield str(verdict)


def _at_end(outcome: ExpectedOutcome) -> list[Predicate]:
    """Return the predicates that hold at the end, with the agreement in one line."""
    end = [each for each in outcome.end if each != Is("all", "normal")]
    if outcome.agreed is None:
        return end
    is_whole = isinstance(outcome.agreed, And)
    return [outcome.agreed if is_whole else And((Is("all", "normal"), outcome.agreed)), *end]


# in English: the title, what the scenario shows, comments and notes


def _title(history: CommandHistory, found: TriedDraft) -> str:
    """Return a title such as ``4 and 5 crash, 3 takes over``."""
    given = [line.given for line in found.draft.lines]
    phrases = [*dict.fromkeys(_phrases(given))]
    if len(phrases) > _MOST_PHRASES + 1:
        phrases[_MOST_PHRASES:] = ["and more"]
    ending = _ending(history, given)
    if not phrases and agreed_coordinator(history.cluster.nodes) is None:
        phrases = [f"a run of {history.header.title} without faults"]
    elif not history.elects:
        ending = f"in a run of {history.header.title}"
    title = ", ".join(filter(None, [*phrases, ending]))
    return sanitize(title[:1].upper() + title[1:], LONGEST_TITLE)


def _shows(history: CommandHistory, outcome: ExpectedOutcome, found: TriedDraft) -> str:
    """Return the text of ``shows``: the origin of the scenario, and its outcome."""
    header, draft = history.header, found.draft
    what = f"{header.title} with {format_count(len(draft.nodes), 'node')}"
    many = f", with {format_count(len(draft.lines), 'command')}" if draft.lines else ""
    parts = [f"Made from a recording of a {header.world} run of {what}{many}."]
    final = history.cluster if found.trial is None or not found.is_same else found.trial.cluster
    parts.append(f"Outcome: {'; '.join([*_final_state(final, history.elects), *map(_verdict, outcome.stated)])}.")
    if history.steered:
        parts.append(
            "The user chose the next events there, which a script cannot do; those commands are left out."
        )
    if not found.is_same:
        missed = "; ".join(map(str, found.missed))
        parts.append(f"In simulation its outcome is different: {missed or 'it did not end'}.")
    elif not found.is_good:
        parts.append("Some of its lines have no effect, and yet the outcome is different without them.")
    return " ".join(parts)


def _comment(history: CommandHistory, given: GivenCommand, after: GivenCommand | None) -> str:
    """Return a comment: the affected nodes, if the command does not name them, and the coordinator that followed.

    Only what happened before the next command, ``after``, counts as an effect, and neither what holds at once nor
    what comes long afterwards. A caption has no effect.
    """
    if isinstance(given.line.command, Caption):
        return ""
    parts = []
    if re.search(r"\b(all|coordinators?)\b", given.command) and isinstance(given.line.command, NodeCommand):
        parts.append(given.outcome)
    last = history.cluster.record + 1 if after is None else after.began
    soon = range(given.at_us + _AT_ONCE_US, given.at_us + history.long_us)
    agreed = [event for event in happened_between(history.agreed, given.began - 1, last) if event.at_us in soon]
    leaders = [event for event in happened_between(history.leaders, given.began - 1, last) if event.at_us in soon]
    if agreed and agreed[-1].what is not None:
        parts.append(f"{agreed[-1].what} leads after {_seconds(agreed[-1].at_us - given.at_us)}")
    elif leaders and len(leaders[-1].what) > 1:
        parts.append(f"{_and(leaders[-1].what)} lead after {_seconds(leaders[-1].at_us - given.at_us)}")
    return sanitize("; ".join(filter(None, parts))).replace('"', "'")


def notes_on(history: CommandHistory, found: TriedDraft, is_needless: bool) -> Iterator[str]:
    """Yield the notes, a line each. ``is_needless``: shrinking left no command."""
    kept = {line.given for line in found.draft.lines}
    idle = [*history.idle, *(given.command for given in history.given if given not in kept)]
    names = [*dict.fromkeys(idle)]
    if names:
        more = [f"and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        yield f"left out, without effect: {', '.join([*names[:_MOST_NAMES], *more])}"
    if history.is_cut:
        start = "last command" if history.given else "start"
        yield f"left out: what came more than {format_us(history.long_us)} after the {start}; not an effect"
    if is_needless:
        yield "not shrunk: the outcome is the same without any command, so all are kept"
    if history.gaps:
        yield (
            f"line {history.gaps[0] + 1} of the recording is unreadable, or delivers a message that no line "
            f"before it sends, so lines are missing; see lab verify FILE"
        )
    if not history.ended:
        yield (
            "the recording has no end: its run was interrupted or is in progress; all of it is used, "
            "and the expected outcome may be an intermediate state"
        )


def _seconds(us: int) -> str:
    return f"{us / 1e6:.1f} s" if us >= 1_000_000 else f"{us / 1e3:.0f} ms"


def _phrases(given: Iterable[GivenCommand]) -> Iterator[str]:
    """Yield a short phrase for each command; equal effects, or effects on the same nodes, share a phrase."""
    results = []
    for words, group in groupby(map(_effect, given), key=lambda result: result[0]):
        if words:
            results.append((words, sorted({node for _, nodes in group for node in nodes})))
    for nodes, alike in groupby(results, key=lambda result: result[1]):
        verbs = [*dict.fromkeys(words[len(nodes) > 1] for words, _ in alike)]
        if nodes:
            yield f"{_and(nodes)} {_and(verbs)}"
        else:
            yield from verbs


def _effect(given: GivenCommand) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the effect of a command, in singular and plural, and its nodes; empty for a caption."""
    match given.line.command:
        case NodeCommand(verb, nodes):
            return _NODE_VERBS[verb], _affected_nodes(nodes, given)
        case Slow(nodes):
            return ("is slow", "are slow"), _affected_nodes(nodes, given)
        case SlowDisk(nodes):
            return ("has a slow disk", "have slow disks"), _affected_nodes(nodes, given)
        case LinkFault(verb) | Heal(_, verb):
            effect = _LINK_VERBS[verb]
        case ProtocolCommandLine(_, command):
            effect = f"{command} is called"
        case Partition():
            effect = "the network is partitioned"
        case Inject():
            effect = "a message is forged"
        case _:
            return (), ()
    return (effect, effect), ()


def _affected_nodes(nodes: Nodes, given: GivenCommand) -> tuple[int, ...]:
    """Return the affected nodes; those named by role are taken from the recorded outcome."""
    if not nodes.words:
        return nodes.ids
    return tuple(map(int, re.findall(r"\d+", given.outcome.partition(";")[0])))


def _final_state(cluster: ClusterState, elects: bool) -> Iterator[str]:
    """Yield who follows whom at the end, and which nodes do not run."""
    views = list(cluster.nodes.values())
    running = [view for view in views if view.process == "running"]
    leader = agreed_coordinator(cluster.nodes)
    if leader is not None:
        yield f"at the end all agree on {leader}"
    elif elects:
        follow: dict[str, list[int]] = {}
        for view in running:
            normal = view.status == "Normal" and view.coordinator is not None
            begins = "about to start" if view.status == "Down" else f"in {view.status}"
            follow.setdefault(f"under {view.coordinator}" if normal else begins, []).append(view.id)
        yield "at the end " + ", ".join(f"{_and(nodes)} {_are(nodes)} {how}" for how, nodes in follow.items())
    for process in ("killed", "failed", "paused"):
        nodes = tuple(view.id for view in views if view.process == process)
        if nodes:
            yield f"{_and(nodes)} {_are(nodes)} {'paused' if process == 'paused' else 'down'}"


def _are(nodes: Sequence[int]) -> str:
    return "is" if len(nodes) == 1 else "are"


def _verdict(expected: ExpectViolation) -> str:
    if expected.none:
        return f"{expected.assertion or 'all that is promised'} holds"
    return f"{expected.assertion} is violated" + (f" under {expected.under}" if expected.under else "")


def _ending(history: CommandHistory, given: list[GivenCommand]) -> str:
    """Return who leads at the end, compared with who led before; empty if the protocol elects nobody."""
    leader = agreed_coordinator(history.cluster.nodes)
    leading = history.leaders[-1].what
    if not history.elects:
        return ""
    if leader is None:
        return f"{_and(leading)} lead" if len(leading) > 1 else "without agreement at the end"
    start = given[0].began if given else history.cluster.record + 1
    before = [event.what for event in history.agreed if event.record < start and event.what is not None]
    lost = any(leader not in event.what for event in history.leaders if event.record >= start)
    if not given or not before:
        return f"{leader} is elected"
    if leader != before[-1]:
        return f"{leader} takes over"
    return f"{leader} leads again" if lost else f"{leader} still leads"


def _and(each: Sequence[int] | Sequence[str]) -> str:
    words = [*map(str, each)]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
