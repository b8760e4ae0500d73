"""The journal: what is written down of a run, and everything that can be read out of it again."""

from lab.journal.assumptions import ASSUMPTIONS
from lab.journal.cluster import Cluster
from lab.journal.elections import ElectionLog, SettledElection, agreed_coordinator
from lab.journal.fates import Ending, LogPage
from lab.journal.loglines import LogLine, count_lines, lines_of
from lab.journal.marks import MarkKind, Marks
from lab.journal.memory import Log, MemoryLog
from lab.journal.reader import Lines, NotARecordingError, RecordedLines, SpooledLines, open_recording
from lab.journal.records import (
    FORMAT,
    Commanded,
    End,
    Fault,
    FaultView,
    Flight,
    Header,
    Keyframe,
    Link,
    NodeView,
    Process,
    ProtocolInfo,
    Record,
    Routed,
    Snapshot,
    decode,
    encode,
)
from lab.journal.reexecution import Difference, Report, reexecute
from lab.journal.summary import Summary, summarize
from lab.journal.timeline import Timeline
from lab.journal.writer import Writer

__all__ = [
    "ASSUMPTIONS",
    "FORMAT",
    "Cluster",
    "Commanded",
    "Difference",
    "ElectionLog",
    "End",
    "Ending",
    "Fault",
    "FaultView",
    "Flight",
    "Header",
    "Keyframe",
    "Lines",
    "Link",
    "Log",
    "LogLine",
    "LogPage",
    "MarkKind",
    "Marks",
    "MemoryLog",
    "NodeView",
    "NotARecordingError",
    "Process",
    "ProtocolInfo",
    "Record",
    "RecordedLines",
    "Report",
    "Routed",
    "SettledElection",
    "Snapshot",
    "SpooledLines",
    "Summary",
    "Timeline",
    "Writer",
    "agreed_coordinator",
    "count_lines",
    "decode",
    "encode",
    "lines_of",
    "open_recording",
    "reexecute",
    "summarize",
]
