"""The effect of faults on links equals what the network does to messages."""

from itertools import permutations
from random import Random

import pytest
from msgspec import Raw

from lab.analysis.group_history import GroupLog
from lab.kernel import Message
from lab.network import SendResult
from lab.protocols import InvitationElection
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Fault
from lab.recording.snapshot import ActiveFault
from lab.script.parse import parse
from lab.tui.views.network_state import NetworkNow, effect_of, network_now
from tests.harness import T_US, Rig

KINDS = ("AreYouUp", "Accept", "NewState")
NODES = (1, 2, 3, 4, 5)
TRIES = 20
"""With a loss of 30 %, one of so many messages passes."""


def _now(rig: Rig) -> NetworkNow:
    return network_now(rig.cluster, GroupLog.of(rig.records))


def _fault(kind: str, text: str) -> ActiveFault:
    return ActiveFault(1, kind, text, 0, links=((2, 3),))


@pytest.mark.parametrize(
    ("text", "sort", "amount", "closes"),
    [
        ("cut 2->3", "cut", "", True),
        ("partition 1 2 | 3 4 5", "cut", "", True),
        ("delay 2->3 400ms ±100ms", "delay", "400ms ±100ms", False),
        ("delay all 1.5s", "delay", "1.5s", False),
        ("slow 3 300ms", "delay", "300ms", False),
        ("lose 2->3 30%", "lose", "30%", False),
        ("lose 2->3 100%", "lose", "100%", True),
        ("lose 2->3 Accept 100%", "lose", "100%", False),
        ("duplicate all 20%", "duplicate", "20%", False),
        ("reorder 2<->3 50% 80ms", "reorder", "50% 80ms", False),
        ("hold 2->3", "hold", "", True),
        ("hold 2->3 Accept", "hold", "", False),
    ],
)
def test_the_amount_is_read_from_the_command(text: str, sort: str, amount: str, closes: bool) -> None:
    """A fault for only some kinds of messages does not close the link."""
    effect = effect_of(_fault(text.split(maxsplit=1)[0], text))
    assert (effect.name, effect.amount, effect.closes) == (sort, amount, closes)
    assert effect.kinds == (("Accept",) if "Accept" in text else ())


@pytest.mark.parametrize(
    "text",
    ["", "delay", "kill 3", "at 2s: delay 2->3 1s", pytest.param("delay 2->3 9" * 400, id="long"), "\x1b[2J"],
)
def test_faults_of_a_foreign_recording(text: str) -> None:
    """Only their kind is used."""
    effect = effect_of(_fault("delay", text))
    assert (effect.name, effect.amount, effect.closes) == ("delay", "", False)
    assert effect_of(_fault("melt", text)).name == "other"


def _becomes(rig: Rig, serial: int, link: tuple[int, int], kind: str) -> SendResult | None:
    return rig.network.send(Message(*link, serial, kind, Raw(b"{}")), rig.now_us)


@pytest.mark.parametrize("seed", range(12))
def test_a_link_is_cut_exactly_if_the_network_drops_messages(seed: int) -> None:
    """After many faults and ends of faults, for each link and kind of message."""
    rig, chance, serial = Rig(NODES, seed=seed), Random(f"{seed}/faults"), 100_000
    for _ in range(15):
        _apply_fault(rig, chance)
        now = _now(rig)
        for link in permutations(NODES, 2):
            found = []
            for number in range(TRIES * len(KINDS)):
                serial += 1
                found.append(_becomes(rig, serial, link, KINDS[number % len(KINDS)]))
            outcomes = [("", "") if sending is None else (sending.fate, sending.why) for sending in found]
            is_cut = ("dropped", "cut") in outcomes or all(fate == ("dropped", "lost") for fate in outcomes)
            effects = now.effects.get(link, ())
            shown_cut = any(each.name == "cut" or (each.name == "lose" and each.closes) for each in effects)
            assert shown_cut == is_cut, (rig.cluster.faults, link)
            passes = any(fate not in ("dropped", "held") for fate, _ in outcomes)
            assert (link in now.connections.closed) == (not passes), (rig.cluster.faults, link)


def _apply_fault(rig: Rig, chance: Random) -> None:
    """Start or end a link fault."""
    one, other = chance.sample(NODES, 2)
    kind = chance.choice(["", "", " Accept"])
    line = chance.choice(
        [
            f"cut {one}->{other}",
            f"cut {one}",
            f"partition {one} {other}",
            f"partition {one} | {other}" + "".join(f" {node}" for node in NODES if node not in (one, other)),
            f"lose {one}<->{other}{kind} 100%",
            f"lose all{kind} 30%",
            f"hold {one}->{other}{kind}",
            f"delay {one}{kind} 400ms",
            f"duplicate all{kind} 50%",
            f"join {one}",
            f"release {one}",
            f"heal {other}",
        ]
    )
    if line.split()[0] not in ("join", "release", "heal") or rig.cluster.faults:
        rig.control.execute(parse(line))


def test_stopped_nodes_are_on_no_side() -> None:
    """Killed or paused, whatever their links do."""
    rig = Rig(NODES).started().run(5 * T_US)
    rig.do("partition 1 2 | 3 4 5", "kill 4", "pause 2")
    now = _now(rig)
    assert now.connections.components == ((1,), (3, 5))
    assert [(stand.id, stand.process) for stand in now.stopped()] == [(2, "paused"), (4, "killed")]


def test_messages_in_flight_are_on_their_links_held_or_not() -> None:
    """Until they arrive or are released."""
    rig = Rig(NODES, latency_us=10_000).started().run(5 * T_US)
    rig.do("hold 5->3")
    rig.run_until(lambda: any(each.held for each in rig.cluster.in_flight.values()), 20 * T_US, "one is held")
    held = _now(rig).in_flight[5, 3]
    assert all(flight.held for flight in held)
    rig.do("release 5->3")
    assert not any(flight.held for flight in _now(rig).in_flight.get((5, 3), ()))
    rig.run(20_000)
    left = _now(rig).in_flight.get((5, 3), ())
    assert not {flight.serial for flight in held} & {flight.serial for flight in left}


def test_a_group_has_its_name_and_colour_here_too() -> None:
    rig = Rig((1, 2, 3), protocol=InvitationElection).started().run(20 * T_US)
    log = GroupLog.of(rig.records)
    members = network_now(rig.cluster, log).nodes.values()
    group = log.group_of(rig.cluster.nodes[3], rig.cluster.record)
    assert group is not None
    assert {stand.group for stand in members} == {(group.name, group.hue)}
    assert [stand.id for stand in members if stand.leads] == [group.coordinator]


def test_links_of_unknown_nodes_are_left_out() -> None:
    """A foreign recording may name any, and a node and itself."""
    cluster = ClusterState((1, 2))
    cluster.apply(Fault(0, 1, "cut", "cut all", links=((1, 2), (2, 9), (-7, 1), (1, 1), (1, 2))))
    now = network_now(cluster, GroupLog())
    assert list(now.effects) == [(1, 2)]
    assert len(now.effects[1, 2]) == 1
