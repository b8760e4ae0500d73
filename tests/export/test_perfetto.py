"""The Perfetto trace obeys Chrome's format, and has everything in the run."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from lab.export.excerpt import ExportError, ExportOptions
from lab.export.traces import write_perfetto
from lab.kernel import Received
from tests.export.fault_recordings import SHIPPED, excerpt_in, exported, runs, windows
from tests.export.trace_rules import Counted, Instant, NoTraceError, trace_in
from tests.harness import T_US, Rig
from tests.profile import amount


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_recording_is_a_trace(path: Path) -> None:
    """With and without heartbeats; messages are flows, faults are slices."""
    for options in (ExportOptions(), ExportOptions(heartbeats=True)):
        trace = trace_in(exported(write_perfetto, path, options))
        excerpt = excerpt_in(path, options)
        assert len(trace.slices("fault")) == len(excerpt.fault_intervals)
        arrived = [edge for edge in excerpt.messages if edge.arrived and edge.line.serial > 0]
        assert len(trace.flows()) == len(arrived) + sum(len(edge.again) for edge in arrived)


@given(runs(), windows())
@settings(max_examples=amount(quick=15, soak=300))
def test_any_window_of_any_run_is_a_trace(
    tmp_path_factory: pytest.TempPathFactory, rig: Rig, options: ExportOptions
) -> None:
    """With all kinds of faults, any window and any nodes: flows cut by the window have no loose ends."""
    path = rig.write(tmp_path_factory.mktemp("run") / "run.jsonl")
    try:
        trace = trace_in(exported(write_perfetto, path, options))
    except ExportError as error:
        if "nothing was recorded" not in str(error):
            raise
        return
    excerpt = excerpt_in(path, options)
    for status in trace.slices("status"):
        assert excerpt.from_us <= status.ts <= status.end <= excerpt.until_us


def test_a_flow_connects_the_sending_step_and_the_receiving_step(tmp_path: Path) -> None:
    """With the right times and nodes; duplicates too."""
    rig = Rig([1, 2, 3], jitter_us=30_000).started()
    rig.do("duplicate all 50%", "at 500ms: lose all 30%")
    rig.run(40 * T_US)
    trace = trace_in(exported(write_perfetto, rig.write(tmp_path / "run.jsonl"), ExportOptions(heartbeats=True)))
    sent = {(message.source, message.serial): step for step in rig.steps for message in step.sent}
    taken = [
        (sent[step.input.source, step.input.serial].at_us, step.input.source, step.at_us, step.node)
        for step in rig.steps
        if isinstance(step.input, Received)
    ]
    flows = [(start.ts, start.pid - 1, end.ts, end.pid - 1) for start, end in trace.flows()]
    assert sorted(flows) == sorted(taken)
    lost = [event for event in trace.traceEvents if isinstance(event, Instant) and event.cat == "lost"]
    excerpt = excerpt_in(tmp_path / "run.jsonl", ExportOptions(heartbeats=True))
    assert len(lost) == sum(edge.fate == "lost" for edge in excerpt.messages) > 5


def test_statuses_cover_the_time_of_a_node(tmp_path: Path) -> None:
    """From its first start to the end of the window, without gaps."""
    rig = Rig([1, 2]).started()
    rig.do("at 2s: kill 2", "at 4s: restart 2", "at 6s: pause 1")
    rig.run(60 * T_US)
    path = rig.write(tmp_path / "run.jsonl")
    trace = trace_in(exported(write_perfetto, path, ExportOptions(from_us=1_000_000, until_us=7_000_000)))
    for node in (1, 2):
        stood = [each for each in trace.slices("status") if each.pid == node + 1]
        assert (stood[0].ts, stood[-1].end) == (1_000_000, 7_000_000)
        assert all(before.end == after.ts for before, after in pairwise(stood))
    names = [each.name for each in trace.slices("status") if each.pid == 3]
    assert names[:2] == ["Normal, leads", "killed"]
    assert [each.name for each in trace.slices("status") if each.pid == 2][-1] == "paused"
    assert [(each.name, each.ts, each.end) for each in trace.slices("fault")] == [
        ("kill 2", 2_000_000, 4_000_000),
        ("pause 1", 6_000_000, 7_000_000),
    ]


def test_messages_in_flight_are_counted(tmp_path: Path) -> None:
    """The counter equals the number of messages in flight at every change."""
    rig = Rig([1, 2, 3]).started()
    rig.run(20 * T_US)
    path = rig.write(tmp_path / "run.jsonl")
    trace = trace_in(exported(write_perfetto, path, ExportOptions(heartbeats=True)))
    counted = {each.ts: each.args["messages"] for each in trace.traceEvents if isinstance(each, Counted)}
    excerpt = excerpt_in(path, ExportOptions(heartbeats=True))
    for at_us, number in counted.items():
        under_way = [
            edge
            for edge in excerpt.messages
            if edge.sent.at_us <= at_us and (edge.end is None or edge.end.at_us > at_us)
        ]
        assert len(under_way) == number
    assert max(counted.values()) > 1


def _broken(change: Callable[[list[dict[str, Any]]], object]) -> str:
    names = {"ph": "M", "pid": 1}
    events: list[dict[str, Any]] = [
        names | {"name": "process_name", "args": {"name": "node 1"}},
        names | {"tid": 1, "name": "thread_name", "args": {"name": "status"}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 10, "name": "a", "cat": "x", "args": {}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "name": "b", "cat": "x", "args": {}},
        {"ph": "s", "pid": 1, "tid": 1, "ts": 2, "id": 1, "name": "m", "cat": "m"},
        {"ph": "f", "pid": 1, "tid": 1, "ts": 12, "id": 1, "name": "m", "cat": "m", "bp": "e"},
    ]
    change(events)
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": {}})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda events: events[3].update(ts=9), "overlaps"),
        (lambda events: events[2].update(dur=-1), "dur"),
        (lambda events: events[2].update(ph="B"), "Invalid value"),
        (lambda events: events[2].update(ts=1.5), "int"),
        (lambda events: events[4].update(ts=16), "in no slice"),
        (lambda events: events[5].update(tid=2), "in no slice"),
        (lambda events: events[5].update(bp="b"), "bp"),
        (lambda events: events[5].update(cat="n"), "same name and category"),
        (lambda events: events.pop(), "a flow is of"),
        (lambda events: events.pop(0), "process 1 has no name"),
        (lambda events: events.pop(1), "thread 1 of 1 has no name"),
        (lambda events: events.append(events[0]), "named twice"),
        (lambda events: [event.update(pid=0) for event in events], "pid"),
    ],
)
def test_the_checker_rejects_invalid_traces(change: Callable[[list[dict[str, Any]]], object], why: str) -> None:
    """Otherwise the tests above would prove nothing."""
    trace_in(_broken(lambda events: None))
    with pytest.raises(NoTraceError, match=why):
        trace_in(_broken(change))
