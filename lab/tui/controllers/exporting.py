"""The export dialog: it asks for the format, the time, the nodes and the file, and shows the progress."""

import asyncio
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from lab.export.excerpt import ExportError, ExportOptions, parse_nodes, read_excerpt
from lab.export.formats import Format, default_path, write_file
from lab.recording.reader import NotARecordingError, open_recording
from lab.text import did_you_mean, sanitize
from lab.tui.export_formats import ALL_FORMATS, format_named
from lab.tui.terminal.styles import DIM, ThemeStyles
from lab.tui.widgets.dialogs import Dialog, frame
from lab.units import format_us, parse_us

if TYPE_CHECKING:
    from lab.tui.action_handlers import ActionHandler
    from lab.tui.screen import RunScreen

_AROUND_US = 1_000_000
_ASKED = "Enter exports, Tab moves on, Esc closes; space in the list: only the time around the cursor, or all"


def export_actions(screen: "RunScreen") -> "dict[str, ActionHandler]":
    """Return the handler of ``export``. With a format, and perhaps a file, after the word it exports at once."""

    def export(rest: str) -> None:
        recording = screen.source.recording
        name, _, file = rest.partition(" ")
        chosen = format_named(name) if name else None
        if recording is None:
            screen.show_message("the file of this run's recording is not known here", warn=True)
        elif name and chosen is None:
            names = [each.name for each in ALL_FORMATS]
            screen.show_message(
                f"export {name}: expected one of {', '.join(names)}{did_you_mean(name, names)}", warn=True
            )
        else:
            dialog = ExportDialog(
                recording,
                screen.player.now_us,
                screen.views.rows.heartbeats,
                screen.theme_styles,
                chosen,
                file.strip(),
            )
            screen.app.push_screen(dialog, on_closed)

    def on_closed(text: str | None) -> None:
        if text is not None:
            screen.show_message(text)
            screen.tour.on_exported(text)

    return {"export": export}


class _CancelledError(Exception):
    """The dialog was closed, so the export is cancelled."""


class ExportDialog(Dialog[str | None]):
    """A dialog whose result is a message about the written file, or None.

    With a format ``chosen`` the export begins at once, and the dialog asks only if something is wrong.
    """

    DEFAULT_CSS = """
    ExportDialog > Vertical { max-height: 100%; }
    ExportDialog OptionList { max-height: 10; margin-bottom: 1; }
    ExportDialog Horizontal { height: 1; }
    ExportDialog Horizontal Static { width: auto; margin-right: 1; }
    ExportDialog .time { width: 14; margin-right: 2; }
    ExportDialog #nodes, ExportDialog #file { width: 1fr; }
    ExportDialog #answer { height: auto; max-height: 4; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("space", "around", ""),
    ]

    def __init__(
        self,
        recording: Path,
        now_us: int,
        heartbeats: bool,
        theme_styles: ThemeStyles,
        chosen: Format | None = None,
        file: str = "",
    ) -> None:
        super().__init__()
        self._recording = recording
        self._now_us = now_us
        self._heartbeats = heartbeats
        self._theme_styles = theme_styles
        self._at_once = chosen is not None
        self._format = chosen or ALL_FORMATS[0]
        self._file = file or self._default_name()
        self._exists_warned = ""
        self._progress = ""
        self._cancelled = threading.Event()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "export this run, as recorded so far"
            frame(box, subtitle=f"{'with' if self._heartbeats else 'without'} heartbeats, as in the log (f)")
            yield OptionList(*(Option(_format_row(each), each.name) for each in ALL_FORMATS))
            with Horizontal():
                yield Static("from")
                yield Input(placeholder="the start", id="from", classes="time")
                yield Static("until")
                yield Input(placeholder="the end", id="until", classes="time")
                yield Static(Text(f"the cursor is at {self._now_us / 1e6:.3f} s", DIM))
            with Horizontal():
                yield Static("nodes")
                yield Input(placeholder="all, or for example 1,2,5", id="nodes")
            with Horizontal():
                yield Static("file")
                yield Input(self._file, id="file", select_on_focus=False)
            yield Static(_ASKED, id="answer", markup=False)

    def on_mount(self) -> None:
        formats = self.query_one(OptionList)
        formats.highlighted = ALL_FORMATS.index(self._format)
        formats.focus()
        if self._at_once:
            self._begin()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Follow the format with the default file name, unless the user typed another one."""
        named = self.query_one("#file", Input)
        was_default = named.value == self._default_name()
        self._format = format_named(event.option_id or "") or self._format
        if was_default:
            named.value = self._default_name()

    def on_option_list_option_selected(self) -> None:
        self._begin()

    def on_input_submitted(self) -> None:
        self._begin()

    def on_input_changed(self) -> None:
        self._exists_warned = ""

    def action_around(self) -> None:
        """Limit the time to that around the cursor, or clear the limits."""
        since, until = self.query_one("#from", Input), self.query_one("#until", Input)
        if since.value or until.value:
            since.value = until.value = ""
        else:
            since.value = format_us(max(0, round(self._now_us, -3) - _AROUND_US))
            until.value = format_us(round(self._now_us, -3) + _AROUND_US)

    def action_leave(self) -> None:
        self._cancelled.set()
        self.dismiss(None)

    def on_unmount(self) -> None:
        """Cancel the export: its thread stops when it next reports progress."""
        self._cancelled.set()

    def _begin(self) -> None:
        """Check the input and start the export; overwrite an existing file only when Enter is pressed again."""
        try:
            options = ExportOptions(
                self._time("#from"), self._time("#until"), self._nodes_named(), self._heartbeats
            )
            path = Path(self.query_one("#file", Input).value.strip()).expanduser()
            is_folder, exists, real = path.is_dir(), path.exists(), path.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            self._show_text(str(error), warn=True)
            return
        if is_folder:
            self._show_text(f"{path} is a folder; type the name of a file", warn=True)
        elif real == self._recording.resolve():
            self._show_text(f"{path} is the recording itself; type another name", warn=True)
        elif exists and str(path) != self._exists_warned:
            self._exists_warned = str(path)
            self._show_text(f"{path} exists: press Enter again to overwrite it, or type another name", warn=True)
        else:
            self._write(options, path)

    @work(exclusive=True)
    async def _write(self, options: ExportOptions, path: Path) -> None:
        box, self._progress = self.query_one(Vertical), "reading the recording …"
        box.disabled = True
        progress = self.set_interval(0.1, lambda: self._show_text(self._progress))
        try:
            message = await asyncio.to_thread(self._export, options, path)
        except _CancelledError:
            return
        except (ExportError, NotARecordingError) as error:
            self._retry(str(error))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            self._retry(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}")
        else:
            self.dismiss(message)
        finally:
            progress.stop()

    def _export(self, options: ExportOptions, path: Path) -> str:
        """Export in a thread and return the message; it must not touch widgets, which may be gone by then."""
        with closing(open_recording(self._recording)) as lines:
            size = write_file(self._format, read_excerpt(lines, options, self._on_progress), path)
        return f"exported to {path.absolute()} ({size:,} bytes)"

    def _on_progress(self, text: str) -> None:
        if self._cancelled.is_set():
            raise _CancelledError
        self._progress = text

    def _retry(self, error: str) -> None:
        self.query_one(Vertical).disabled = False
        self.query_one(OptionList).focus()
        self._show_text(error, warn=True)

    def _show_text(self, text: str, warn: bool = False) -> None:
        style = self._theme_styles.warning if warn else self._theme_styles.accent
        self.query_one("#answer", Static).update(Text(sanitize(text, 400), style))

    def _time(self, named: str) -> int | None:
        text = self.query_one(named, Input).value.strip()
        return parse_us(text) if text else None

    def _nodes_named(self) -> tuple[int, ...]:
        text = self.query_one("#nodes", Input).value.strip()
        return parse_nodes(text) if text else ()

    def _default_name(self) -> str:
        return default_path(self._recording, self._format, Path()).name


def _format_row(each: Format) -> Text:
    return Text.assemble((f"{each.name:10}", "bold"), (each.help, DIM))
