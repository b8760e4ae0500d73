"""Traces for other tools: logs with vector clocks for ShiViz, and slices and flows for Perfetto.

Both show the activities of each node, record by record: messages received, log lines, messages sent. A step
does all of this at once, so tools that know events instead of steps get one event for it.

**ShiViz** shows causality without time. The first line of its log is the regular expression with which ShiViz
parses the rest. The second could separate runs, and is empty. An event has two lines: the text, then node and
clock. A node's own entry counts the events in the file, so windows and hidden heartbeats leave no gaps; a
message sent before the window adds no knowledge. ShiViz draws an arrow where an entry of another node grows.
So a message overtaken by a later one of the same sender has no arrow; its serial number is in the text.

**Perfetto** (ui.perfetto.dev) reads Chrome's JSON format: statuses and faults are slices, messages are flows.
Each node is a process with two threads: its status, and its activities. Flows must begin and end inside of
slices, so an activity is a slice that lasts until the node's next activity, and at most a millisecond. Slices
of one thread must not overlap partially, so the activities of one microsecond form one slice. One more process
shows what belongs to no node: the number of messages in flight, commands and captions, and the faults, each on
the first free thread.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, TextIO

from msgspec import Struct

from lab.analysis.group_history import RecordedMoment
from lab.analysis.spacetime import MessageEdge
from lab.export.excerpt import Excerpt, ExportError
from lab.recording.log_lines import LogLine
from lab.recording.records import encode
from lab.text import sanitize
from lab.units import format_ranges, format_us

_LONGEST = 200
_FORMATS = {"status": "now {}", "protocol-command": "command {}", "log": "logs {}", "failure": "raises {}"}


class Activity(Struct):
    """The effects of a record at ``node``. ``received`` is the message that the step handled, if any."""

    node: int
    record: int
    at_us: int
    received: MessageEdge | None = None
    lines: list[LogLine] = []
    sent: list[MessageEdge] = []

    @property
    def descriptions(self) -> list[str]:
        """The descriptions of all effects, sanitized. Messages have their sender's serial numbers."""
        received = [] if self.received is None else [_describe_received(self.received)]
        lines = (_FORMATS.get(line.what, "{}").format(sanitize(line.text, _LONGEST)) for line in self.lines)
        return [*received, *lines, *map(_describe_sent, self.sent)]


def activities_in(excerpt: Excerpt) -> list[Activity]:
    """Return the activities in the order of the records, one for each record with a log line or an arrival.

    Heartbeats are included as the export options say.
    """
    found: dict[int, Activity] = {}

    def activity(node: int, record: int, at_us: int) -> Activity:
        return found.setdefault(record, Activity(node, record, at_us))

    for line in excerpt.events:
        if line.source is not None:
            activity(line.source, line.record, line.at_us).lines.append(line)
    for edge in excerpt.messages:
        source, target = edge.ends
        if edge.sent.record >= excerpt.first and not is_forged(edge):
            activity(source, edge.sent.record, edge.sent.at_us).sent.append(edge)
        for point in arrivals_of(edge):
            if excerpt.first <= point.record <= excerpt.last:
                activity(target, point.record, point.at_us).received = edge
    return [found[record] for record in sorted(found)]


def arrivals_of(edge: MessageEdge) -> list[RecordedMoment]:
    """Return where the message arrived: several points if it was duplicated."""
    return [*([edge.end] if edge.end is not None and edge.arrived else []), *edge.again]


def is_forged(edge: MessageEdge) -> bool:
    """Return whether no step sent the message."""
    return edge.line.serial < 0


def _describe_received(edge: MessageEdge) -> str:
    text = f"gets {_message_name(edge)} from {edge.line.source}"
    return text if edge.fate in ("delivered", "forged") else f"{text} ({edge.fate})"


def _describe_sent(edge: MessageEdge) -> str:
    text = f"sends {_message_name(edge)} to {edge.line.target}"
    body = sanitize(edge.line.text, _LONGEST)
    fate = "" if edge.arrived else f" ({edge.fate})"
    return text + fate + (f": {body}" if body not in ("", "{}") else "")


def _message_name(edge: MessageEdge) -> str:
    kind = sanitize(edge.line.kind)
    return f"a forged {kind}" if is_forged(edge) else f"{kind} #{edge.line.serial}"


# ShiViz

_PARSER = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
_Clock = dict[int, int]


def write_shiviz(excerpt: Excerpt, out: TextIO) -> None:
    """Write the log. Raises ExportError if it would be empty, which ShiViz does not accept."""
    activities = activities_in(excerpt)
    if not activities:
        raise ExportError(
            f"no events from {format_us(excerpt.from_us)} until {format_us(excerpt.until_us)}: "
            "choose a longer window with --from and --until, or add --heartbeats"
        )
    out.write(f"{_PARSER}\n\n")
    for activity, clock in _with_clocks(activities):
        # the leading time and blank keep ShiViz from parsing a line of a word and a brace as a clock
        out.write(f"{activity.at_us / 1e6:.6f} s: {'; '.join(activity.descriptions)}\n")
        encoded_clock = encode({_host(node): clock[node] for node in sorted(clock)}).decode()
        out.write(f"{_host(activity.node)} {encoded_clock}\n")


def _host(node: int) -> str:
    return f"node{node}"


def _with_clocks(activities: Iterable[Activity]) -> Iterator[tuple[Activity, _Clock]]:
    """Yield each activity with the number of events of every node that it may know of, itself included."""
    clocks: dict[int, _Clock] = {}
    stamps: dict[tuple[int, int], _Clock] = {}
    for activity in activities:
        clock = clocks.setdefault(activity.node, {})
        clock[activity.node] = clock.get(activity.node, 0) + 1
        received = {} if activity.received is None else stamps.get(activity.received.line.message, {})
        for node, events in received.items():
            clock[node] = max(clock.get(node, 0), events)
        stamp = dict(clock)
        stamps.update((edge.line.message, stamp) for edge in activity.sent)
        yield activity, clock


# Perfetto

_STATUS, _ACTIVITY = 1, 2
_SCRIPT = 1
_FIRST_FAULT = 2
_LONGEST_US = 1_000
_Event = dict[str, Any]


def write_perfetto(excerpt: Excerpt, out: TextIO) -> None:
    """Write the trace, one event per line."""
    header = excerpt.header
    metadata = {"run": header.run, "protocol": header.title, "world": header.world, "began": header.began}
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
        line, (source, target) = edge.line, map(_process, edge.ends)
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
