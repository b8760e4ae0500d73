"""Applications that show runs: a stack of them, with branches and recordings opened from a run; and one alone."""

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Literal, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

from lab.exercises.exercise import Exercise
from lab.glyphs import glyphs_for
from lab.output import print_error, print_line, print_remark
from lab.places import keys_file, new_recording_path, settings_file
from lab.properties.declarations import Declared
from lab.recording.reader import NotARecordingError
from lab.recording.records import Header
from lab.styles import ThemeStyles
from lab.tui.context import RunContext
from lab.tui.controllers.branching import BranchRequested, ExportRequested, LeaveRequested, RecordingChosen
from lab.tui.controllers.layout import LayoutSettings, keep_watches, read_layout_settings, write_layout_settings
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource, FileSource, Source
from lab.tui.terminal.terminal_app import TerminalApp, default_theme
from lab.tui.user_keys import UserKeys, read_user_keys
from lab.worlds.launch import HostFailedError, HostProcess
from lab.worlds.loading.config import HostReady, branch_config, new_run_name
from lab.worlds.loading.targets import loaded_targets
from lab.worlds.loading.user_module import TargetError

S = TypeVar("S", bound=RunScreen)


class RunsApp(TerminalApp[None]):
    """An application that shows runs on a stack of screens.

    A subclass provides the lowest screen. ``recorded`` are the recordings of the branches begun here. ``kept`` is
    the file of the user's layout settings; without it, defaults are used and nothing is saved. ``user_keys`` are
    the keys that the user has chosen; none on a server.
    """

    def __init__(self, kept: Path | None) -> None:
        super().__init__()
        self._kept = kept
        self.layout_settings = LayoutSettings() if kept is None else read_layout_settings(kept)
        self.user_keys = UserKeys()
        if self.layout_settings.theme in self.available_themes:
            self.theme = self.layout_settings.theme
        self.recorded: list[Path] = []
        self.failure = ""
        self.theme_styles = ThemeStyles(glyphs_for())
        self._opened: list[tuple[Source, HostProcess | None]] = []
        self._is_branching = False

    def show(self, keys: UserKeys | None = None) -> int:
        """Run the application with the user's keys, and return the exit status."""
        self.user_keys = keys or UserKeys()
        gc.freeze()
        for mistake in self.user_keys.mistakes:
            print_remark(mistake)  # seen once the terminal is given back
        self.run()
        for recording in self.recorded:
            print_line(f"branch recorded: {recording}")
        if self.failure:
            print_error(self.failure)
            return 1
        return self.return_code or 0

    async def leave_lowest(self, message: LeaveRequested) -> None:
        """Leave the lowest run: end the application, unless a subclass has something below it."""
        self.exit(return_code=0)

    def exercise_of(self, header: Header) -> Exercise | None:
        """Return the exercise of a run, if it is one of the built-in exercises."""
        if header.exercise is None:
            return None
        from lab.exercises.exercise_reader import ExerciseError, drawn_as, find_exercise  # noqa: PLC0415 - rarely needed

        try:
            return drawn_as(find_exercise(header.exercise.name), header.exercise)
        except ExerciseError:
            return None

    def assess(self, source: Source) -> None:
        """Make a source assess its exercise, before it reads any record. A branch does not count as an attempt."""
        header = source.store.header
        exercise = self.exercise_of(header) if header.parent is None else None
        if exercise is not None:
            source.assess(exercise)

    def on_unmount(self) -> None:
        while self._opened:
            self._close()
        if self._kept is not None:
            self.layout_settings.theme = "" if self.theme == default_theme(os.environ) else self.theme
            write_layout_settings(self._kept, self.layout_settings)

    # messages from screens

    @on(RecordingChosen)
    async def open_recording(self, message: RecordingChosen) -> None:
        """Show a recording on top of this run."""
        try:
            source = FileSource(message.recording)
        except NotARecordingError as error:
            message.context.notify(str(error), warn=True)
            return
        parent = source.store.header.parent
        await self._push_run(source, None, message.recording.name, None if parent is None else parent.record)

    @on(ExportRequested)
    def export(self, message: ExportRequested) -> None:
        """Export the recording, after asking for what is not known yet."""
        from lab.tui.apps.export_dialog import show_export_dialog  # noqa: PLC0415 - drawing libraries load slowly

        show_export_dialog(message)

    @on(LeaveRequested)
    async def leave(self, message: LeaveRequested) -> None:
        """Go back to the screen below, or leave the lowest one."""
        if self._is_branching:
            message.context.notify("the branch is starting; press {quit} again once it is shown")
            return
        if not self._opened:
            await self.leave_lowest(message)
            return
        await self.deactivate_run()
        await self.pop_screen()
        self._close()
        if isinstance(self.screen, RunScreen):
            context = self.screen.context
            context.notify(f"back in {self.screen.run_name}{_way_on(context)}")

    @on(BranchRequested)
    def begin_branch(self, message: BranchRequested) -> None:
        self.run_worker(self._branch(message))

    async def _branch(self, message: BranchRequested) -> None:
        """Start a simulated host that continues from a record of its parent, and show it."""
        header = message.context.source.store.header
        run = new_run_name(header.protocol.name)
        try:
            recording = new_recording_path(run, message.parent)
            target = loaded_targets(header)
            host = HostProcess(
                branch_config(header, message.parent, message.record, run, str(recording), target, frozen=True)
            )
        except (OSError, TargetError) as error:
            message.context.notify(f"no branch: {error}", warn=True)
            return
        with ExitStack() as until_open:
            until_open.callback(_end, host)
            source = await self.open_branch(message, host.ready)
            if source is None:
                return
            until_open.pop_all()
        self.recorded.append(recording)
        await self.show_branch(message, source, host)

    async def open_branch(self, message: BranchRequested, start: Callable[[], HostReady]) -> FeedSource | None:
        """Attach to the branch that ``start`` begins, which blocks until it serves; say so if there is none."""
        self._is_branching = True
        try:
            ready = await asyncio.to_thread(start)
            return await FeedSource.open(ready.socket, "driver")
        except (HostFailedError, OSError) as error:
            message.context.notify(f"no branch: {error}", warn=True)
            return None
        finally:
            self._is_branching = False

    async def show_branch(self, message: BranchRequested, source: Source, host: HostProcess | None) -> None:
        """Show a branch that has begun, on top of its parent."""
        header = message.context.source.store.header
        await self._push_run(source, host, source.store.header.run, None)
        if isinstance(self.screen, RunScreen):
            context = self.screen.context
            context.selected = message.context.selected
            context.notify(
                f"branch of {header.run} at record {message.record}: time is frozen, so kill or cut something; "
                "{play} lets it run, {quit} goes back"
            )

    async def _push_run(self, source: Source, host: HostProcess | None, title: str, at: int | None) -> None:
        self._opened.append((source, host))
        self.assess(source)
        await self.push_screen(self.new_screen(RunScreen, source, title, at))

    def new_screen(self, kind: type[S], source: Source, title: str, at: int | None = None) -> S:
        """Return a screen of this kind for a run, in the present theme and with the user's layout."""
        self.theme_styles.dark = self.current_theme.dark
        return kind(source, self.theme_styles, title, at, layout=self.layout_settings, keys=self.user_keys)

    async def replace_run(self, screen: RunScreen, before: Source | None) -> None:
        """Show a run in place of the topmost one, and close its source ``before``; on top, if there was none."""
        if before is None:
            await self.push_screen(screen)
            return
        with closing(before):
            await self.deactivate_run()
            await self.switch_screen(screen)

    @property
    def top_run(self) -> RunScreen | None:
        """The topmost screen of a run; None if no run is shown."""
        return next((each for each in reversed(self.screen_stack) if isinstance(each, RunScreen)), None)

    def _show_message(self, text: str, warn: bool = False) -> None:
        """Show a message in the topmost run, also below a dialog."""
        if self.top_run is not None:
            self.top_run.context.notify(text, warn)

    async def deactivate_run(self) -> None:
        """Let the topmost run take no more keys, and close the dialogs over it: its source is closed next."""
        while isinstance(self.screen, ModalScreen):
            await self.screen.dismiss(None)
        if isinstance(self.screen, RunScreen):
            self.screen.is_ready = False

    def _close(self) -> None:
        source, host = self._opened.pop()
        source.close()
        if host is not None:
            _end(host)


def _way_on(context: RunContext) -> str:
    """Return how to go on in a run to which the user has come back, in the middle of it."""
    source = context.source
    if source.now_us() is None or context.player.following:
        return ""
    if source.clock is not None and source.clock.frozen:
        return "; its time is frozen: {end}, then {play} lets it go on"
    return "; it goes on, {end} returns to its present"


def _end(host: HostProcess) -> None:
    host.end()
    host.close()


class LabApp(RunsApp):
    """The application over one source.

    ``open_source`` is awaited once the application runs; an exception from it ends the application. ``first`` is
    an action to begin with, as (word, argument). ``watches`` are shown in addition to those that are kept. Keys
    that are pressed before the run is shown take effect once it is.
    """

    def __init__(
        self,
        open_source: Callable[[], Awaitable[Source]],
        title: str,
        first: tuple[str, str] | None = None,
        kept: Path | None = None,
        watches: tuple[str, ...] = (),
    ) -> None:
        super().__init__(kept)
        self._watches = watches
        self._open_source = open_source
        self._run_name = title
        self._first = first
        self._typed_ahead: list[events.Key] | None = []
        self.source: Source | None = None

    def compose(self) -> ComposeResult:
        yield Static(f"starting {self._run_name} …", markup=False)

    async def on_event(self, event: events.Event) -> None:
        """Keep keys until the run is shown, but those that control the application, such as Ctrl-C."""
        typed = self._typed_ahead
        if typed is not None and isinstance(event, events.Key) and not event.key.startswith("ctrl+"):
            typed.append(event)
        else:
            await super().on_event(event)

    def on_mount(self) -> None:
        self.run_worker(self._open())

    def on_unmount(self) -> None:
        if self.source is not None:
            self.source.close()

    async def _open(self) -> None:
        try:
            self.source = await self._open_source()
        except Exception as error:
            is_known = isinstance(error, HostFailedError | OSError)
            self.failure = str(error) if is_known else repr(error)
            self.exit(return_code=1)
            return
        self.assess(self.source)
        protocol = self.source.store.header.protocol.name
        kept = self.layout_settings.watches.get(protocol, ())
        keep_watches(self.layout_settings, protocol, list(dict.fromkeys((*kept, *self._watches))))
        screen = self.new_screen(RunScreen, self.source, self._run_name)
        await self.push_screen(screen)
        if self._first is not None:
            screen.action_do(*self._first)
        elif self._kept and self.source.takes_commands and not self.layout_settings.tour_offered:
            hint = screen.context.actions.opening_hint()
            screen.context.notify(f"{hint}; new here? :tour shows you around, in five steps")
            self.layout_settings.tour_offered = True
        typed, self._typed_ahead = self._typed_ahead or [], None
        for key in typed:
            self.post_message(key)


def show_run(ready: Callable[[], HostReady], title: str, tour: bool = False, watches: tuple[str, ...] = ()) -> int:
    """Show a run whose host is starting; ``ready`` blocks until it serves. ``tour`` starts the tour too."""

    async def opened() -> Source:
        found = await asyncio.to_thread(ready)
        return await FeedSource.open(found.socket, "driver")

    return _show(opened, title, ("tour", "") if tour else None, watches)


def show_feed(path: str, title: str, role: Literal["driver", "viewer"]) -> int:
    """Attach to a running host by its feed's socket path."""
    return _show(lambda: FeedSource.open(path, role), title)


def show_recording(
    path: Path,
    other: Path | None = None,
    properties: tuple[Declared, ...] = (),
    watches: tuple[str, ...] = (),
) -> int:
    """Show a recording, judged by these properties too; if ``other`` is given, compare it with that one."""

    async def opened() -> Source:
        return FileSource(path, properties)

    return _show(opened, path.name, None if other is None else ("compare", str(other)), watches)


def _show(
    opened: Callable[[], Awaitable[Source]],
    title: str,
    first: tuple[str, str] | None = None,
    watches: tuple[str, ...] = (),
) -> int:
    return LabApp(opened, title, first, settings_file(), watches).show(read_user_keys(keys_file()))
