"""A trace in Chrome's JSON format, for ui.perfetto.dev: statuses and faults as slices, messages as flows.

Each node is a process with two threads: its status, and its activities. Flows must begin and end inside of slices,
so an activity is a slice that lasts until the node's next activity, and at most a millisecond. Slices of one
thread must not overlap partially, so the activities of one microsecond form one slice. One more process shows what
belongs to no node: the number of messages in flight, commands and captions, and the faults, each on the first free
thread.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, TextIO

from lab.export.activities import Activity, activities_in, arrivals_of, is_forged
from lab.export.excerpt import Excerpt
from lab.recording.records import encode
from lab.text import sanitize
from lab.units import format_ranges

__all__ = ["write_perfetto"]

_STATUS, _ACTIVITY = 1, 2
_SCRIPT = 1
_FIRST_FAULT = 2
_LONGEST_US = 1_000
_Event = dict[str, Any]


def write_perfetto(excerpt: Excerpt, out: TextIO) -> None:
    """Write the trace, one event per line."""
    header = excerpt.header
    metadata = {"run": header.run, "protocol": header.protocol.title, "world": header.world, "began": header.began}
    safe_metadata = {name: sanitize(text) for name, text in metadata.items()}
    out.write(f'{{"displayTimeUnit":"ms","otherData":{encode(safe_metadata).decode()},"traceEvents":[')
    between = "\n"
    for event in _events(excerpt):
        out.write(between + encode(event).decode())
        between = ",\n"
    out.write("\n]}\n")


def _events(excerpt: Excerpt) -> Iterator[_Event]:
    cluster = _process(max(excerpt.nodes)) + 1
    for node in excerpt.nodes:
        yield from _name_process(
            _process(node), f"node {node}", {_STATUS: "status", _ACTIVITY: "steps and messages"}
        )
    yield from _statuses(excerpt)
    done: dict[int, list[Activity]] = {node: [] for node in excerpt.nodes}
    for activity in activities_in(excerpt):
        done[activity.node].append(activity)
    for node, activities in done.items():
        yield from _activity_slices(node, activities, excerpt.until_us)
    yield from _flows(excerpt)
    yield from _faults(excerpt, cluster)
    yield from _in_flight(excerpt, cluster)
    for line in excerpt.events:
        if line.source is None:
            yield _instant(cluster, _SCRIPT, line.at_us, sanitize(line.text), line.what)


def _process(node: int) -> int:
    return node + 1  # Perfetto has its own process 0, and there may be a node 0


def _name_process(process: int, name: str, threads: dict[int, str]) -> Iterator[_Event]:
    metadata = {"ph": "M", "pid": process}
    yield metadata | {"name": "process_name", "args": {"name": name}}
    yield metadata | {"name": "process_sort_index", "args": {"sort_index": process}}
    for thread, texts in threads.items():
        yield metadata | {"tid": thread, "name": "thread_name", "args": {"name": texts}}
        yield metadata | {"tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}


def _slice(process: int, thread: int, since_us: int, until_us: int, name: str, args: _Event, what: str) -> _Event:
    lasts_us = max(0, until_us - since_us)
    place = {"ph": "X", "pid": process, "tid": thread, "ts": since_us, "dur": lasts_us}
    return place | {"cat": what, "name": name, "args": args}


def _instant(process: int, thread: int, at_us: int, name: str, what: str) -> _Event:
    return {"ph": "i", "pid": process, "tid": thread, "ts": at_us, "s": "t", "cat": what, "name": name}


def _statuses(excerpt: Excerpt) -> Iterator[_Event]:
    # process records are timed by the host's clock, steps by their node's: an interval may seem to begin before
    # the end of the previous one
    reached_us = dict.fromkeys(excerpt.nodes, excerpt.from_us)
    for interval in excerpt.status_intervals:
        since_us = max(reached_us[interval.node], excerpt.clip(interval.since.at_us))
        until_us = (
            excerpt.until_us if interval.until is None else max(since_us, excerpt.clip(interval.until.at_us))
        )
        reached_us[interval.node] = until_us
        if interval.process != "absent":
            group = None if interval.group is None else f"{interval.group[0]}.{interval.group[1]}"
            args = {"status": sanitize(interval.status), "coordinator": interval.coordinator, "group": group}
            name = "Normal, leads" if interval.leads else sanitize(interval.shown)
            yield _slice(_process(interval.node), _STATUS, since_us, until_us, name, args, "status")


def _activity_slices(node: int, activities: list[Activity], end_us: int) -> Iterator[_Event]:
    """Yield the activities of a node, one slice for each microsecond with activity."""
    activities.sort(key=lambda activity: activity.at_us)
    instants = [(at_us, list(those)) for at_us, those in groupby(activities, key=lambda activity: activity.at_us)]
    ends_us = [*(then_us for then_us, _ in instants[1:]), end_us]
    for (at_us, those), next_us in zip(instants, ends_us, strict=False):
        texts = [text for activity in those for text in activity.descriptions]
        until_us = max(at_us + 1, min(at_us + _LONGEST_US, next_us))
        args = {"records": format_ranges([activity.record for activity in those]), "does": texts}
        yield _slice(_process(node), _ACTIVITY, at_us, until_us, "; ".join(texts), args, "step")


def _flows(excerpt: Excerpt) -> Iterator[_Event]:
    """Yield a flow from each sending to each arrival; a loss is marked on the sender's thread."""
    number = 0
    for edge in excerpt.messages:
        line = edge.line
        assert line.source is not None
        assert line.target is not None
        source, target = _process(line.source), _process(line.target)
        name = sanitize(line.kind)
        if edge.end is not None and not edge.arrived and edge.end.record <= excerpt.last:
            texts = f"{name} #{line.serial} to {line.target}: {edge.fate}"
            yield _instant(source, _ACTIVITY, excerpt.clip(edge.end.at_us), texts, "lost")
        if edge.sent.record < excerpt.first or is_forged(edge):
            continue
        for point in arrivals_of(edge):
            if point.record <= excerpt.last:
                number += 1
                flow = {"cat": "message", "name": name, "id": number}
                yield flow | {"ph": "s", "pid": source, "tid": _ACTIVITY, "ts": edge.sent.at_us}
                yield flow | {"ph": "f", "bp": "e", "pid": target, "tid": _ACTIVITY, "ts": point.at_us}


def _faults(excerpt: Excerpt, cluster: int) -> Iterator[_Event]:
    free_us: list[int] = []
    """The time from which on each thread is free."""
    for fault_interval in excerpt.fault_intervals:
        fault = fault_interval.fault
        since_us = excerpt.clip(fault_interval.since.at_us)
        until_us = excerpt.until_us if fault_interval.until is None else excerpt.clip(fault_interval.until.at_us)
        lane = next((lane for lane, us in enumerate(free_us) if us <= since_us), len(free_us))
        free_us[lane : lane + 1] = [max(since_us + 1, until_us)]
        args = {"id": fault.id, "breaks": fault.breaks, "nodes": fault.nodes, "touched": fault.touched}
        name = sanitize(fault.text) or fault.kind
        yield _slice(cluster, _FIRST_FAULT + lane, since_us, until_us, name, args, "fault")
    lanes = {_FIRST_FAULT + lane: "faults" for lane in range(len(free_us))}
    yield from _name_process(cluster, "network and script", {_SCRIPT: "script", **lanes})


def _in_flight(excerpt: Excerpt, cluster: int) -> Iterator[_Event]:
    """Yield the number of messages in flight at each change."""
    changes: dict[int, int] = {}
    for at_us, by in _departures(excerpt):
        changes[at_us] = changes.get(at_us, 0) + by
    number = 0
    for at_us in sorted(changes):
        number += changes[at_us]
        yield {"ph": "C", "pid": cluster, "ts": at_us, "name": "messages in flight", "args": {"messages": number}}


def _departures(excerpt: Excerpt) -> Iterator[tuple[int, int]]:
    for edge in excerpt.messages:
        yield excerpt.clip(edge.sent.at_us), 1
        if edge.end is not None and edge.end.record <= excerpt.last:
            yield excerpt.clip(edge.end.at_us), -1
