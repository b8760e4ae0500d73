"""Link faults, live: the records show what they touch, and so do the counts of the faults."""

from pathlib import Path

import pytest

from lab.kernel import Message, Received, Step
from lab.recording.records import Fault, Link, Routed
from lab.recording.snapshot import ActiveFault
from tests.worlds.live import STEADY, LiveRun, Tail
from tests.worlds.protocols import Flood

pytestmark = pytest.mark.live

LAZY = {"check_every_us": 20_000, "coordinator_timeout_us": 8_000_000}
"""The coordinator asks often, and nobody misses it: traffic on all links of 3, whatever is lost."""


def _routed(tail: Tail, fate: str, fault: int) -> list[Routed]:
    return [record for record in tail.read().of(Routed) if record.fate == fate and fault in record.by]


def _fault(run: LiveRun, number: int) -> ActiveFault:
    cluster = run.cluster
    lifted = {fault.id: fault for fault in cluster.lifted}
    return lifted.get(number) or cluster.faults[number]


def _messages(tail: Tail) -> dict[tuple[int, int], tuple[int, Message]]:
    """Return, by name, (record that sent it, message)."""
    return {
        (message.source, message.serial): (number, message)
        for number, record in enumerate(tail.records)
        if isinstance(record, Step)
        for message in record.sent
    }


def _receipts(tail: Tail) -> list[tuple[int, int, int]]:
    """Return (record, source, serial) of each message taken in."""
    return [
        (number, record.input.source, record.input.serial)
        for number, record in enumerate(tail.records)
        if isinstance(record, Step) and isinstance(record.input, Received)
    ]


def test_a_partition_separates(tmp_path: Path) -> None:
    """No message sent, or in flight, during it reaches the other side; then two lead."""
    sides = ({1, 2}, {3, 4, 5})
    with LiveRun(tmp_path, link=Link(latency_us=3_000)) as run:
        run.settled(5)
        run.order("partition 1 2 | 3 4 5")
        run.until(
            lambda cluster: (
                all(cluster.nodes[n].state.get("coordinator") == 2 for n in (1, 2))
                and all(cluster.nodes[n].state.get("status") == "Normal" for n in (1, 2, 3, 4, 5))
                and all(cluster.nodes[n].state.get("coordinator") == 5 for n in (3, 4, 5))
            ),
            "each side under a coordinator of its own",
        )
        assert run.order("heal").text == "1 fault ended"
        run.settled(5)
        tail = run.tail
        begun, over = [number for number, record in enumerate(tail.records) if isinstance(record, Fault)]
        sent = _messages(tail)

        def crosses(message: Message) -> bool:
            return (message.source in sides[0]) != (message.target in sides[0])

        strays = [
            name
            for number, *name in _receipts(tail)
            for at, message in [sent[name[0], name[1]]]
            if crosses(message) and begun < at < over
        ]
        assert strays == []
        cut = _routed(tail, "dropped", 1)
        assert {record.why for record in cut} == {"cut"}
        assert all(crosses(sent[record.source, record.serial][1]) for record in cut)
        assert _fault(run, 1).messages == len(cut) > 0


def test_a_cut_stops_what_is_on_its_way(tmp_path: Path) -> None:
    """The link is cut after the first of two messages of a step is sent: neither arrives."""
    commands = ("on send EnterElection 3->2: cut 3->1",)
    link, at_once = Link(latency_us=20_000), {"halting": "at_once"}
    with LiveRun(
        tmp_path, nodes=(1, 2, 3), timing=STEADY, link=link, parameters=at_once, commands=commands
    ) as run:

        def stopped() -> list[tuple[int, Message]]:
            # others, which leave after the cut, are stopped at once, and may be recorded first
            dropped = list(_routed(run.tail, "dropped", 1))
            messages = _messages(run.tail)  # read after them, because the run continues: each was sent before
            found = [messages[routed.source, routed.serial] for routed in dropped]
            return [(at, message) for at, message in found if message.kind == "EnterElection"]

        run.until(lambda _: bool(stopped()), "the cut has stopped the one")
        fault = next(number for number, record in enumerate(run.tail.records) if isinstance(record, Fault))
        at, message = stopped()[0]
        assert at < fault, "it had left before"
        assert (message.source, message.target) == (3, 1)


@pytest.mark.parametrize(
    ("command", "fate", "breaks"),
    [
        ("delay 3->1 400ms", "delayed", (8,)),
        ("delay 3->1 5ms ±2ms", "delayed", ()),
        ("lose 3->1 100%", "dropped", (8,)),
        ("lose 3->1 50%", "dropped", (8,)),
        ("duplicate 3->1 100%", "duplicated", (3,)),
        ("duplicate 3->1 100% 20ms", "duplicated", (3,)),
        ("reorder 3->1 100% 1ms", "reordered", (7,)),
        ("cut 3->1", "dropped", (8,)),
    ],
)
def test_a_fault_touches_its_links_and_counts(
    tmp_path: Path, command: str, fate: str, breaks: tuple[int, ...]
) -> None:
    """Its count is the number of messages whose records name it, all of the one link; heal ends it."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY, parameters=LAZY) as run:
        run.settled(3)
        run.order(command)
        run.until(lambda cluster: sum(f.messages for f in cluster.faults.values()) >= 3, "three messages touched")
        assert run.cluster.faults[1].breaks == breaks
        assert run.order("heal 1->3").text == "no fault is in force on these links, nothing changed"
        assert run.order("heal 3->1").text == "1 fault ended"
        fault = _fault(run, 1)
        records = _routed(run.tail, fate, 1)
        sent = _messages(run.tail)
        assert {(m.source, m.target) for _, m in (sent[r.source, r.serial] for r in records)} == {(3, 1)}
        assert fault.messages == len({(r.source, r.serial) for r in records}) >= 3
        if fate == "delayed":
            assert all(r.due_us is not None and r.due_us - r.at_us >= 3_000 for r in records)
        if fate == "duplicated":
            taken = [(source, serial) for _, source, serial in _receipts(run.tail)]
            assert all(taken.count((r.source, r.serial)) <= 2 for r in records)
            assert any(taken.count((r.source, r.serial)) == 2 for r in records)
        if fate == "dropped":
            dropped = {(r.source, r.serial) for r in records}
            assert not dropped & {(source, serial) for _, source, serial in _receipts(run.tail)}


def test_messages_overtake_each_other_only_under_reorder(tmp_path: Path) -> None:
    """Under mere jitter, the order is kept (M6)."""
    link = Link(latency_us=4_000, jitter_us=4_000)
    with LiveRun(tmp_path, nodes=(1, 2), protocol=Flood, parameters={"outstanding": 3}, link=link) as run:

        def serials() -> list[int]:
            return [serial for _, source, serial in _receipts(run.tail) if source == 2]

        run.until(lambda cluster: cluster.record > 300, "some traffic")
        assert serials() == sorted(serials())
        run.order("reorder 2->1 50% 20ms")
        run.until(lambda _: serials() != sorted(serials()), "a message has overtaken another")


def test_an_inert_fault_is_shown_as_such(tmp_path: Path) -> None:
    """No message goes from 1 to 2, so that link's fault touches nothing; an unnoticed pause touches one node."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY, parameters=LAZY) as run:
        run.settled(3)
        run.order("delay 1->2 1s")
        run.order("pause 1")
        run.process_is(1, "paused")
        run.order("resume 1")
        run.process_is(1, "running")
        run.order("heal")
        assert _fault(run, 1).touched == 0
        assert _fault(run, 2).touched == 1


def test_heal_some_links_leaves_the_others(tmp_path: Path) -> None:
    """A partition of 1 from all: with 3<->1 healed, 1 hears 3 again but still not 2."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY, parameters=LAZY) as run:
        run.settled(3)
        run.order("partition 1")
        run.until(lambda cluster: sum(f.messages for f in cluster.faults.values()) >= 2, "it parts")
        assert run.order("heal 1<->3").changed
        before = len(run.tail.read().records)
        run.until(lambda _: any(n > before and s == 3 for n, s, _ in _receipts(run.tail)), "3 is heard again")
        assert set(run.cluster.faults) == {1}
        assert run.order("heal 3").text == "no fault is in force on these links, nothing changed"
        assert run.order("heal 2").text == "1 fault ended"
        assert run.cluster.faults == {}


def test_a_new_fault_of_the_same_links_replaces_the_old(tmp_path: Path) -> None:
    """Two partitions do not add up, nor do two delays of one link; another link is another fault."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY, parameters=LAZY) as run:
        run.settled(3)
        for command in ("delay 1->2 1s", "delay 1->2 2s", "delay 2->1 1s", "partition 1", "partition 2"):
            assert run.order(command).changed
        assert [fault.text for fault in run.cluster.faults.values()] == [
            "delay 1->2 2s",
            "delay 2->1 1s",
            "partition 2",
        ]
        assert run.order("heal").text == "3 faults ended"
