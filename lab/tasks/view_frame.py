"""The data that a view is drawn from, and the room for it, in the interface or in the output of a command."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.text import Text

from lab.analysis.group_history import GroupLog
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.styles import DIM, Line, ThemeStyles, fit
from lab.units import format_count


class ViewFrame(Struct):
    """A run at the cursor in time, and the room to draw it. ``top`` is how far the user has scrolled."""

    header: Header
    cluster: ClusterState
    groups: GroupLog
    now_us: int
    styles: ThemeStyles
    width: int
    height: int
    top: int = 0
    last_top: int = 0
    """How far scrolling has any effect."""

    def scrolled(self, lines: Sequence[Line], height: int, noun: str) -> Sequence[Line]:
        """Return the lines that fit into a height, from ``top`` on; the last one counts those below."""
        last_top = max(0, len(lines) - max(1, height))
        self.last_top = max(self.last_top, last_top)
        if self.top >= last_top:
            return lines[last_top:]
        end = self.top + max(0, height - 1)
        return [*lines[self.top : end], [(f"and {format_count(len(lines) - end, f'more {noun}')} (PgDn)", DIM)]]

    def text(self, lines: Iterable[Line]) -> Text:
        """Return lines as text, each cut to the width."""
        return Text("\n", no_wrap=True).join(Text.assemble(*fit(line, self.width)) for line in lines)
