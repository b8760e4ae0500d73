"""Sample recordings, made by the simulated cluster."""

import functools
import tempfile
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

from lab.protocols import Bully, source_of
from lab.recording import writer as chain
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FileRecords, RecordStore
from lab.recording.records import Record
from lab.replay.reexecution import ReexecutionReport, reexecute
from tests.harness import Rig

__all__ = ["EVENTFUL", "eventful", "eventful_lines", "execute_again", "fold", "write_lines"]

EVENTFUL = (
    "at 500ms kill 4",
    "at 700ms pause 1",
    "at 1200ms delay 2->3 30ms ±10ms",
    "at 1300ms resume 1",
    "at 1500ms lose all 10%",
    "at 1600ms duplicate 1<->3 50%",
    "at 1700ms reorder 2<->3 50% 40ms",
    "at 2s restart 4",
    "at 2300ms heal",
    "on send NewState 4->2 kill 4",
    "at 2500ms partition 1 2 | 3 4",
    "at 2700ms restart 4",
    "at 3500ms heal 1->3",
    "at 3700ms heal",
    "at 3800ms pause 3",
    "at 3950ms kill 3",
    "at 4s kill 2",
    "at 4100ms wipe 2",
    "at 4200ms restart 2",
)
"""A little of everything."""


def eventful(us: int = 5_000_000) -> Rig:
    """Return a run of four nodes with every kind of record."""
    rig = Rig([1, 2, 3, 4], jitter_us=3_000, seed=5)
    rig.do(*EVENTFUL)
    return rig.started().run(us)


@functools.cache
def eventful_lines() -> tuple[bytes, ...]:
    """Return the lines of that run's recording, with a keyframe every 40 records, without newlines."""
    with tempfile.TemporaryDirectory() as folder, patch.object(chain, "KEYFRAME_EVERY", 40):
        return tuple(eventful().write(Path(folder) / "run.jsonl").read_bytes().splitlines())


def write_lines(path: Path, lines: Iterable[bytes]) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def fold(records: Iterable[Record | None], lines: RecordStore) -> ClusterState:
    """Apply the records from the start."""
    cluster = ClusterState.of(lines.header)
    for record in records:
        cluster.apply(record)
    return cluster


def execute_again(path: Path) -> ReexecutionReport:
    """Re-execute the recording in that file."""
    lines = FileRecords(path)
    report = reexecute(lines, Bully, source_of(Bully)[1])
    lines.close()
    return report
