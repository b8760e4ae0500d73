"""A stack of runs: branches and recordings opened from a run, and the way back."""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import SystemCommand
from textual.screen import Screen

from lab.glyphs import glyphs_for
from lab.recording.lineage import LineageTree
from lab.recording.reader import NotARecordingError
from lab.recording.records import Header
from lab.tui.controllers.branching import Branched, BranchedRun, Left, TreeDialog, TreeWanted
from lab.tui.controllers.layout import LayoutSettings, read_layout_settings, write_layout_settings
from lab.tui.controllers.writing import ScenarioRequested, WriteDialog
from lab.tui.screen import RunScreen
from lab.tui.source import FileSource, Source
from lab.tui.terminal.styles import ThemeStyles
from lab.tui.terminal.terminal_app import TerminalApp, default_theme
from lab.worlds.host.launch import HostFailedError

if TYPE_CHECKING:
    from lab.exercises.exercise import Exercise


class RunsApp(TerminalApp[None]):
    """An application that shows runs on a stack of screens.

    A subclass provides the lowest screen, and ``leave_lowest`` to leave it. ``recorded`` are the recordings of the
    branches begun here. ``kept`` is the file of the user's layout settings; without it, defaults are used and
    nothing is saved.
    """

    def __init__(self, kept: Path | None) -> None:
        super().__init__()
        self._kept = kept
        self.layout_settings = LayoutSettings() if kept is None else read_layout_settings(kept)
        if self.layout_settings.theme in self.available_themes:
            self.theme = self.layout_settings.theme
        self.recorded: list[Path] = []
        self.theme_styles = ThemeStyles(glyphs_for())
        self._opened: list[tuple[Source, BranchedRun | None]] = []
        self._is_branching = False

    async def leave_lowest(self, message: Left) -> None:
        """Leave the lowest run."""
        raise NotImplementedError

    def exercise_of(self, header: Header) -> "Exercise | None":
        """Return the exercise of a run, if it is one of the built-in exercises."""
        if header.exercise is None:
            return None
        from lab.exercises.exercise_reader import ExerciseError, find_exercise  # noqa: PLC0415 - rarely needed

        try:
            return find_exercise(header.exercise.name)
        except ExerciseError:
            return None

    def assess(self, source: Source) -> None:
        """Make a source assess its exercise, before it reads any record. A branch does not count as an attempt."""
        header = source.store.header
        exercise = self.exercise_of(header) if header.parent is None else None
        if exercise is not None:
            source.assess(exercise)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Yield an entry of the command palette for every available action."""
        if isinstance(screen, RunScreen):
            for action in screen.actions():
                yield SystemCommand(
                    f"{action.word}  {action.shown}", action.help, partial(screen.action_do, action.word)
                )

    def on_unmount(self) -> None:
        while self._opened:
            self._close()
        if self._kept is not None:
            self.layout_settings.theme = "" if self.theme == default_theme(os.environ) else self.theme
            write_layout_settings(self._kept, self.layout_settings)

    # messages from screens

    @on(Branched)
    def begin_branch(self, message: Branched) -> None:
        """Branch from a record and show the branch on top of its parent."""
        if message.source.recording is None:
            message.show_message(
                "the file of this run's recording is not known here, so it cannot be branched", True
            )
            return
        message.show_message(f"branching from record {message.record} …", False)
        self.run_worker(self._branch(message, message.source.recording))

    @on(TreeWanted)
    def show_tree(self, message: TreeWanted) -> None:
        """Show the tree of recordings; open the chosen one on top of this run."""
        if message.source.recording is None:
            message.show_message("the file of this run's recording is not known here", True)
            return

        def chosen(tree: LineageTree | None) -> None:
            if tree is not None:
                self.run_worker(self._open_recording(tree, message))

        self.push_screen(TreeDialog(message.source.recording, self.theme_styles), chosen)

    @on(ScenarioRequested)
    def write_scenario(self, message: ScenarioRequested) -> None:
        """Ask for a file and write the run to it as a scenario."""
        if message.source.recording is None:
            message.show_message("the file of this run's recording is not known here", True)
            return

        def on_written(text: str | None) -> None:
            if text is not None:
                message.show_message(text, False)

        self.push_screen(WriteDialog(message.source.recording, self.theme_styles), on_written)

    @on(Left)
    async def leave(self, message: Left) -> None:
        """Go back to the screen below, or leave the lowest one."""
        if self._is_branching:
            message.show_message("the branch is starting; press q again once it is shown")
            return
        if not self._opened:
            await self.leave_lowest(message)
            return
        if isinstance(self.screen, RunScreen):
            self.screen.is_ready = False
        await self.pop_screen()
        self._close()
        if isinstance(self.screen, RunScreen):
            self.screen.show_message(f"back in {self.screen.run_name}")

    async def _branch(self, message: Branched, parent: Path) -> None:
        try:
            run = BranchedRun(message.source, parent, message.record)
        except OSError as error:
            message.show_message(f"no branch: {error}", True)
            return
        self._is_branching = True
        try:
            source = await run.opened()
        except (HostFailedError, OSError) as error:
            run.end()
            message.show_message(f"no branch: {error}", True)
            return
        finally:
            self._is_branching = False
        self.recorded.append(run.recording)
        await self._push_run(source, run, source.store.header.run, None)

    async def _open_recording(self, tree: LineageTree, message: TreeWanted) -> None:
        try:
            source = FileSource(tree.path)
        except NotARecordingError as error:
            message.show_message(str(error), True)
            return
        parent = source.store.header.parent
        await self._push_run(source, None, tree.path.name, None if parent is None else parent.record)

    async def _push_run(self, source: Source, run: BranchedRun | None, title: str, at: int | None) -> None:
        self._opened.append((source, run))
        self.assess(source)
        self.theme_styles.dark = self.current_theme.dark
        await self.push_screen(RunScreen(source, self.theme_styles, title, at, layout=self.layout_settings))

    def _close(self) -> None:
        source, run = self._opened.pop()
        source.close()
        if run is not None:
            run.end()
