"""Searching for a record finds the nearest one, forwards or backwards, as a search of all records does."""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from lab.analysis.record_search import Matcher, MessageMatcher, NodeRecordMatcher, RecordSearch
from lab.kernel import Received, Step
from lab.protocols import Bully
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FeedRecords, FileRecords, RecordStore, open_recording
from lab.recording.records import Keyframe, Process
from lab.recording.writer import MemoryLog
from lab.script.parse import parse, parse_predicate
from lab.script.predicate_fold import OnsetMatcher
from lab.script.predicates import Suspicions
from lab.worlds.run import ActiveRun
from tests.profile import amount, sampled
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


def _search(lines: RecordStore, number: int, forward: bool, matcher: Matcher, most: int = 10_000) -> int | None:
    search = RecordSearch(lines, number, forward, matcher)
    while not search.advance(most):
        pass
    return search.found


def _nearest(wanted: list[int], number: int, forward: bool) -> int | None:
    if forward:
        return next((each for each in wanted if each > number), None)
    return next((each for each in reversed(wanted) if each < number), None)


def _places(lines: RecordStore) -> list[int]:
    """Return the ends, the keyframes and their neighbours, and some more."""
    chance = Random("places")
    around = [number + by for number in lines.keyframes for by in (-1, 0, 1)]
    return [
        0,
        1,
        *around,
        *(chance.randrange(len(lines)) for _ in range(amount(quick=4, soak=12))),
        len(lines) - 1,
    ]


def _check(lines: RecordStore, wanted: list[int], matcher: Callable[[], Matcher]) -> None:
    for number in _places(lines):
        for forward in (True, False):
            expected = _nearest(wanted, number, forward)
            assert _search(lines, number, forward, matcher()) == expected, (number, forward)


def test_records_of_a_node(lines: FileRecords) -> None:
    """Steps and process events; without a node any record but a keyframe."""
    records = list(enumerate(lines.records()))[1:]
    of_5 = [number for number, record in records if isinstance(record, Step | Process) and record.node == 5]
    _check(lines, of_5, lambda: NodeRecordMatcher(5))
    _check(
        lines,
        [number for number, record in records if not isinstance(record, Keyframe)],
        lambda: NodeRecordMatcher(None),
    )
    _check(lines, [], lambda: NodeRecordMatcher(99))


@pytest.mark.parametrize("node", [None, 3])
@pytest.mark.parametrize("hidden", [frozenset[str](), frozenset(Bully.heartbeats)])
def test_messages_sent_and_received(lines: FileRecords, node: int | None, hidden: frozenset[str]) -> None:
    """Of a node or of any; hidden kinds do not count."""
    kinds: dict[tuple[int, int], str] = {}
    wanted = []
    for number, record in enumerate(lines.records()):
        if not isinstance(record, Step):
            continue
        kinds |= {(record.node, message.serial): message.kind for message in record.sent}
        kinds_seen = [message.kind for message in record.sent]
        if isinstance(record.input, Received):
            kinds_seen.append(kinds[record.input.source, record.input.serial])
        if node in (None, record.node) and not hidden.issuperset(kinds_seen):
            wanted.append(number)
    assert wanted
    _check(lines, wanted, lambda: MessageMatcher(node, hidden))


@pytest.mark.parametrize("predicate", sampled(PREDICATES, 2))
def test_where_a_predicate_becomes_true(lines: FileRecords, predicate: str) -> None:
    """Each record after which it holds and before which it did not; never before all nodes were started."""
    parsed = parse_predicate(predicate)
    cluster, suspicions = ClusterState.of(lines.header), Suspicions()
    wanted, held, started = [], False, False
    for number, record in enumerate(lines.records()):
        cluster.apply(record)
        suspicions.observe(record)
        started = started or all(view.process != "absent" for view in cluster.nodes.values())
        now = started and parsed.holds(cluster, suspicions)
        if now and not held:
            wanted.append(number)
        held = now
    assert wanted
    _check(lines, wanted, lambda: OnsetMatcher(parsed, lines.header))


def test_the_first_match_is_that_of_a_script(lines: FileRecords) -> None:
    """A script line that waits for it fires at the same record."""
    for predicate in PREDICATES:
        log = MemoryLog(lines.header)
        director = ActiveRun(Bully, log).director
        director.add(parse(f'when {predicate}: say "true"'))
        for number, record in enumerate(lines.records()):
            assert record is not None
            if number:
                log.append(record)
            if director.on_record(record):
                break
        assert _search(lines, 0, True, OnsetMatcher(parse_predicate(predicate), lines.header)) == number, predicate


def test_a_search_in_pieces_is_the_same(lines: FileRecords) -> None:
    """Each piece examines no more records than allowed."""
    search = RecordSearch(lines, len(lines) - 1, False, NodeRecordMatcher(99))
    pieces = 1
    while not search.advance(100):
        pieces += 1
    assert pieces >= len(lines) // 100
    assert search.found is None
    assert _search(lines, 2500, False, MessageMatcher(2, frozenset()), most=7) == _search(
        lines, 2500, False, MessageMatcher(2, frozenset())
    )


def test_later_records_are_found_when_they_arrive(lines: FileRecords) -> None:
    """In a run in progress the search is resumed."""
    feed = FeedRecords(lines.raw(0))
    onset = OnsetMatcher(parse_predicate("5 down"), lines.header)
    search = RecordSearch(feed, 0, True, onset)
    expected = _search(lines, 0, True, OnsetMatcher(parse_predicate("5 down"), lines.header))
    assert expected is not None
    for number in range(1, expected):
        feed.append(lines.raw(number))
        assert search.advance(1000)
        assert search.found is None
    feed.append(lines.raw(expected))
    assert search.advance(1000)
    assert search.found == expected
    feed.close()
