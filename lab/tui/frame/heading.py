"""The lines over and under the nodes, drawn at every frame: what was said, who leads, faults, verdicts, tabs."""

from typing import TYPE_CHECKING

from lab.recording.snapshot import Snapshot
from lab.tui.frame.captions import MOST_CAPTIONS, CaptionLine
from lab.tui.frame.lines import FaultLines, LeaderLine, TitleLine, VerdictLine, title_text
from lab.tui.frame.tabs import Tab, TabLine
from lab.tui.nodes.pane import Pane, faults_said, groups_led, leaders_said
from lab.tui.run.verdicts import verdicts_said
from lab.tui.views.views import LOG, VIEWS

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["draw_lines", "draw_title"]


def draw_lines(screen: "RunScreen", snapshot: Snapshot, panes: tuple[Pane, ...], about: str) -> None:
    """Draw them as of that snapshot; ``about`` is what the run is to show."""
    number, theme_styles = screen.player.number, screen.theme_styles
    captions = screen.source.script_log.captions(number, MOST_CAPTIONS)
    shown = "" if "script" in screen.views.seen else about  # there it is, too
    screen.query_one(CaptionLine).show(captions, shown, theme_styles)
    screen.query_one(LeaderLine).show(leaders_said(panes), theme_styles, groups_led(panes))
    screen.query_one(FaultLines).show(faults_said(snapshot.faults), theme_styles)
    screen.query_one(VerdictLine).show(verdicts_said(screen.source, number), theme_styles)
    offered = {action.word: action.shown for action in screen.offered}
    words = [kind.word for kind in VIEWS if kind.word in {LOG, *offered}]
    tabs = tuple(Tab(word, offered.get(word, "")) for word in words)
    screen.query_one(TabLine).show(tabs, screen.views.seen, screen.finding.note)


def draw_title(screen: "RunScreen", hidden: int) -> None:
    """Draw the first line; so many heartbeats are hidden."""
    name, score = screen.run_name, screen.predicting.score
    text = title_text(screen.source, screen.player.number, hidden, name, screen.theme_styles, score)
    screen.query_one("#title", TitleLine).put(text)
