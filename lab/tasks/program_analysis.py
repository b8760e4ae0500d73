"""The report at the end of a run of programs: the messages that they wrote to somebody who is not there."""

from collections import Counter

from lab.kernel import Step
from lab.protocols.program import UNREACHABLE
from lab.protocols.services import SERVICES
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.tasks.analysis import Analysis, Report
from lab.text import sanitize
from lab.units import format_count

__all__ = ["ProgramAnalysis"]

_MOST_NAMES = 5


class ProgramAnalysis(Analysis):
    """Count the messages to nodes and services that the run does not have, by their names."""

    def __init__(self, header: Header, cluster: ClusterState) -> None:
        super().__init__(header, cluster)
        self._counted = Counter[str]()

    def observe(self, record: Record | None) -> str:
        """Count what the program of a step wrote to nobody."""
        if isinstance(record, Step):
            for note in record.notes:
                if note.startswith(UNREACHABLE):
                    self._counted[note.removeprefix(UNREACHABLE).partition(":")[0].partition(" ")[0]] += 1
        return ""

    def report(self, recording: str) -> Report:
        """Return a line for each name, with the option that starts such a service."""
        lines = []
        for name, count in self._counted.most_common(_MOST_NAMES):
            hint = f": start it with --service {name}" if name in SERVICES else ""
            lines.append(f"{format_count(count, 'message')} to {sanitize(name)}, which is not there{hint}")
        return Report(tuple(lines))
