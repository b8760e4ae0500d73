"""The application: a screen over a source, and over that those that are opened from it: branches, recordings."""

import os
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from textual import on
from textual.app import ComposeResult, SystemCommand
from textual.screen import Screen
from textual.widgets import Static

from lab.glyphs import glyphs_for
from lab.journal import NotARecordingError, Twig
from lab.tui.answers import first_hint
from lab.tui.frame.layout import Layout, read_layout, write_layout
from lab.tui.moving.branching import Branched, BranchedRun, Left, TreeDialog, TreeWanted
from lab.tui.offers import takes_commands
from lab.tui.run.source import FileSource, Source
from lab.tui.saving.writing import ScenarioWanted, WriteDialog
from lab.tui.screen import RunScreen
from lab.tui.terminal.app import TerminalApp
from lab.tui.terminal.look import Look
from lab.tui.terminal.themes import first_theme
from lab.worlds.host.launch import HostFailedError

__all__ = ["LabApp"]


class LabApp(TerminalApp[None]):
    """``open_source`` is awaited once the application runs; what it raises ends the application.

    ``first`` is an action that it begins with, and what would be typed after its word.
    ``recorded`` are the recordings of the branches that were begun in it. ``kept`` is the file in which the user's
    arrangement is kept from run to run; without it everything is as at first.
    """

    def __init__(
        self,
        open_source: Callable[[], Awaitable[Source]],
        title: str,
        first: tuple[str, str] | None = None,
        kept: Path | None = None,
    ) -> None:
        super().__init__()
        self._kept = kept
        self.layout_kept = Layout() if kept is None else read_layout(kept)
        if self.layout_kept.theme in self.available_themes:
            self.theme = self.layout_kept.theme
        self._open_source = open_source
        self._run_name = title
        self._first = first
        self.source: Source | None = None
        self.recorded: list[Path] = []
        self._look = Look(glyphs_for())
        self._opened: list[tuple[Source, BranchedRun | None]] = []
        self._making = False
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
        """Leave all sources."""
        while self._opened:
            self._close()
        if self.source is not None:
            self.source.close()
        if self._kept is not None:
            self.layout_kept.theme = "" if self.theme == first_theme(os.environ) else self.theme
            write_layout(self._kept, self.layout_kept)

    # what screens ask for

    @on(Branched)
    def begin_branch(self, message: Branched) -> None:
        """Go on from a record, over what was branched."""
        if message.source.recording is None:
            message.say("the file of this run's recording is not known here, so it cannot be branched", True)
            return
        message.say(f"branching from record {message.record} …", False)
        self.run_worker(self._branch(message, message.source.recording))

    @on(TreeWanted)
    def show_tree(self, message: TreeWanted) -> None:
        """The tree of recordings; the chosen one is opened over this one."""
        if message.source.recording is None:
            message.say("the file of this run's recording is not known here", True)
            return

        def chosen(twig: Twig | None) -> None:
            if twig is not None:
                self.run_worker(self._look_into(twig, message))

        self.push_screen(TreeDialog(message.source.recording, self._look), chosen)

    @on(ScenarioWanted)
    def write_scenario(self, message: ScenarioWanted) -> None:
        """Ask for a file, and write what was done into it."""
        if message.source.recording is None:
            message.say("the file of this run's recording is not known here", True)
            return

        def written(said: str | None) -> None:
            if said is not None:
                message.say(said, False)

        self.push_screen(WriteDialog(message.source.recording, self._look), written)

    @on(Left)
    async def leave(self, message: Left) -> None:
        """Back to what is below; from the lowest screen, out."""
        if self._making:
            message.say("the branch is being made; q leaves it, once it is there")
            return
        if not self._opened:
            self.exit(return_code=0)
            return
        if isinstance(self.screen, RunScreen):
            self.screen.is_up = False
        await self.pop_screen()
        self._close()
        if isinstance(self.screen, RunScreen):
            self.screen.say(f"back in {self.screen.run_name}")

    async def _open(self) -> None:
        try:
            self.source = await self._open_source()
        except Exception as error:
            self.failure = error
            self.exit(return_code=1)
            return
        self._look.dark = self.current_theme.dark
        screen = RunScreen(self.source, self._look, self._run_name, layout=self.layout_kept)
        await self.push_screen(screen)
        if self._first is not None:
            screen.action_do(*self._first)
        elif self._kept is not None and not self.layout_kept.tour_offered and takes_commands(self.source):
            screen.say(f"{first_hint(self.source)}; new here? :tour shows you around, in five steps")
            self.layout_kept.tour_offered = True

    async def _branch(self, message: Branched, parent: Path) -> None:
        try:
            run = BranchedRun(message.source, parent, message.record)
        except OSError as error:
            message.say(f"no branch: {error}", True)
            return
        self._making = True
        try:
            source = await run.opened()
        except (HostFailedError, OSError) as error:
            run.end()
            message.say(f"no branch: {error}", True)
            return
        finally:
            self._making = False
        self.recorded.append(run.recording)
        await self._put(source, run, source.lines.header.run, None)

    async def _look_into(self, twig: Twig, message: TreeWanted) -> None:
        try:
            source = FileSource(twig.path)
        except NotARecordingError as error:
            message.say(str(error), True)
            return
        parent = source.lines.header.parent
        await self._put(source, None, twig.path.name, None if parent is None else parent.record)

    async def _put(self, source: Source, run: BranchedRun | None, title: str, at: int | None) -> None:
        self._opened.append((source, run))
        self._look.dark = self.current_theme.dark
        await self.push_screen(RunScreen(source, self._look, title, at, layout=self.layout_kept))

    def _close(self) -> None:
        source, run = self._opened.pop()
        source.close()
        if run is not None:
            run.end()
