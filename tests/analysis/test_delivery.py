"""The delivery outcome of a message is the same in the log, the diagram, a search, and the cluster."""

from contextlib import closing
from random import Random

import pytest
from msgspec import Raw

from lab.analysis.delivery import OUTCOMES, DeliveryTracker, LogPage
from lab.analysis.spacetime import SpaceTime
from lab.kernel import Fired, Message, Received, Step
from lab.protocols import Bully
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FeedRecords
from lab.recording.records import Header, Record, Routed, encode
from lab.script.parse import parse
from lab.script.query import LogFilter, read_query
from tests.harness import Rig, simulated_header

_STRIKES = (
    "hold {a}->{b}",
    "hold all",
    "release",
    "duplicate all 80%",
    "lose {a}->{b} 60%",
    "reorder all 50% 60ms",
    "cut {a}->{b}",
    "heal",
    "inject {a}->{b} AreYouUp",
    "pause {a}",
    "resume {a}",
    "kill {a}",
    "restart {a}",
)
Key = tuple[int, int]
"""A message, by source and serial."""


def _struck(seed: int) -> list[Record]:
    """Run with random faults, mostly ones that hold and duplicate messages."""
    chance = Random(f"fates/{seed}")
    rig, at_ms = Rig((1, 2, 3), jitter_us=9_000, seed=seed).started(), 0
    for _ in range(14):
        at_ms += chance.randrange(20, 150)
        a, b = chance.sample((1, 2, 3), 2)
        rig.director.add(parse(f"at {at_ms}ms {chance.choice(_STRIKES).format(a=a, b=b)}"))
    return rig.run((at_ms + 100) * 1000).records


def _header(records: list[Record]) -> Header:
    header = records[0]
    assert isinstance(header, Header)
    return header


def _in_log(page: LogPage, number: int) -> dict[Key, str]:
    messages = [line for line in page.lines if line.what == "message" and line.record <= number]
    endings = [(line.message, page.outcome(line, number)) for line in messages]
    return {message: "in flight" if ending is None else ending.fate for message, ending in endings}


@pytest.mark.parametrize("seed", range(8))
def test_all_sources_agree_at_every_record(seed: int) -> None:
    """A page of the log, growing and complete; the diagram; a search for each outcome; the cluster."""
    records = _struck(seed)
    header = _header(records)
    space, cluster, grown = SpaceTime(header), ClusterState.of(header), LogPage(0, None)
    cluster.apply(header)
    grown.feed(header)
    by_record: dict[int, dict[Key, str]] = {}
    with closing(FeedRecords(encode(header))) as lines:
        sieves = {fate: LogFilter(read_query(f'what:message fate:"{fate}"'), lines, (), str) for fate in OUTCOMES}
        sent: dict[tuple[int, int], Key] = {}
        for number, record in enumerate(records[1:], 1):
            space.observe(record)
            cluster.apply(record)
            grown.feed(record)
            lines.append(encode(record))
            outcomes = by_record[number] = {arrow.line.message: arrow.fate for arrow in space.messages}
            assert _in_log(grown, number) == outcomes, number
            sent.update(_places(record, number))
            found: dict[Key, str] = {}
            for fate, sieve in sieves.items():
                assert not any(sieve.work())
                found |= {sent[sieve.at(index)]: fate for index in range(len(sieve))}
            assert found == outcomes, number
            for message, fate in outcomes.items():
                if fate in ("in flight", "held"):
                    assert cluster.in_flight[message].held == (fate == "held"), number
    for number, outcomes in by_record.items():
        assert _in_log(grown, number) == outcomes, number


def _places(record: Record, number: int) -> dict[tuple[int, int], Key]:
    page = LogPage(0, 1)
    page.feed(record)
    return {(number, place): line.message for place, line in enumerate(page.lines) if line.what == "message"}


def test_the_runs_hold_messages_release_them_and_lose_one_copy_of_two() -> None:
    """Otherwise the test above would show nothing."""
    routed = [record for seed in range(8) for record in _struck(seed) if isinstance(record, Routed)]
    assert {"held", "released", "duplicated", "dropped"} <= {record.fate for record in routed}


def _outcomes_of(*after: Record) -> set[tuple[str, int | None]]:
    """Return the outcome of a message from 1 to 2 in the log and in the diagram, with its record."""
    header = simulated_header(Bully, (1, 2))
    sending = Step(10, 1, 1, Fired("check"), sent=(Message(1, 2, 5, "AreYouUp", Raw(b"{}")),))
    records = [header, sending, *after]
    page, space = LogPage(0, len(records)), SpaceTime(header)
    page.feed(header)
    for record in records[1:]:
        page.feed(record)
        space.observe(record)
    (arrow,) = space.messages
    ending = page.outcome(arrow.line, len(records))
    return {
        ("in flight", None) if ending is None else (ending.fate, ending.record),
        (arrow.fate, None if arrow.end is None else arrow.end.record),
    }


_DOUBLED, _LOST = Routed(10, 1, 5, "duplicated"), Routed(20, 1, 5, "dropped", "cut")
_TAKEN = Step(30, 2, 1, Received(1, 5))


def test_one_arriving_copy_of_two_is_enough() -> None:
    """In flight while one may arrive, delivered with the first that does, lost if none did."""
    assert _outcomes_of(_DOUBLED, _LOST) == {("in flight", None)}
    assert _outcomes_of(_DOUBLED, _LOST, _TAKEN) == {("delivered", 4)}
    assert _outcomes_of(_DOUBLED, _TAKEN, _LOST) == {("delivered", 3)}
    assert _outcomes_of(_DOUBLED, _LOST, _LOST) == {("cut", 4)}
    assert _outcomes_of(_LOST) == {("cut", 2)}


def test_a_released_message_is_in_flight_again() -> None:
    """And held before that, at every record between."""
    held, released = Routed(12, 1, 5, "held"), Routed(15, 1, 5, "released")
    assert {fate for fate, _ in _outcomes_of(held)} == {"held"}
    assert _outcomes_of(held, released) == {("in flight", None)}
    assert _outcomes_of(held, released, _TAKEN) == {("delivered", 4)}


def test_finished_messages_are_forgotten() -> None:
    """Nothing is kept of a duplicated message when both copies have arrived or were lost."""
    for endings in ((_TAKEN, _TAKEN), (_LOST, _TAKEN), (_TAKEN, _LOST), (_LOST, _LOST)):
        outcomes = DeliveryTracker()
        outcomes.sent((1, 5))
        for left, record in zip((True, True, False), (_DOUBLED, *endings), strict=True):
            outcomes.observe(record)
            assert ((1, 5) in outcomes) == left
