"""The explorer sees the same states as brute force."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from lab.kernel import on, procedure
from lab.protocols import Bully, Election
from lab.worlds.explored.states import Timeouts
from tests.explored.brute import describe_state, described_by_brute_force
from tests.explored.toys import Announcing, Asking, Beating, Call, Counting, explorer_of
from tests.profile import SOAK

TIMEOUTS: tuple[Timeouts, ...] = ("synchronous", "prompt", "ordered", "any")


def under(cases: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return each case under every model of time; in the profile ``quick``, each under one of the four."""
    return [
        pytest.param(*case, timeouts, marks=pytest.mark.soak if (number + place) % 4 else ())
        for number, case in enumerate(cases)
        for place, timeouts in enumerate(TIMEOUTS)
    ]


UNCUT = [
    (Announcing, 3, 2, None),
    (Asking, 2, 0, None),
    (Asking, 2, 2, None),
    (Asking, 3, 1, None),
    (Counting, 2, 0, None),
    (Counting, 2, 1, None),
    (Beating, 2, 1, 9 if SOAK else 6),
    (Bully, 2, 1, 5 if SOAK else 3),
    (Bully, 3, 0, 4 if SOAK else 3),
]
CUT = [(Announcing, 2, 1, 1), (Announcing, 2, 0, 2), (Announcing, 3, 0, 1), (Asking, 2, 1, 1), (Counting, 2, 0, 1)]


@pytest.mark.parametrize(("protocol", "count", "kills", "most_moves", "timeouts"), under(UNCUT))
def test_the_same_states(
    protocol: type[Election], count: int, kills: int, most_moves: int | None, timeouts: Timeouts
) -> None:
    """Every path from the first start, with messages in flight and timers."""
    explorer = explorer_of(protocol, count, timeouts, kills)
    tally = explorer.run(100_000, most_moves)
    wanted, paths = described_by_brute_force(protocol, count, timeouts, kills, most_moves)
    assert describe_state(explorer, tuple(range(1, count + 1)), timeouts) == wanted
    assert tally.stopped_by == ("" if most_moves is None else f"depth {most_moves}")
    assert paths >= tally.states > 2


@pytest.mark.parametrize(("protocol", "count", "kills", "cuts", "timeouts"), under(CUT))
def test_the_same_states_of_a_network_that_may_be_cut(
    protocol: type[Election], count: int, kills: int, cuts: int, timeouts: Timeouts
) -> None:
    """Cut and healed at any moment, also between two messages of one step."""
    explorer = explorer_of(protocol, count, timeouts, kills, cuts=cuts)
    assert explorer.run(100_000).stopped_by == ""
    wanted, paths = described_by_brute_force(protocol, count, timeouts, kills, None, cuts)
    assert describe_state(explorer, tuple(range(1, count + 1)), timeouts) == wanted
    uncut = explorer_of(protocol, count, timeouts, kills).run(100_000)
    assert paths > explorer.tally.states > uncut.states


class Waiting(Asking):
    """Node 1 waits for a call of node 2, which calls it after T, and gives up after 2T."""

    name: ClassVar[str] = "waiting"
    called: bool = False

    def started(self) -> None:
        self.begin(self.waiting if self.id == 1 else self.calling)

    @procedure
    async def waiting(self) -> None:
        self.answered = await self.until(lambda: self.called, "a call", within=2 * self.timing.t_us)

    @procedure
    async def calling(self) -> None:
        await self.sleep(self.timing.t_us, "its time")
        self.send(1, Call())

    @on(Call)
    def call(self, sender: int, message: Call) -> None:
        self.called = True


BUDGETS = [
    (Announcing, 3, 2, None, 1),
    *((Asking, 3, 1, None, suspicions) for suspicions in (0, 1, 2)),
    *((Counting, 2, 1, None, suspicions) for suspicions in (0, 1, 2)),
    *((Waiting, 2, 1, None, suspicions) for suspicions in (0, 1)),
    *((Beating, 2, 1, 8 if SOAK else 6, suspicions) for suspicions in (0, 1, 2)),
    *((Bully, 2, 1, 6 if SOAK else 3, suspicions) for suspicions in (0, 1, 2)),
    *((Bully, 3, 0, 5 if SOAK else 3, suspicions) for suspicions in (0, 2)),
]


@pytest.mark.parametrize(("protocol", "count", "kills", "most_moves", "suspicions"), BUDGETS)
def test_the_same_states_with_a_budget_of_wrong_suspicions(
    protocol: type[Election], count: int, kills: int, most_moves: int | None, suspicions: int
) -> None:
    """What is a wrong suspicion is found out in another way: from serials, and by moving when a peer was heard."""
    explorer = explorer_of(protocol, count, "budget", kills, suspicions=suspicions)
    tally = explorer.run(100_000, most_moves)
    wanted, paths = described_by_brute_force(protocol, count, "budget", kills, most_moves, 0, suspicions)
    assert describe_state(explorer, tuple(range(1, count + 1)), "budget") == wanted
    assert tally.stopped_by == ("" if most_moves is None else f"depth {most_moves}")
    assert paths >= tally.states > 2


@pytest.mark.parametrize("timeouts", ["synchronous", "ordered", "any"])
def test_a_bounded_search_is_a_part_of_brute_force(timeouts: Timeouts) -> None:
    """A cut right before a message is one move for the explorer, two for brute force, or none within a step."""
    explorer = explorer_of(Bully, 2, timeouts, 1, cuts=1)
    explorer.run(100_000, 1)
    deeper = explorer_of(Bully, 2, timeouts, 1, cuts=1)
    deeper.run(100_000, 3)
    there, _ = described_by_brute_force(Bully, 2, timeouts, 1, 2, 1)
    here, _ = described_by_brute_force(Bully, 2, timeouts, 1, 3, 1)
    assert describe_state(explorer, (1, 2), timeouts) < there
    assert here < describe_state(deeper, (1, 2), timeouts)


class Patient(Beating):
    """It waits very long before it takes node 1 for dead."""

    name: ClassVar[str] = "patient"
    PATIENCE_T: ClassVar[int] = 7


@pytest.mark.parametrize("old_t", [1, 2, 4])
def test_the_oldest_age_is_learned(monkeypatch: pytest.MonkeyPatch, old_t: int) -> None:
    """From any initial bound: a protocol that distinguishes greater ages is found out, with the same states."""
    monkeypatch.setattr("lab.worlds.explored.explorer._OLD_T", 40)
    wanted = explorer_of(Patient, 2, "synchronous", 1)
    wanted.run(20_000)
    monkeypatch.setattr("lab.worlds.explored.explorer._OLD_T", old_t)
    explorer = explorer_of(Patient, 2, "synchronous", 1)
    explorer.run(20_000)
    assert describe_state(explorer, (1, 2), "synchronous") == describe_state(wanted, (1, 2), "synchronous")
    assert explorer.tally.stopped_by == wanted.tally.stopped_by == ""
    assert explorer.tally.states < wanted.tally.states
