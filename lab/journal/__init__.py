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
from lab.journal.bookmarks import Bookmark, Bookmarks, bookmarks_file
from lab.journal.chain import Chain
from lab.journal.cluster import Cluster
from lab.journal.commits import CommitLog, Commits, Held, Transacted
from lab.journal.connections import Connections, Pair, connected
from lab.journal.density import Density
from lab.journal.elections import ElectionLog, SettledElection, agreed_coordinator
from lab.journal.family import Twig, family_of
from lab.journal.fates import FATES, Ending, Fates, LogPage
from lab.journal.fieldmap import FieldMap, has_field, idle_nodes, maps_of
from lab.journal.groups import GroupLife, GroupLog, Point
from lab.journal.hunting import Hunt, MessageOf, Quarry, RecordOf
from lab.journal.inspection import Change, Inspection, Inspector, Pending
from lab.journal.leadership import Leadership, Span
from lab.journal.lifeline import LifeLine, life_of, message_at
from lab.journal.listing import Function, Listing
from lab.journal.loglines import WHATS, LogLine, count_lines, lines_of
from lab.journal.lookback import LastStep, LastSteps, first_of_wait, message_received
from lab.journal.marks import MarkKind, Marks, Places
from lab.journal.memory import Log, MemoryLog
from lab.journal.parting import Comparison, Parting, header_differences, parting_of
from lab.journal.reader import Lines, NotARecordingError, RecordedLines, SpooledLines, open_recording
from lab.journal.records import (
    FORMAT,
    PROCESS_AFTER,
    STRUCK_BY,
    Captioned,
    Commanded,
    End,
    Event,
    Exercised,
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
from lab.journal.rerun import CannotTellError, installed, lines_run
from lab.journal.roughly import lines_about
from lab.journal.safefields import SafeFields
from lab.journal.scriptlog import Deed, ScriptLog, deed_of, inert_deeds
from lab.journal.spacetime import Arrow, SpaceTime, Stretch, Strike
from lab.journal.splits import Split, splits_in
from lab.journal.summary import NoteLog, Summary, summarize
from lab.journal.timeline import Timeline
from lab.journal.views import FaultView, Flight, NodeView, ProcessState, Snapshot
from lab.journal.wording import in_short
from lab.journal.work import Work, WorkLog
from lab.journal.writer import BeingWrittenError, Writer, open_alone

__all__ = [
    "ASSUMPTIONS",
    "FATES",
    "FORMAT",
    "PROCESS_AFTER",
    "STRUCK_BY",
    "WHATS",
    "Account",
    "Arrow",
    "Bank",
    "BeingWrittenError",
    "Bookmark",
    "Bookmarks",
    "CannotTellError",
    "Captioned",
    "Case",
    "Chain",
    "Change",
    "Cluster",
    "Commanded",
    "CommitLog",
    "Commits",
    "Comparison",
    "Connections",
    "Deed",
    "Density",
    "Difference",
    "ElectionLog",
    "End",
    "Ending",
    "Event",
    "Exercised",
    "Expected",
    "Fates",
    "Fault",
    "FaultView",
    "FieldMap",
    "Flight",
    "Function",
    "GroupLife",
    "GroupLog",
    "Header",
    "Held",
    "Hunt",
    "Injected",
    "Inspection",
    "Inspector",
    "Keyframe",
    "LastStep",
    "LastSteps",
    "Leadership",
    "LifeLine",
    "Lines",
    "Link",
    "Listing",
    "Log",
    "LogLine",
    "LogPage",
    "MarkKind",
    "Marks",
    "MemoryLog",
    "MessageOf",
    "NodeView",
    "NotARecordingError",
    "NoteLog",
    "Pair",
    "Parent",
    "Parting",
    "Pending",
    "Places",
    "Point",
    "Process",
    "ProcessState",
    "ProtocolInfo",
    "Quarry",
    "Record",
    "RecordOf",
    "RecordedLines",
    "Reexecution",
    "Report",
    "Routed",
    "SafeFields",
    "ScriptLog",
    "SettledElection",
    "Share",
    "Snapshot",
    "SpaceTime",
    "Span",
    "Split",
    "SpooledLines",
    "Standing",
    "Stretch",
    "Strike",
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
    "bookmarks_file",
    "connected",
    "count_lines",
    "decode",
    "deed_of",
    "encode",
    "entries_of",
    "family_of",
    "first_of_wait",
    "has_bank",
    "has_field",
    "header_differences",
    "idle_nodes",
    "in_short",
    "inert_deeds",
    "installed",
    "life_of",
    "lines_about",
    "lines_of",
    "lines_run",
    "maps_of",
    "message_at",
    "message_received",
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
