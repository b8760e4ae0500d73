"""Recordings of format 1, which earlier versions wrote: the shipped ones, as those versions read them."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import lines_of
from lab.recording.reader import FileRecords
from lab.recording.records import encode

SHIPPED = sorted((Path(__file__).parents[2] / "recordings").rglob("*.jsonl"))
DIGESTS = msgspec.json.decode((Path(__file__).parent / "first_format.json").read_bytes(), type=dict[str, str])
"""By the name of the recording: of its states and log lines, as the versions that wrote format 1 read them."""


def test_every_shipped_recording_is_looked_at() -> None:
    assert sorted(DIGESTS) == [path.stem for path in sorted(SHIPPED, key=lambda path: path.stem)]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
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
