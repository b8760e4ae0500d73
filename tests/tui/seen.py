"""The interface under a pilot: press its keys, click on it, read what it shows.

Textual needs asyncio, and this test run has trio: so a test hands over what it wants to do as a function.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from lab.properties.declarations import Declared
from lab.tui.apps.runs_app import LabApp, RunsApp
from lab.tui.player import Player
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource, FileSource, Source
from lab.tui.user_keys import UserKeys
from lab.tui.widgets.status_lines import Line, TitleLine
from lab.worlds.launch import HostProcess
from lab.worlds.loading.config import HostReady, RunConfig
from lab.worlds.watchdog import stop_watching
from tests.profile import SOAK
from tests.tui.recorded import SHIPPED
from tests.waiting import WAIT_S

__all__ = ["Seen", "attached", "over", "replay", "replay_in_sizes", "served"]

W = TypeVar("W", bound=Widget)
Test = Callable[["Seen"], Awaitable[None]]


class Seen:
    """The interface under test: its screen and its keys."""

    def __init__(self, app: RunsApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def run(self) -> RunScreen:
        """The topmost screen of a run, below any dialog."""
        return next(screen for screen in reversed(self.app.screen_stack) if isinstance(screen, RunScreen))

    @property
    def top(self) -> Screen[object]:
        """The screen that has the focus."""
        return self.app.screen

    @property
    def player(self) -> Player:
        return self.run.context.player

    @property
    def source(self) -> Source:
        return self.run.context.source

    def selected(self) -> int | None:
        return self.run.context.selected

    @property
    def text(self) -> str:
        """The text of the whole screen."""
        strips = self.top._compositor.render_strips(self.app.size)
        return "\n".join(strip.text for strip in strips)

    @property
    def is_blank(self) -> bool:
        """Whether the screen that has the focus, if there is one, has not been laid out yet."""
        return any(screen._compositor.root is None for screen in self.app.screen_stack[-1:])

    @property
    def view(self) -> str:
        """The text of the chosen view alone."""
        region = self.run.views.widget.region
        rows = self.run._compositor.render_strips(self.app.size)[region.y : region.bottom]
        return "\n".join(row.crop(region.x, region.right).text for row in rows)

    @property
    def message(self) -> str:
        """The text of the message line."""
        return self.line("#message")

    @property
    def leaders(self) -> str:
        """The text of the leader line."""
        return self.line("#headline")

    def line(self, selector: str) -> str:
        """Return the text of a line, even below a dialog."""
        return self.of(selector, TitleLine if selector != "#headline" else Line)._shown.plain

    def of(self, selector: str, kind: type[W]) -> W:
        """Return a widget of the run's screen."""
        return self.run.query_one(selector, kind)

    async def drawn(self) -> None:
        """Wait until the run is shown."""
        await self.until(lambda: any(isinstance(each, RunScreen) for each in self.app.screen_stack), "a run")
        await self.until(lambda: self.run.query("#message") and self.message.strip(), "the first frame")

    async def paused_at_start(self) -> None:
        """Wait until all marks of a recording are found, and go to its first record."""
        await self.drawn()
        await self.until(lambda: all(worker.is_finished for worker in self.app.workers), "the marks are found")
        await self.press("home")

    async def press(self, *keys: str) -> None:
        """Press keys and wait for their effect. ``:heartbeats`` is typed on the command line."""
        for key in keys:
            await self.pilot.press(*(["colon", *map(_name, key[1:]), "enter"] if key[:1] == ":" != key else [key]))
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Press the keys of a text, and wait for the effect of all."""
        await self.pilot.press(*map(_name, text))
        await self.pilot.pause()

    async def until(self, condition: Callable[[], object], what: str, within_s: float = WAIT_S) -> None:
        """Wait until the condition is true, and the screen that has the focus is laid out."""
        ends = time.monotonic() + within_s
        while not condition() or self.is_blank:
            if time.monotonic() > ends:
                raise AssertionError(f"not within {within_s:g} s: {what}\n{self.text}")
            await self.pilot.pause(0.02)

    async def until_message(self, text: str) -> None:
        """Wait until the message line contains this text."""
        await self.until(lambda: text in self.message, f"the line says {text!r}")


_KEY_OF = {" ": "space", "|": "vertical_line", "%": "percent_sign", "-": "minus"}


def _name(letter: str) -> str:
    return _KEY_OF.get(letter, letter)


def over(
    opened: Callable[[], Awaitable[Source]],
    test: Test,
    size: tuple[int, int] = (120, 40),
    keys: UserKeys | None = None,
) -> LabApp:
    """Run the interface over a source and the test in it; exceptions of both are raised."""

    async def run() -> LabApp:
        app = LabApp(opened, "test")
        app.user_keys = keys or UserKeys()
        async with app.run_test(size=size) as pilot:
            seen = Seen(app, pilot)
            await seen.drawn()
            await test(seen)
        return app

    stop_watching()  # of simulations of this test: the signal could come while the event loop is closed
    return asyncio.run(run())


def replay(
    test: Test,
    path: Path = SHIPPED,
    size: tuple[int, int] = (120, 40),
    properties: tuple[Declared, ...] = (),
    keys: UserKeys | None = None,
) -> LabApp:
    """Run a test over a recording, paused at its first record, with all its marks found."""

    async def opened() -> Source:
        return FileSource(path, properties)

    async def paused(seen: Seen) -> None:
        await seen.paused_at_start()
        await test(seen)

    return over(opened, paused, size, keys)


def replay_in_sizes(test: Test, sizes: Sequence[tuple[int, int]], path: Path = SHIPPED) -> None:
    """Run a test in one interface at one size after the other, from the first record and in the first view.

    The profile ``quick`` tries the first and the last of the sizes.
    """
    tried = sizes if SOAK else (sizes[0], sizes[-1])

    async def resized(seen: Seen) -> None:
        chosen = seen.run.views.chosen
        for size in tried:
            await seen.pilot.resize_terminal(*size)
            await seen.press("escape", "escape", "home")
            if seen.run.views.chosen != chosen:
                seen.run.layout_controller.show_view(chosen)
                await seen.pilot.pause()
            try:
                await test(seen)
            except AssertionError as error:
                error.add_note(f"at {size[0]}x{size[1]}")
                raise

    replay(resized, path, sizes[0])


@contextlib.contextmanager
def served(config: RunConfig) -> Iterator[HostReady]:
    """Run a host that serves its feed."""
    process = HostProcess(config)
    try:
        yield process.ready()
    finally:
        process.end()
        process.close()


def attached(test: Test, socket: str, role: Literal["driver", "viewer"] = "driver") -> LabApp:
    """Run a test over the host with this socket."""
    return over(lambda: FeedSource.open(socket, role), test)
