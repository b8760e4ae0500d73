"""Chrome's trace format, as far as we use it: the shape of every event, and consistency rules."""

from collections import defaultdict
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

__all__ = ["Counted", "FlowEnd", "FlowStart", "Instant", "Named", "NoTraceError", "Slice", "Trace", "trace_in"]

_Count = Annotated[int, Meta(ge=0)]
_Process = Annotated[int, Meta(ge=1)]
"""Perfetto has a process 0 of its own."""
_Name = Annotated[str, Meta(min_length=1)]


class NoTraceError(AssertionError):
    """The file violates a rule."""


class _Event(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="ph"):
    pid: _Process
    name: _Name


class Slice(_Event, kw_only=True, tag="X"):
    """A slice: something with a duration."""

    tid: _Count
    ts: _Count
    dur: _Count
    cat: _Name
    args: dict[str, Any]

    @property
    def end(self) -> int:
        return self.ts + self.dur


class Instant(_Event, kw_only=True, tag="i"):
    """An instant event; ``s`` is its scope, here the thread."""

    tid: _Count
    ts: _Count
    s: Literal["t"]
    cat: _Name


class Counted(_Event, kw_only=True, tag="C"):
    """A counter value, valid until the next one."""

    ts: _Count
    args: dict[str, _Count]


class Named(_Event, kw_only=True, tag="M"):
    """The name or position of a process or thread."""

    tid: _Count | None = None
    args: dict[str, str | int]


class FlowStart(_Event, kw_only=True, tag="s"):
    """The beginning of a flow, in the slice at that time."""

    tid: _Count
    ts: _Count
    cat: _Name
    id: int


class FlowEnd(_Event, kw_only=True, tag="f"):
    """The end of a flow, in the enclosing slice (``bp``) instead of the next one."""

    tid: _Count
    ts: _Count
    cat: _Name
    id: int
    bp: Literal["e"]


class Trace(Struct, forbid_unknown_fields=True):
    """A whole file."""

    traceEvents: list[Slice | Instant | Counted | Named | FlowStart | FlowEnd]  # noqa: N815
    displayTimeUnit: Literal["ms", "ns"]  # noqa: N815
    otherData: dict[str, str]  # noqa: N815

    def slices(self, category: str) -> list[Slice]:
        """Return the slices of a category."""
        return [each for each in self.traceEvents if isinstance(each, Slice) and each.cat == category]

    def flows(self) -> list[tuple[FlowStart, FlowEnd]]:
        """Return the two ends of each flow."""
        starts = {each.id: each for each in self.traceEvents if isinstance(each, FlowStart)}
        return [(starts[each.id], each) for each in self.traceEvents if isinstance(each, FlowEnd)]


def trace_in(file: str) -> Trace:
    """Return the trace in a file that obeys every rule. Raises NoTraceError."""
    try:
        trace = msgspec.json.decode(file, type=Trace)
    except msgspec.DecodeError as error:
        raise NoTraceError(f"{error}") from None
    threads: dict[tuple[int, int], list[Slice]] = defaultdict(list)
    for event in trace.traceEvents:
        if isinstance(event, Slice):
            threads[event.pid, event.tid].append(event)
    for slices in threads.values():
        _check_nesting(slices)
    _check_flows(trace, threads)
    _check_names(trace)
    return trace


def _check_nesting(slices: list[Slice]) -> None:
    """Check that two slices of a thread are nested or disjoint."""
    around: list[Slice] = []
    for each in sorted(slices, key=lambda slice_: (slice_.ts, -slice_.dur)):
        while around and around[-1].end <= each.ts:
            around.pop()
        _must(not around or each.end <= around[-1].end, f"{each} overlaps {around[-1:]}")
        around.append(each)


def _check_flows(trace: Trace, threads: dict[tuple[int, int], list[Slice]]) -> None:
    found: dict[int, list[FlowStart | FlowEnd]] = defaultdict(list)
    at = {key: {(each.ts, each.end) for each in slices} for key, slices in threads.items()}
    for event in trace.traceEvents:
        if isinstance(event, FlowStart | FlowEnd):
            found[event.id].append(event)
            bound = any(ts <= event.ts < end for ts, end in _near(at.get((event.pid, event.tid), set()), event.ts))
            _must(bound, f"{event} is in no slice")
    for ends in found.values():
        kinds = [type(each) for each in ends]
        _must(kinds == [FlowStart, FlowEnd], f"a flow is of {kinds}")
        _must(len({(each.cat, each.name) for each in ends}) == 1, f"{ends} have not the same name and category")


def _near(spans: set[tuple[int, int]], ts: int) -> list[tuple[int, int]]:
    return [span for span in spans if span[0] <= ts]


def _check_names(trace: Trace) -> None:
    """Check that every process and thread with events has a name, and that process names are unique."""
    named: dict[tuple[int, int | None], list[str | int]] = defaultdict(list)
    for event in trace.traceEvents:
        if isinstance(event, Named) and event.name in ("process_name", "thread_name"):
            named[event.pid, event.tid].append(event.args["name"])
    for event in trace.traceEvents:
        _must((event.pid, None) in named, f"process {event.pid} has no name")
        if isinstance(event, Slice | Instant):
            _must((event.pid, event.tid) in named, f"thread {event.tid} of {event.pid} has no name")
    _must(all(len(names) == 1 for names in named.values()), "something is named twice")
    processes = [names[0] for (_, thread), names in named.items() if thread is None]
    _must(len(processes) == len(set(processes)), "two processes have the same name")


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NoTraceError(otherwise)
