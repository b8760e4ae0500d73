"""Timeline: the state after any record equals the fold of all records before it."""

from pathlib import Path
from random import Random

import msgspec
import pytest

from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FeedRecords, FileRecords
from lab.recording.records import Keyframe, encode
from lab.recording.snapshot import Snapshot, SnapshotDifference, difference_between, snapshot_after
from lab.recording.timeline import Timeline
from tests.harness import Rig
from tests.recording.samples import eventful, eventful_lines, fold, write_lines

LONG_US = 50_000_000


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> FileRecords:
    """A recording of more than 3,000 records, with a keyframe every thousand."""
    path = eventful(LONG_US).write(tmp_path_factory.mktemp("long") / "run.jsonl")
    return FileRecords(path)


@pytest.fixture(scope="module")
def states(long: FileRecords) -> list[bytes]:
    """The snapshot after each of its records, folded from the start."""
    cluster = ClusterState.of(long.header)
    found = []
    for record in long.records():
        cluster.apply(record)
        found.append(encode(cluster.snapshot()))
    return found


def test_a_long_recording_has_keyframes(long: FileRecords) -> None:
    """One every thousand records, keyframes included."""
    assert len(long) > 3_000
    assert long.keyframes == [
        number for number, record in enumerate(long.records()) if isinstance(record, Keyframe)
    ]
    assert long.keyframes[0] == 1_000
    assert len(long.keyframes) == len(long) // 1_000


def test_every_record_forwards(long: FileRecords, states: list[bytes]) -> None:
    timeline = Timeline(long)
    assert [encode(timeline.at(number).snapshot()) == states[number] for number in range(len(long))].count(
        False
    ) == 0


def test_backwards_and_anywhere(long: FileRecords, states: list[bytes]) -> None:
    """Step back, jump over keyframes, and onto them."""
    timeline = Timeline(long)
    chance = Random("moments")
    around = [number + by for number in long.keyframes for by in (2, 1, 0, -1, -2)]
    jumps = [chance.randrange(len(long)) for _ in range(60)]
    for number in [len(long) - 1, *range(1_010, 985, -1), *around, *jumps, 5, 4, 3, 2, 1, 0]:
        assert encode(timeline.at(number).snapshot()) == states[number], number


def test_before_the_first_record_and_past_the_last(long: FileRecords, states: list[bytes]) -> None:
    """-1 is before the first record; a number past the end means the last record."""
    timeline = Timeline(long)
    assert encode(timeline.at(10**9).snapshot()) == states[-1]
    assert encode(timeline.at(-1).snapshot()) == encode(ClusterState.of(long.header).snapshot())
    assert encode(timeline.at(-5).snapshot()) == encode(ClusterState.of(long.header).snapshot())


def test_a_keyframe_equals_the_fold_of_the_records_before_it(long: FileRecords, states: list[bytes]) -> None:
    """So a reader may start there."""
    for number in long.keyframes:
        assert encode(long.snapshot(number)) == states[number - 1]


def test_a_difference_gives_the_snapshot(long: FileRecords, states: list[bytes]) -> None:
    """From any earlier state to any later one, whatever the nodes have gained, lost or changed since."""
    chance = Random("pairs")
    for _ in range(200):
        before, after = sorted(chance.sample(range(len(long)), 2))
        base, now = (msgspec.json.decode(states[each], type=Snapshot) for each in (before, after))
        difference = msgspec.json.decode(encode(difference_between(base, now)), type=SnapshotDifference)
        assert snapshot_after(base, difference) == now, (before, after)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> FileRecords:
    """A recording of 60 nodes: most of its keyframes hold a difference."""
    path = tmp_path_factory.mktemp("crowded") / "run.jsonl"
    rig = Rig(range(1, 61))
    rig.do("at 6s kill 60", "at 8s restart 60")
    return FileRecords(rig.started().run(14_000_000).write(path))


def test_most_keyframes_of_many_nodes_hold_a_difference(crowded: FileRecords) -> None:
    """The states found through them are those of the fold of all records."""
    keyframes = [crowded.record(number) for number in crowded.keyframes]
    differences = [each for each in keyframes if isinstance(each, Keyframe) and each.difference is not None]
    assert len(differences) > len(keyframes) / 2 > 2
    cluster, timeline = ClusterState.of(crowded.header), Timeline(crowded)
    found = []
    for record in crowded.records():
        cluster.apply(record)
        if cluster.record % 250 == 3:
            found.append((cluster.record, encode(cluster.snapshot())))
    for number, snapshot in reversed(found):
        assert encode(timeline.at(number).snapshot()) == snapshot, number


def test_without_its_base_a_difference_is_skipped(crowded: FileRecords, tmp_path: Path) -> None:
    """The first keyframe is damaged: the timeline reads on from the start, or from another base."""
    lines = [bytes(crowded.raw(number)) for number in range(len(crowded))]
    first = crowded.keyframes[0]
    lines[first] = lines[first][:60]
    damaged = FileRecords(write_lines(tmp_path / "run.jsonl", lines))
    assert first not in damaged.keyframes
    assert set(damaged.keyframes) < set(crowded.keyframes)
    last = len(damaged) - 1
    one, other = Timeline(damaged).at(last).snapshot(), Timeline(crowded).at(last).snapshot()
    assert encode(one) == encode(other)


def test_a_cluster_resumes_from_any_snapshot(long: FileRecords, states: list[bytes]) -> None:
    """``resume`` is the inverse of ``snapshot``, except for faults that have ended."""
    timeline = Timeline(long)
    for number in range(0, 500, 7):
        cluster = ClusterState.resume(timeline.at(number).snapshot(), long.header)
        cluster.apply(long.record(number + 1))
        assert encode(cluster.snapshot()) == states[number + 1], number


def test_a_damaged_keyframe_is_skipped(tmp_path: Path) -> None:
    """The timeline goes back to an earlier one, or to the start."""
    kept = list(eventful_lines())
    frames = [number for number, line in enumerate(kept) if line.startswith(b'{"record":"keyframe"')]
    assert len(frames) > 5
    kept[frames[1]] = kept[frames[1]].replace(b'"nodes":[', b'"nodes":[5,', 1)
    kept[frames[2]] = kept[frames[2]][:50]
    lines = FileRecords(write_lines(tmp_path / "run.jsonl", kept))
    whole = FileRecords(write_lines(tmp_path / "whole.jsonl", eventful_lines()))
    timeline = Timeline(lines)
    for number in (frames[3] - 1, frames[1] + 1, frames[2] + 1, frames[1] - 1):
        assert encode(timeline.at(number).snapshot()) == encode(_folded(whole, number))


def _folded(lines: FileRecords, number: int) -> Snapshot:
    return fold(lines.records(0, number + 1), lines).snapshot()


def test_a_feed_has_the_same_timeline(tmp_path: Path) -> None:
    """It grows while it is read."""
    recorded = FileRecords(write_lines(tmp_path / "run.jsonl", eventful_lines()))
    spooled = FeedRecords(eventful_lines()[0])
    timeline, other = Timeline(spooled), Timeline(recorded)
    for number, line in enumerate(eventful_lines()[1:], 1):
        spooled.append(line)
        assert encode(timeline.at(number).snapshot()) == encode(other.at(number).snapshot())
    spooled.close()


def test_the_record_at_an_instant(long: FileRecords) -> None:
    """The last that is not later; before the first the header, past the last the end."""
    timeline = Timeline(long)
    times = [getattr(record, "at_us", 0) for record in long.records()]
    chance = Random("instants")
    for at_us in [0, 1, LONG_US, LONG_US * 2, *(chance.randrange(LONG_US) for _ in range(40))]:
        wanted = next((n - 1 for n, time_us in enumerate(times) if time_us > at_us), len(times) - 1)
        assert timeline.record_at(at_us) == wanted, at_us
