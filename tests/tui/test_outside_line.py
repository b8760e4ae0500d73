"""The row of clients and services: the calls counted, who calls whom, whose process is not up."""

from pathlib import Path

import pytest

import lab
from lab.api.run import Run
from lab.glyphs import UNICODE
from lab.kernel import Received, Step, Wait
from lab.recording.snapshot import NodeState
from lab.styles import ThemeStyles
from lab.tui.controllers.layout import allot
from lab.tui.widgets.status_lines import OutsideLine, outside_pieces
from tests.roles import servers
from tests.tui.seen import Seen, replay

SERVERS = servers.__file__
NAMES = {4: "c4", 5: "c5", 6: "lin-kv"}


def _text(*views: NodeState) -> str:
    return "".join(text for text, _ in outside_pieces(views, NAMES, ThemeStyles(UNICODE))).rstrip()


def _client(node: int, ok: int, failed: int, unknown: int, *waits: Wait, process: str = "running") -> NodeState:
    state = {"status": "Working", "ok": ok, "failed": failed, "unknown": unknown}
    return NodeState(node, process, 1, 0, state, waits)  # type: ignore[arg-type]


def test_what_each_does() -> None:
    calls = Wait("operate", 1, "Write answers", 0, 1_000, (3,))
    rests = Wait("operate", 1, "the next operation", 0, 1_000)
    service = NodeState(6, "running", 1, 0, {"status": "Working"})
    assert _text(_client(5, 2, 0, 1, rests), _client(4, 1_000, 3, 0, calls), service) == (
        "calls 1,002 ok, 3 errors, 1 unanswered  c4 Write → 3  c5            lin-kv"
    )
    assert _text(_client(4, 0, 0, 0, calls, process="killed"), service) == "calls 0 ok  c4 ✖ killed   lin-kv"
    assert _text(service) == "lin-kv"


def test_no_recording_can_break_it() -> None:
    """Its states and waits may be anything."""
    wait = Wait("\x1b[2J", 1, "\x1b answers", 0, 1, (9,))
    strange = NodeState(4, "running", 1, 0, {"ok": "many", "failed": None}, (wait,))
    assert _text(strange) == r"c4 \x1b → 9"
    assert _text(NodeState(77, "paused")) == "77 ‖ paused", "a node that the header does not have"


def test_there_is_a_row_for_it_only_where_there_are_such_nodes() -> None:
    assert not allot(40, 3).outside
    assert allot(40, 3, has_outside=True).outside
    small = allot(24, 3, has_outside=True)
    assert (small.faults, small.outside, small.verdicts) == (True, True, False)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run in which the node of a client crashes."""
    path = tmp_path / "run.jsonl"
    found = lab.simulate(f"{SERVERS}:Separate", nodes=3, workload="lin-kv", for_="10s", script="at 4s kill 3")
    found.save(path)
    return found


def test_the_calls_are_those_of_the_records(run: Run, tmp_path: Path) -> None:
    """At the end, and at the start, where there are none."""
    sent = {(m.source, m.serial): m.kind for each in run.records if isinstance(each, Step) for m in each.sent}
    replies = [
        sent[each.input.source, each.input.serial]
        for each in run.records
        if isinstance(each, Step) and each.node > 3 and isinstance(each.input, Received)
    ]
    errors = replies.count("Error")

    async def test(seen: Seen) -> None:
        line = seen.of("OutsideLine", OutsideLine)
        assert line.plain.startswith("c4 · not started"), "the first record is the start of node 1"
        await seen.press("end")
        await seen.until(
            lambda: f"calls {len(replies) - errors:,} ok, {errors:,} errors, " in line.plain, "counted"
        )
        assert "unanswered" in line.plain
        await seen.pilot.resize_terminal(80, 24)
        await seen.until(lambda: "unanswered  c4" in seen.text, "it is seen on a small screen, too")

    replay(test, tmp_path / "run.jsonl")
