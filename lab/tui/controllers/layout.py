"""The layout of the run screen: its defaults, the changes of the user, kept between runs, and small terminals."""

import contextlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from rich.text import Text
from textual.widgets import Static

from lab.foreign_file import read_foreign
from lab.tui.context import ActionHandler, RunContext
from lab.tui.views.views import EXERCISE, LOG, Views
from lab.tui.widgets.key_lines import TabLine
from lab.tui.widgets.node_panes import Density, NodePanes
from lab.tui.widgets.status_lines import Headline, TitleLine, WatchLines

_Percent = Annotated[int, Meta(ge=5, le=90)]


class LayoutSettings(Struct):
    """The settings. ``view`` is the view that was shown last.

    ``nodes`` is the height of the nodes in percent (None: automatic), ``density`` whether they are rows or cards.
    ``log`` is the width of the log in percent beside a view. ``theme`` is empty for the default theme. ``watches``
    are the expressions that are watched in runs of each protocol, by its name.
    """

    view: str = "log"
    nodes: _Percent | None = None
    density: Density = "auto"
    log: _Percent = 50
    heartbeats: bool = False
    theme: str = ""
    tour_offered: bool = False
    watches: dict[str, tuple[str, ...]] = {}


def read_layout_settings(file: Path) -> LayoutSettings:
    """Read the settings; return the defaults if the file is missing or damaged."""
    try:
        return msgspec.json.decode(read_foreign(file), type=LayoutSettings)
    except (OSError, ValueError):  # of msgspec, or bytes that are no UTF-8
        return LayoutSettings()


def write_layout_settings(file: Path, layout: LayoutSettings) -> None:
    """Write the settings atomically; do nothing if the file cannot be written."""
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.write_bytes(msgspec.json.format(msgspec.json.encode(layout), indent=2) + b"\n")
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)


def keep_watches(layout: LayoutSettings, protocol: str, texts: Sequence[str]) -> None:
    """Replace the watches of a protocol."""
    layout.watches[protocol] = tuple(texts)
    if not texts:
        del layout.watches[protocol]


_WHOLE_WIDTH, _WHOLE_HEIGHT = 80, 24
_LEAST_WIDTH, _LEAST_HEIGHT = 40, 10
_ROOM_FOR_CARDS = 32
_ROOM_FOR_TALL_HEADLINE = 36
_LOW, _LOWER = 16, 13
_LOG_ROWS = 12
"""The rows of the log that are worth more than any line around it."""
_SHARE_OF_NODES = 0.45
_ALWAYS = 3
"""The headline, the scrub bar and the footer."""
_LINES, _OPENED = 6, 2
"""The other lines of every run, and the rows that open under the selected node, which the log lends."""
_STEP, _LEAST, _MOST = 5, 5, 90
_FEW_WATCH_ROWS = 3
_HEIGHT_PER_WATCH_ROW = 8


class Allotment(Struct, frozen=True):
    """The rows for the nodes, and the lines around them for which a screen has room."""

    nodes: int
    tabs: bool
    message: bool
    title: bool
    faults: bool
    outside: bool
    verdicts: bool


def allot(height: int, nodes: int, captions: int = 0, has_outside: bool = False) -> Allotment:
    """Return what fits on a screen of this height: a row for each node first, and enough rows of the log.

    The ``captions`` take rows from the other lines, which follow in the order of their use. What is then left is
    for the nodes: the selected one opens. The footer is never given up. ``has_outside``: there is a line for the
    nodes outside the cluster.
    """
    log = _LOG_ROWS if height >= _WHOLE_HEIGHT else max(1, height // 2 - 3)
    spare = max(0, height - _ALWAYS - log)
    rows = max(1, min(nodes, spare, round(height * _SHARE_OF_NODES)))
    spare -= rows + captions
    tabs, message, heading, title, faults, sixth, seventh = (spare > place for place in range(_LINES + 1))
    outside, verdicts = (sixth, seventh) if has_outside else (False, sixth)
    opened = max(_OPENED if title else 0, spare - _LINES - has_outside)
    return Allotment(rows + heading + opened, tabs, message, title, faults, outside, verdicts)


def describe_missing(width: int, height: int) -> str:
    """Return what a larger screen would show in full; empty if everything is."""
    missing = [
        *(["whole lines"] if width < _WHOLE_WIDTH else []),
        *(["more log"] if height < _WHOLE_HEIGHT else []),
    ]
    if not missing:
        return ""
    return f"{width}×{height}: enlarge to {_WHOLE_WIDTH}×{_WHOLE_HEIGHT} to see {' and '.join(missing)}"


def _watch_rows(height: int) -> tuple[int, int]:
    """Return how many rows the strip of watches should have at the best, and at the most."""
    if height < _ROOM_FOR_CARDS:
        return 1, _FEW_WATCH_ROWS
    most = height // _HEIGHT_PER_WATCH_ROW
    return most, most


class LayoutController:
    """Lays out a screen by the user's settings in ``layout``; ``fit`` applies them after every change.

    ``too_small`` and ``missing`` are widgets that say on a small screen that it is too small, or what it lacks.
    ``is_touched``: the user has acted on this screen, so no view is shown automatically any more. ``is_tiny``: the
    screen is too small to draw anything, and all keys but quit are ignored. ``reserved_rows`` of the screen are
    not for the run.
    """

    def __init__(
        self,
        context: RunContext,
        layout: LayoutSettings,
        views: Views,
        panes: NodePanes,
        watches: WatchLines,
        tabs: TabLine,
        headline: Headline,
    ) -> None:
        self.layout = layout
        self._context = context
        self._views = views
        self._panes = panes
        self._watches = watches
        self._tabs = tabs
        self._headline = headline
        self.is_touched = False
        self.is_tiny = False
        self.reserved_rows = 0
        self._is_full = False
        self._caption_rows = 0
        self.too_small = Static(id="tiny")
        self.missing = TitleLine("room")
        views.rows.heartbeats = layout.heartbeats
        self.actions: dict[str, ActionHandler] = {
            **{word: partial(self.show_view, word) for word in views.hints},
            "full": self._toggle_full,
            "cards": self._toggle_cards,
            "hall": self._toggle_hall,
            "taller": partial(self._move_tabs, -1),
            "shorter": partial(self._move_tabs, 1),
            "wider": partial(self._widen, -1),
            "narrower": partial(self._widen, 1),
            "heartbeats": self._toggle_heartbeats,
        }

    def show_view(self, view: str) -> None:
        """Show a view, or the log if that view is shown already, and say how to use it."""
        self._context.notify(self._arrange(view))

    def _arrange(self, view: str) -> str:
        hint = self._views.show_view(view)
        self._on_view_changed()
        self._focus()
        return hint

    def _focus(self) -> None:
        """Focus the nodes, or the view, if one was chosen or the nodes are hidden; but leave a prompt alone."""
        screen = self._context.screen
        shows_nodes = self._views.chosen == LOG and not screen.has_class("hall")
        if not screen.query("Prompt.open"):
            (self._panes if shows_nodes else self._views.widget).focus()

    def restore_view(self, offered: set[str]) -> None:
        """Show the exercise, or else the view of the last session, if offered, unless the user has acted."""
        view = EXERCISE if EXERCISE in offered else self.layout.view
        if not self.is_touched and view in offered:
            self._arrange(view)

    def _on_view_changed(self) -> None:
        """Save which view is shown, and fit the layout to it."""
        self.is_touched = True
        self.layout.view = self._views.chosen
        self.fit()

    def make_room_for_captions(self, rows: int) -> None:
        """Fit the layout to captions of that many rows."""
        if rows != self._caption_rows:
            self._caption_rows = rows
            self.fit()

    def fit(self) -> None:
        """Apply the layout to the present size of the screen."""
        screen = self._context.screen
        width, height = screen.size
        tiny = self.is_tiny = width < _LEAST_WIDTH or height < _LEAST_HEIGHT
        least = f"{width}×{height} is too small; lab needs {_LEAST_WIDTH}×{_LEAST_HEIGHT} at least"
        self.too_small.update(least if tiny else "")
        missing = describe_missing(width, height)
        self.missing.display = bool(missing)
        self.missing.put(Text(missing))
        height -= self.reserved_rows
        self._watches.best_rows, self._watches.most_rows = _watch_rows(height)
        rows = height - bool(missing) - self._watches.rows
        header = self._context.source.store.header
        allotted = allot(rows, len(header.nodes), self._caption_rows, bool(header.names))
        is_full = self._is_full
        classes = {
            "tiny": tiny,
            "full": is_full,
            "no-tabs": is_full or not allotted.tabs,
            "no-message": not is_full and not allotted.message,
            "no-title": not is_full and not allotted.title,
            "no-faults": is_full or not allotted.faults,
            "no-outside": is_full or not allotted.outside,
            "no-verdicts": is_full or not allotted.verdicts,
            "no-watches": is_full or height < _LOW,
            "lower": height < _LOWER,
        }
        screen.update_classes(classes)  # all at once: each update styles every widget again
        self._headline.tall = height >= _ROOM_FOR_TALL_HEADLINE
        self._panes.density = self.layout.density
        self._panes.room_for_cards = height >= _ROOM_FOR_CARDS
        self._panes.most_height = self._for_nodes(rows, allotted)
        self._panes.refresh(layout=True)
        self._views.share(is_full, self.layout.log)

    def _for_nodes(self, height: int, allotted: Allotment) -> int:
        """Return the most lines for the nodes: the user's share, or about half of a high screen."""
        if self.layout.nodes is not None and height >= _LOW:
            return max(3, round(height * self.layout.nodes / 100))
        return round(height * _SHARE_OF_NODES) if height >= _ROOM_FOR_CARDS else allotted.nodes

    def _move_tabs(self, by: int) -> None:
        """Move the line of tabs down by ``by`` lines, or up if negative; the nodes get the space above it."""
        height = self._panes.most_height if by > 0 else min(self._panes.most_height, self._panes.size.height)
        self._give_nodes(by + height)

    def place_tabs(self, row: int) -> None:
        """Move the line of tabs to that row of the screen, or less far if the nodes do not need the space."""
        self._give_nodes(self._panes.size.height + row - self._tabs.region.y)

    def _give_nodes(self, lines: int) -> None:
        if self._is_full:
            self._context.notify("this view has the full height; {full} shows everything again")
            return
        height = self._context.screen.size.height - self.reserved_rows - self._watches.rows
        self.layout.nodes = max(_LEAST, min(round(lines * 100 / height), _MOST))
        self.fit()

    def _widen(self, by: int) -> None:
        """Make the log wider by ``by`` steps, at the cost of the view beside it."""
        if len(self._views.shown_views) < 2:
            self._context.notify("a view is shown beside the log only from 150 columns on")
            return
        self.set_log_width(max(_LEAST, min(self.layout.log + by * _STEP, _MOST)))

    def set_log_width(self, percent: int) -> None:
        self.layout.log = percent
        self.fit()

    def show_all(self) -> None:
        """Show nodes and log, whatever the settings are."""
        self._is_full = False
        if self._views.chosen != LOG:
            self.show_view(LOG)
        self._on_view_changed()

    def _toggle_full(self) -> None:
        """Show the chosen view alone, or everything again."""
        self._is_full = not self._is_full
        self.fit()
        text = "only this view; {full} shows everything again" if self._is_full else "everything is shown again"
        self._context.notify(text)

    def _toggle_hall(self) -> None:
        """Show the cluster in large letters with a few lines of the log, or everything again."""
        self._context.screen.toggle_class("hall")
        if self._context.screen.has_class("hall"):
            self._is_full = False
            if self._views.chosen != LOG:
                self.show_view(LOG)
            self._context.notify("for a hall; {hall} shows everything again")
        else:
            self._context.notify("everything is shown again")
        self.fit()
        self._context.screen.call_after_refresh(self._focus)  # what is hidden takes no focus

    def _toggle_cards(self) -> None:
        """Draw the nodes as rows if they are cards, else as cards."""
        were_cards = self._panes.are_cards
        self.layout.density = "rows" if were_cards else "cards"
        self.fit()
        if not were_cards and not self._panes.are_cards:
            self._context.notify("there is no room for cards; {shorter} gives the nodes more", warn=True)
        else:
            self._context.notify("rows; {cards} shows cards" if were_cards else "cards; {cards} shows rows")

    def _toggle_heartbeats(self) -> None:
        is_shown = not self._views.rows.heartbeats
        self._views.rows.heartbeats = self.layout.heartbeats = is_shown
        self._context.notify(f"heartbeats {'shown' if is_shown else 'hidden'}")
