"""Messages in flight: their order, the faults that affect them, and the independence of links."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.network import Cut, Delay, Duplicate, Hold, Lose, Network, Reorder, Rule, links_among
from tests.network.test_rules import LINK, content_of, message, network, sent

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
    """Return (link, number of the message on it, arrival time) of the messages that arrived, in order."""
    now_us, sent, arrived = 0, 0, []
    for what, given_ in [*acts, *(("lift", number) for number in range(1, 5)), ("wait", 10_000)]:
        if what == "send":
            sent += 1
            net.send(message(str(sent), *given_), now_us)
        elif what == "set":
            net.add_rule(*given_)
        elif what == "lift":
            net.remove_rule(given_, now_us)
        else:
            now_us += given_
            for each, cut in net.due(now_us):
                if cut is None:
                    arrived.append(((each.source, each.target), int(content_of(each)), now_us))
    return arrived


@given(ACTS, st.integers(0, 30), st.integers(0, 30))
def test_M6_every_link_is_fifo(acts: list[tuple[str, Any]], latency_us: int, jitter_us: int) -> None:
    """M6: with any delays, losses, copies, cuts and holds, no message overtakes another on its link.

    Only Reorder permits it.
    """
    net: Network = Network(lambda source, target: Random(f"{source}->{target}"), latency_us, jitter_us)
    arrived = _play(net, acts)
    for link in ALL:
        numbers = [number for each, number, _ in arrived if each == link]
        assert numbers == sorted(numbers)
    assert net.next_due_us() is None


@given(ACTS)
def test_unaffected_messages_arrive_once(acts: list[tuple[str, Any]]) -> None:
    """On links with delays and copies only, every message arrives, and at its time."""
    arrived = _play(network(), acts)
    sent = [given_ for what, given_ in acts if what == "send"]
    came = {number for link, number, _ in arrived}
    assert {n for n, link in enumerate(sent, 1) if link not in LINK} <= came


def test_messages_arrive_in_order_of_time_then_of_sending() -> None:
    """They do not arrive before their time."""
    net = network(Delay(links=LINK, delay_us=5))
    for content, source, target in (("a", 1, 2), ("b", 2, 1), ("c", 3, 1)):
        net.send(message(content, source, target), 0)
    assert net.next_due_us() == 10
    assert list(net.due(9)) == []
    assert [content_of(each) for each, _ in net.due(10)] == ["b", "c"]
    assert net.next_due_us() == 15
    assert [content_of(each) for each, _ in net.due(15)] == ["a"]


def test_a_cut_drops_messages_in_flight() -> None:
    """The result has the id of the cut. The other direction is not cut."""
    net = network()
    net.send(message("gone"), 0)
    net.send(message("back", 2, 1), 0)
    net.add_rule(7, Cut(links=LINK))
    assert [(content_of(each), cut) for each, cut in net.due(10)] == [("gone", 7), ("back", None)]


def test_a_cut_of_some_kinds_stops_only_those() -> None:
    """Both in flight and at sending."""
    net = network()
    net.send(message("gone", kind="A"), 0)
    net.send(message("there", kind="B"), 0)
    net.add_rule(7, Cut(links=LINK, kinds=frozenset("A")))
    assert [(content_of(each), cut) for each, cut in net.due(10)] == [("gone", 7), ("there", None)]


def test_held_messages_are_released_in_order_when_the_rule_is_lifted() -> None:
    """They arrive at once, before anything sent later."""
    net = network(Hold(links=LINK))
    for content in "abc":
        assert sent(net, message(content), 0).fate == "held"
    assert net.next_due_us() is None
    assert [content_of(each) for each in net.remove_rule(1, 50)] == ["a", "b", "c"]
    net.send(message("d"), 50)
    assert [content_of(each) for each, _ in net.due(50)] == ["a", "b", "c"]
    assert [content_of(each) for each, _ in net.due(60)] == ["d"]


def test_M6_held_messages_do_not_overtake_messages_in_flight() -> None:
    """M6: a slow message that was sent before the hold arrives before the messages that the hold releases."""
    net = network(Delay(links=LINK, delay_us=90))
    net.send(message("slow"), 0)
    net.remove_rule(1, 0)
    net.add_rule(2, Hold(links=LINK))
    net.send(message("held"), 1)
    net.remove_rule(2, 2)
    assert list(net.due(99)) == []
    assert [content_of(each) for each, _ in net.due(100)] == ["slow", "held"]


def test_two_holds_hold_until_both_are_lifted() -> None:
    """A message that came under the second hold alone is released with the second."""
    net = network(Hold(links=LINK), Hold(links=ALL))
    net.send(message("both"), 0)
    net.send(message("second", 2, 1), 0)
    assert net.remove_rule(1, 5) == []
    assert [content_of(each) for each in net.remove_rule(2, 6)] == ["both", "second"]


def test_removing_an_unknown_rule_does_nothing() -> None:
    """A fault of nodes has no rule."""
    assert network().remove_rule(9, 0) == []


def test_links_can_be_removed_from_a_rule() -> None:
    """A rule without links is removed."""
    net = network(Cut(links=frozenset({(1, 2), (2, 1), (1, 3)})))
    net.remove_links(1, frozenset({(1, 2), (5, 6)}), 0)
    assert net.send(message(), 0) is None
    assert sent(net, message(source=2, target=1), 0).by == (1,)
    net.remove_links(1, frozenset({(2, 1), (1, 3)}), 0)
    assert not net.rules


def test_removing_a_link_from_a_hold_releases_its_messages() -> None:
    """The messages of the other links stay held."""
    net = network(Hold(links=frozenset({(1, 2), (2, 1)})))
    net.send(message("there"), 0)
    net.send(message("back", 2, 1), 0)
    assert [content_of(each) for each in net.remove_links(1, frozenset({(1, 2)}), 5)] == ["there"]
    assert [content_of(each) for each, _ in net.due(5)] == ["there"]
    assert [content_of(each) for each in net.remove_rule(1, 6)] == ["back"]


@pytest.mark.parametrize(
    "rule",
    [
        Lose(links=LINK, probability=0.5),
        Duplicate(links=LINK, probability=0.5),
        Delay(links=LINK, delay_us=9, jitter_us=9),
        Reorder(links=LINK, probability=0.5, spread_us=9),
    ],
)
def test_draws_on_one_link_do_not_affect_another(rule: Rule) -> None:
    """Each link has its own generator, seeded with its name.

    Whether there are fifty draws on 1->2 or none, 2->1 and 3->2 have the same jitter.
    """

    def others(rules: tuple[Rule, ...], busy: bool) -> list[int]:
        net: Network = Network(lambda source, target: Random(f"7/{source}->{target}"), 100, 90)
        for number, each in enumerate(rules):
            net.add_rule(number, each)
        dues: list[int] = []
        for n in range(20):
            for _ in range(50 if busy else 0):
                net.send(message(), 1_000 * n)
            for other in (message("", 2, 1), message("", 3, 2)):
                net.send(other, 1_000 * n)
                dues += [due_us for due_us, _, each in net.in_flight() if each is other]
        return dues

    assert others((), busy=False) == others((rule,), busy=True)
    assert len(set(others((), busy=False))) > 20
