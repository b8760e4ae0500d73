"""The matrix of readings and repairs: what fails where the text is read otherwise, or a repair is left out.

The table is pinned, and printed in ``lab guide errata``. The profile ``quick`` explores the protocol as it is, and
one in ten of the rows in which something fails.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import pytest

from lab.kernel import CommandInput, Payload, Request, on, procedure
from lab.protocols import Algorithm, Bully, BullyTanenbaum, InvitationElection, Ring, Status, find_protocol
from lab.protocols.bully import EnterElection, EnterElectionAnswer
from lab.protocols.bully_tanenbaum import COORDINATOR, ELECTION
from tests.explored.matrix import (
    MOST_STATES,
    Bounds,
    all_departures,
    explored,
    format_matrix,
    settings_of,
    single_departures,
)
from tests.profile import SOAK, sampled

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
MATRICES = [
    (Bully, Bounds(2, 2, 1, settled=True)),
    (Bully, Bounds(3, 2, 0, settled=False)),
    (BullyTanenbaum, Bounds(3, 2, 0, settled=False)),
    (Ring, Bounds(3, 2, 0, settled=True)),
    (InvitationElection, Bounds(2, 1, 1, settled=False)),
]
LARGE = [
    (Bully, Bounds(3, 2, 1, settled=True)),
    (BullyTanenbaum, Bounds(3, 1, 1, settled=True)),
    (BullyTanenbaum, Bounds(3, 2, 1, settled=True)),
    (Ring, Bounds(2, 2, 1, settled=False)),
    (Ring, Bounds(3, 1, 0, settled=False)),
    (InvitationElection, Bounds(3, 1, 1, settled=True)),
]
MANY_STATES = 200_000
"""Enough for the invitation with three nodes."""
MOST_OF_COMMITS = 400_000
"""Enough for e3pc in a cut."""
COMMITS: list[tuple[str, dict[str, str]]] = [
    ("2pc", {}),
    ("3pc", {}),
    ("3pc", {"commit_after": "everyone_alive"}),
    ("e3pc", {}),
]
OF_COMMITS = [Bounds(2, 1, 0, settled=True)]
LARGE_OF_COMMITS = [
    Bounds(2, 1, 1, settled=True),
    Bounds(3, 2, 0, settled=True),
    Bounds(2, 0, 0, settled=True, cuts=1),
    Bounds(2, 1, 0, settled=True, cuts=1),
]
COMMANDS = {
    2: ((2, CommandInput("transfer", ("100", "savings", "checking"))),),
    3: ((3, CommandInput("withdraw", ("350",))),),
}
"""A transaction for this many nodes, by their coordinator."""
Transcript = Callable[[str, str], None]
A = TypeVar("A", bound=Payload)


@pytest.mark.parametrize(
    ("protocol", "bounds"),
    [*MATRICES, *(pytest.param(*each, marks=pytest.mark.soak) for each in LARGE)],
    ids=lambda each: getattr(each, "name", str(each)).replace(" ", "-"),
)
def test_the_matrix(
    protocol: type[Algorithm], bounds: Bounds, transcript: Transcript, request: pytest.FixtureRequest
) -> None:
    """As it is, nothing fails; what fails otherwise is as pinned."""
    name = f"matrix_{protocol.name}_{bounds.nodes}_{bounds.kills}_{bounds.restarts}"
    most = MANY_STATES if (protocol, bounds) in LARGE else MOST_STATES
    explores_all = SOAK or request.config.getoption("--rewrite")
    failing = None if explores_all else _failing(TRANSCRIPTS / f"{name}.txt")
    rows = [
        explored(protocol, parameters, bounds, most)
        for parameters in single_departures(protocol)
        if failing is None or not parameters or settings_of(parameters) in failing
    ]
    assert rows[0].is_complete
    assert not rows[0].violated
    text = f"{protocol.name}, {bounds}\n\n{format_matrix(rows)}\n"
    if failing is None:
        transcript(name, text)
    else:
        assert len(rows) == 1 + len(failing) > 1
        assert {*text.splitlines()} <= {*(TRANSCRIPTS / f"{name}.txt").read_text("utf-8").splitlines()}, text


def _failing(transcript: Path) -> Sequence[str]:
    """Return some settings with which something fails, by a pinned table, without searches that were stopped."""
    _, _, *rows = transcript.read_text("utf-8").splitlines()
    return sampled([row.split()[0] for row in rows if not row.endswith(" -") and "stopped" not in row], 10)


@pytest.mark.parametrize(
    "bounds",
    [*OF_COMMITS, *(pytest.param(each, marks=pytest.mark.soak) for each in LARGE_OF_COMMITS)],
    ids=lambda each: str(each).replace(" ", "-"),
)
def test_the_matrix_of_commit_protocols(bounds: Bounds, transcript: Transcript) -> None:
    """Each keeps its promises; A6 and all else that does not need the network holds in a cut, too."""
    rows = [
        explored(find_protocol(name), parameters, bounds, MOST_OF_COMMITS, COMMANDS[bounds.nodes])
        for name, parameters in COMMITS
    ]
    assert all(row.is_complete for row in rows)
    assert all(violation.broken for row in rows for violation in row.violated.values())
    text = f"commit, {bounds}\n\n{format_matrix(rows)}\n"
    transcript(f"matrix_commit_{bounds.nodes}_{bounds.kills}_{bounds.restarts}_{bounds.cuts}", text)


@pytest.mark.parametrize("protocol", [Bully, pytest.param(BullyTanenbaum, marks=pytest.mark.soak)])
def test_a_gap_is_open_in_every_reading(protocol: type[Algorithm]) -> None:
    """What a repair closes fails without it, however the text is read; else the reading would be the repair."""
    gaps = {repair.name: repair.fails for repair in protocol.repairs() if repair.kind == "gap"}
    shown = set()
    for parameters in all_departures(protocol):
        for name in {*parameters.get("without", ())} & gaps.keys():
            for bounds in (bounds for of, bounds in [*MATRICES, *LARGE] if of is protocol):
                if gaps[name] in explored(protocol, parameters, bounds, MANY_STATES).violated:
                    break
            else:
                pytest.fail(f"{parameters}: {gaps[name]} holds")
            shown.add(name)
    assert shown == gaps.keys()


@pytest.mark.soak
@pytest.mark.parametrize("name", ["check_strangers", "overrule_lower_winner"])
def test_A2_of_tanenbaums_bully_needs_two_repairs_in_one_reading_only(name: str) -> None:
    """It needs them where a node that is no coordinator answers, and not in the default reading."""
    without = {"without": (name,)}
    bounds = Bounds(3, 1, 1, settled=True)
    assert explored(BullyTanenbaum, {"responding": "any_node", **without}, bounds).violated.keys() == {"A2"}
    assert not explored(BullyTanenbaum, without, bounds).violated


class Finishes(BullyTanenbaum):
    """Tanenbaum's bully, read so that a node finishes its own election, whoever announces itself meanwhile."""

    name: ClassVar[str] = "finishes"
    electing: bool = False

    @procedure
    async def election(self) -> None:
        self.stop(self.ask_coordinator, self.check)
        self._step_down()
        self.electing = True
        higher_are_up = await self.ask_all(self.higher, ELECTION(), within=self.t_us, enough=1)
        self.electing = False
        if higher_are_up:
            self.coordinator = None
            await self.await_winner()
            return
        self.coordinator = self.id
        self._define(frozenset())
        for peer in self.peers:
            self.send(peer, COORDINATOR())
        await self.become_coordinator()

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> None:
        if not (self.electing and sender < self.id):
            super().on_coordinator(sender, message)


@pytest.mark.soak
def test_the_highest_of_tanenbaums_bully_leads_without_a_repair_in_another_reading() -> None:
    """So ``overrule_lower_winner`` closes no gap of the text."""
    text, bounds = {"without": ("overrule_lower_winner",)}, Bounds(3, 2, 1, settled=True)
    assert "highest" in explored(BullyTanenbaum, text, bounds, MANY_STATES).violated
    finished = explored(Finishes, text, bounds, MANY_STATES)
    assert finished.is_complete
    assert not finished.violated


class InOrder(Bully):
    """All loops of the listings ask one node after the other."""

    name: ClassVar[str] = "in-order"

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Ask in the order from the top."""
        replies: dict[int, A] = {}
        for peer in sorted(peers, reverse=True):
            answer = await self.ask(peer, request, within=within)
            if answer is not None:
                replies[peer] = answer
            if len(replies) == enough:
                break
        return replies


class StopsElectionAlone(Bully):
    """EnterElection stops the election procedure, and neither Check nor the timeout."""

    name: ClassVar[str] = "stops-election-alone"

    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Do the same but for what is stopped."""
        self.status = Status.ELECTION
        self.stop_processing()
        self.stop(self.election)
        self.halted = sender
        return EnterElectionAnswer(self.report(), self.version)


@pytest.mark.soak
@pytest.mark.parametrize("protocol", [InOrder, StopsElectionAlone])
def test_where_the_bully_departs_without_a_reading_it_makes_no_difference(protocol: type[Algorithm]) -> None:
    """Nothing fails if the listings are followed to the letter."""
    found = explored(protocol, {}, Bounds(3, 2, 1, settled=True), MANY_STATES)
    assert found.is_complete
    assert not found.violated


@pytest.mark.soak
@pytest.mark.parametrize("bounds", [bounds for protocol, bounds in MATRICES if protocol is Bully])
def test_the_whole_matrix(bounds: Bounds, transcript: Transcript) -> None:
    """All readings with each other, with all repairs and without each one."""
    rows = [explored(Bully, parameters, bounds) for parameters in all_departures(Bully)]
    text = f"{Bully.name}, {bounds}\n\n{format_matrix(rows)}\n"
    transcript(f"whole_matrix_{bounds.nodes}_{bounds.kills}_{bounds.restarts}", text)
