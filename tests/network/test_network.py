"""Messages in flight: their order, what strikes them on the way, and what happens on one link only."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.network import Cut, Delay, Duplicate, Hold, Lose, Network, Reorder, Rule, links_among
from tests.network.test_rules import LINK, message, network, sent, told

ALL = links_among(frozenset({1, 2, 3}), frozenset({1, 2, 3}))
CALM = st.one_of(
    st.builds(Delay, links=st.just(ALL), delay_us=st.integers(0, 50), jitter_us=st.integers(0, 50)),
    st.builds(Lose, links=st.just(LINK), probability=st.floats(0, 1)),
    st.builds(Duplicate, links=st.just(ALL), probability=st.floats(0, 1)),
    st.builds(Cut, links=st.just(LINK)),
    st.builds(Hold, links=st.just(LINK)),
)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from(sorted(ALL))),
        st.tuples(st.just("set"), st.tuples(st.integers(1, 4), CALM)),
        st.tuples(st.just("lift"), st.integers(1, 4)),
        st.tuples(st.just("wait"), st.integers(0, 60)),
    ),
    max_size=60,
)


def _play(net: Network, acts: list[tuple[str, Any]]) -> list[tuple[tuple[int, int], int, int]]:
    """(link, number of the message on it, when it came) of what arrived, in order."""
    now_us, sent, arrived = 0, 0, []
    for what, given_ in [*acts, *(("lift", number) for number in range(1, 5)), ("wait", 10_000)]:
        if what == "send":
            sent += 1
            net.send(message(str(sent), *given_), now_us)
        elif what == "set":
            net.set_rule(*given_)
        elif what == "lift":
            net.lift_rule(given_, now_us)
        else:
            now_us += given_
            for each, cut in net.due(now_us):
                if cut is None:
                    arrived.append(((each.source, each.target), int(told(each)), now_us))
    return arrived


@given(ACTS, st.integers(0, 30), st.integers(0, 30))
def test_M6_every_link_is_first_in_first_out(acts: list[tuple[str, Any]], latency_us: int, jitter_us: int) -> None:
    """M6: whatever delays, losses, copies, cuts and holds come and go, no message overtakes another one of its
    link; only Reorder may let it."""
    net: Network = Network(lambda source, target: Random(f"{source}->{target}"), latency_us, jitter_us)
    arrived = _play(net, acts)
    for link in ALL:
        numbers = [number for each, number, _ in arrived if each == link]
        assert numbers == sorted(numbers)
    assert net.next_due_us() is None


@given(ACTS)
def test_what_is_not_struck_arrives_once(acts: list[tuple[str, Any]]) -> None:
    """On links that nothing but delays and copies touch, every message arrives, and on time after all."""
    arrived = _play(network(), acts)
    sent = [given_ for what, given_ in acts if what == "send"]
    came = {number for link, number, _ in arrived}
    assert {n for n, link in enumerate(sent, 1) if link not in LINK} <= came


def test_what_is_due_comes_in_the_order_of_time_then_of_sending() -> None:
    """And not before its time."""
    net = network(Delay(links=LINK, delay_us=5))
    for content, source, target in (("a", 1, 2), ("b", 2, 1), ("c", 3, 1)):
        net.send(message(content, source, target), 0)
    assert net.next_due_us() == 10
    assert list(net.due(9)) == []
    assert [told(each) for each, _ in net.due(10)] == ["b", "c"]
    assert net.next_due_us() == 15
    assert [told(each) for each, _ in net.due(15)] == ["a"]


def test_a_cut_stops_what_is_in_flight() -> None:
    """It has left, and does not arrive; the id of the cut is told. The other direction is not cut."""
    net = network()
    net.send(message("gone"), 0)
    net.send(message("back", 2, 1), 0)
    net.set_rule(7, Cut(links=LINK))
    assert [(told(each), cut) for each, cut in net.due(10)] == [("gone", 7), ("back", None)]


def test_a_cut_of_some_kinds_stops_only_those() -> None:
    """In flight as at sending."""
    net = network()
    net.send(message("gone", kind="A"), 0)
    net.send(message("there", kind="B"), 0)
    net.set_rule(7, Cut(links=LINK, kinds=frozenset("A")))
    assert [(told(each), cut) for each, cut in net.due(10)] == [("gone", 7), ("there", None)]


def test_what_was_held_goes_on_in_order_when_the_rule_is_lifted() -> None:
    """At once, before anything that is sent later."""
    net = network(Hold(links=LINK))
    for content in "abc":
        assert sent(net, message(content), 0).fate == "held"
    assert net.next_due_us() is None
    assert [told(each) for each in net.lift_rule(1, 50)] == ["a", "b", "c"]
    net.send(message("d"), 50)
    assert [told(each) for each, _ in net.due(50)] == ["a", "b", "c"]
    assert [told(each) for each, _ in net.due(60)] == ["d"]


def test_M6_what_was_held_does_not_overtake_what_is_still_on_its_way() -> None:
    """M6: a message that left before the hold, and takes long, arrives before those that the hold lets go."""
    net = network(Delay(links=LINK, delay_us=90))
    net.send(message("slow"), 0)
    net.lift_rule(1, 0)
    net.set_rule(2, Hold(links=LINK))
    net.send(message("held"), 1)
    net.lift_rule(2, 2)
    assert list(net.due(99)) == []
    assert [told(each) for each, _ in net.due(100)] == ["slow", "held"]


def test_two_holds_hold_until_both_are_lifted() -> None:
    """And a message that came under the second alone goes with the second."""
    net = network(Hold(links=LINK), Hold(links=ALL))
    net.send(message("both"), 0)
    net.send(message("second", 2, 1), 0)
    assert net.lift_rule(1, 5) == []
    assert [told(each) for each in net.lift_rule(2, 6)] == ["both", "second"]


def test_lifting_a_rule_that_is_not_there_does_nothing() -> None:
    """A fault that struck nodes has no rule."""
    assert network().lift_rule(9, 0) == []


def test_a_rule_can_be_narrowed() -> None:
    """Links are taken out of it; without any left it is gone."""
    net = network(Cut(links=frozenset({(1, 2), (2, 1), (1, 3)})))
    net.narrow_rule(1, frozenset({(1, 2), (5, 6)}), 0)
    assert net.send(message(), 0) is None
    assert sent(net, message(source=2, target=1), 0).by == (1,)
    net.narrow_rule(1, frozenset({(2, 1), (1, 3)}), 0)
    assert not net.rules


def test_a_narrowed_hold_lets_go_what_it_holds_no_longer() -> None:
    """What waited on a link that is taken out of the rule is on its way; the rest waits on."""
    net = network(Hold(links=frozenset({(1, 2), (2, 1)})))
    net.send(message("there"), 0)
    net.send(message("back", 2, 1), 0)
    assert [told(each) for each in net.narrow_rule(1, frozenset({(1, 2)}), 5)] == ["there"]
    assert [told(each) for each, _ in net.due(5)] == ["there"]
    assert [told(each) for each in net.lift_rule(1, 6)] == ["back"]


@pytest.mark.parametrize(
    "rule",
    [
        Lose(links=LINK, probability=0.5),
        Duplicate(links=LINK, probability=0.5),
        Delay(links=LINK, delay_us=9, jitter_us=9),
        Reorder(links=LINK, probability=0.5, spread_us=9),
    ],
)
def test_a_draw_on_one_link_moves_nothing_on_another(rule: Rule) -> None:
    """Each link has its own generator, from a string that names it: fifty draws on 1->2, or none, and 2->1 and
    3->2 have the same jitter."""

    def others(rules: tuple[Rule, ...], busy: bool) -> list[int]:
        net: Network = Network(lambda source, target: Random(f"7/{source}->{target}"), 100, 90)
        for number, each in enumerate(rules):
            net.set_rule(number, each)
        dues: list[int] = []
        for n in range(20):
            for _ in range(50 if busy else 0):
                net.send(message(), 1_000 * n)
            for other in (message("", 2, 1), message("", 3, 2)):
                net.send(other, 1_000 * n)
                dues += [due_us for due_us, _, each in net.flying() if each is other]
        return dues

    assert others((), busy=False) == others((rule,), busy=True)
    assert len(set(others((), busy=False))) > 20
