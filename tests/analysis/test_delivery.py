"""What became of a message is one account, whoever tells it: the log, the diagram, a search, and the cluster."""

from contextlib import closing
from random import Random

import pytest
from msgspec import Raw

from lab.analysis.delivery import FATES, Fates, LogPage
from lab.analysis.spacetime import SpaceTime
from lab.kernel import Fired, Message, Received, Step
from lab.protocols import Bully
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FeedRecords
from lab.recording.records import Header, Record, Routed, encode
from lab.script import Sieve, parse, read_query
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
    """A run that is struck at random, mostly by what holds messages back and what doubles them."""
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
    endings = [(line.message, page.ending(line, number)) for line in messages]
    return {message: "in flight" if ending is None else ending.fate for message, ending in endings}


@pytest.mark.parametrize("seed", range(8))
def test_at_every_record_all_tell_the_same_fates(seed: int) -> None:
    """A page of the log, as it grows and when it has grown; the diagram; a search by each fate; the cluster."""
    records = _struck(seed)
    header = _header(records)
    space, cluster, grown = SpaceTime(header), ClusterState.of(header), LogPage(0, None)
    cluster.apply(header)
    grown.feed(header)
    told: dict[int, dict[Key, str]] = {}
    with closing(FeedRecords(encode(header))) as lines:
        sieves = {fate: Sieve(read_query(f'what:message fate:"{fate}"'), lines, (), str) for fate in FATES}
        sent: dict[tuple[int, int], Key] = {}
        for number, record in enumerate(records[1:], 1):
            space.observe(record)
            cluster.apply(record)
            grown.feed(record)
            lines.append(encode(record))
            fates = told[number] = {arrow.line.message: arrow.fate for arrow in space.arrows}
            assert _in_log(grown, number) == fates, number
            sent.update(_places(record, number))
            found: dict[Key, str] = {}
            for fate, sieve in sieves.items():
                assert not any(sieve.work())
                found |= {sent[sieve.at(index)]: fate for index in range(len(sieve))}
            assert found == fates, number
            for message, fate in fates.items():
                if fate in ("in flight", "held"):
                    assert cluster.in_flight[message].held == (fate == "held"), number
    for number, fates in told.items():
        assert _in_log(grown, number) == fates, number


def _places(record: Record, number: int) -> dict[tuple[int, int], Key]:
    page = LogPage(0, 1)
    page.feed(record)
    return {(number, place): line.message for place, line in enumerate(page.lines) if line.what == "message"}


def test_the_runs_hold_messages_release_them_and_lose_one_copy_of_two() -> None:
    """Or the test above would show nothing."""
    routed = [record for seed in range(8) for record in _struck(seed) if isinstance(record, Routed)]
    assert {"held", "released", "duplicated", "dropped"} <= {record.fate for record in routed}


def _fates_of(*after: Record) -> set[tuple[str, int | None]]:
    """Of a message from 1 to 2, as the log has it and the diagram, with the record that settled it."""
    header = simulated_header(Bully, (1, 2))
    sending = Step(10, 1, 1, Fired("check"), sent=(Message(1, 2, 5, "AreYouUp", Raw(b"{}")),))
    records = [header, sending, *after]
    page, space = LogPage(0, len(records)), SpaceTime(header)
    page.feed(header)
    for record in records[1:]:
        page.feed(record)
        space.observe(record)
    (arrow,) = space.arrows
    ending = page.ending(arrow.line, len(records))
    return {
        ("in flight", None) if ending is None else (ending.fate, ending.record),
        (arrow.fate, None if arrow.end is None else arrow.end.record),
    }


_DOUBLED, _LOST = Routed(10, 1, 5, "duplicated"), Routed(20, 1, 5, "dropped", "cut")
_TAKEN = Step(30, 2, 1, Received(1, 5))


def test_of_two_copies_one_that_arrives_is_enough() -> None:
    """It is on its way as long as one may arrive, and delivered with the first that does; lost where none did."""
    assert _fates_of(_DOUBLED, _LOST) == {("in flight", None)}
    assert _fates_of(_DOUBLED, _LOST, _TAKEN) == {("delivered", 4)}
    assert _fates_of(_DOUBLED, _TAKEN, _LOST) == {("delivered", 3)}
    assert _fates_of(_DOUBLED, _LOST, _LOST) == {("cut", 4)}
    assert _fates_of(_LOST) == {("cut", 2)}


def test_what_was_released_is_in_flight_again() -> None:
    """And held before that, at every record between."""
    held, released = Routed(12, 1, 5, "held"), Routed(15, 1, 5, "released")
    assert {fate for fate, _ in _fates_of(held)} == {"held"}
    assert _fates_of(held, released) == {("in flight", None)}
    assert _fates_of(held, released, _TAKEN) == {("delivered", 4)}


def test_no_more_is_remembered_than_copies_that_are_left() -> None:
    """Nothing of a message that was doubled, when both have arrived or were lost."""
    for endings in ((_TAKEN, _TAKEN), (_LOST, _TAKEN), (_TAKEN, _LOST), (_LOST, _LOST)):
        fates = Fates()
        fates.sent((1, 5))
        for left, record in zip((True, True, False), (_DOUBLED, *endings), strict=True):
            fates.observe(record)
            assert ((1, 5) in fates) == left
