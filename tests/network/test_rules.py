"""The decision of each rule, the messages it applies to, and the assumptions it breaks."""

from random import Random
from typing import Any

import pytest
from msgspec import Raw

from lab.kernel import Message, Timing
from lab.network import (
    Cut,
    Delay,
    Duplicate,
    Hold,
    Lose,
    Network,
    Reorder,
    Rule,
    SendResult,
    Slow,
    Transit,
    broken_together,
    links_among,
)
from lab.recording.records import Fault
from tests.harness import Rig

LINK = frozenset({(1, 2)})
BOTH = frozenset({(1, 2), (2, 1)})
SPARE = Timing(50, 20)


def network(*rules: Rule, latency_us: int = 10) -> Network:
    """Return a network with these rules, numbered from 1."""
    made: Network = Network(lambda source, target: Random(f"{source}->{target}"), latency_us)
    for number, rule in enumerate(rules, 1):
        made.add_rule(number, rule)
    return made


def message(content: str = "x", source: int = 1, target: int = 2, kind: str = "Ping") -> Message:
    return Message(source, target, 1, kind, Raw(content.encode()))


def content_of(carried: Message) -> str:
    return bytes(carried.body).decode()


def sent(net: Network, carried: Message, now_us: int) -> SendResult:
    """Send the message; return the network's decision, which must be one to record."""
    sending = net.send(carried, now_us)
    assert sending is not None
    return sending


@pytest.mark.parametrize(
    ("rule", "fate", "why", "due_us", "copies"),
    [
        (Cut(links=LINK), "dropped", "cut", None, 0),
        (Lose(links=LINK, probability=1.0), "dropped", "lost", None, 0),
        (Hold(links=LINK), "held", "", None, 0),
        (Delay(links=LINK, delay_us=30), "delayed", "", 140, 1),
        (Slow(links=LINK, delay_us=30), "delayed", "", 140, 1),
        (Duplicate(links=LINK, probability=1.0), "", "", 110, 2),
    ],
)
def test_the_decision_of_each_rule(rule: Rule, fate: str, why: str, due_us: int | None, copies: int) -> None:
    """The result has the decision and the rule's number, and the messages arrive accordingly."""
    net = network(rule)
    sending = sent(net, message(), 100)
    assert (sending.fate, sending.why, sending.due_us, sending.by) == (fate, why, due_us, (1,))
    assert len(sending.extra) == max(0, copies - 1)
    assert len(list(net.due(1_000))) == copies


def test_without_a_rule_a_message_takes_the_latency() -> None:
    net = network()
    assert net.send(message(), 100) is None
    assert net.next_due_us() == 110


@pytest.mark.parametrize(
    "rule",
    [
        Lose(links=LINK, probability=0.0),
        Duplicate(links=LINK, probability=0.0),
        Reorder(links=LINK, probability=0.0, spread_us=50),
    ],
)
def test_a_rule_that_spares_a_message_is_not_in_its_result(rule: Rule) -> None:
    """A fault that touched nothing is inert."""
    net = network(rule)
    assert net.send(message(), 0) is None
    assert [due_us for due_us, _, _ in net.in_flight()] == [10]


@pytest.mark.parametrize("kind", [Lose, Duplicate, Reorder])
def test_a_probability_is_met(kind: Any) -> None:
    """About a third of 4,000 messages, within four standard deviations."""
    more = {"spread_us": 5} if kind is Reorder else {}
    net = network(kind(links=LINK, probability=1 / 3, **more))
    touched = sum(net.send(message(), 0) is not None for _ in range(4_000))
    assert abs(touched - 4_000 / 3) < 4 * (4_000 * 2 / 9) ** 0.5


def test_delays_and_their_jitter() -> None:
    """A delay varies by the jitter, and is never negative."""
    net = network(Delay(links=LINK, delay_us=20, jitter_us=30))
    dues = [sent(net, message(), 1_000 * n).due_us for n in range(300)]
    took = {(due or 0) - 1_000 * n for n, due in enumerate(dues)}
    assert min(took) == 10
    assert max(took) == 60


def test_delays_add_up() -> None:
    """Rules act in the order in which they were added; both affected the message."""
    sending = sent(network(Delay(links=LINK, delay_us=30), Delay(links=LINK, delay_us=5)), message(), 0)
    assert (sending.due_us, sending.by) == (45, (1, 2))


def test_a_dropped_message_meets_no_further_rule() -> None:
    """The cut decides; the rule after it is not applied, and the delay before it has had no effect."""
    net = network(Delay(links=LINK, delay_us=1), Cut(links=LINK), Duplicate(links=LINK, probability=1.0))
    assert sent(net, message(), 0).by == (2,)


def test_a_held_message_is_not_delayed() -> None:
    """It arrives when it is released: a delay and a reordering are inert."""
    late = (Delay(links=LINK, delay_us=5), Reorder(links=LINK, probability=1.0, spread_us=9))
    assert sent(network(*late, Hold(links=LINK)), message(), 0).by == (3,)


def test_reordering() -> None:
    """A reordered message takes up to the spread longer, and later ones do not wait for it."""
    net = network(Reorder(links=LINK, probability=1.0, spread_us=100))
    first = sent(net, message("first"), 0)
    net.remove_rule(1, 0)
    assert net.send(message("second"), 0) is None
    assert (first.fate, first.reordered, first.by) == ("delayed", True, (1,))
    assert first.due_us is not None
    assert 11 <= first.due_us <= 110
    assert net.next_due_us() == 10
    assert [content_of(each) for each, _ in net.due(1_000)] == ["second", "first"]


def test_a_copy_of_its_own_arrives_later_than_the_original() -> None:
    """Up to the spread, out of order: it delays no other message, and others may overtake it."""
    net = network(Duplicate(links=LINK, probability=1.0, spread_us=100))
    sending = sent(net, message("first"), 0)
    net.remove_rule(1, 0)
    assert net.send(message("second"), 0) is None
    assert (sending.fate, sending.due_us, sending.reordered, sending.by) == ("", 10, False, (1,))
    (copy_us,) = sending.extra
    assert copy_us is not None
    assert 11 <= copy_us <= 110
    assert [content_of(each) for each, _ in net.due(10)] == ["first", "second"]
    assert net.next_due_us() == copy_us
    assert [content_of(each) for each, _ in net.due(1_000)] == ["first"]


def test_a_copy_draws_only_if_it_takes_time() -> None:
    """Without a spread the same messages are duplicated as ever, right after the original."""
    plain, late = (network(Duplicate(links=LINK, probability=0.5, spread_us=us)) for us in (0, 1))
    alone = Random("1->2")
    results = [plain.send(message(), 0) for _ in range(50)]
    assert [result is not None for result in results] == [alone.random() < 0.5 for _ in range(50)]
    assert {result.extra for result in results if result is not None} == {(10,)}
    assert {result.extra for _ in range(50) if (result := late.send(message(), 0)) is not None} == {(11,)}


def test_a_copy_is_cut_on_its_arrival() -> None:
    """Although the original has arrived."""
    net = network(Duplicate(links=LINK, probability=1.0, spread_us=100))
    sent(net, message(), 0)
    assert [cut for _, cut in net.due(10)] == [None]
    net.add_rule(2, Cut(links=LINK))
    assert [cut for _, cut in net.due(1_000)] == [2]


def test_a_copy_is_held_with_the_original() -> None:
    """Without a spread, a held message is not duplicated."""
    for spread_us, released in ((100, ["x", "x"]), (0, ["x"])):
        net = network(Duplicate(links=LINK, probability=1.0, spread_us=spread_us), Hold(links=LINK))
        sending = sent(net, message(), 0)
        assert (sending.fate, sending.extra, sending.due_us) == ("held", (None,) * (len(released) - 1), None)
        assert sending.by == ((1, 2) if spread_us else (2,))
        assert [content_of(each) for each in net.remove_rule(2, 50)] == released
        assert len(list(net.due(50))) == len(released)


@pytest.mark.parametrize(
    "rule",
    [
        Cut(links=LINK),
        Lose(links=LINK, probability=1.0),
        Hold(links=LINK),
        Delay(links=LINK, delay_us=5),
        Duplicate(links=LINK, probability=1.0),
        Reorder(links=LINK, probability=1.0, spread_us=9),
    ],
)
def test_a_rule_applies_to_its_links_and_kinds_only(rule: Rule) -> None:
    """Not to the other direction, another link, or a message of another kind."""
    net = network(rule)
    for other in (message(source=2, target=1), message(target=3), message(source=3)):
        assert net.send(other, 0) is None
    kinds = type(rule)(
        **{name: getattr(rule, name) for name in rule.__struct_fields__} | {"kinds": frozenset("K")}
    )
    net = network(kinds)
    assert net.send(message(), 0) is None
    assert sent(net, message(kind="K"), 0).by == (1,)


@pytest.mark.parametrize(
    ("rule", "breaks"),
    [
        (Cut(links=LINK), (8,)),
        (Lose(links=LINK, probability=0.1), (8,)),
        (Hold(links=LINK), (8,)),
        (Duplicate(links=LINK, probability=0.1), (3,)),
        (Duplicate(links=LINK, probability=0.1, spread_us=51), (3,)),
        (Delay(links=LINK, delay_us=50), ()),
        (Delay(links=LINK, delay_us=51), (8,)),
        (Delay(links=LINK, delay_us=40, jitter_us=11), (8,)),
        (Slow(links=LINK, delay_us=20), ()),
        (Slow(links=LINK, delay_us=21), (9,)),
        (Slow(links=LINK, delay_us=15, jitter_us=6), (9,)),
        (Slow(links=BOTH, delay_us=10), ()),
        (Slow(links=BOTH, delay_us=11), (9,)),
        (Reorder(links=LINK, probability=0.1, spread_us=50), (7,)),
        (Reorder(links=LINK, probability=0.1, spread_us=51), (7, 8)),
    ],
)
def test_the_assumptions_that_a_rule_breaks(rule: Rule, breaks: tuple[int, ...]) -> None:
    """3: no message out of nothing; 7: in order; 8: within Tm, 50 here; 9: within Tp, 20 here, for both ends."""
    assert rule.broken_assumptions(SPARE) == breaks


def test_nodes_may_be_slow_by_several_rules() -> None:
    """9: T has Tp once, for a request and its answer. So what two nodes take counts together, however slowed."""
    one = Slow(links=links_among(frozenset({1, 2, 3}), frozenset({1})), delay_us=15)
    other = Slow(links=links_among(frozenset({1, 2, 3}), frozenset({2})), delay_us=4, jitter_us=2)
    delay = Delay(links=BOTH, delay_us=9)
    assert broken_together(one, [one, delay], SPARE) == ()
    assert broken_together(other, [one, other], SPARE) == broken_together(one, [one, one], SPARE) == (9,)
    assert broken_together(delay, [one, other, delay], SPARE) == ()
    rig = Rig((1, 2, 3))
    rig.do("slow 1 15ms", "slow 2 4ms ±2ms", "slow 3 4ms ±1ms")
    faults = [record for record in rig.records if isinstance(record, Fault)]
    assert [fault.breaks for fault in faults] == [(), (9,), (9,)]


def test_the_base_rule_decides_nothing() -> None:
    """Each subclass has its own decision."""
    with pytest.raises(NotImplementedError):
        Rule(links=LINK).decide(Transit(), Random(1))
    with pytest.raises(NotImplementedError):
        Rule(links=LINK).broken_assumptions(SPARE)


def test_links_among() -> None:
    """Directed links from each source to each target, but never from a node to itself."""
    assert links_among(frozenset({1, 2}), frozenset({2, 3})) == {(1, 2), (1, 3), (2, 3)}
