"""The extension of programs for the interface and the reports: the fields of their lens, and lines to nobody."""

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

from lab.kernel import Step, Wrote
from lab.protocols.maelstrom import NOT_A_MESSAGE
from lab.protocols.program import NO_ANSWER, UNREACHABLE
from lab.protocols.services import SERVICES
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Process, Record
from lab.recording.snapshot import NodeState
from lab.tasks.analysis import Analysis, Report
from lab.tasks.extension import Extension, NodeText
from lab.text import sanitize
from lab.units import format_count, format_ranges

if TYPE_CHECKING:
    from lab.styles import ThemeStyles


_MOST_NAMES = 5
_LONGEST_LINE = 400
_INIT_OK = "init_ok"
_SOON_US = 1_000_000
"""The time that a program needs at most, for which the report does not name it."""


class ProgramAnalysis(Analysis):
    """Count messages to nobody, by the names, messages to clients that answer nothing, and lines that are none.

    Names the programs, too, that have not answered ``init``.
    """

    def __init__(self, header: Header, cluster: ClusterState) -> None:
        super().__init__(header, cluster)
        self._counted = Counter[str]()
        self._refused: list[int] = []
        self._first_refused = ""
        self._unanswering = 0
        self._first_unanswering = ""
        self._uninitialized: dict[int, int] = {}

    def observe(self, record: Record | None) -> str:
        """Count what the program of a step wrote to nobody."""
        if isinstance(record, Process) and record.event == "started":
            self._uninitialized[record.node] = record.at_us
        elif isinstance(record, Process) and record.event in ("killed", "failed"):
            self._uninitialized.pop(record.node, None)
        elif isinstance(record, Step):
            if isinstance(record.input, Wrote) and not record.input.log and _INIT_OK in record.input.line:
                self._uninitialized.pop(record.node, None)
            for note in record.notes:
                if note.startswith(NOT_A_MESSAGE):
                    self._refused.append(record.node)
                    self._first_refused = self._first_refused or f"node {record.node}: {note}"
                elif note.startswith(NO_ANSWER):
                    self._unanswering += 1
                    self._first_unanswering = self._first_unanswering or f"node {record.node}: {note}"
                elif note.startswith(UNREACHABLE):
                    self._counted[note.removeprefix(UNREACHABLE).partition(":")[0].partition(" ")[0]] += 1
        return ""

    def report(self, recording: str) -> Report:
        """Return a line for each name, with the option that starts such a service."""
        lines = []
        late = [node for node, since_us in self._uninitialized.items() if self._is_late(node, since_us)]
        if late:
            of = f"node{'s' if len(late) > 1 else ''} {format_ranges(sorted(late))}"
            lines.append(f"{of} did not answer init with init_ok before the end")
        for name, count in self._counted.most_common(_MOST_NAMES):
            hint = f": start it with --service {name}" if name in SERVICES else ""
            lines.append(f"{format_count(count, 'message')} to {sanitize(name)}, which is not there{hint}")
        if self._unanswering:
            count_text = format_count(self._unanswering, "message")
            lines.append(f"{count_text} to clients answered no request; the first, of {self._first_unanswering}")
        if self._refused:
            lines_refused = format_count(len(self._refused), "line")
            of = f"node{'s' if len(set(self._refused)) > 1 else ''} {format_ranges(sorted(set(self._refused)))}"
            first = sanitize(self._first_refused, _LONGEST_LINE)
            lines.append(f"{lines_refused} of {of} left out; the first, of {first}")
        return Report(tuple(lines))

    def _is_late(self, node: int, since_us: int) -> bool:
        """Return whether a node is a program that has had time to answer."""
        is_program = "facts" in self.cluster.view_of(node).state
        return is_program and self.cluster.at_us - since_us >= _SOON_US


class ProgramExtension(Extension):
    """Show ``facts`` after the fields of the lens."""

    analysis: ClassVar[str | type] = ProgramAnalysis

    def describe_node(self, node: NodeState, now_us: int, styles: "ThemeStyles") -> NodeText | None:
        shown = super().describe_node(node, now_us, styles)
        facts = node.state.get("facts")
        text = ", ".join(map(str, facts)) if isinstance(facts, list) else ""
        if not text:
            return shown
        return NodeText([*([] if shown is None else shown.state), (f"{sanitize(text, 80)}  ", styles.accent)])
