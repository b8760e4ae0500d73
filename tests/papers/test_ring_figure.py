"""Figure 3-13: nodes 2 and 5 detect at once that 7 has crashed, simulated and live.

The links on which 7 answers 2 and 5 are cut, in the simulation just before these two ask it, and 7 dies when the
first of the two sends its ELECTION. Messages from 2 to 5 take longer; otherwise 5 would hear of 2's election
before its own timeout.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.kernel import Message, Step, Timing
from lab.protocols import Ring
from lab.recording.records import Link, Record
from tests.harness import T_US, Rig
from tests.worlds.live import LiveRun

Transcript = Callable[[str, str], None]

NODES = tuple(range(8))
SLOW = Timing(600_000, 300_000)
"""T = 1.5 s: half of it is more than a busy machine stalls."""
LEFT = (0, 1, 2, 3, 4, 5, 6)
KILL = ("on send ELECTION 2->3 kill 7", "on send ELECTION 5->6 kill 7")
STRIKE = (
    *KILL,
    "delay 4->5 50ms",
    "on send AreYouThere 1->7 on send AreYouThere 2->7 cut 7->2",
    "on send AreYouThere 1->7 on send AreYouThere 5->7 cut 7->5",
)


def _circulating(records: Iterable[Record]) -> list[tuple[int, Message, dict[str, Any]]]:
    """Return (time, message, content) of every ELECTION and COORDINATOR sent."""
    return [
        (record.at_us, message, msgspec.json.decode(message.body))
        for record in records
        if isinstance(record, Step)
        for message in record.sent
        if message.kind in ("ELECTION", "COORDINATOR")
    ]


def _route(records: Iterable[Record], kind: str, starter: int) -> list[int]:
    """Return the nodes that passed on one starter's message, in order, each once."""
    sources = [
        message.source
        for _, message, body in _circulating(records)
        if message.kind == kind and body["number"]["starter"] == starter
    ]
    return [node for place, node in enumerate(sources) if place == 0 or sources[place - 1] != node]


def _is_quiet(records: list[Record]) -> bool:
    """Return whether every node has asked 7 a few times since anything circulated."""
    since = max(place for place, record in enumerate(records) if _circulating([record]))
    asked = [
        message
        for record in records[since:]
        if isinstance(record, Step)
        for message in record.sent
        if message.kind == "AreYouThere"
    ]
    return len(asked) > 2 * len(LEFT)


def _from(starter: int) -> list[int]:
    return [*LEFT[starter:], *LEFT[:starter]]


def _both_circulate(records: list[Record]) -> None:
    """R3, R4: each ELECTION passes all remaining nodes once, in ring order, and returns as COORDINATOR.

    That does the same: the same members, in the same order of the ring.
    """
    for starter in (2, 5):
        assert _route(records, "ELECTION", starter) == _from(starter)
        assert _route(records, "COORDINATOR", starter) == _from(starter)
    for _, message, body in _circulating(records):
        if message.kind == "COORDINATOR":
            assert body["members"] == _from(body["number"]["starter"]), "it began elsewhere in the same ring"


def test_figure_3_13(transcript: Transcript) -> None:
    """R2-R4: both messages circulate fully, both become COORDINATOR, and all follow 6 in the ring 0 to 6."""
    rig = Rig(NODES, protocol=Ring).started()
    assert rig.run_until_agreed() == 7
    rig.do(*STRIKE)
    since, struck_us = len(rig.records), rig.now_us
    rig.run_until(lambda: rig.agreed() == 6, 20 * T_US, "6 leads")
    rig.run(10 * T_US)
    _both_circulate(rig.records[since:])
    assert {body["number"]["starter"] for _, _, body in _circulating(rig.records[since:])} == {2, 5}
    assert {rig.protocol(node).coordinator for node in LEFT} == {6}
    assert {rig.protocol(node).definition.members for node in LEFT} == {LEFT}
    lines = [
        f"{(at_us - struck_us) / 1000:5.0f} ms  {message.source} → {message.target}"
        f"  {message.kind:12}{body['members']}"
        for at_us, message, body in _circulating(rig.records[since:])
    ]
    transcript("figure_3_13", "\n".join(lines))


@pytest.mark.live
def test_figure_3_13_live(tmp_path: Path) -> None:
    """R2-R4: the same among real processes.

    An ELECTION takes 1.5 T from 2 to 5, and 5 asks within T of the cut: so each detects the failure by itself, in
    either order. Others may, too; that does no harm. Half of T is left for that, and half of T for each
    acknowledgement on the slow links: a node that waits for one in vain skips its successor, and the message
    circulates twice.
    """
    slow = ("delay 2->3 ELECTION 750ms", "delay 3->4 ELECTION 750ms", "delay 4->5 ELECTION 750ms")
    with LiveRun(tmp_path, nodes=NODES, protocol=Ring, timing=SLOW, link=Link(10_000)) as run:
        run.settled(7)
        run.until(lambda _: _is_quiet(run.tail.records), "the elections of the start are over")
        since = len(run.tail.records)
        for line in (*slow, *KILL, "on send AreYouThere 2->7 cut 7->2,5"):
            run.order(line)
        run.until(
            lambda _: all(_route(run.tail.records[since:], "COORDINATOR", each) == _from(each) for each in (2, 5)),
            "both messages went round",
        )
        run.settled(6)
        _both_circulate(run.tail.records[since:])
        run.until(
            lambda cluster: all(cluster.nodes[node].state["definition"]["members"] == list(LEFT) for node in LEFT),
            "the ring has seven members",
        )
