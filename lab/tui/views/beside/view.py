"""Another recording beside this one, as of the same moment: its nodes, its log, and where the two part.

As far as both are the same it is seen as of the same record, and from there on as of the same time.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.worker import Worker

from lab.recording.lineage import Twig
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.timeline import Timeline
from lab.replay.divergence import Comparison
from lab.text import sanitize
from lab.tui.dialogs import RecordDialog
from lab.tui.frame.lines import Line
from lab.tui.moving.branching import TreeDialog
from lab.tui.nodes.pane import Pane, panes_of
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.beside.parting import difference_said, parting_said
from lab.tui.views.following import FollowingView
from lab.tui.views.log.rows import LogRows
from lab.tui.views.log.view import MessageLog
from lab.units import count_of

if TYPE_CHECKING:
    from lab.tui.deeds import Deed
    from lab.tui.screen import RunScreen

__all__ = ["BesideView", "beside_deeds"]

_PIECE = 1000
_AGAIN_S = 0.2
_CELL = 38
"""So wide is a node; as many stand side by side as there is room for."""
_ROOM_FOR_RUNS = 16
"""From so many rows on it is said in what the runs differ."""
_NOTHING = "no other recording is open: = chooses one, :beside FILE opens one"


class _Other:
    """The recording that is seen beside this one. NotARecordingError."""

    def __init__(self, source: Source, path: Path) -> None:
        self.path = path
        self.lines: FileRecords = open_recording(path)
        self.timeline = Timeline(self.lines)
        self.comparison = Comparison(source.lines, self.lines)
        self.differs: list[str] = []
        self._sought = (-1, 0)

    def moment(self, moment: Cursor) -> Cursor:
        """The same moment in it."""
        number = self.comparison.beside(moment.record)
        if number is None:
            if self._sought[0] != moment.now_us:
                self._sought = moment.now_us, self.timeline.record_at(moment.now_us)
            number = self._sought[1]
        return Cursor(self.timeline.at(number), moment.now_us, moment.selected, hides_future=moment.hides_future)


class BesideView(Vertical):
    """``Enter`` goes to where the two part. ``other`` is the path of the other one, if there is one."""

    DEFAULT_CSS = """
    BesideView #beside-head { height: auto; max-height: 60%; padding: 0 1; }
    BesideView MessageLog { height: 1fr; border-top: solid $panel; }
    """

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__(id="beside")
        self._look = theme_styles
        self._source = source
        self._other: _Other | None = None
        self._worker: Worker[None] | None = None
        self._log: MessageLog | None = None

    def compose(self) -> ComposeResult:
        """What there is to say of the other one; its log comes with it."""
        yield Line("beside-head")

    @property
    def is_empty(self) -> bool:
        """Whether there is no other recording."""
        return self._other is None

    def open(self, path: Path) -> None:
        """See that recording, instead of another one. NotARecordingError."""
        other = _Other(self._source, path)
        self.close()
        self._other = other
        self._log = MessageLog(self._look, LogRows(other.lines, growing=False), "beside-log")
        self.mount(self._log)
        self._worker = self.run_worker(self._compare(other))

    def close(self) -> None:
        """Leave the other recording."""
        if self._worker is not None:
            self._worker.cancel()
        if self._log is not None:
            self._log.remove()
        if self._other is not None:
            self._other.lines.close()
        self._other = self._log = self._worker = None

    def on_unmount(self) -> None:
        """Unmap the file."""
        if self._other is not None:
            self._other.lines.close()

    def show(self, moment: Cursor) -> None:
        """Draw it as of the same moment."""
        head = self.query_one("#beside-head", Line)
        if self._other is None or self._log is None:
            head.put(Text(_NOTHING, DIM), wraps=True)
            return
        beside = self._other.moment(moment)
        if self._log.is_attached:
            self._log.show(beside)
        width = max(1, head.content_region.width)
        rows = self._rows(self._other, moment, beside, width)
        head.put(Text("\n").join(Text.assemble(*fit(row, width)) for row in rows), wraps=True)

    def open_cursor(self) -> None:
        """Go to where the two part."""
        number = None if self._other is None else self._other.comparison.so_far().one
        if number is not None:
            self.post_message(FollowingView.Sought(number))

    def focus(self, scroll_visible: bool = True) -> "BesideView":
        """Its log has the keys."""
        if self._log is not None:
            self._log.focus(scroll_visible)
        return self

    def on_message_log_opened(self, message: MessageLog.Opened) -> None:
        """A line of its log is opened."""
        message.stop()
        if self._other is not None:
            line = message.line
            self.app.push_screen(RecordDialog(self._other.lines, line.record, sanitize(line.text, 300)))

    async def _compare(self, other: _Other) -> None:
        """A piece at a time; as long as this run goes on, what comes too."""
        source, comparison = self._source, other.comparison
        while True:
            is_over = not source.is_live or bool(source.ended)
            while not comparison.go_on(_PIECE):  # noqa: ASYNC110 - it is the work that there is to do
                await asyncio.sleep(0)
            if is_over or comparison.parting is not None:
                break
            await asyncio.sleep(_AGAIN_S)
        other.differs = difference_said(comparison)

    def _rows(self, other: _Other, here: Cursor, there: Cursor, width: int) -> Iterator[list[Piece]]:
        theme_styles = self._look
        place = f"  record {there.record} of {len(other.lines) - 1}, {there.cluster.at_us / 1e6:.3f} s"
        yield [(sanitize(other.path.name, 60), theme_styles.accent), (place, DIM)]
        said, is_parted = parting_said(other.comparison, here, bool(self._worker and self._worker.is_finished))
        yield [(said, theme_styles.warning if is_parted else theme_styles.status("Normal"))]
        differs = [] if here.hides_future and not is_parted else other.differs
        for line in differs[: 2 if self.size.height >= _ROOM_FOR_RUNS else 1]:
            yield [(line, DIM)]
        yield from self._node_rows(here, there, width)

    def _node_rows(self, here: Cursor, there: Cursor, width: int) -> Iterator[list[Piece]]:
        """Those of the other one; where there are too many of them, those that are otherwise here."""
        ours = {pane.id: pane for pane in panes_of(here.cluster.snapshot(), here.now_us)}
        nodes = [(pane, ours.get(pane.id)) for pane in panes_of(there.cluster.snapshot(), there.now_us)]
        across = max(1, width // _CELL)
        most = max(3, self.size.height // 2 - 3) * across
        shown = nodes if len(nodes) <= most else [node for node in nodes if _differs(*node)][:most]
        cell = width // across
        for start in range(0, len(shown), across):
            row: list[Piece] = []
            for pane, our in shown[start : start + across]:
                row += fit(self._node(pane, our), cell)
            yield row
        if len(shown) < len(nodes):
            yield [(f"{count_of(len(nodes) - len(shown), 'node')} more", DIM)]

    def _node(self, pane: Pane, our: Pane | None) -> list[Piece]:
        theme_styles, differs = self._look, _differs(pane, our)
        pieces: list[Piece] = [
            (f"{theme_styles.glyphs.differs if differs else ' '} ", theme_styles.warning),
            (f"{pane.id:>2} ", theme_styles.accent if differs else DIM),
            (f"{theme_styles.glyph(pane.shown)} {_stands(pane)}", theme_styles.status(pane.shown)),
        ]
        if differs:
            now = "not here" if our is None else f"here {theme_styles.glyph(our.shown)} {_stands(our)}"
            pieces.append((f" {now}", DIM if our is None else theme_styles.status(our.shown)))
        return pieces


def _stands(pane: Pane) -> str:
    """Its status, whom it follows, and its group."""
    if pane.leads:
        led = f" {pane.leads}"
    else:
        led = "" if pane.coordinator is None or pane.process in ("killed", "absent") else f" of {pane.coordinator}"
    return f"{pane.shown}{led}{f' {pane.group}' if pane.group else ''}"


def _differs(pane: Pane, our: Pane | None) -> bool:
    return our is None or _stands(pane) != _stands(our)


def beside_deeds(screen: "RunScreen") -> "dict[str, Deed]":
    """Opening another recording beside this one, and turning to it."""
    view, source = screen.views.beside, screen.source

    def open_beside(path: Path) -> None:
        try:
            view.open(path.expanduser())
        except (NotARecordingError, RuntimeError, ValueError) as error:
            screen.say(str(error), warn=True)
            return
        if screen.views.chosen != view.id:
            screen.turn_to("beside")

    def chosen(twig: Twig | None) -> None:
        if twig is not None:
            open_beside(twig.path)

    def beside(text: str) -> None:
        if text:
            open_beside(Path(text))
        elif not view.is_empty:
            screen.turn_to("beside")
        elif source.recording is None:
            screen.say(
                "the file of this run's recording is not known here; :beside FILE opens another one", warn=True
            )
        else:
            screen.app.push_screen(TreeDialog(source.recording, screen.theme_styles), chosen)

    return {"beside": beside}
