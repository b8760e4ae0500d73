"""A budget of wrong suspicions: which timeouts need it, what it bounds, and what a few of them break."""

import re
from pathlib import Path
from typing import ClassVar

import pytest

from lab.kernel import Node, Started, periodic, procedure
from lab.protocols import Bully, Election
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import SUSPICIONS, Timeouts
from lab.worlds.explored.suspicions import NOBODY_SUSPECTED, SuspectingNode, Suspicion
from tests.explored.brute import Description, describe_state
from tests.explored.performed import assert_it_re_executes, judged, performed
from tests.explored.toys import TIMING, Asking, Beating, Counting, Sulking, explorer_of
from tests.profile import SOAK


class Forlorn(Election):
    """Node 1 waits for what never comes true; node 2 waits for nothing."""

    name: ClassVar[str] = "forlorn"
    gave_up: bool = False

    def started(self) -> None:
        if self.id == 1:
            self.begin(self.waiting)

    @procedure
    async def waiting(self) -> None:
        self.gave_up = not await self.until(lambda: False, "nothing", within=self.timing.t_us)


class Resting(Forlorn):
    """Node 1 sleeps."""

    name: ClassVar[str] = "resting"

    @procedure
    async def waiting(self) -> None:
        await self.sleep(self.timing.t_us, "a while")


class Watching(Forlorn):
    """Node 1 begins a procedure when it has not heard 2 and 3 for so long; it asks none of them."""

    name: ClassVar[str] = "watching"

    def started(self) -> None:
        """Wait for nothing."""

    @periodic(lambda self: min(self.heard_us(2), self.heard_us(3)) + self.timing.t_us if self.id == 1 else None)
    async def watching(self) -> None:
        self.gave_up = True


@pytest.mark.parametrize(
    ("protocol", "found"),
    [
        (Forlorn, Suspicion(anybody=True)),
        (Resting, NOBODY_SUSPECTED),
        (Watching, Suspicion(silent=(2, 3))),
    ],
)
def test_what_the_next_timer_gives_up(protocol: type[Election], found: Suspicion) -> None:
    """A condition, nothing, or the peers on whose silence it depends."""
    node = SuspectingNode(protocol, 1, (1, 2, 3), TIMING)
    node.step(Started({}, 1, 1), 0)
    assert node.suspicion() == found


def test_requests_are_given_up_until_they_are_replied_to() -> None:
    """Of two requests, that one is left that was not replied to."""
    node = SuspectingNode(Counting, 1, (1, 2, 3), TIMING)
    requests = node.step(Started({}, 1, 1), 0).sent
    assert [peer for peer, _ in node.suspicion().requests] == [2, 3]
    peer = Node(Counting, 2, (1, 2, 3), TIMING)
    peer.step(Started({}, 1, 1), 0)
    (reply,) = peer.step(requests[0], 0).sent
    node.step(reply, 0)
    assert [peer for peer, _ in node.suspicion().requests] == [3]


@pytest.mark.parametrize(
    ("protocol", "kills", "suspicions", "states", "transitions"),
    [
        # asked, answered, heard: each time, something is in flight
        (Asking, 0, 0, 3, 2),
        # and given up with the Ping, the Pong or nothing under way, as in the model any
        (Asking, 0, 1, 6, 6),
        # without a kill, nothing else can happen: to wait on would change nothing
        (Forlorn, 0, 0, 2, 1),
        # waiting or not, with both up, without node 1, or without node 2
        (Forlorn, 1, 0, 5, 6),
        (Resting, 0, 0, 2, 1),
    ],
)
def test_counts_by_hand(
    protocol: type[Election], kills: int, suspicions: int, states: int, transitions: int
) -> None:
    """Every state once, and every transition from it."""
    tally = explorer_of(protocol, 2, "budget", kills, suspicions=suspicions).run(1_000)
    assert (tally.states, tally.transitions, tally.stopped_by) == (states, transitions, "")


def has_missed(explorer: Explorer) -> bool:
    views = explorer.locals.views
    return any(views[state[1]].state.get("misses") for state in explorer.states)


def test_silence_of_a_node_that_is_up_is_suspected_at_a_cost() -> None:
    """A node that sends heartbeats is missed once it is down, or with a suspicion."""
    for kills, suspicions, missed in ((0, 0, False), (1, 0, True), (0, 1, True)):
        explorer = explorer_of(Beating, 2, "budget", kills, suspicions=suspicions)
        assert explorer.run(2_000, 12).states > 10
        assert has_missed(explorer) == missed


@pytest.mark.parametrize(
    ("count", "kills", "suspicions", "found"),
    [
        (2, 0, 0, (3, 3, 2)),
        (2, 0, 1, (32, 43, 15)),
        (2, 0, 2, (310, 486, 27)),
        (2, 1, 0, (52, 72, 10)),
        (2, 1, 1, (405, 710, 20)),
        (2, 1, 2, (2219, 4689, 32)),
        (3, 0, 0, (9, 13, 4)),
        (3, 0, 1, (160, 295, 27)),
        (3, 1, 0, (1635, 3139, 24)),
        pytest.param(3, 1, 1, (31462, 68507, 44), marks=pytest.mark.soak),
    ],
)
def test_all_states_of_the_bully(count: int, kills: int, suspicions: int, found: tuple[int, int, int]) -> None:
    """The state space is finite, as only so many elections can begin; without a wrong suspicion nothing fails."""
    explorer = explorer_of(Bully, count, "budget", kills, settled=True, suspicions=suspicions)
    tally = explorer.run(100_000)
    assert (tally.states, tally.transitions, tally.depth) == found
    assert tally.stopped_by == ""
    assert suspicions or not explorer.violated


def described(
    protocol: type[Election], timeouts: Timeouts, suspicions: int, depth: int | None
) -> set[Description]:
    """Return the descriptions of all states of two nodes, without the number of suspicions left."""
    explorer = explorer_of(protocol, 2, timeouts, 1, suspicions=suspicions)
    explorer.run(100_000, depth)
    return {each[:-1] for each in describe_state(explorer, (1, 2), timeouts)}


@pytest.mark.parametrize(("protocol", "depth"), [(Asking, None), (Counting, None), (Bully, 12 if SOAK else 8)])
def test_a_greater_budget_has_more_states_and_any_has_all(protocol: type[Election], depth: int | None) -> None:
    """Budgets only take executions away from the model ``any``, and one that is never spent takes none."""
    unbounded = described(protocol, "any", 0, depth)
    spaces = [described(protocol, "budget", suspicions, depth) for suspicions in (0, 1, 2)]
    assert spaces[0] < spaces[1] <= spaces[2] <= unbounded
    assert described(protocol, "budget", 1 << 40, depth) == unbounded


def test_a_wrong_suspicion_is_excused_by_slow_messages_and_nodes(tmp_path: Path) -> None:
    """Two wrong timeouts break A1.2 of two nodes, as the model ``any`` does; the recording re-executes."""
    explorer = explorer_of(Bully, 2, "budget", settled=True, suspicions=2)
    explorer.run(10_000)
    assert explorer.violated == ["A1.2"]
    assert explorer.broken["A1.2"] == (8, 9)
    state = explorer.states[explorer.first_found["A1.2"]]
    assert state[SUSPICIONS] == 0
    records = performed(Bully, 2, "budget", 0, explorer.path_to(explorer.first_found["A1.2"]))
    assert "A1.2" in {each.assertion for each in judged(Bully, 2, records)}
    assert_it_re_executes(records, Bully, tmp_path / "found.jsonl")


def test_liveness_is_judged_where_nothing_can_happen_any_more() -> None:
    """With nobody suspected, node 1 follows; with a wrong suspicion it sulks for ever."""
    for suspicions, violated in ((0, []), (1, ["A2"])):
        explorer = explorer_of(Sulking, 2, "budget", suspicions=suspicions)
        assert explorer.run(1_000).stopped_by == ""
        assert explorer.violated == violated


def test_other_models_have_no_budget() -> None:
    """There, the number of suspicions makes no difference."""
    for timeouts in ("synchronous", "prompt", "ordered", "any"):
        tallies = [explorer_of(Asking, 2, timeouts, 1, suspicions=each).run(1_000) for each in (0, 5)]
        assert tallies[0] == tallies[1]


@pytest.mark.parametrize(
    ("count", "suspicions", "counts"), [(2, 2, (2219, 1846, 484, 339)), (3, 0, (1635, 1635, 161, 161))]
)
def test_what_a_state_distinguishes(count: int, suspicions: int, counts: tuple[int, ...]) -> None:
    """The counts of the guide: all, without the suspicions left, with what is visible only, without versions."""
    explorer = explorer_of(Bully, count, "budget", 1, settled=True, suspicions=suspicions)
    explorer.run(10_000)
    unspent = {(*state[:SUSPICIONS], *state[SUSPICIONS + 1 :]) for state in explorer.states}
    shown = describe_state(explorer, tuple(range(1, count + 1)), "budget")
    visible = {(tuple(node[:2] for node in nodes), *others) for nodes, *others in shown}
    plain = {_VERSIONS.sub("", repr(each)) for each in visible}
    assert (explorer.tally.states, len(unspent), len(visible), len(plain)) == counts


_VERSIONS = re.compile(r'"version":\d+')
