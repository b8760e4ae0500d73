"""The application: one screen over one source, and a clean end whatever ends it."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

from textual.app import App, ComposeResult
from textual.filter import Monochrome, NoColor
from textual.widgets import Static

from lab.tui.look import Look, glyphs_for
from lab.tui.screen import RunScreen
from lab.tui.source import Source

__all__ = ["LabApp"]


class LabApp(App[None]):
    """``open_source`` is awaited once the application runs; what it raises ends the application."""

    TITLE = "lab"
    ENABLE_COMMAND_PALETTE = True
    CSS = "* { scrollbar-size-vertical: 1; }"

    def __init__(self, open_source: Callable[[], Awaitable[Source]], title: str) -> None:
        super().__init__()
        # Textual's own way of having no colour is to write shades of grey
        self._filters = [NoColor() if isinstance(each, Monochrome) else each for each in self._filters]
        self._open_source = open_source
        self._run_name = title
        self.source: Source | None = None
        self.failure: Exception | None = None
        self._parent_pid = os.getppid()

    def compose(self) -> ComposeResult:
        """What is seen until the source is open."""
        yield Static(f"starting {self._run_name} …", markup=False)

    async def on_mount(self) -> None:
        """Open the source, and show it."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            loop.add_signal_handler(number, self.exit, None, 128 + number)
        # when the parent is killed the shell takes the terminal back; it is put right all the same
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self.set_interval(1.0, self._watch_parent)
        self.run_worker(self._open())

    async def _open(self) -> None:
        try:
            self.source = await self._open_source()
        except Exception as error:
            self.failure = error
            self.exit(return_code=1)
            return
        await self.push_screen(RunScreen(self.source, Look(glyphs_for()), self._run_name))

    def action_help_quit(self) -> None:
        """Ctrl-C, which a raw terminal sends as a key; Textual only says there how to quit."""
        self.exit(return_code=128 + signal.SIGINT)

    def on_unmount(self) -> None:
        """Leave the source."""
        if self.source is not None:
            self.source.close()

    def _watch_parent(self) -> None:
        if os.getppid() != self._parent_pid:
            self.exit(return_code=1)
