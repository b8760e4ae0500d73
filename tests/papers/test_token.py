"""The token by path compression: K1 in every consistent state, K2 while no node fails, and the text's examples."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import Token
from lab.protocols.token import PassToken, RequestToken, TokenStatus
from lab.recording.records import Process
from lab.worlds.campaign.schedule import draw, plan_of
from lab.worlds.campaign.trial import run_trial
from tests.campaign.trials import TIMING as CAMPAIGN_TIMING
from tests.harness import T_US, Rig, Solo, simulated_header
from tests.profile import amount

STAY_US = 10_000
MESSAGE_US = 1_000


def rig_of(
    nodes: int, *, protocol: type[Token] = Token, by_itself: int | None = 0, jitter_us: int = 0, seed: int = 1
) -> Rig:
    """Return nodes from 1 on, with low latency and short stays; they enter only on request."""
    parameters = Token.Parameters(hold_us=STAY_US, want_every_us=10 * STAY_US, by_itself=by_itself)
    ids = range(1, nodes + 1)
    rig = Rig(ids, protocol=protocol, latency_us=MESSAGE_US, jitter_us=jitter_us, seed=seed, parameters=parameters)
    return rig.started()


def entries(rig: Rig) -> dict[int, int]:
    """Return the number of entries of each node."""
    return {node: rig.protocol(node).entries for node in rig.ids}


def ask(rig: Rig, *nodes: int) -> None:
    """Request entries of these nodes."""
    for node in nodes:
        rig.do(f"tell {node} request")


def guesses(rig: Rig) -> dict[int, int]:
    """Return the guess of each node."""
    return {node: rig.protocol(node).guess for node in rig.ids}


def at_rest(rig: Rig) -> bool:
    """Return whether no node waits or is inside."""
    quiet = (TokenStatus.IDLE, TokenStatus.HOLDING)
    return all(rig.protocol(node).status in quiet for node in rig.ids)


# K1


def test_K1_the_lowest_node_has_the_token_at_first() -> None:
    """K1: one node holds it, and all others guess that node."""
    rig = rig_of(4)
    assert [node for node in rig.ids if rig.protocol(node).status is TokenStatus.HOLDING] == [1]
    assert guesses(rig) == {1: 1, 2: 1, 3: 1, 4: 1}


def test_K1_a_token_in_flight_is_held_by_nobody() -> None:
    """K1: between the step that passes it and the step that receives it."""
    rig = rig_of(2)
    ask(rig, 2)
    rig.run_until(lambda: bool(rig.sent("PassToken")), T_US, "the token is passed")
    assert [rig.protocol(node).status for node in rig.ids] == [TokenStatus.IDLE, TokenStatus.WAITING]
    rig.run(MESSAGE_US)
    assert rig.protocol(2).status is TokenStatus.INSIDE


def test_K1_a_copy_of_the_token_is_not_accepted() -> None:
    """K1: a duplicate is no second token, after the first has been passed on or in a later incarnation."""
    solo = Solo(Token)
    solo.start()
    assert solo.hear(1, PassToken(2)).changed["status"] == "Holding"
    assert solo.hear(3, RequestToken(3)).changed["status"] == "Idle"
    assert solo.hear(1, PassToken(2)).changed == {}
    later = Solo(Token)
    later.start({"number": 2}, incarnation=2)
    assert later.hear(1, PassToken(2)).changed == {}


def test_K1_relies_on_safe_storage() -> None:
    """K1: the lowest node, wiped, does not know that it had a token, and creates another; the judge says so."""
    rig = rig_of(2)
    ask(rig, 2)
    rig.run(5 * MESSAGE_US)
    rig.do("kill 1", "wipe 1", "restart 1")
    (violation,) = violations(rig)
    assert (violation.assertion, sorted(violation.nodes)) == ("K1", [1, 2])
    assert [broken.assumption for broken in violation.broken] == [4]


def violations(rig: Rig) -> list[Violation]:
    """Return the judge's violations over all records."""
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    return judge.violations


def late_copy(protocol: type[Token]) -> list[Violation]:
    """Return the violations if the token goes from 1 to 2, from 2 to 3, and a copy reaches 2 again."""
    rig = rig_of(3, protocol=protocol)
    ask(rig, 2, 3)
    rig.run_until(lambda: rig.protocol(3).entries == 1, 5 * STAY_US, "3 is inside")
    first = next(message for message in rig.messages.values() if message.kind == "PassToken")
    rig.network.resume(first, rig.now_us + MESSAGE_US)
    rig.run(2 * MESSAGE_US)
    return violations(rig)


def test_K1_a_late_copy_of_the_token_is_not_accepted() -> None:
    """K1: not even long after the token has been passed on."""
    assert late_copy(Token) == []


def test_K1_a_second_token_is_not_held_with_the_first() -> None:
    """K1: a node that has one ignores another one, created elsewhere, during its stay."""
    solo = Solo(Token)
    solo.start()
    solo.node.protocol.begin(solo.protocol.enter)
    solo.hear(1, PassToken(2))
    solo.protocol.status = TokenStatus.INSIDE
    solo.hear(3, PassToken(5))
    assert solo.protocol.status is TokenStatus.INSIDE


def test_K1_a_restarted_node_does_not_create_a_token() -> None:
    """K1: the lowest created one at its first start, and does not again; the token was lost with it."""
    rig = rig_of(3)
    rig.do("kill 1", "restart 1")
    rig.run(T_US)
    assert rig.protocol(1).status is TokenStatus.IDLE
    ask(rig, 1, 2, 3)
    rig.run(100 * T_US)
    assert entries(rig) == {1: 0, 2: 0, 3: 0}, "all wait forever"
    assert {rig.protocol(node).status for node in rig.ids} == {TokenStatus.WAITING}


def test_K1_a_node_that_asked_before_its_crash_keeps_the_token_for_others() -> None:
    """K1: it receives the token, no longer wants it, and passes it to the next requester."""
    rig = rig_of(3)
    ask(rig, 1, 2)
    rig.run(MESSAGE_US)
    rig.do("kill 2", "restart 2")
    rig.run(T_US)
    assert rig.protocol(2).status is TokenStatus.HOLDING
    ask(rig, 3)
    rig.run(T_US)
    assert entries(rig) == {1: 1, 2: 0, 3: 1}


@pytest.mark.parametrize("seed", range(1, amount(quick=6, soak=1_000) + 1))
def test_K1_holds_under_all_faults(seed: int) -> None:
    """K1: crashes, pauses, cuts, delays, losses, copies and reordering; only a wipe breaks it."""
    faults = ("kill", "pause", "partition", "delay", "loss", "duplicate", "reorder")
    parameters = Token.Parameters(hold_us=20_000, want_every_us=200_000)
    base = simulated_header(Token, (1,), CAMPAIGN_TIMING, parameters=parameters)
    trial = run_trial(Token, base, draw(plan_of(Token, (3, 7), faults, CAMPAIGN_TIMING), seed))
    assert not trial.violations
    assert any(isinstance(record, Process) for record in trial.records)


# K2


def test_K2_requesters_queue_and_are_served_in_turn() -> None:
    """K2: the queue is a linked list by next, and the token moves along it."""
    rig = rig_of(4)
    ask(rig, 1, 2)
    rig.run(MESSAGE_US)
    ask(rig, 3)
    rig.run_until(lambda: rig.protocol(2).next == 3, STAY_US, "3 stands behind 2")
    assert [rig.protocol(node).next for node in (1, 2, 3)] == [2, 3, None]
    rig.run(20 * STAY_US)
    assert entries(rig) == {1: 1, 2: 1, 3: 1, 4: 0}
    assert rig.protocol(3).status is TokenStatus.HOLDING, "it stays where nobody asks for it"


def test_K2_the_holder_enters_without_a_message() -> None:
    """K2: any number of times."""
    rig = rig_of(3)
    for _ in range(3):
        ask(rig, 1)
        rig.run(2 * STAY_US)
    assert entries(rig)[1] == 3
    assert not rig.sent()


def test_K2_a_waiting_node_is_not_queued_twice() -> None:
    """K2: one request, and one entry."""
    rig = rig_of(3)
    ask(rig, 2, 2, 2)
    rig.run(20 * STAY_US)
    assert rig.sent("RequestToken") == [(2, "RequestToken", 1)]
    assert entries(rig) == {1: 0, 2: 1, 3: 0}


def test_K2_every_node_on_the_way_guesses_the_requester() -> None:
    """Path compression: a request along 4, 3, 2, 1 leaves all three at 4, and the next takes one message."""
    rig = rig_of(4)
    for node, guess in ((1, 1), (2, 1), (3, 2), (4, 3)):
        rig.protocol(node).guess = guess
    ask(rig, 4)
    rig.run(20 * STAY_US)
    assert rig.sent("RequestToken") == [(4, "RequestToken", 3), (3, "RequestToken", 2), (2, "RequestToken", 1)]
    assert guesses(rig) == {1: 4, 2: 4, 3: 4, 4: 4}
    seen = len(rig.records)
    ask(rig, 2)
    rig.run(20 * STAY_US)
    assert rig.sent(since=seen) == [(2, "RequestToken", 4), (4, "PassToken", 2)]


def test_K2_two_requests_at_once_as_the_text_has_it() -> None:
    """Path compression: D queues, E's request reaches it, D points to E, and E is the last in the list.

    A to E are 1 to 5, and A is inside; E's request is still in flight to A when D's arrives there.
    """
    rig = rig_of(5)
    ask(rig, 1)
    held = rig.hold(frozenset({(5, 1)}))
    ask(rig, 5)
    ask(rig, 4)
    rig.run(MESSAGE_US)
    assert (rig.protocol(1).next, rig.protocol(1).guess) == (4, 4)
    rig.release(held)
    rig.run_until(lambda: rig.protocol(4).next == 5, STAY_US, "D points to E")
    assert [rig.protocol(node).guess for node in (1, 4, 5)] == [5, 5, 5], "E is the last of the list"
    rig.run(20 * STAY_US)
    assert entries(rig) == {1: 1, 2: 0, 3: 0, 4: 1, 5: 1}


@given(
    st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 6_000)), max_size=40), st.integers(0)
)
def test_K2_every_request_is_served(nodes: int, wants: list[tuple[int, int]], seed: int) -> None:
    """K2: for any requests at any times and messages of any latency, nobody waits in the end."""
    rig = rig_of(nodes, jitter_us=MESSAGE_US - 100, seed=seed)
    due = dict.fromkeys(rig.ids, 0)
    for place, after_us in wants:
        node = place % nodes + 1
        rig.run(after_us)
        if rig.protocol(node).status in (TokenStatus.IDLE, TokenStatus.HOLDING):
            due[node] += 1
        ask(rig, node)
    most_us = (len(wants) + 1) * (STAY_US + 2 * (nodes + 1) * MESSAGE_US)
    rig.run_until(lambda: at_rest(rig), most_us, "all are served")
    assert entries(rig) == due


def test_K2_nodes_want_to_enter_by_themselves_in_turn() -> None:
    """K2: each up to its limit, without commands."""
    rig = rig_of(5, by_itself=3)
    rig.run(100 * 10 * STAY_US)
    assert entries(rig) == dict.fromkeys(rig.ids, 3)
    assert at_rest(rig)


def _alone(rig: Rig, chance: Random) -> int:
    node = chance.choice(rig.ids)
    before = rig.protocol(node).entries
    ask(rig, node)
    rig.run_until(lambda: rig.protocol(node).entries > before, 10**9, "it is inside")
    rig.run(2 * STAY_US)
    return 1


def _many(rig: Rig, chance: Random) -> int:
    wanting = [node for node in rig.ids if chance.random() < 0.5]
    ask(rig, *wanting)
    rig.run_until(lambda: at_rest(rig), 10**9, "all are served")
    return len(wanting)


@pytest.mark.parametrize("nodes", [4, 16, 64, pytest.param(256, marks=pytest.mark.soak)])
@pytest.mark.parametrize("who", [_alone, _many])
def test_K2_messages_of_an_entry_are_logarithmic(nodes: int, who: object) -> None:
    """K2: m requests in a tree of n guesses take at most log2(n)·(1 + n/2m) messages each, and one for the token.

    That is the cost of m path reversals in the worst case, from any tree (Ginat, Sleator and Tarjan, 1989). For
    random requests, routes are about the natural logarithm of n, and the measurement is well below the bound.
    """
    rig, chance, served = rig_of(nodes, jitter_us=MESSAGE_US - 100), Random(f"entries/{nodes}"), 0
    while served < 2 * nodes:
        served += who(rig, chance)  # type: ignore[operator]
    assert sum(entries(rig).values()) == served
    an_entry = len(rig.sent()) / served
    assert an_entry < 1 + math.log2(nodes) * (1 + nodes / (2 * served))
    assert an_entry < 1.25 + math.log(nodes), "as it was measured: 1.9, 3.2, 4.6 and 5.5 one after the other"
