"""The application: one screen over one source."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from textual.app import ComposeResult, SystemCommand
from textual.screen import Screen
from textual.widgets import Static

from lab.tui.look import Look, glyphs_for
from lab.tui.screen import RunScreen
from lab.tui.source import Source
from lab.tui.terminalapp import TerminalApp

__all__ = ["LabApp"]


class LabApp(TerminalApp[None]):
    """``open_source`` is awaited once the application runs; what it raises ends the application."""

    def __init__(self, open_source: Callable[[], Awaitable[Source]], title: str) -> None:
        super().__init__()
        self._open_source = open_source
        self._run_name = title
        self.source: Source | None = None
        self.failure: Exception | None = None

    def compose(self) -> ComposeResult:
        """What is seen until the source is open."""
        yield Static(f"starting {self._run_name} …", markup=False)

    def on_mount(self) -> None:
        """Open the source, and show it."""
        self.run_worker(self._open())

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The command palette: every action that applies, to be found by name and clicked."""
        if isinstance(screen, RunScreen):
            for action in screen.actions():
                yield SystemCommand(
                    f"{action.word}  {action.shown}", action.help, partial(screen.action_do, action.word)
                )

    def on_unmount(self) -> None:
        """Leave the source."""
        if self.source is not None:
            self.source.close()

    async def _open(self) -> None:
        try:
            self.source = await self._open_source()
        except Exception as error:
            self.failure = error
            self.exit(return_code=1)
            return
        await self.push_screen(RunScreen(self.source, Look(glyphs_for()), self._run_name))
