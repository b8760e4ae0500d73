"""How the screen of a run shares out its room: by itself, as the user wants it, and where there is little."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.text import Text
from textual.widgets import Static

from lab.tui.frame.layout import Layout
from lab.tui.frame.lines import TitleLine
from lab.tui.frame.tabs import TabLine
from lab.tui.nodes.panes import NodePanes
from lab.tui.views.views import EXERCISE, LOG

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["Arrangement", "arranging_deeds", "room_said"]

_WHOLE_WIDTH, _WHOLE_HEIGHT = 80, 24
_LEAST_WIDTH, _LEAST_HEIGHT = 40, 10
_ROOM_FOR_BOTH = 32
_ROOM_FOR_VERDICTS = 16
_ROOM_FOR_TABS = 13
_STEP, _LEAST, _MOST = 5, 5, 90


def room_said(width: int, height: int) -> str:
    """What there is room for on a larger screen than this; nothing where all is seen."""
    missing = [
        *(["whole lines"] if width < _WHOLE_WIDTH else []),
        *(["nodes in boxes"] if height < _WHOLE_HEIGHT else []),
        *(["verdicts"] if height < _ROOM_FOR_VERDICTS else []),
        *(["tabs", "faults"] if height < _ROOM_FOR_TABS else []),
    ]
    return f"{width}×{height}: {_WHOLE_WIDTH}×{_WHOLE_HEIGHT} shows {', '.join(missing)}" if missing else ""


class Arrangement:
    """Of a screen, by the ``layout`` that the user made; ``fit`` does it, after every change.

    ``is_touched``: the user has done something here, and from then on alone turns to views. ``is_tiny``: there is
    no room for anything, so nothing is drawn, and no key does anything that could not be seen.
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
    RunScreen.low #said { max-height: 1; }
    """

    def __init__(self, screen: "RunScreen", layout: Layout) -> None:
        self.layout = layout
        self._screen = screen
        self.is_touched = False
        self.is_tiny = False

    def take_up(self, offered: set[str]) -> None:
        """Once: turn to the exercise, or else to the view that was chosen last time, where this run has it."""
        view = EXERCISE if EXERCISE in offered else self.layout.view
        if not self.is_touched and view in offered:
            self._screen.turn_to(view)

    def turned(self) -> None:
        """Keep which view was turned to, and share out the room for it."""
        self.is_touched = True
        self.layout.view = self._screen.views.chosen
        self.fit()

    def fit(self) -> None:
        """Share out what room there is."""
        screen, (width, height) = self._screen, self._screen.size
        tiny = self.is_tiny = width < _LEAST_WIDTH or height < _LEAST_HEIGHT
        screen.set_class(tiny, "tiny")
        screen.set_class(self.layout.full, "full")
        screen.set_class(height < _ROOM_FOR_VERDICTS, "low")
        screen.set_class(height < _ROOM_FOR_TABS, "lower")
        least = f"{width}×{height} is too small: {_LEAST_WIDTH}×{_LEAST_HEIGHT} is the least"
        screen.query_one("#tiny", Static).update(least if tiny else "")
        room = screen.query_one("#room", TitleLine)
        said = room_said(width, height)
        room.display = bool(said)
        room.put(Text(said))
        panes = screen.query_one(NodePanes)
        panes.most_height = self._for_nodes(height)
        panes.refresh(layout=True)
        screen.views.share(self.layout.full, self.layout.log)

    def _for_nodes(self, height: int) -> int:
        """About the upper half; on a low screen less, while something else than the log is seen."""
        if height < _ROOM_FOR_VERDICTS:
            return max(3, (height - 6) // 2)
        is_tight = height < _ROOM_FOR_BOTH and self._screen.views.chosen != LOG
        share = self.layout.nodes or (25 if is_tight else 45)
        return max(3, round(height * share / 100))

    def move_tabs(self, by: int) -> None:
        """The line of tabs a line down, or up: the nodes have what is above it."""
        panes = self._screen.query_one(NodePanes)
        self._give_nodes(by + (panes.most_height if by > 0 else min(panes.most_height, panes.size.height)))

    def put_tabs(self, row: int) -> None:
        """The line of tabs into that row of the screen, as far as the nodes need what is above."""
        panes, tabs = self._screen.query_one(NodePanes), self._screen.query_one(TabLine)
        self._give_nodes(panes.size.height + row - tabs.region.y)

    def _give_nodes(self, lines: int) -> None:
        if self.layout.full:
            self._screen.say("this view has all the height; z shows everything again")
            return
        self.layout.nodes = max(_LEAST, min(round(lines * 100 / self._screen.size.height), _MOST))
        self.fit()

    def widen(self, by: int) -> None:
        """Of the log and the view beside it, give the log so many steps more of the width."""
        if len(self._screen.views.seen) < 2:
            self._screen.say("nothing is beside the log; a view is, where there are 150 columns")
            return
        self.give_log(max(_LEAST, min(self.layout.log + by * _STEP, _MOST)))

    def give_log(self, percent: int) -> None:
        """So many percent of the width."""
        self.layout.log = percent
        self.fit()

    def show_all(self) -> None:
        """Nodes and log, whatever was kept."""
        self.layout.full = False
        if self._screen.views.chosen != LOG:
            self._screen.turn_to(LOG)
        self.turned()

    def turn_full(self) -> None:
        """The chosen view alone, or everything again."""
        self.layout.full = not self.layout.full
        self.fit()
        self._screen.say("this view alone; z shows everything again" if self.layout.full else "everything again")


def arranging_deeds(screen: "RunScreen") -> dict[str, Callable[[str], object]]:
    """What the user does to share out the room."""
    arrangement = screen.arrangement
    return {
        "full": lambda _: arrangement.turn_full(),
        "taller": lambda _: arrangement.move_tabs(-1),
        "lower": lambda _: arrangement.move_tabs(1),
        "wider": lambda _: arrangement.widen(-1),
        "narrower": lambda _: arrangement.widen(1),
    }
