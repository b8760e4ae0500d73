"""Draw the lines above and below the nodes at every frame: captions, leaders, faults, verdicts, tabs."""

from typing import TYPE_CHECKING

from lab.recording.snapshot import Snapshot
from lab.tui.verdicts import format_verdicts
from lab.tui.views.views import LOG, VIEWS
from lab.tui.widgets.key_lines import Tab, TabLine
from lab.tui.widgets.pane import Pane, format_faults, format_leaders, groups_led
from lab.tui.widgets.status_lines import (
    MOST_CAPTIONS,
    CaptionLine,
    FaultLines,
    LeaderLine,
    TitleLine,
    VerdictLine,
    title_text,
)

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen


def draw_lines(screen: "RunScreen", snapshot: Snapshot, panes: tuple[Pane, ...], purpose: str) -> None:
    """Draw the lines for a snapshot; ``purpose`` is what the scenario demonstrates."""
    number, theme_styles = screen.player.number, screen.theme_styles
    captions = screen.source.script_log.captions(number, MOST_CAPTIONS)
    shown = "" if "script" in screen.views.shown_views else purpose  # the script view shows it too
    screen.query_one(CaptionLine).show(captions, shown, theme_styles)
    screen.query_one(LeaderLine).show(format_leaders(panes), theme_styles, groups_led(panes))
    screen.query_one(FaultLines).show(format_faults(snapshot.faults), theme_styles)
    screen.query_one(VerdictLine).show(format_verdicts(screen.source, number), theme_styles)
    offered = {action.word: action.shown for action in screen.offered}
    words = [kind.word for kind in VIEWS if kind.word in {LOG, *offered}]
    tabs = tuple(Tab(word, offered.get(word, "")) for word in words)
    screen.query_one(TabLine).show(tabs, screen.views.shown_views, screen.search.note)


def draw_title(screen: "RunScreen", hidden: int) -> None:
    """Draw the title line; ``hidden`` is the number of hidden heartbeats."""
    name, score = screen.run_name, screen.predicting.score
    text = title_text(screen.source, screen.player.number, hidden, name, screen.theme_styles, score)
    screen.query_one("#title", TitleLine).put(text)
