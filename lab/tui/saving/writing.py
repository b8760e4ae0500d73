"""Writing what was done in a run as a scenario: the dialog that asks for the file, works, and says where it is."""

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
from lab.scenario.recorded import UnfitError, make_scenario
from lab.scenario.writing import Source as Recording
from lab.text import sanitize
from lab.tui.dialog import Dialog
from lab.tui.run.source import Source
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.worlds.targets import TargetError

__all__ = ["ScenarioWanted", "WriteDialog"]

_ASKED = "Enter writes it, Esc leaves; lab scenario from RECORDING --shrink makes a shorter one"


class ScenarioWanted(Message):
    """Write the source's run as a scenario; ``say`` tells the user what came of it."""

    def __init__(self, source: Source, say: Callable[[str, bool], object]) -> None:
        super().__init__()
        self.source = source
        self.say = say


class _LeftError(Exception):
    """Nobody waits for the scenario any more."""


class WriteDialog(Dialog[str | None]):
    """The result is what there is to say of the file that was written, or None where none was."""

    DEFAULT_CSS = """
    WriteDialog Static { height: auto; max-height: 6; margin-top: 1; }
    """

    def __init__(self, recording: Path, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._recording = recording
        self._look = theme_styles
        self._refused: Path | None = None
        self._told = "reading the recording …"
        self._left = threading.Event()

    def compose(self) -> ComposeResult:
        """The name of the file, and what there is to say of it."""
        with Vertical() as box:
            box.border_title = "write what was done as a scenario, in the file"
            box.border_subtitle = "Esc closes"
            yield Input(f"{self._recording.stem}{SUFFIX}", select_on_focus=False)
            yield Static(_ASKED, markup=False)

    def on_input_changed(self) -> None:
        """Another name is another file."""
        self._refused = None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter; a file that is there already is not written over before it is pressed again."""
        try:
            path = Path(event.value.strip()).expanduser()
            path = path if path.suffix or not path.name else path.with_suffix(SUFFIX)
            is_folder, is_there = path.is_dir(), path.exists()
        except (OSError, RuntimeError, ValueError) as error:
            self._say(f"{event.value} cannot be written: {_why(error)}; name another file", warn=True)
            return
        if not path.name:
            self._say("write the name of a file, or leave with Esc", warn=True)
        elif is_folder:
            self._say(f"{path} is a folder; write the name of a file", warn=True)
        elif is_there and path != self._refused:
            self._refused = path
            self._say(f"{path} is there already: Enter again writes over it, another name keeps it", warn=True)
        else:
            self._write(path)

    def action_leave(self) -> None:
        """Close, with nothing written."""
        self._left.set()
        self.dismiss(None)

    def on_unmount(self) -> None:
        """Whatever ends this, the work ends when it next tells how far it is."""
        self._left.set()

    @work(exclusive=True)
    async def _write(self, path: Path) -> None:
        self.query_one(Input).disabled = True
        progress = self.set_interval(0.1, lambda: self._say(self._told))
        try:
            said = await asyncio.to_thread(self._written, path)
        except _LeftError:
            return
        except (NotARecordingError, UnfitError, TargetError) as error:
            self._again(str(error))
        except (OSError, ValueError) as error:  # of which one is for a NUL in the name
            self._again(f"{path} cannot be written: {_why(error)}")
        else:
            self.dismiss(said)
        finally:
            progress.stop()

    def _written(self, path: Path) -> str:
        """In a thread: it shows nothing itself, as the interface may have gone by then."""
        made = make_scenario(Recording(self._recording, folder=path.parent), False, self._tell)
        path.write_text(made.text, "utf-8")
        doubts = "".join(f"; but {doubt}" for doubt in made.doubts[:1])
        return f"written to {path.absolute()}; lab run {path} runs it{doubts}"

    def _tell(self, said: str) -> None:
        if self._left.is_set():
            raise _LeftError
        self._told = said

    def _again(self, said: str) -> None:
        self._say(said, warn=True)
        self.query_one(Input).disabled = False
        self.query_one(Input).focus()

    def _say(self, said: str, warn: bool = False) -> None:
        style = self._look.warning if warn else self._look.accent
        self.query_one(Static).update(Text(sanitize(said, 400), style))


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
