"""The application for one run or recording, which may not have started yet."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.app import ComposeResult
from textual.widgets import Static

from lab.tui.availability import takes_commands
from lab.tui.navigation.branching import Left
from lab.tui.replies import opening_hint
from lab.tui.run.source import Source
from lab.tui.runs_app import RunsApp
from lab.tui.screen import RunScreen

__all__ = ["LabApp"]


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
