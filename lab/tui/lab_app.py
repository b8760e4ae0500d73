"""The application for one run or recording, which may not have started yet, and what shows it."""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from textual.app import ComposeResult
from textual.widgets import Static

from lab.places import settings_file
from lab.tui.availability import takes_commands
from lab.tui.controllers.branching import Left
from lab.tui.home_app import HomeApp
from lab.tui.replies import opening_hint
from lab.tui.runs_app import RunsApp
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource, FileSource, Source
from lab.worlds.host.launch import HostFailedError
from lab.worlds.loading.config import HostReady


class LabApp(RunsApp):
    """The application over one source.

    ``open_source`` is awaited once the application runs; an exception from it ends the application and is kept in
    ``failure``. ``first`` is an action to begin with, as (word, argument).
    """

    def __init__(
        self,
        open_source: Callable[[], Awaitable[Source]],
        title: str,
        first: tuple[str, str] | None = None,
        kept: Path | None = None,
    ) -> None:
        super().__init__(kept)
        self._open_source = open_source
        self._run_name = title
        self._first = first
        self.source: Source | None = None
        self.failure: Exception | None = None

    def compose(self) -> ComposeResult:
        yield Static(f"starting {self._run_name} …", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._open())

    def on_unmount(self) -> None:
        if self.source is not None:
            self.source.close()

    async def leave_lowest(self, message: Left) -> None:
        self.exit(return_code=0)

    async def _open(self) -> None:
        try:
            self.source = await self._open_source()
        except Exception as error:
            self.failure = error
            self.exit(return_code=1)
            return
        self.assess(self.source)
        self.theme_styles.dark = self.current_theme.dark
        screen = RunScreen(self.source, self.theme_styles, self._run_name, layout=self.layout_settings)
        await self.push_screen(screen)
        if self._first is not None:
            screen.action_do(*self._first)
        elif self._kept is not None and not self.layout_settings.tour_offered and takes_commands(self.source):
            screen.show_message(f"{opening_hint(self.source)}; new here? :tour shows you around, in five steps")
            self.layout_settings.tour_offered = True


def show_run(ready: Callable[[], HostReady], title: str, tour: bool = False) -> int:
    """Show a run whose host is starting; ``ready`` blocks until it serves. ``tour`` starts the tour too."""

    async def opened() -> Source:
        found = await asyncio.to_thread(ready)
        return await FeedSource.open(found.socket, "driver")

    return _show(opened, title, ("tour", "") if tour else None)


def show_feed(path: str, title: str, role: Literal["driver", "viewer"]) -> int:
    """Attach to a running host by its feed's socket path."""
    return _show(lambda: FeedSource.open(path, role), title)


def show_recording(path: Path, other: Path | None = None) -> int:
    """Show a recording, and if ``other`` is given, compare it with that one."""

    async def opened() -> Source:
        return FileSource(path)

    return _show(opened, path.name, None if other is None else ("compare", str(other)))


def show_home(entries: list[tuple[str, str]]) -> tuple[int | None, int]:
    """Show the home screen with (group, text) entries; return (index of the chosen one or None, exit status)."""
    app = HomeApp(entries)
    chosen = app.run()
    return chosen, app.return_code or 0


def _show(opened: Callable[[], Awaitable[Source]], title: str, first: tuple[str, str] | None = None) -> int:
    app = LabApp(opened, title, first, settings_file())
    gc.freeze()
    app.run()
    for recording in app.recorded:
        print(f"branch recorded: {recording}")
    if app.failure is not None:
        known = isinstance(app.failure, HostFailedError | OSError)
        print(f"lab: {app.failure if known else repr(app.failure)}", file=sys.stderr)
        return 1
    return app.return_code or 0
