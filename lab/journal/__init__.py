"""The journal: what is written down of a run, and everything that can be read out of it again."""

from lab.journal.assumptions import ASSUMPTIONS
from lab.journal.bank import (
    Account,
    Bank,
    Case,
    Share,
    Standing,
    bank_in,
    entries_of,
    has_bank,
    open_at,
    share_of,
)
from lab.journal.blocked import Stuck, blocked_in, blocked_since_us, stuck_of
from lab.journal.cluster import Cluster
from lab.journal.commits import CommitLog, Commits, Held, Transacted
from lab.journal.elections import ElectionLog, SettledElection, agreed_coordinator
from lab.journal.family import Twig, family_of
from lab.journal.fates import Ending, LogPage
from lab.journal.fieldmap import FieldMap, has_field, idle_nodes, maps_of
from lab.journal.groups import GroupLife, GroupLog
from lab.journal.leadership import Leadership, Span
from lab.journal.loglines import LogLine, count_lines, lines_of
from lab.journal.marks import MarkKind, Marks
from lab.journal.memory import Log, MemoryLog
from lab.journal.parting import Parting, header_differences, parting_of
from lab.journal.reader import Lines, NotARecordingError, RecordedLines, SpooledLines, open_recording
from lab.journal.records import (
    FORMAT,
    PROCESS_AFTER,
    STRUCK_BY,
    Captioned,
    Commanded,
    End,
    Event,
    Expected,
    Fault,
    Header,
    Injected,
    Keyframe,
    Link,
    Parent,
    Process,
    ProtocolInfo,
    Record,
    Routed,
    decode,
    encode,
)
from lab.journal.reexecution import Difference, Reexecution, Report, reexecute
from lab.journal.scriptlog import Deed, ScriptLog, deed_of, inert_deeds
from lab.journal.splits import Split, splits_in
from lab.journal.summary import NoteLog, Summary, summarize
from lab.journal.timeline import Timeline
from lab.journal.views import FaultView, Flight, NodeView, ProcessState, Snapshot
from lab.journal.wording import in_short
from lab.journal.work import Work, WorkLog
from lab.journal.writer import BeingWrittenError, Writer, open_alone

__all__ = [
    "ASSUMPTIONS",
    "FORMAT",
    "PROCESS_AFTER",
    "STRUCK_BY",
    "Account",
    "Bank",
    "BeingWrittenError",
    "Captioned",
    "Case",
    "Cluster",
    "Commanded",
    "CommitLog",
    "Commits",
    "Deed",
    "Difference",
    "ElectionLog",
    "End",
    "Ending",
    "Event",
    "Expected",
    "Fault",
    "FaultView",
    "FieldMap",
    "Flight",
    "GroupLife",
    "GroupLog",
    "Header",
    "Held",
    "Injected",
    "Keyframe",
    "Leadership",
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
    "NoteLog",
    "Parent",
    "Parting",
    "Process",
    "ProcessState",
    "ProtocolInfo",
    "Record",
    "RecordedLines",
    "Reexecution",
    "Report",
    "Routed",
    "ScriptLog",
    "SettledElection",
    "Share",
    "Snapshot",
    "Span",
    "Split",
    "SpooledLines",
    "Standing",
    "Stuck",
    "Summary",
    "Timeline",
    "Transacted",
    "Twig",
    "Work",
    "WorkLog",
    "Writer",
    "agreed_coordinator",
    "bank_in",
    "blocked_in",
    "blocked_since_us",
    "count_lines",
    "decode",
    "deed_of",
    "encode",
    "entries_of",
    "family_of",
    "has_bank",
    "has_field",
    "header_differences",
    "idle_nodes",
    "in_short",
    "inert_deeds",
    "lines_of",
    "maps_of",
    "open_alone",
    "open_at",
    "open_recording",
    "parting_of",
    "reexecute",
    "share_of",
    "splits_in",
    "stuck_of",
    "summarize",
]
