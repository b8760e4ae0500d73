"""From a snapshot to the text on the screen, for snapshots made by hand."""

import re
from typing import Any

import pytest
from msgspec import Struct

from lab.kernel import Wait
from lab.recording.snapshot import ActiveFault, InFlightMessage, NodeState, Snapshot
from lab.tui.widgets.pane import Pane, format_faults, leaders_of, pane_of, panes_of, short_body

EVIL = "a\x1b[31m\x1b]0;t\x07\x9b5n\x90q\x9c\u202eb\rc"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]")
NOW_US = 2_000_000


def _view(node: int, status: str, coordinator: int | None, **more: Any) -> NodeState:
    process = more.pop("process", "running")
    waits = more.pop("waits", ())
    state = {"status": status, "coordinator": coordinator, **more}
    return NodeState(node, process, 1, 100 + node, state, waits)


def _normal(*nodes: int, under: int) -> list[NodeState]:
    return [_view(node, "Normal", under) for node in nodes]


def _snapshot(
    *views: NodeState, faults: tuple[ActiveFault, ...] = (), in_flight: tuple[InFlightMessage, ...] = ()
) -> Snapshot:
    return Snapshot(9, NOW_US, views, in_flight, faults, {}, 0)


def _pane(view: NodeState, *others: NodeState, **more: Any) -> Pane:
    return pane_of(view, _snapshot(view, *others, **more), NOW_US)


def _leaders(*views: NodeState) -> tuple[tuple[str, int | str | None], ...]:
    return leaders_of(panes_of(_snapshot(*views), NOW_US)).texts


def test_one_leads_all() -> None:
    assert _leaders(*_normal(1, 2, 3, under=3)) == (("3 leads 1 2", 3),)


def test_the_nodes_come_by_their_numbers() -> None:
    assert [pane.id for pane in panes_of(_snapshot(*_normal(3, 1, 2, under=3)), NOW_US)] == [1, 2, 3]


def test_a_paused_coordinator_still_leads() -> None:
    paused = _view(3, "Normal", 3, process="paused")
    assert _leaders(*_normal(1, 2, under=3), paused) == (("3 leads 1 2 (paused)", 3),)
    pane = _pane(paused)
    assert (pane.shown, pane.status, pane.leads) == ("paused", "Normal", "leads")


def test_two_leaders_are_both_named_with_those_who_follow_them() -> None:
    paused = _view(3, "Normal", 3, process="paused")
    assert _leaders(*_normal(1, 2, under=2), paused) == (("3 leads no other (paused)", 3), ("2 leads 1", 2))


def test_who_follows_somebody_that_does_not_lead_is_without_a_coordinator() -> None:
    killed = NodeState(3, "killed", 1, 103, {"status": "Down"})
    assert _leaders(*_normal(1, 2, under=3), killed) == (("nobody leads", None),)
    electing = _view(1, "Election", None)
    assert _leaders(electing, *_normal(2, 3, under=3)) == (
        ("3 leads 2", 3),
        ("1 without a leader", None),
    )


def test_no_node_is_up() -> None:
    assert _leaders(NodeState(1), NodeState(2, "killed")) == (("no node is up", None),)


def test_a_coordinator_in_reorganization_will_lead() -> None:
    """It leads once it is Normal, as in the command language: ``4 leads``."""
    assert _pane(_view(2, "Normal", 2)).leads == "leads"
    assert _pane(_view(2, "Reorganization", 2)).leads == "will lead"
    assert _leaders(_view(4, "Reorganization", 4), *_normal(2, 3, under=4)) == (("4 will lead 2 3", 4),)
    assert not _pane(_view(2, "Election", 2)).leads
    assert not _pane(_view(2, "Normal", 1)).leads


def test_a_killed_node() -> None:
    pane = _pane(NodeState(4, "killed", 1, 104, {"status": "Down"}))
    assert (pane.shown, pane.status, pane.waits) == ("killed", "Down", "stable storage is kept")
    assert (pane.coordinator, pane.leads, pane.up, pane.left_us) == (None, "", (), None)


def test_a_failed_node_shows_its_exception() -> None:
    traceback = "Traceback …\n  File x\nZeroDivisionError: division by zero"
    pane = _pane(NodeState(4, "failed", 1, 104, {"status": "Normal"}, traceback=traceback))
    assert (pane.shown, pane.waits) == ("failed", "ZeroDivisionError: division by zero")


def test_a_node_that_is_not_started() -> None:
    assert (_pane(NodeState(4)).shown, _pane(NodeState(4)).waits) == ("absent", "has no process yet")


def test_a_group_is_shown_where_the_protocol_has_one() -> None:
    assert _pane(_view(1, "Normal", 1)).group is None
    assert _pane(_view(1, "Normal", 1, group=7)).group == "7"
    assert _pane(_view(1, "Normal", 1, group={"number": 7, "coordinator": 3})).group == "7/3"


def test_a_bounded_wait_shows_line_reason_peers_and_time_left() -> None:
    wait = Wait("election", 158, "EnterElection answers", 1_600_000, 2_600_000, (1, 2))
    pane = _pane(_view(5, "Election", None, waits=(wait,)))
    assert (pane.procedure, pane.line, pane.waits) == (
        "election",
        158,
        "waits for EnterElection answers from 1 2",
    )
    assert (pane.left_us, pane.total_us) == (600_000, 1_000_000)


def test_a_wait_whose_time_is_up_has_nothing_left() -> None:
    pane = _pane(_view(5, "Election", None, waits=(Wait("election", 1, "answers", 1_000_000, 1_900_000),)))
    assert (pane.left_us, pane.total_us) == (0, 900_000)


def test_a_wait_without_a_bound_has_no_time() -> None:
    pane = _pane(_view(5, "Normal", 5, waits=(Wait("work", 3, "the next state", 0, None),)))
    assert (pane.procedure, pane.line) == ("work", 3)
    assert (pane.waits, pane.left_us) == ("waits for the next state", None)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "waits for a message or a timer"),
        ({"processing": True}, "performing its task"),
        ({"processing": True, "definition": {"version": 3}}, "definition 3"),
    ],
)
def test_an_idle_node(state: dict[str, Any], expected: str) -> None:
    pane = _pane(_view(5, "Normal", 5, **state))
    assert (pane.procedure, pane.waits) == ("", expected)


def test_an_idle_node_that_is_not_normal_waits_for_its_coordinator() -> None:
    assert _pane(_view(5, "Reorganization", 4)).waits == "waits for its coordinator"


def _fault(kind: str, *links: tuple[int, int], **more: Any) -> ActiveFault:
    return ActiveFault(1, kind, more.pop("text", kind), 0, links=links, **more)


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (((1, 2),), "cut >2"),
        (((2, 1),), "cut <2"),
        (((1, 2), (2, 1)), "cut <>2"),
        (((1, 2), (2, 1), (1, 3)), "cut <>2 >3"),
        (((1, 2), (1, 3)), "cut >all"),
        (((2, 3), (3, 2)), ""),
    ],
)
def test_a_pane_shows_the_faults_on_its_links_with_their_direction(
    links: tuple[tuple[int, int], ...], expected: str
) -> None:
    one, *others = _normal(1, 2, 3, under=3)
    assert _pane(one, *others, faults=(_fault("cut", *links),)).links == expected


def test_several_faults_and_messages_held_on_the_links_of_a_node() -> None:
    one, *others = _normal(1, 2, 3, under=3)
    in_flight = (
        InFlightMessage(1, 1, 2, "A", 0, held=True),
        InFlightMessage(3, 1, 1, "A", 0, held=True),
        InFlightMessage(1, 2, 2, "A", 0),
        InFlightMessage(2, 1, 3, "A", 0, held=True),
    )
    faults = (_fault("cut", (1, 2)), _fault("delay", (3, 1)))
    assert _pane(one, *others, faults=faults, in_flight=in_flight).links == "cut >2, delay <3, 2 held"


def test_a_fault_shows_broken_assumptions_and_touched_messages() -> None:
    (text,) = format_faults((_fault("lose", (1, 2), text="lose all 30%", breaks=(8,), messages=3),))
    assert text[0].startswith("lose all 30%  breaks assumption 8 (")
    assert text[0].endswith("  3 messages lost")
    assert not text[1]
    (one,) = format_faults((_fault("lose", (1, 2), messages=1),))
    assert one[0].endswith("  1 message lost")


def test_a_fault_that_touched_nothing_is_inert() -> None:
    links, nodes, struck = format_faults(
        (
            _fault("cut", (1, 2)),
            ActiveFault(2, "kill", "kill 5", 0, nodes=(5,)),
            ActiveFault(3, "kill", "kill 5", 0, nodes=(5,), struck=1),
        )
    )
    assert [links[1], nodes[1], struck[1]] == [True, True, False]
    assert links[0].endswith("no effect so far")
    assert "inert" not in struck[0]


@pytest.mark.parametrize(
    ("kind", "became"),
    [
        ("kill", "  7 messages lost"),
        ("pause", "  7 messages queued"),
        ("delay", "  7 messages delayed"),
        ("partition", "  7 messages lost"),
        ("wipe", "wipe"),
        ("of another version", "of another version"),
    ],
)
def test_the_effect_of_a_fault_on_messages(kind: str, became: str) -> None:
    (text,) = format_faults((_fault(kind, (1, 2), messages=7),))
    assert text[0].endswith(became)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{}", ""),
        ('{"normal":true}', "normal true"),
        ('{"up":[1,2],"definition":{"version":3}}', "up 1 2 definition version 3"),
        ("[]", ""),
        (
            '{"against":"savings has 840, less than 99,999","x":null}',
            "against savings has 840, less than 99,999 x null",
        ),
        ("transaction 5.1; savings -100", "transaction 5.1; savings -100"),
        ('{"torn', '{"torn'),
    ],
)
def test_a_body_in_short_is_json_without_its_punctuation(body: str, expected: str) -> None:
    assert short_body(body) == expected


def _texts(value: Any) -> list[str]:
    if isinstance(value, Struct):
        return [text for field in value.__struct_fields__ for text in _texts(getattr(value, field))]
    if isinstance(value, tuple | list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    "view",
    [
        _view(1, EVIL, 1),
        NodeState(1, "running", 1, 1, {"status": "Normal", "coordinator": EVIL, "up": [EVIL], "group": EVIL}),
        NodeState(
            1, "running", 1, 1, {"status": [EVIL], "coordinator": [EVIL], "up": EVIL, "group": {EVIL: EVIL}}
        ),
        NodeState(1, "running", 1, 1, {"status": "Normal", "coordinator": {}, "up": 3, "group": [EVIL]}),
        _view(1, "Normal", 1, processing=EVIL, definition={"version": EVIL}),
        _view(1, "Normal", 1, waits=(Wait(EVIL, 1, EVIL, 0, 1),)),
        NodeState(1, "failed", 1, 1, {}, traceback=EVIL),
    ],
)
def test_hostile_recordings_are_shown_without_control_characters(view: NodeState) -> None:
    """A state may hold anything; no escape code reaches the terminal, and no value raises."""
    fault = _fault(EVIL, (1, 2), text=EVIL, breaks=(99,))
    snapshot = _snapshot(view, *_normal(2, under=1), faults=(fault,))
    panes = panes_of(snapshot, NOW_US)
    texts = _texts([panes, leaders_of(panes), format_faults(snapshot.faults)])
    assert [text for text in texts if CONTROL.search(text)] == []
    assert any(r"\x1b" in text for text in texts)
