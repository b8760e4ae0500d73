"""Exporting from the interface: the dialog asks for what, as what and where, and shows how far it is."""

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

from lab.export.excerpt import ExportError, Wanted, excerpt_of, nodes_in
from lab.export.files import file_for, write_file
from lab.export.formats import Format
from lab.recording.reader import NotARecordingError, open_recording
from lab.text import did_you_mean, sanitize
from lab.tui.dialog import Dialog, frame
from lab.tui.saving.formats import ALL_FORMATS, format_named
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import format_us, parse_us

if TYPE_CHECKING:
    from lab.tui.deeds import Deed
    from lab.tui.screen import RunScreen

__all__ = ["ExportDialog", "exporting_deeds"]

_AROUND_US = 1_000_000
_ASKED = "Enter exports, Tab goes on, Esc leaves; space, in the list: only the time around the cursor, or all"


def exporting_deeds(screen: "RunScreen") -> "dict[str, Deed]":
    """To be asked; or at once, where the format, and perhaps the file, is typed after the word."""

    def export(rest: str) -> None:
        recording = screen.source.recording
        name, _, file = rest.partition(" ")
        chosen = format_named(name) if name else None
        if recording is None:
            screen.say("the file of this run's recording is not known here", warn=True)
        elif name and chosen is None:
            names = [each.name for each in ALL_FORMATS]
            screen.say(f"export {name}: expected one of {', '.join(names)}{did_you_mean(name, names)}", warn=True)
        else:
            dialog = ExportDialog(
                recording,
                screen.player.now_us,
                screen.views.rows.heartbeats,
                screen.theme_styles,
                chosen,
                file.strip(),
            )
            screen.app.push_screen(dialog, said)

    def said(text: str | None) -> None:
        if text is not None:
            screen.say(text)
            screen.tour.exported(text)

    return {"export": export}


class _LeftError(Exception):
    """Nobody waits for the file any more."""


class ExportDialog(Dialog[str | None]):
    """The result is what there is to say of the file that was written, or None where none was.

    With a format ``chosen`` it begins at once, and asks only what is wrong.
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
        self._look = theme_styles
        self._at_once = chosen is not None
        self._format = chosen or ALL_FORMATS[0]
        self._file = file or self._name_by_default()
        self._refused = ""
        self._told = ""
        self._left = threading.Event()

    def compose(self) -> ComposeResult:
        """The formats, the time, the nodes, the file, and what there is to say."""
        with Vertical() as box:
            box.border_title = "export this run, as far as it is recorded"
            frame(box, subtitle=f"{'with' if self._heartbeats else 'without'} heartbeats, as the log (f)")
            yield OptionList(*(Option(_said_of(each), each.name) for each in ALL_FORMATS))
            with Horizontal():
                yield Static("from")
                yield Input(placeholder="the start", id="from", classes="time")
                yield Static("until")
                yield Input(placeholder="the end", id="until", classes="time")
                yield Static(Text(f"the cursor is at {self._now_us / 1e6:.3f} s", DIM))
            with Horizontal():
                yield Static("nodes")
                yield Input(placeholder="all, or as 1,2,5", id="nodes")
            with Horizontal():
                yield Static("file")
                yield Input(self._file, id="file", select_on_focus=False)
            yield Static(_ASKED, id="answer", markup=False)

    def on_mount(self) -> None:
        """Begin in the list, or with the work."""
        formats = self.query_one(OptionList)
        formats.highlighted = ALL_FORMATS.index(self._format)
        formats.focus()
        if self._at_once:
            self._begin()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another format has another file, unless that was named."""
        named = self.query_one("#file", Input)
        was_default = named.value == self._name_by_default()
        self._format = format_named(event.option_id or "") or self._format
        if was_default:
            named.value = self._name_by_default()

    def on_option_list_option_selected(self) -> None:
        """Enter in the list."""
        self._begin()

    def on_input_submitted(self) -> None:
        """Enter in a line."""
        self._begin()

    def on_input_changed(self) -> None:
        """Another name is another file."""
        self._refused = ""

    def action_around(self) -> None:
        """Only the time around the cursor; or all, if it is that already."""
        since, until = self.query_one("#from", Input), self.query_one("#until", Input)
        if since.value or until.value:
            since.value = until.value = ""
        else:
            since.value = format_us(max(0, round(self._now_us, -3) - _AROUND_US))
            until.value = format_us(round(self._now_us, -3) + _AROUND_US)

    def action_leave(self) -> None:
        """Close, with nothing written."""
        self._left.set()
        self.dismiss(None)

    def on_unmount(self) -> None:
        """Whatever ends this, the work ends when it next tells how far it is."""
        self._left.set()

    def _begin(self) -> None:
        """A file that is there already is not written over before Enter is pressed again."""
        try:
            wanted = Wanted(self._time("#from"), self._time("#until"), self._nodes_named(), self._heartbeats)
            path = Path(self.query_one("#file", Input).value.strip()).expanduser()
            is_folder, is_there, real = path.is_dir(), path.exists(), path.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            self._say(str(error), warn=True)
            return
        if is_folder:
            self._say(f"{path} is a folder; write the name of a file", warn=True)
        elif real == self._recording.resolve():
            self._say(f"{path} is the recording itself; write another name", warn=True)
        elif is_there and str(path) != self._refused:
            self._refused = str(path)
            self._say(f"{path} is there already: Enter again writes over it, another name keeps it", warn=True)
        else:
            self._write(wanted, path)

    @work(exclusive=True)
    async def _write(self, wanted: Wanted, path: Path) -> None:
        box, self._told = self.query_one(Vertical), "reading the recording …"
        box.disabled = True
        progress = self.set_interval(0.1, lambda: self._say(self._told))
        try:
            said = await asyncio.to_thread(self._written, wanted, path)
        except _LeftError:
            return
        except (ExportError, NotARecordingError) as error:
            self._again(str(error))
        except (OSError, ValueError) as error:  # of which one is for a NUL in the name
            self._again(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}")
        else:
            self.dismiss(said)
        finally:
            progress.stop()

    def _written(self, wanted: Wanted, path: Path) -> str:
        """In a thread: it shows nothing itself, as the interface may have gone by then."""
        with closing(open_recording(self._recording)) as lines:
            size = write_file(self._format, excerpt_of(lines, wanted, self._tell), path)
        return f"exported to {path.absolute()} ({size:,} bytes)"

    def _tell(self, said: str) -> None:
        if self._left.is_set():
            raise _LeftError
        self._told = said

    def _again(self, said: str) -> None:
        self.query_one(Vertical).disabled = False
        self.query_one(OptionList).focus()
        self._say(said, warn=True)

    def _say(self, said: str, warn: bool = False) -> None:
        style = self._look.warning if warn else self._look.accent
        self.query_one("#answer", Static).update(Text(sanitize(said, 400), style))

    def _time(self, named: str) -> int | None:
        text = self.query_one(named, Input).value.strip()
        return parse_us(text) if text else None

    def _nodes_named(self) -> tuple[int, ...]:
        text = self.query_one("#nodes", Input).value.strip()
        return nodes_in(text) if text else ()

    def _name_by_default(self) -> str:
        return file_for(self._recording, self._format, Path()).name


def _said_of(each: Format) -> Text:
    return Text.assemble((f"{each.name:10}", "bold"), (each.help, DIM))
