"""The export dialog: it asks for the format, the time, the nodes and the file, and shows the progress."""

from contextlib import closing
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from lab.export.excerpt import ExportError, ExportOptions, parse_nodes, read_excerpt
from lab.export.formats import Format, default_path, write_file
from lab.recording.reader import NotARecordingError, open_recording
from lab.styles import DIM, ThemeStyles
from lab.text import did_you_mean
from lab.tui.apps.export_formats import ALL_FORMATS, format_named
from lab.tui.controllers.branching import ExportRequested
from lab.tui.widgets.dialogs import FileDialog, RowList
from lab.units import format_us, parse_us

_AROUND_US = 1_000_000
_KEYS = "Enter exports · Tab next field · space only around the cursor · Esc closes"


def show_export_dialog(request: ExportRequested) -> None:
    """Show the dialog; if a format was typed, and perhaps a file, it exports at once."""
    context = request.context
    name, _, file = request.options.partition(" ")
    chosen = format_named(name) if name else None
    if name and chosen is None:
        names = [each.name for each in ALL_FORMATS]
        hint = did_you_mean(name, names)
        context.notify(f"export {name}: expected one of {', '.join(names)}{hint}", warn=True)
        return

    def report(text: str) -> None:
        context.notify(text)
        context.exported = text

    now_us, styles = context.player.now_us, context.styles
    dialog = ExportDialog(request.recording, now_us, request.heartbeats, styles, chosen, file.strip())
    context.show_dialog(dialog, report)


class ExportDialog(FileDialog):
    """Asks for the format, the time, the nodes and the file.

    With a format ``chosen`` the export begins at once, and the dialog asks only if something is wrong.
    """

    DEFAULT_CSS = """
    ExportDialog > Vertical { max-height: 100%; }
    ExportDialog OptionList { max-height: 15; margin-bottom: 1; }
    ExportDialog Horizontal { height: 1; }
    ExportDialog Horizontal Static { width: auto; margin-right: 1; }
    ExportDialog .time { width: 14; margin-right: 2; }
    ExportDialog #nodes, ExportDialog #file { width: 1fr; }
    ExportDialog #answer { height: auto; max-height: 4; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("space", "around", "")]
    refusals: ClassVar[tuple[type[Exception], ...]] = (ExportError, NotARecordingError)
    control: ClassVar[type[Widget]] = OptionList

    def __init__(
        self,
        recording: Path,
        now_us: int,
        heartbeats: bool,
        styles: ThemeStyles,
        chosen: Format | None = None,
        file: str = "",
    ) -> None:
        kept = f"{'with' if heartbeats else 'without'} heartbeats, as in the log (f)"
        super().__init__(f"export this run, as recorded so far, {kept}", _KEYS, styles)
        self._recording = recording
        self._now_us = now_us
        self._heartbeats = heartbeats
        self._at_once = chosen is not None
        self._format = chosen or ALL_FORMATS[0]
        self._file = file or self._default_name()
        self._ordered = (self._format, ExportOptions())
        """The export that the worker makes: the choice in the list may go on meanwhile."""

    def compose_box(self) -> ComposeResult:
        rows = ((Text.assemble((f"{each.name:10}", "bold"), (each.help, DIM)), each.name) for each in ALL_FORMATS)
        yield RowList(*(Option(*row) for row in rows))
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
        yield Static(id="answer", markup=False)

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

    def action_around(self) -> None:
        """Limit the time to that around the cursor, or clear the limits."""
        since, until = self.query_one("#from", Input), self.query_one("#until", Input)
        if since.value or until.value:
            since.value = until.value = ""
        else:
            since.value = format_us(max(0, round(self._now_us, -3) - _AROUND_US))
            until.value = format_us(round(self._now_us, -3) + _AROUND_US)

    def make(self, path: Path) -> str:
        as_format, options = self._ordered
        with closing(open_recording(self._recording)) as store:
            size = write_file(as_format, read_excerpt(store, options, self.on_progress), path)
        return f"exported to {path.absolute()} ({size:,} bytes)"

    def _begin(self) -> None:
        """Check the input and start the export."""
        try:
            since_us, until_us = self._time("#from"), self._time("#until")
            options = ExportOptions(since_us, until_us, self._nodes_named(), self._heartbeats)
            self._ordered = self._format, options
            path = Path(self.query_one("#file", Input).value.strip()).expanduser()
            if path.resolve() == self._recording.resolve():
                self.show_text(f"{path} is the recording itself; type another name", warn=True)
            else:
                self.begin(path)
        except (OSError, RuntimeError, ValueError) as error:
            self.show_text(str(error), warn=True)

    def _time(self, named: str) -> int | None:
        text = self.query_one(named, Input).value.strip()
        return parse_us(text) if text else None

    def _nodes_named(self) -> tuple[int, ...]:
        text = self.query_one("#nodes", Input).value.strip()
        return parse_nodes(text) if text else ()

    def _default_name(self) -> str:
        return default_path(self._recording, self._format, Path()).name
