"""Runs, one over the other: branches and recordings that are opened from a run, and the way back."""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import SystemCommand
from textual.screen import Screen

from lab.glyphs import glyphs_for
from lab.recording.lineage import Twig
from lab.recording.reader import NotARecordingError
from lab.recording.records import Header
from lab.tui.frame.layout import Layout, read_layout, write_layout
from lab.tui.moving.branching import Branched, BranchedRun, Left, TreeDialog, TreeWanted
from lab.tui.run.source import FileSource, Source
from lab.tui.saving.writing import ScenarioWanted, WriteDialog
from lab.tui.screen import RunScreen
from lab.tui.terminal.app import TerminalApp
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.terminal.themes import first_theme
from lab.worlds.host.launch import HostFailedError

if TYPE_CHECKING:
    from lab.exercises.exercise import Exercise

__all__ = ["RunsApp"]


class RunsApp(TerminalApp[None]):
    """What is under all others is for whoever derives from it: ``leave_lowest``.

    ``recorded`` are the recordings of the branches that were begun in it. ``kept`` is the file in which the user's
    arrangement is kept from run to run; without it everything is as at first.
    """

    def __init__(self, kept: Path | None) -> None:
        super().__init__()
        self._kept = kept
        self.layout_kept = Layout() if kept is None else read_layout(kept)
        if self.layout_kept.theme in self.available_themes:
            self.theme = self.layout_kept.theme
        self.recorded: list[Path] = []
        self.theme_styles = ThemeStyles(glyphs_for())
        self._opened: list[tuple[Source, BranchedRun | None]] = []
        self._making = False

    async def leave_lowest(self, message: Left) -> None:
        """Leave the run that the others were opened from."""
        raise NotImplementedError

    def exercise_of(self, header: Header) -> "Exercise | None":
        """The exercise that a run is of, as far as it is known here: one of those that come with the program."""
        if header.exercise is None:
            return None
        from lab.exercises.library import exercise_called  # noqa: PLC0415 - most runs are of none
        from lab.exercises.reading import ExerciseError  # noqa: PLC0415

        try:
            return exercise_called(header.exercise.name)
        except ExerciseError:
            return None

    def assess(self, source: Source) -> None:
        """Let a source tell what comes of its exercise, before it takes in any record. A branch is no attempt."""
        header = source.lines.header
        exercise = self.exercise_of(header) if header.parent is None else None
        if exercise is not None:
            source.assess(exercise)

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

        self.push_screen(TreeDialog(message.source.recording, self.theme_styles), chosen)

    @on(ScenarioWanted)
    def write_scenario(self, message: ScenarioWanted) -> None:
        """Ask for a file, and write what was done into it."""
        if message.source.recording is None:
            message.say("the file of this run's recording is not known here", True)
            return

        def written(said: str | None) -> None:
            if said is not None:
                message.say(said, False)

        self.push_screen(WriteDialog(message.source.recording, self.theme_styles), written)

    @on(Left)
    async def leave(self, message: Left) -> None:
        """Back to what is below; from the lowest screen, out."""
        if self._making:
            message.say("the branch is being made; q leaves it, once it is there")
            return
        if not self._opened:
            await self.leave_lowest(message)
            return
        if isinstance(self.screen, RunScreen):
            self.screen.is_up = False
        await self.pop_screen()
        self._close()
        if isinstance(self.screen, RunScreen):
            self.screen.say(f"back in {self.screen.run_name}")

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
        self.assess(source)
        self.theme_styles.dark = self.current_theme.dark
        await self.push_screen(RunScreen(source, self.theme_styles, title, at, layout=self.layout_kept))

    def _close(self) -> None:
        source, run = self._opened.pop()
        source.close()
        if run is not None:
            run.end()
