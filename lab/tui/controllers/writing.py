"""The dialog that writes a run as a scenario: it asks for the file and shows the progress."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from lab.recording.reader import NotARecordingError
from lab.scenario.file import SUFFIX
from lab.scenario.from_recording import UnsuitableRecordingError, make_scenario
from lab.scenario.writing import ScenarioSource
from lab.text import sanitize
from lab.tui.source import Source
from lab.tui.terminal.styles import ThemeStyles
from lab.tui.widgets.dialogs import Dialog
from lab.worlds.loading.targets import TargetError

_ASKED = "Enter writes the file, Esc closes; lab scenario from RECORDING --shrink makes a shorter one"


class ScenarioRequested(Message):
    """Write the source's run as a scenario; ``show_message`` shows the user the result."""

    def __init__(self, source: Source, show_message: Callable[[str, bool], object]) -> None:
        super().__init__()
        self.source = source
        self.show_message = show_message


class _CancelledError(Exception):
    """The dialog was closed, so the work is cancelled."""


class WriteDialog(Dialog[str | None]):
    """A dialog whose result is a message about the written file, or None."""

    DEFAULT_CSS = """
    WriteDialog Static { height: auto; max-height: 6; margin-top: 1; }
    """

    def __init__(self, recording: Path, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._recording = recording
        self._theme_styles = theme_styles
        self._exists_warned: Path | None = None
        self._progress = "reading the recording …"
        self._cancelled = threading.Event()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "write this run as a scenario to the file"
            box.border_subtitle = "Esc closes"
            yield Input(f"{self._recording.stem}{SUFFIX}", select_on_focus=False)
            yield Static(_ASKED, markup=False)

    def on_input_changed(self) -> None:
        self._exists_warned = None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Write the file; overwrite an existing one only when Enter is pressed again."""
        try:
            path = Path(event.value.strip()).expanduser()
            path = path if path.suffix or not path.name else path.with_suffix(SUFFIX)
            is_folder, exists = path.is_dir(), path.exists()
        except (OSError, RuntimeError, ValueError) as error:
            self._show_text(f"{event.value} cannot be written: {_reason(error)}; type another name", warn=True)
            return
        if not path.name:
            self._show_text("type the name of a file, or press Esc to close", warn=True)
        elif is_folder:
            self._show_text(f"{path} is a folder; type the name of a file", warn=True)
        elif exists and path != self._exists_warned:
            self._exists_warned = path
            self._show_text(f"{path} exists: press Enter again to overwrite it, or type another name", warn=True)
        else:
            self._write(path)

    def action_leave(self) -> None:
        self._cancelled.set()
        self.dismiss(None)

    def on_unmount(self) -> None:
        """Cancel the work: its thread stops when it next reports progress."""
        self._cancelled.set()

    @work(exclusive=True)
    async def _write(self, path: Path) -> None:
        self.query_one(Input).disabled = True
        progress = self.set_interval(0.1, lambda: self._show_text(self._progress))
        try:
            message = await asyncio.to_thread(self._make, path)
        except _CancelledError:
            return
        except (NotARecordingError, UnsuitableRecordingError, TargetError) as error:
            self._retry(str(error))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            self._retry(f"{path} cannot be written: {_reason(error)}")
        else:
            self.dismiss(message)
        finally:
            progress.stop()

    def _make(self, path: Path) -> str:
        """Write the scenario in a thread; it must not touch widgets, which may be gone by then."""
        made = make_scenario(ScenarioSource(self._recording, folder=path.parent), False, self._on_progress)
        path.write_text(made.text, "utf-8")
        doubts = "".join(f"; but {doubt}" for doubt in made.doubts[:1])
        return f"written to {path.absolute()}; lab run {path} runs it{doubts}"

    def _on_progress(self, text: str) -> None:
        if self._cancelled.is_set():
            raise _CancelledError
        self._progress = text

    def _retry(self, error: str) -> None:
        self._show_text(error, warn=True)
        self.query_one(Input).disabled = False
        self.query_one(Input).focus()

    def _show_text(self, text: str, warn: bool = False) -> None:
        style = self._theme_styles.warning if warn else self._theme_styles.accent
        self.query_one(Static).update(Text(sanitize(text, 400), style))


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
