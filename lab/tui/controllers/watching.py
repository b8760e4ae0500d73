"""Watches: the user's own expressions, shown at the cursor in a strip below the nodes; kept for each protocol."""

from collections.abc import Callable, Sequence

from rich.text import Text

from lab.script.parse import read_watch
from lab.script.scope import CommandError, scope_of
from lab.script.watches import Watch, WatchReading
from lab.styles import DIM
from lab.text import did_you_mean, sanitize
from lab.tui.context import ActionHandler, RunContext
from lab.tui.controllers.layout import LayoutController, keep_watches
from lab.tui.widgets.dialogs import ListDialog
from lab.tui.widgets.prompts import CommandLine
from lab.tui.widgets.status_lines import WatchEntry, WatchLines

_ALL = "all"
_MOST = 50
"""The most watches of a protocol."""
_NEW_S = 1.0
"""The time for which a reading counts as changed while the cursor moves by itself."""


class WatchController:
    """The watches of a run. Those that have no meaning in this run are kept, but not shown.

    ``clock_s`` tells for how long a changed value has been shown.
    """

    def __init__(
        self,
        context: RunContext,
        layout: LayoutController,
        lines: WatchLines,
        command_line: CommandLine,
        clock_s: Callable[[], float],
    ) -> None:
        self._context = context
        self._layout = layout
        self._lines = lines
        self._command_line = command_line
        self._clock_s = clock_s
        self._header = context.source.store.header
        self._scope = scope_of(self._header)
        self._parsed: dict[str, Watch | None] = {}
        self._changes = ReadingChanges()
        self.actions: dict[str, ActionHandler] = {"watch": self._watch, "unwatch": self._unwatch}

    def draw(self) -> None:
        """Show what the watches show at the cursor."""
        context, watches = self._context, self._watches()
        cluster = context.player.cluster()
        readings = {str(watch): watch.read(cluster) for watch in watches}
        self._changes.update(readings, cluster.record, self._is_moving, self._clock_s())
        rows = self._lines.rows
        entries = [WatchEntry(text, found, self._changes.of(text)) for text, found in readings.items()]
        self._lines.show(entries, context.styles)
        self._command_line.watches = tuple(readings)
        if self._lines.rows != rows:
            self._layout.fit()

    @property
    def _is_moving(self) -> bool:
        """True if the cursor moves by itself, with the run or because the user plays it."""
        return self._context.player.playing or self._context.player.following

    def _watches(self) -> list[Watch]:
        """Return the kept watches that have a meaning in this run."""
        kept = self._kept
        for text in kept:
            if text not in self._parsed:
                try:
                    self._parsed[text] = read_watch(text, self._scope)
                except CommandError:
                    self._parsed[text] = None
        return [watch for text in kept if (watch := self._parsed[text]) is not None]

    @property
    def _kept(self) -> tuple[str, ...]:
        return self._layout.layout.watches.get(self._header.protocol.name, ())

    def _keep(self, texts: Sequence[str]) -> None:
        keep_watches(self._layout.layout, self._header.protocol.name, texts)
        self._context.redraw()

    # actions

    def _watch(self, text: str) -> None:
        """Add a watch; without an expression, open the command line to type one."""
        if not text:
            self._command_line.open("watch ")
            return
        try:
            watch = str(read_watch(text, self._scope))
        except CommandError as error:
            self._context.notify(str(error), warn=True)
            return
        if watch in self._kept:
            self._context.notify(f"{watch} is watched already")
        elif len(self._kept) >= _MOST:
            self._context.notify(f"there are {_MOST} watches; :unwatch removes one", warn=True)
        else:
            self._keep((*self._kept, watch))
            self._context.notify(f"watching {watch}; :unwatch {watch} ends it")

    def _unwatch(self, text: str) -> None:
        """Remove a watch, or all; without an expression, choose one from the list."""
        kept = self._kept
        if not kept:
            self._context.notify("nothing is watched; for example: watch 4.coordinator", warn=True)
        elif not text:
            self._list()
        elif text == _ALL:
            self._keep(())
            self._context.notify("nothing is watched any more")
        else:
            self._remove(text)

    def _remove(self, text: str) -> None:
        kept, watch = self._kept, _canonical(text)
        others = [each for each in kept if _canonical(each) != watch]
        if len(others) < len(kept):
            self._keep(others)
            self._context.notify(f"{watch} is watched no more")
        else:
            expected = f"{', '.join(kept)}, or {_ALL}{did_you_mean(text, kept)}"
            self._context.notify(f"{sanitize(text, 60)} is not watched; expected {expected}", warn=True)

    def _list(self) -> None:
        cluster = self._context.player.cluster()
        rows = [(str(watch), watch.read(cluster)) for watch in self._watches()]
        if rows:
            self._context.show_dialog(WatchDialog(rows), self._remove)
        else:
            self._context.notify(
                f"no watch of this protocol has a meaning in this run: {', '.join(self._kept)}", warn=True
            )


def _canonical(text: str) -> str:
    """Return the text of a watch as it is shown; any other text unchanged."""
    try:
        return str(read_watch(text, None))
    except CommandError:
        return text


class ReadingChanges:
    """The readings that have changed since the cursor last moved; of a moving cursor, in the last second."""

    def __init__(self) -> None:
        self._record = -1
        self._before: dict[str, tuple[WatchReading, ...]] = {}
        self._changed_s: dict[tuple[str, int], float] = {}

    def update(
        self, readings: dict[str, tuple[WatchReading, ...]], record: int, is_moving: bool, now_s: float
    ) -> None:
        """Take the readings of each watch at this record; ``now_s`` is the present time."""
        if record != self._record:
            self._record = record
            kept = self._changed_s.items() if is_moving else ()
            self._changed_s = {place: at_s for place, at_s in kept if now_s - at_s < _NEW_S}
        for text, found in readings.items():
            for place, (old, new) in enumerate(zip(self._before.get(text, found), found, strict=False)):
                if old != new:
                    self._changed_s[text, place] = now_s
        self._before = readings

    def of(self, text: str) -> frozenset[int]:
        """Return the places of the changed readings of a watch."""
        return frozenset(place for watch, place in self._changed_s if watch == text)


class WatchDialog(ListDialog[str]):
    """All watches with what they show; the result is the one to remove."""

    def __init__(self, rows: Sequence[tuple[str, tuple[WatchReading, ...]]]) -> None:
        super().__init__("watches", "Enter removes a watch · type to filter · Esc closes")
        self._rows = rows

    def on_mount(self) -> None:
        widest = max(len(text) for text, _ in self._rows)
        self.put(
            (Text.assemble(f"{text:{min(widest, 60)}}  ", (" ".join(map(str, readings)), DIM)), text)
            for text, readings in self._rows
        )
