"""Show the interface for a run, a recording or the home screen, and return the exit status."""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from lab.places import settings_file
from lab.tui.home_screen import HomeApp
from lab.tui.lab_app import LabApp
from lab.tui.run.source import FeedSource, FileSource, Source
from lab.worlds.config import HostReady
from lab.worlds.host.launch import HostFailedError

__all__ = ["show_feed", "show_home", "show_recording", "show_run"]


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
