"""Starting the interface over a run or a recording. Each returns the exit status."""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from lab.places import settings_file
from lab.tui.app import LabApp
from lab.tui.home import HomeApp
from lab.tui.run.source import FeedSource, FileSource, Source
from lab.worlds.config import Ready
from lab.worlds.host.launch import HostFailedError

__all__ = ["show_feed", "show_home", "show_recording", "show_run"]


def show_run(ready: Callable[[], Ready], title: str, tour: bool = False) -> int:
    """Over a host that is starting, perhaps with the tour; ``ready`` blocks until it serves."""

    async def opened() -> Source:
        found = await asyncio.to_thread(ready)
        return await FeedSource.open(found.socket, "driver")

    return _show(opened, title, ("tour", "") if tour else None)


def show_feed(path: str, title: str, role: Literal["driver", "viewer"]) -> int:
    """Over a host that is running."""
    return _show(lambda: FeedSource.open(path, role), title)


def show_recording(path: Path, beside: Path | None = None) -> int:
    """Over a recording, perhaps with another one beside it."""

    async def opened() -> Source:
        return FileSource(path)

    return _show(opened, path.name, None if beside is None else ("beside", str(beside)))


def show_home(entries: list[tuple[str, str]]) -> tuple[int | None, int]:
    """The home screen over (group, what it says): (place of the chosen one, or None; the exit status)."""
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
