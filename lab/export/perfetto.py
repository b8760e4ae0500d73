"""A trace in Chrome's JSON format, for ui.perfetto.dev: statuses and faults as slices, messages as flows.

Each node is a process with two threads: how it stood, and what it did. A flow begins and ends inside of slices, so
what a node did at an instant is a slice that lasts until it next did something, and at most a millisecond; slices
of one thread never overlap in part, so what it did within the same microsecond is one slice. One more process has
what is of no node: messages in flight as a counter, what was commanded and said, and the faults, each on the first
thread that is free.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, TextIO

from lab.export.doings import Doing, arrivals_of, doings_of, is_forged
from lab.export.excerpt import Excerpt
from lab.recording.records import encode
from lab.text import sanitize
from lab.units import listed

__all__ = ["write_perfetto"]

_STATUS, _DOES = 1, 2
_SAID = 1
_FIRST_FAULT = 2
_LONGEST_US = 1_000
_Event = dict[str, Any]


def write_perfetto(excerpt: Excerpt, out: TextIO) -> None:
    """Write the trace, an event a line."""
    header = excerpt.header
    about = {"run": header.run, "protocol": header.protocol.title, "world": header.world, "began": header.began}
    told = {name: sanitize(text) for name, text in about.items()}
    out.write(f'{{"displayTimeUnit":"ms","otherData":{encode(told).decode()},"traceEvents":[')
    between = "\n"
    for event in _events(excerpt):
        out.write(between + encode(event).decode())
        between = ",\n"
    out.write("\n]}\n")


def _events(excerpt: Excerpt) -> Iterator[_Event]:
    cluster = _process(max(excerpt.nodes)) + 1
    for node in excerpt.nodes:
        yield from _named(_process(node), f"node {node}", {_STATUS: "status", _DOES: "steps and messages"})
    yield from _statuses(excerpt)
    done: dict[int, list[Doing]] = {node: [] for node in excerpt.nodes}
    for doing in doings_of(excerpt):
        done[doing.node].append(doing)
    for node, doings in done.items():
        yield from _done(node, doings, excerpt.until_us)
    yield from _flows(excerpt)
    yield from _faults(excerpt, cluster)
    yield from _in_flight(excerpt, cluster)
    for line in excerpt.events:
        if line.source is None:
            yield _instant(cluster, _SAID, line.at_us, sanitize(line.text), line.what)


def _process(node: int) -> int:
    return node + 1  # there may be a node 0, and Perfetto has a process 0 of its own


def _named(process: int, name: str, threads: dict[int, str]) -> Iterator[_Event]:
    about = {"ph": "M", "pid": process}
    yield about | {"name": "process_name", "args": {"name": name}}
    yield about | {"name": "process_sort_index", "args": {"sort_index": process}}
    for thread, said in threads.items():
        yield about | {"tid": thread, "name": "thread_name", "args": {"name": said}}
        yield about | {"tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}


def _slice(process: int, thread: int, since_us: int, until_us: int, name: str, args: _Event, what: str) -> _Event:
    lasts_us = max(0, until_us - since_us)
    place = {"ph": "X", "pid": process, "tid": thread, "ts": since_us, "dur": lasts_us}
    return place | {"cat": what, "name": name, "args": args}


def _instant(process: int, thread: int, at_us: int, name: str, what: str) -> _Event:
    return {"ph": "i", "pid": process, "tid": thread, "ts": at_us, "s": "t", "cat": what, "name": name}


def _statuses(excerpt: Excerpt) -> Iterator[_Event]:
    # a process is seen by the host's clock, and a step by its node's: a stretch may seem to begin in the last one
    reached_us = dict.fromkeys(excerpt.nodes, excerpt.from_us)
    for stretch in excerpt.stretches:
        since_us = max(reached_us[stretch.node], excerpt.clip(stretch.since.at_us))
        until_us = excerpt.until_us if stretch.until is None else max(since_us, excerpt.clip(stretch.until.at_us))
        reached_us[stretch.node] = until_us
        if stretch.process != "absent":
            group = None if stretch.group is None else f"{stretch.group[0]}.{stretch.group[1]}"
            args = {"status": sanitize(stretch.status), "coordinator": stretch.coordinator, "group": group}
            name = "Normal, leads" if stretch.leads else sanitize(stretch.shown)
            yield _slice(_process(stretch.node), _STATUS, since_us, until_us, name, args, "status")


def _done(node: int, doings: list[Doing], end_us: int) -> Iterator[_Event]:
    """What a node did, a slice for each microsecond in which it did something."""
    doings.sort(key=lambda doing: doing.at_us)
    instants = [(at_us, list(those)) for at_us, those in groupby(doings, key=lambda doing: doing.at_us)]
    ends_us = [*(then_us for then_us, _ in instants[1:]), end_us]
    for (at_us, those), next_us in zip(instants, ends_us, strict=False):
        said = [text for doing in those for text in doing.said]
        until_us = max(at_us + 1, min(at_us + _LONGEST_US, next_us))
        args = {"records": listed([doing.record for doing in those]), "does": said}
        yield _slice(_process(node), _DOES, at_us, until_us, "; ".join(said), args, "step")


def _flows(excerpt: Excerpt) -> Iterator[_Event]:
    """From where a message was sent to where it arrived; one that was lost is marked on its sender's thread."""
    number = 0
    for arrow in excerpt.arrows:
        line = arrow.line
        assert line.source is not None
        assert line.target is not None
        source, target = _process(line.source), _process(line.target)
        name = sanitize(line.kind)
        if arrow.end is not None and not arrow.arrived and arrow.end.record <= excerpt.last:
            said = f"{name} #{line.serial} to {line.target}: {arrow.fate}"
            yield _instant(source, _DOES, excerpt.clip(arrow.end.at_us), said, "lost")
        if arrow.sent.record < excerpt.first or is_forged(arrow):
            continue
        for point in arrivals_of(arrow):
            if point.record <= excerpt.last:
                number += 1
                flow = {"cat": "message", "name": name, "id": number}
                yield flow | {"ph": "s", "pid": source, "tid": _DOES, "ts": arrow.sent.at_us}
                yield flow | {"ph": "f", "bp": "e", "pid": target, "tid": _DOES, "ts": point.at_us}


def _faults(excerpt: Excerpt, cluster: int) -> Iterator[_Event]:
    free_us: list[int] = []
    """Of each thread, from when on it is free."""
    for strike in excerpt.strikes:
        fault = strike.fault
        since_us = excerpt.clip(strike.since.at_us)
        until_us = excerpt.until_us if strike.until is None else excerpt.clip(strike.until.at_us)
        lane = next((lane for lane, us in enumerate(free_us) if us <= since_us), len(free_us))
        free_us[lane : lane + 1] = [max(since_us + 1, until_us)]
        args = {"id": fault.id, "breaks": fault.breaks, "nodes": fault.nodes, "touched": fault.touched}
        name = sanitize(fault.text) or fault.kind
        yield _slice(cluster, _FIRST_FAULT + lane, since_us, until_us, name, args, "fault")
    lanes = {_FIRST_FAULT + lane: "faults" for lane in range(len(free_us))}
    yield from _named(cluster, "network and script", {_SAID: "script", **lanes})


def _in_flight(excerpt: Excerpt, cluster: int) -> Iterator[_Event]:
    """How many messages were on their way, whenever that changes."""
    changes: dict[int, int] = {}
    for at_us, by in _departures(excerpt):
        changes[at_us] = changes.get(at_us, 0) + by
    number = 0
    for at_us in sorted(changes):
        number += changes[at_us]
        yield {"ph": "C", "pid": cluster, "ts": at_us, "name": "messages in flight", "args": {"messages": number}}


def _departures(excerpt: Excerpt) -> Iterator[tuple[int, int]]:
    for arrow in excerpt.arrows:
        yield excerpt.clip(arrow.sent.at_us), 1
        if arrow.end is not None and arrow.end.record <= excerpt.last:
            yield excerpt.clip(arrow.end.at_us), -1
