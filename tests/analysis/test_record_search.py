"""Looking for a record: the nearest one, forward or back, is the one that a look at all of them gives."""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from lab.analysis.record_search import Hunt, MessageOf, Quarry, RecordOf
from lab.kernel import Received, Step
from lab.protocols import Bully
from lab.recording.cluster_state import ClusterState
from lab.recording.memory import MemoryLog
from lab.recording.reader import FeedRecords, FileRecords, RecordStore, open_recording
from lab.recording.records import Keyframe, Process
from lab.script import Director, Onset, parse, parse_predicate
from lab.script.holding import Suspicions, holds
from tests.tui.recorded import written

PREDICATES = (
    "4.status == Normal",
    "coordinators > 1",
    "any election",
    "live < 5",
    "all normal",
    "1 suspects 5",
    "flying(AreYouUp) > 2",
    "messages > 3000",
    "2->3 cut",
)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileRecords]:
    """Several thousand records, with keyframes."""
    found = open_recording(written(tmp_path_factory.mktemp("hunt") / "run.jsonl"))
    assert len(found.keyframes) > 2
    yield found
    found.close()


def _hunted(lines: RecordStore, number: int, forward: bool, quarry: Quarry, most: int = 10_000) -> int | None:
    hunt = Hunt(lines, number, forward, quarry)
    while not hunt.go_on(most):
        pass
    return hunt.found


def _nearest(wanted: list[int], number: int, forward: bool) -> int | None:
    if forward:
        return next((each for each in wanted if each > number), None)
    return next((each for each in reversed(wanted) if each < number), None)


def _places(lines: RecordStore) -> list[int]:
    """The ends, the keyframes and what is around them, and some more."""
    chance = Random("places")
    around = [number + by for number in lines.keyframes for by in (-1, 0, 1)]
    return [0, 1, *around, *(chance.randrange(len(lines)) for _ in range(12)), len(lines) - 1]


def _check(lines: RecordStore, wanted: list[int], quarry: Callable[[], Quarry]) -> None:
    for number in _places(lines):
        for forward in (True, False):
            expected = _nearest(wanted, number, forward)
            assert _hunted(lines, number, forward, quarry()) == expected, (number, forward)


def test_records_of_a_node(lines: FileRecords) -> None:
    """Steps and what happened to its process; without a node any record but a keyframe."""
    records = list(enumerate(lines.records()))[1:]
    of_5 = [number for number, record in records if isinstance(record, Step | Process) and record.node == 5]
    _check(lines, of_5, lambda: RecordOf(5))
    _check(
        lines, [number for number, record in records if not isinstance(record, Keyframe)], lambda: RecordOf(None)
    )
    _check(lines, [], lambda: RecordOf(99))


@pytest.mark.parametrize("node", [None, 3])
@pytest.mark.parametrize("hidden", [frozenset[str](), frozenset(Bully.heartbeats)])
def test_messages_sent_and_received(lines: FileRecords, node: int | None, hidden: frozenset[str]) -> None:
    """Of a node or any; those that are hidden do not count, whichever end of them it is."""
    kinds: dict[tuple[int, int], str] = {}
    wanted = []
    for number, record in enumerate(lines.records()):
        if not isinstance(record, Step):
            continue
        kinds |= {(record.node, message.serial): message.kind for message in record.sent}
        told = [message.kind for message in record.sent]
        if isinstance(record.input, Received):
            told.append(kinds[record.input.source, record.input.serial])
        if node in (None, record.node) and not hidden.issuperset(told):
            wanted.append(number)
    assert wanted
    _check(lines, wanted, lambda: MessageOf(node, hidden))


@pytest.mark.parametrize("predicate", PREDICATES)
def test_where_a_predicate_becomes_true(lines: FileRecords, predicate: str) -> None:
    """At each record after which it holds, and did not before; never before all nodes were started."""
    parsed = parse_predicate(predicate)
    cluster, suspicions = ClusterState.of(lines.header), Suspicions()
    wanted, held, started = [], False, False
    for number, record in enumerate(lines.records()):
        cluster.apply(record)
        suspicions.observe(record)
        started = started or all(view.process != "absent" for view in cluster.nodes.values())
        now = started and holds(parsed, cluster, suspicions)
        if now and not held:
            wanted.append(number)
        held = now
    assert wanted
    _check(lines, wanted, lambda: Onset(parsed, lines.header))


def test_the_first_time_is_that_of_a_script(lines: FileRecords) -> None:
    """A line that waits for it is due at the same record."""
    for predicate in PREDICATES:
        log = MemoryLog(lines.header)
        director = Director(lambda: 0, log)
        director.add(parse(f'when {predicate}: say "true"'))
        for number, record in enumerate(lines.records()):
            assert record is not None
            if number:
                log.append(record)
            if director.after(record):
                break
        assert _hunted(lines, 0, True, Onset(parse_predicate(predicate), lines.header)) == number, predicate


def test_a_piece_at_a_time_is_the_same(lines: FileRecords) -> None:
    """And each piece looks at no more records than it is told."""
    hunt = Hunt(lines, len(lines) - 1, False, RecordOf(99))
    pieces = 1
    while not hunt.go_on(100):
        pieces += 1
    assert pieces >= len(lines) // 100
    assert hunt.found is None
    assert _hunted(lines, 2500, False, MessageOf(2, frozenset()), most=7) == _hunted(
        lines, 2500, False, MessageOf(2, frozenset())
    )


def test_what_comes_later_is_found_once_it_is_there(lines: FileRecords) -> None:
    """In a run that goes on the hunt is taken up again."""
    feed = FeedRecords(lines.raw(0))
    onset = Onset(parse_predicate("5 down"), lines.header)
    hunt = Hunt(feed, 0, True, onset)
    expected = _hunted(lines, 0, True, Onset(parse_predicate("5 down"), lines.header))
    assert expected is not None
    for number in range(1, expected):
        feed.append(lines.raw(number))
        assert hunt.go_on(1000)
        assert hunt.found is None
    feed.append(lines.raw(expected))
    assert hunt.go_on(1000)
    assert hunt.found == expected
    feed.close()
