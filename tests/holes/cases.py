"""The holes of the published texts: for each a run that shows it, and the assertion that fails.

A protocol closes its holes: with a repair that can be left out, or by the reading that is its default. The run
with the hole open is ``recordings/holes/NAME.jsonl``; the departures of the protocol refer to it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Step, Timing
from lab.protocols import Algorithm, Bully, BullyTanenbaum, InvitationElection, Ring
from lab.recording.records import Header, Link, Record
from lab.worlds.loading.config import RunConfig, header_of

__all__ = ["HOLES", "Hole"]

TIMING = Timing(80_000, 40_000)
"""The default timing of ``lab run``: T is 200 ms."""


class Hole(Struct, frozen=True):
    """A run of ``nodes`` with the faults of ``script``, until ``end_us``, and the failure that it shows.

    ``what`` describes the failure; it is the remark of the recording. ``assertion`` fails while the assumptions in
    ``broken`` do not hold. If no assertion fails, ``sign`` finds the failure in the records. ``opened_by`` are the
    parameters that open the hole: a reading, or the repair that is left out.
    """

    name: str
    what: str
    protocol: type[Algorithm]
    nodes: tuple[int, ...]
    script: tuple[str, ...]
    end_us: int
    assertion: str
    broken: tuple[int, ...] = ()
    parameters: dict[str, Any] = {}
    opened_by: dict[str, Any] = {}
    link: Link = Link(10_000)
    sign: Callable[[Sequence[Record]], bool] | None = None

    def header(self, is_open: bool, without: Sequence[str] = ()) -> Header:
        """Return the header of the recording; or, if the hole is closed, of a run without these other repairs."""
        parameters = self.parameters | (self.opened_by if is_open else {"without": without} if without else {})
        config = RunConfig(
            self.name, self.protocol.name, self.nodes, TIMING, parameters, self.link, 1, "", world="simulated"
        )
        header = header_of(config, self.protocol)
        return replace(header, remark=f"{self.kind}: {self.what}") if is_open else header

    @property
    def kind(self) -> str:
        """The kind of the departure: *reading*, *gap*, *one reading* or *beyond the promise*.

        A repair may close a gap and more: a run in which an assumption is broken shows what is beyond the promise;
        but for A4, which is promised whatever was broken before.
        """
        names = self.opened_by.get("without", ())
        kind = next((each.kind for each in self.protocol.repairs() if each.name in names), "reading")
        is_broken = any(verb in line for verb in (" pause ", " partition ", " cut ") for line in self.script)
        return "beyond the promise" if kind == "gap" and is_broken and self.assertion != "A4" else kind


def _turned_away(records: Sequence[Record]) -> bool:
    """Return whether an Accept was refused."""
    sent = [message for record in records if isinstance(record, Step) for message in record.sent]
    return any(message.kind == "AcceptAnswer" and b"false" in bytes(message.body) for message in sent)


HOLES: list[Hole] = [
    Hole(
        "bully-leader-dies",
        "1 entered the election of 2, which died: 1 stays in Election forever",
        Bully,
        (1, 2),
        ("on send EnterElectionAnswer 1->2 kill 2",),
        7_000_000,
        "A2",
        opened_by={"silence": "waits"},
    ),
    Hole(
        "bully-higher-dies",
        "1 came up and left the election to 2, which died at that moment: 1 stays Down forever",
        Bully,
        (1, 2),
        ("at 1s kill 1", "at 2s restart 1", "at 2s on send AreYouUpAnswer 2->1 kill 2"),
        10_000_000,
        "A2",
        opened_by={"without": ["retry_if_no_takeover"]},
    ),
    Hole(
        "bully-paused-wakes",
        "2 was paused while 1 took over, and resumes: both lead forever",
        Bully,
        (1, 2),
        ("at 1s pause 2", "at 3s resume 2"),
        10_500_000,
        "A2",
        parameters={"check_every_us": 600_000},
        opened_by={"without": ["step_down_for_higher"]},
    ),
    Hole(
        "bully-follows-the-dead",
        "1 follows 2, which died, and leaves each election to 3, which was paused: 1 stays Normal under 2 forever",
        Bully,
        (1, 2, 3),
        ("at 0s kill 2", "at 280ms restart 2", "at 290ms pause 3", "at 1690ms kill 2", "at 1700ms resume 3"),
        14_000_000,
        "A2",
        opened_by={"without": ["step_down_for_higher"]},
        link=Link(1_000),
    ),
    Hole(
        "bully-two-leaders",
        "1 is halted by 3, then by 2, and follows 2, while 3 relies on it: for a while 2 and 3 both lead",
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
        parameters={"halting": "at_once"},
        opened_by={"without": ["refuse_lower_leader"]},
        link=Link(1_000),
    ),
    Hole(
        "bully-tanenbaum-winner-dies",
        "2 bullied 1, and died before it had won: 1 waits forever",
        BullyTanenbaum,
        (1, 2, 3),
        ("at 1s kill 3", "at 1s on send OK 2->1 kill 2"),
        4_500_000,
        "A2",
        opened_by={"without": ["retry_if_no_winner"]},
    ),
    Hole(
        "bully-tanenbaum-no-halt",
        "2 comes up and is coordinator at once, while 1 still leads: two coordinators",
        BullyTanenbaum,
        (1, 2),
        ("at 0s kill 2", "at 1s restart 2"),
        1_100_000,
        "A1.1",
        opened_by={"without": ["admit_before_normal"]},
    ),
    Hole(
        "bully-tanenbaum-crossing",
        "the COORDINATOR of 1 and that of 2 cross: each follows the other forever",
        BullyTanenbaum,
        (1, 2),
        ("at 0s kill 2", "on send COORDINATOR 1->2 restart 2"),
        3_500_000,
        "A2",
        parameters={"without": ["overrule_lower_winner"]},
        opened_by={"responding": "any_node"},
    ),
    Hole(
        "bully-tanenbaum-lower-leads",
        "2 comes up too late for the ELECTION of 1, and gets its COORDINATOR: 2 follows 1 forever",
        BullyTanenbaum,
        (1, 2, 3),
        ("at 1s kill 2", "at 2s kill 3", "at 2300ms restart 2"),
        6_000_000,
        "highest",
        opened_by={"without": ["overrule_lower_winner"]},
    ),
    Hole(
        "bully-tanenbaum-partition-heals",
        "1 and 2 were partitioned, and both lead forever after the heal",
        BullyTanenbaum,
        (1, 2),
        ("at 1s partition 1 | 2", "at 2s heal"),
        5_000_000,
        "A2",
        opened_by={"without": ["check_strangers"]},
    ),
    Hole(
        "ring-starter-dies",
        "3 died while its messages circulated: they circulate forever, and delay each further election",
        Ring,
        (1, 2, 3, 4),
        ("at 700ms kill 4", "at 2s restart 4", "at 2.4s kill 3"),
        9_500_000,
        "A2",
        opened_by={"without": ["circulate_once"]},
        link=Link(79_999),
    ),
    Hole(
        "ring-message-lost",
        "1 acknowledged the ELECTION of 2 and died before it passed it on: 2 waits forever",
        Ring,
        (1, 2),
        ("on send Passed 1->2 kill 1",),
        8_500_000,
        "A2",
        opened_by={"without": ["retry_if_no_coordinator"]},
    ),
    Hole(
        "ring-skipped",
        "1 and 3 come up, and each election passes only one of them: 1 follows 2, while 3 leads itself",
        Ring,
        (1, 2, 3),
        ("at 0s kill 1", "at 1.3s kill 3", "at 1.61s restart 3", "at 1.68s restart 1"),
        2_500_000,
        "A1.1",
        opened_by={"without": ["ask_skipped"]},
        link=Link(1_000),
    ),
    Hole(
        "ring-two-lists",
        "3 died between two ELECTIONs and is in only one of the lists: 2 follows 3, 1 follows 2",
        Ring,
        (1, 2, 3),
        ("at 170ms kill 3",),
        1_000_000,
        "A1.1",
        opened_by={"without": ["number_elections"]},
        link=Link(79_000),
    ),
    Hole(
        "ring-two-rings",
        "1 was partitioned from 2 and 3: after the heal there are two stable rings forever",
        Ring,
        (1, 2, 3),
        ("at 1s partition 1 | 2 3", "at 2s heal"),
        9_000_000,
        "A2",
        opened_by={"without": ["check_ring"]},
    ),
    Hole(
        "invitation-left-behind",
        "1 missed the new group of 3, still hears 3, and stays in the old group forever",
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
        opened_by={"heard": "any"},
    ),
    Hole(
        "invitation-two-threads",
        "2 joins 3, gets an outdated no of 4, recovers, and is then accepted: in Reorganization forever",
        InvitationElection,
        (2, 3, 4),
        ("at 1534ms kill 2", "at 1578ms partition 4 | 2 3", "at 1655ms restart 2", "at 2058ms heal"),
        14_000_000,
        "A4",
        parameters={"check_every_us": 1_000_000},
        link=Link(79_000),
        opened_by={"without": ["stop_threads"]},
    ),
    Hole(
        "invitation-refused",
        "2 invites 1 and dies: 1 recovers, and goes on into Reorganization, where it stays forever",
        InvitationElection,
        (1, 2),
        ("on send Invitation 2->1 kill 2",),
        9_000_000,
        "A4",
        opened_by={"refused": "goes_on"},
    ),
    Hole(
        "invitation-starves",
        "26 and 27 repeatedly merge at the same time and ignore each other's invitation",
        InvitationElection,
        (26, 27),
        (),
        7_300_000,
        "A4",
        link=Link(50_000),
        opened_by={"wait": "T/priority"},
    ),
    Hole(
        "invitation-too-late",
        "3 refuses 1, whose Accept came too late, though every message was in time",
        InvitationElection,
        (1, 2, 3),
        ("at 0s partition 1 2 | 3", "at 4s heal"),
        6_500_000,
        "",
        link=Link(79_000),
        sign=_turned_away,
        opened_by={"without": ["accept_longer"]},
    ),
    Hole(
        "invitation-dead-member",
        "1 is dead and stays a member of the group of 3 forever",
        InvitationElection,
        (1, 2, 3),
        ("at 2s kill 1",),
        13_000_000,
        "spreads",
        opened_by={"without": ["miss_members"]},
    ),
    Hole(
        "invitation-own-group",
        "1 gets its own invitation through 3 and 2, and enters a group that it had formed and left",
        InvitationElection,
        (1, 2, 3, 4),
        ("at 0s pause 1", "at 500ms kill 4", "at 4s resume 1", "at 4.4s pause 3", "at 6.5s resume 3"),
        7_000_000,
        "A5",
        opened_by={"without": ["ignore_own_invitation"]},
        link=Link(40_000),
    ),
]
