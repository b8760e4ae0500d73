"""The holes of the published listings: which run falls into each of them, and what fails there.

A protocol closes its holes; with ``as_printed`` it is as published. The run of ``NAME`` as published is
``recordings/holes/NAME.jsonl``, which the protocol's file names where it closes the hole.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from lab.journal import Cluster, Header, Link, Record
from lab.kernel import Step, Timing
from lab.protocols import Algorithm, Bully, BullyTanenbaum, InvitationElection, Ring
from lab.worlds.config import RunConfig, header_of

__all__ = ["HOLES", "Hole"]

TIMING = Timing(80_000, 40_000)
"""As ``lab run`` has it where nothing is said: T is 200 ms."""


class Hole(Struct, frozen=True):
    """All ``nodes`` come up, and the lines of ``script`` strike them, each at its trigger, until ``end_us``.

    ``assertion`` then fails; ``broken`` are the assumptions that do not hold at that moment. Where none fails,
    ``sign`` finds in the records what goes wrong.
    """

    name: str
    protocol: type[Algorithm]
    nodes: tuple[int, ...]
    script: tuple[str, ...]
    end_us: int
    assertion: str
    broken: tuple[int, ...] = ()
    parameters: dict[str, Any] = {}
    link: Link = Link(10_000)
    sign: Callable[[Sequence[Record]], bool] | None = None

    def header(self, as_printed: bool) -> Header:
        """The first line of the recording."""
        parameters = {**self.parameters, "as_printed": as_printed}
        config = RunConfig(
            self.name, self.protocol.name, self.nodes, TIMING, parameters, self.link, 1, "", world="simulated"
        )
        return header_of(config, self.protocol)


def _turned_away(records: Sequence[Record]) -> bool:
    """An Accept was not accepted."""
    sent = [message for record in records if isinstance(record, Step) for message in record.sent]
    return any(message.kind == "AcceptAnswer" and b"false" in bytes(message.body) for message in sent)


def _has_dead_member(records: Sequence[Record]) -> bool:
    """In the end somebody that is dead is a member."""
    cluster = Cluster(())
    for record in records:
        cluster.apply(record)
    running = {node for node, view in cluster.nodes.items() if view.process == "running"}
    members = {member for node in running for member in cluster.nodes[node].state["definition"]["members"]}
    return bool(members - running)


HOLES: list[Hole] = [
    Hole("bully-leader-dies", Bully, (1, 2), ("on send EnterElectionAnswer 1->2 kill 2",), 7_000_000, "A2"),
    Hole("bully-higher-dies", Bully, (1, 2), ("on send AreYouUpAnswer 2->1 kill 2",), 7_000_000, "A2"),
    Hole(
        "bully-paused-wakes",
        Bully,
        (1, 2),
        ("at 1s pause 2", "at 3s resume 2"),
        10_500_000,
        "A2",
        parameters={"check_every_us": 600_000},
    ),
    Hole(
        "bully-two-leaders",
        Bully,
        (1, 2, 3),
        (
            "at 1s kill 3",
            "at 1s delay 2->1 20ms",
            "at 1s delay 3->2 30ms",
            "at 1s on send EnterElection 2->1 restart 3",
        ),
        2_500_000,
        "A1.1",
        link=Link(1_000),
    ),
    Hole(
        "bully-tanenbaum-winner-dies",
        BullyTanenbaum,
        (1, 2, 3),
        ("at 1s kill 3", "at 1s on send OK 2->1 kill 2"),
        4_500_000,
        "A2",
    ),
    Hole(
        "bully-tanenbaum-no-halt", BullyTanenbaum, (1, 2), ("at 0s kill 2", "at 1s restart 2"), 1_100_000, "A1.1"
    ),
    Hole(
        "bully-tanenbaum-crossing",
        BullyTanenbaum,
        (1, 2),
        ("at 0s kill 2", "on send COORDINATOR 1->2 restart 2"),
        3_500_000,
        "A2",
    ),
    Hole(
        "bully-tanenbaum-led-astray",
        BullyTanenbaum,
        (1, 2, 3),
        ("at 0s kill 3", "at 1s cut 3->1", "at 1s restart 3", "at 1500ms heal"),
        4_500_000,
        "A2",
    ),
    Hole(
        "bully-tanenbaum-paused-wakes",
        BullyTanenbaum,
        (1, 2),
        ("at 1s pause 2", "at 3s resume 2"),
        6_000_000,
        "A2",
    ),
    Hole(
        "bully-tanenbaum-partition-heals",
        BullyTanenbaum,
        (1, 2),
        ("at 1s partition 1 | 2", "at 2s heal"),
        5_000_000,
        "A2",
    ),
    Hole(
        "ring-starter-dies",
        Ring,
        (1, 2, 3),
        ("at 1s kill 1", "at 1500ms restart 1", "at 1500ms on send ELECTION 2->3 kill 1"),
        7_000_000,
        "A2",
    ),
    Hole(
        "ring-message-lost",
        Ring,
        (1, 2, 3),
        ("at 1s kill 1", "at 1500ms restart 1", "at 1500ms on send Passed 2->1 kill 2"),
        7_000_000,
        "A2",
    ),
    Hole(
        "ring-two-lists",
        Ring,
        (1, 2, 3, 4),
        (
            "at 1s kill 1",
            "at 1s kill 3",
            "at 2s restart 1",
            "at 2s restart 3",
            "at 2s on send ELECTION 4->1 kill 4",
        ),
        3_000_000,
        "A1.1",
    ),
    Hole("ring-two-rings", Ring, (1, 2, 3), ("at 1s partition 1 | 2 3", "at 2s heal"), 7_500_000, "A2"),
    Hole(
        "invitation-left-behind",
        InvitationElection,
        (1, 2, 3),
        (
            "at 2s kill 2",
            "at 2.1s restart 2",
            "at 2.1s on deliver AreYouCoordinatorAnswer 2->3 cut 3->1",
            "at 2.1s on send Invitation 3->2 heal",
        ),
        12_000_000,
        "A4",
    ),
    Hole(
        "invitation-two-threads",
        InvitationElection,
        (2, 3, 4),
        ("at 1.6s kill 2", "at 1.706s partition 4 | 2 3", "at 1.786s restart 2", "at 1.954s heal"),
        14_000_000,
        "A4",
        parameters={"check_every_us": 1_000_000},
        link=Link(2_000),
    ),
    Hole("invitation-starves", InvitationElection, (26, 27), (), 7_500_000, "A4", link=Link(50_000)),
    Hole(
        "invitation-too-late",
        InvitationElection,
        (1, 2, 3),
        ("at 0s partition 1 2 | 3", "at 4s heal"),
        6_500_000,
        "",
        link=Link(79_000),
        sign=_turned_away,
    ),
    Hole(
        "invitation-dead-member",
        InvitationElection,
        (1, 2, 3),
        ("at 2s kill 1",),
        6_000_000,
        "",
        sign=_has_dead_member,
    ),
    Hole(
        "invitation-own-group",
        InvitationElection,
        (3, 4, 5, 6),
        (
            "at 0s partition 3 6 | 4 5",
            "at 0s pause 4",
            "at 290ms heal",
            "at 1840ms pause 5",
            "at 3600ms resume all",
        ),
        3_681_000,
        "A5",
        link=Link(40_000),
    ),
]
