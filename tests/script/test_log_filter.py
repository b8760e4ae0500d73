"""A log filter finds what matching every line finds: in files and in growing runs, with late outcomes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.analysis.delivery import LogPage
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.reader import FeedRecords, RecordStore, open_recording
from lab.recording.records import Header, encode
from lab.script.predicate_fold import PredicateFold
from lab.script.query import LogFilter, Query, read_query
from tests.harness import Rig
from tests.recording.samples import EVENTFUL

QUERIES = (
    "",
    "node:3",
    "link:2->3 -kind:AreYouUp",
    "kind:AreYouUp",
    "kind:NewState to:1",
    "fate:lost",
    "-fate:delivered what:message",
    'fate:"timed out"',
    'fate:"in flight"',
    "what:process",
    "what:command",
    "coordinator",
    "when 2.status == Normal",
    "what:status when coordinators == 0",
    "when 1 suspects 4",
)


def _text(line: LogLine) -> str:
    return f"{line.kind} {line.text}".lower()


def _brute(lines: RecordStore, query: Query, hidden: frozenset[str], upto: int) -> list[LogLine]:
    """Every line, its fate as of the end, and the predicate looked at anew after each record."""
    page = LogPage(0, None)
    held = set()
    fold = None if query.predicate is None else PredicateFold(query.predicate, lines.header)
    for number, record in enumerate(lines.records(0, upto)):
        page.feed(record)
        if fold is None or fold.observe(record):
            held.add(number)
    found = []
    for line in page.lines:
        ending = page.outcome(line, upto)
        fate = "in flight" if ending is None else ending.fate
        if line.record in held and line.kind not in hidden and query.matches(line, fate, _text):
            found.append(line)
    return found


def _found(log_filter: LogFilter, lines: RecordStore) -> list[LogLine]:
    found = []
    for record, place in map(log_filter.at, range(len(log_filter))):
        read = lines.record(record)
        assert read is not None
        found.append(lines_of(record, read)[place])
    return found


@pytest.fixture(scope="module", params=[1, 2, 3])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordStore]:
    """Random runs of four nodes that are struck in many ways."""
    rig = Rig([1, 2, 3, 4], jitter_us=5_000, seed=request.param)
    rig.do(*EVENTFUL)
    rig.started().run(4_500_000)
    lines = open_recording(rig.write(tmp_path_factory.mktemp("runs") / "run.jsonl"))
    yield lines
    lines.close()


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("hidden", [frozenset[str](), frozenset({"AreYouNormal", "AreYouNormalAnswer"})])
def test_the_filter_finds_what_matching_every_line_finds(
    run: RecordStore, text: str, hidden: frozenset[str]
) -> None:
    query = read_query(text, run.header)
    log_filter = LogFilter(query, run, hidden, _text)
    for _ in log_filter.work():
        pass
    assert log_filter.complete
    assert _found(log_filter, run) == _brute(run, query, hidden, len(run))


def test_the_queries_match_some_lines_and_not_others(run: RecordStore) -> None:
    """Otherwise the test above would show nothing."""
    everything = len(_brute(run, Query(), frozenset(), len(run)))
    for text in ("node:3", "kind:AreYouUp", "fate:lost", "what:process", "when 2.status == Normal"):
        assert 0 < len(_brute(run, read_query(text), frozenset(), len(run))) < everything, text


@pytest.mark.parametrize("text", ["node:3", "fate:lost", 'fate:"in flight"', "-fate:delivered kind:AreYouUp"])
def test_in_a_growing_run_lines_start_and_stop_matching_with_their_outcomes(run: RecordStore, text: str) -> None:
    """After each chunk the result is that of the records so far."""
    assert isinstance(run.header, Header)
    feed = FeedRecords(encode(run.header))
    query = read_query(text, run.header)
    log_filter = LogFilter(query, feed, (), _text)
    for number in range(1, len(run)):
        feed.append(run.raw(number))
        if number % 97 == 0 or number == len(run) - 1:
            for _ in log_filter.work():
                pass
            assert _found(log_filter, feed) == _brute(run, query, frozenset(), number + 1), number
    feed.close()


def test_the_nearest_hit_in_both_directions(run: RecordStore) -> None:
    log_filter = LogFilter(read_query("kind:AreYouUp", run.header), run, (), _text)
    for _ in log_filter.work():
        pass
    hits = [log_filter.at(index) for index in range(len(log_filter))]
    assert hits == sorted(set(hits))
    assert len({record for record, _ in hits}) < len(hits), "several lines of one record"
    for index, hit in enumerate(hits):
        following = log_filter.near(*hit, forward=True)
        assert following == (index + 1 if index + 1 < len(hits) else None)
        assert log_filter.near(*hit, forward=False) == (index - 1 if index else None)
        assert log_filter.index(*hit) == index
        assert log_filter.has(*hit)
    for number in range(0, len(run), 7):
        before = [hit for hit in hits if hit[0] <= number]
        assert log_filter.upto(number) == len(before)
        assert log_filter.near(number, None, forward=True) == (len(before) if len(before) < len(hits) else None)


def test_the_work_is_done_in_chunks(run: RecordStore, tmp_path: Path) -> None:
    """The number of matches grows from chunk to chunk."""
    log_filter = LogFilter(read_query("node:3"), run, (), _text)
    counts = [(len(log_filter), log_filter.done) for _ in log_filter.work()]
    assert len(counts) > 1
    assert counts == sorted(counts)
    assert counts[-1][1] == len(run)
