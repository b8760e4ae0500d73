"""Recordings of format 1, which earlier versions wrote, as those versions read them."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from lab.properties.judge import Judge
from lab.protocols import find_protocol, source_of
from lab.recording.cluster_state import ClusterState
from lab.recording.conversion import convert_recording
from lab.recording.log_lines import lines_of
from lab.recording.reader import FileRecords
from lab.recording.records import FORMAT, encode
from lab.replay.divergence import find_divergence
from lab.replay.reexecution import reexecute

RECORDED = sorted(
    [
        *Path(__file__).with_name("first_format").glob("*.jsonl"),
        Path(__file__).parents[2] / "recordings" / "two-coordinators.jsonl",
    ]
)
DIGESTS = msgspec.json.decode((Path(__file__).parent / "first_format.json").read_bytes(), type=dict[str, str])
"""By the name of the recording: of its states and log lines, as the versions that wrote format 1 read them."""


def test_every_recording_is_looked_at() -> None:
    assert sorted(DIGESTS) == [path.stem for path in sorted(RECORDED, key=lambda path: path.stem)]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_states_and_log_lines_are_the_same(path: Path) -> None:
    """After every record, and every line of the log."""
    store, digest = FileRecords(path), hashlib.sha256()
    assert store.header.format == 1
    cluster = ClusterState.of(store.header)
    for number, record in enumerate(store.records()):
        assert record is not None
        cluster.apply(record)
        digest.update(encode(cluster.snapshot()))
        for line in lines_of(number, record):
            digest.update(encode(line))
    assert digest.hexdigest() == DIGESTS[path.stem]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_converted_recording_is_equal(path: Path, tmp_path: Path) -> None:
    """The same states, log lines and verdicts, at the same records; and it re-executes like the recording."""
    old, new = FileRecords(path), tmp_path / path.name
    convert_recording(old, new)
    store = FileRecords(new)
    assert (store.header.format, len(store), store.keyframes) == (FORMAT, len(old), old.keyframes)
    assert not find_divergence(old, store).diverges
    one, other = ClusterState.of(old.header), ClusterState.of(store.header)
    judges = Judge(old.header), Judge(store.header)
    for number, (was, now) in enumerate(zip(old.records(), store.records(), strict=True)):
        assert was is not None
        assert now is not None
        one.apply(was)
        other.apply(now)
        judges[0].observe(was)
        judges[1].observe(now)
        assert encode(one.snapshot()) == encode(other.snapshot())
        assert lines_of(number, was) == lines_of(number, now)
    assert judges[0].verdicts() == judges[1].verdicts()
    before, after = (_differences(each) for each in (old, store))
    assert before == after


def _differences(store: FileRecords) -> list[tuple[int, str]]:
    protocol = find_protocol(store.header.protocol.name, store.header.protocol.parameters)
    return [(each.record, each.text) for each in reexecute(store, protocol, source_of(protocol)[1]).differences]
