"""The layout of the run screen: its defaults, the user's changes, and small terminals."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.text import Text
from textual.widgets import Static

from lab.tui.frame.layout_settings import LayoutSettings
from lab.tui.frame.status_lines import TitleLine
from lab.tui.frame.tabs import TabLine
from lab.tui.nodes.panes import NodePanes
from lab.tui.views.views import EXERCISE, LOG

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["LayoutController", "describe_missing", "layout_actions"]

_WHOLE_WIDTH, _WHOLE_HEIGHT = 80, 24
_LEAST_WIDTH, _LEAST_HEIGHT = 40, 10
_ROOM_FOR_BOTH = 32
_ROOM_FOR_VERDICTS = 16
_ROOM_FOR_TABS = 13
_STEP, _LEAST, _MOST = 5, 5, 90


def describe_missing(width: int, height: int) -> str:
    """Return what a larger screen would also show; empty if everything is visible."""
    missing = [
        *(["whole lines"] if width < _WHOLE_WIDTH else []),
        *(["nodes in boxes"] if height < _WHOLE_HEIGHT else []),
        *(["verdicts"] if height < _ROOM_FOR_VERDICTS else []),
        *(["tabs", "faults"] if height < _ROOM_FOR_TABS else []),
    ]
    return (
        f"{width}×{height}: enlarge to {_WHOLE_WIDTH}×{_WHOLE_HEIGHT} to see {', '.join(missing)}"
        if missing
        else ""
    )


class LayoutController:
    """Lays out a screen by the user's settings in ``layout``; ``fit`` applies them after every change.

    ``is_touched``: the user has acted on this screen, so no view is shown automatically any more. ``is_tiny``: the
    screen is too small to draw anything, and all keys but quit are ignored.
    """

    CSS = """
    RunScreen { layers: default above; }
    #room { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    #tiny { layer: above; dock: top; width: 100%; height: 100%; display: none; background: $background; }
    RunScreen.tiny #tiny { display: block; }
    RunScreen.full #leaders, RunScreen.full NodePanes, RunScreen.full TabLine, RunScreen.full #faults,
    RunScreen.full #verdicts, RunScreen.low #verdicts, RunScreen.lower TabLine, RunScreen.lower #faults
        { display: none; }
    RunScreen.full #caption, RunScreen.lower #caption { max-height: 0; }
    RunScreen.low #message { max-height: 1; }
    """

    def __init__(self, screen: "RunScreen", layout: LayoutSettings) -> None:
        self.layout = layout
        self._screen = screen
        self.is_touched = False
        self.is_tiny = False

    def restore_view(self, offered: set[str]) -> None:
        """Show the exercise, or else the view of the last session, if offered, unless the user has acted."""
        view = EXERCISE if EXERCISE in offered else self.layout.view
        if not self.is_touched and view in offered:
            self._screen.show_view(view)

    def on_view_changed(self) -> None:
        """Save which view is shown, and fit the layout to it."""
        self.is_touched = True
        self.layout.view = self._screen.views.chosen
        self.fit()

    def fit(self) -> None:
        """Apply the layout to the present size of the screen."""
        screen, (width, height) = self._screen, self._screen.size
        tiny = self.is_tiny = width < _LEAST_WIDTH or height < _LEAST_HEIGHT
        screen.set_class(tiny, "tiny")
        screen.set_class(self.layout.full, "full")
        screen.set_class(height < _ROOM_FOR_VERDICTS, "low")
        screen.set_class(height < _ROOM_FOR_TABS, "lower")
        least = f"{width}×{height} is too small; lab needs {_LEAST_WIDTH}×{_LEAST_HEIGHT} at least"
        screen.query_one("#tiny", Static).update(least if tiny else "")
        room = screen.query_one("#room", TitleLine)
        missing = describe_missing(width, height)
        room.display = bool(missing)
        room.put(Text(missing))
        panes = screen.query_one(NodePanes)
        panes.most_height = self._for_nodes(height)
        panes.refresh(layout=True)
        screen.views.share(self.layout.full, self.layout.log)

    def _for_nodes(self, height: int) -> int:
        """Return the lines for the nodes: about half the height, and less on a low screen that shows a view."""
        if height < _ROOM_FOR_VERDICTS:
            return max(3, (height - 6) // 2)
        is_tight = height < _ROOM_FOR_BOTH and self._screen.views.chosen != LOG
        share = self.layout.nodes or (25 if is_tight else 45)
        return max(3, round(height * share / 100))

    def move_tabs(self, by: int) -> None:
        """Move the line of tabs down by ``by`` lines, or up if negative; the nodes get the space above it."""
        panes = self._screen.query_one(NodePanes)
        self._give_nodes(by + (panes.most_height if by > 0 else min(panes.most_height, panes.size.height)))

    def place_tabs(self, row: int) -> None:
        """Move the line of tabs to that row of the screen, or less far if the nodes do not need the space."""
        panes, tabs = self._screen.query_one(NodePanes), self._screen.query_one(TabLine)
        self._give_nodes(panes.size.height + row - tabs.region.y)

    def _give_nodes(self, lines: int) -> None:
        if self.layout.full:
            self._screen.show_message("this view has the full height; z shows everything again")
            return
        self.layout.nodes = max(_LEAST, min(round(lines * 100 / self._screen.size.height), _MOST))
        self.fit()

    def widen(self, by: int) -> None:
        """Make the log wider by ``by`` steps, at the cost of the view beside it."""
        if len(self._screen.views.shown_views) < 2:
            self._screen.show_message("a view is shown beside the log only from 150 columns on")
            return
        self.set_log_width(max(_LEAST, min(self.layout.log + by * _STEP, _MOST)))

    def set_log_width(self, percent: int) -> None:
        """Give the log this percentage of the width."""
        self.layout.log = percent
        self.fit()

    def show_all(self) -> None:
        """Show nodes and log, whatever the settings are."""
        self.layout.full = False
        if self._screen.views.chosen != LOG:
            self._screen.show_view(LOG)
        self.on_view_changed()

    def toggle_full(self) -> None:
        """Show the chosen view alone, or everything again."""
        self.layout.full = not self.layout.full
        self.fit()
        self._screen.show_message(
            "only this view; z shows everything again" if self.layout.full else "everything is shown again"
        )


def layout_actions(screen: "RunScreen") -> dict[str, Callable[[str], object]]:
    """Return the handlers of the layout actions."""
    layout_controller = screen.layout_controller
    return {
        "full": lambda _: layout_controller.toggle_full(),
        "taller": lambda _: layout_controller.move_tabs(-1),
        "shorter": lambda _: layout_controller.move_tabs(1),
        "wider": lambda _: layout_controller.widen(-1),
        "narrower": lambda _: layout_controller.widen(1),
    }
