"""The base class of all applications: a clean exit on every signal, the themes, NO_COLOR, ASCII where needed.

It gives a widget that is dragged all events of the mouse. A widget that captured the mouse in its own handler of
the press would do so too late where the terminal sends a whole drag at once, as it does over a slow line: the rest
would go to whatever lies below.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from rich.segment import Segment
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.css.query import NoMatches
from textual.errors import NoWidget
from textual.filter import LineFilter, Monochrome, NoColor
from textual.theme import Theme
from textual.widget import Widget
from textual.worker import WorkerFailed

from lab.glyphs import draws_unicode
from lab.palette import Palette
from lab.styles import to_ascii
from lab.text import remove_controls
from lab.tui.terminal.guard import end_announcement


class Draggable:
    """A widget that receives all events of the mouse from where a button is pressed on it until it is released."""

    def is_grabbed_at(self, x: int, y: int) -> bool:
        """Return whether a drag may begin at this place of the screen, which is on the widget."""
        return True


DARK, LIGHT = "lab-dark", "lab-light"
_GROUNDS = {
    DARK: ("#e0e0e0", "#121212", "#1c1c1c", "#242424"),
    LIGHT: ("#1a1a1a", "#f4f4f4", "#ffffff", "#e4e4e4"),
}
"""The colour of text, and the backgrounds of the screen, of dialogs and of panels."""
_BRIGHT_GROUNDS = {"7", "9", "10", "11", "12", "13", "14", "15"}


def _theme(name: str) -> Theme:
    named = Palette(dark=name == DARK).named
    foreground, background, surface, panel = _GROUNDS[name]
    return Theme(
        name,
        primary=named("sky"),
        secondary=named("purple"),
        accent=named("sky"),
        warning=named("orange"),
        error=named("vermilion"),
        success=named("green"),
        foreground=foreground,
        background=background,
        surface=surface,
        panel=panel,
        dark=name == DARK,
    )


OWN_THEMES = (_theme(DARK), _theme(LIGHT))


def default_theme(environment: Mapping[str, str]) -> str:
    """Return the light theme if COLORFGBG says that the terminal's background is light, else the dark one."""
    # COLORFGBG ends with the number of the background colour
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in _BRIGHT_GROUNDS else DARK


class WithoutControls(LineFilter):
    """A line filter that removes control characters: the last door of the interface before the terminal.

    Views sanitize what they lay out, so that a user sees what was in a name; this one has to hold if one does not.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text if control else remove_controls(text), style, control)
            for text, style, control in segments
        ]


class AsciiOnly(LineFilter):
    """A line filter that lets only ASCII through."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]


R = TypeVar("R")


class TerminalApp(App[R]):
    """An application that restores the terminal when a signal, Ctrl-C or the end of its parent stops it.

    After a signal the exit status is 128 + its number. Subclasses may define ``on_mount`` too: both are called.
    """

    TITLE = "lab"
    CSS = "* { scrollbar-size-vertical: 1; }"
    ENABLE_COMMAND_PALETTE = False  # that of Textual saves screenshots, on the server too
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", show=False),
        Binding("ctrl+l", "redraw", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        # Textual implements NO_COLOR with shades of grey
        self._filters = [NoColor() if isinstance(each, Monochrome) else each for each in self._filters]
        self._filters.append(WithoutControls())
        if not draws_unicode():
            self._filters.append(AsciiOnly())
        self._parent_pid = os.getppid()
        self._grabbed: Widget | None = None
        """The widget that is dragged."""
        for theme in OWN_THEMES:
            self.register_theme(theme)
        self.theme = default_theme(os.environ)

    def run(self, *arguments: Any, **options: Any) -> R | None:
        """Take the terminal and run; see Textual's ``App.run``."""
        end_announcement()
        return super().run(*arguments, **options)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            loop.add_signal_handler(number, self.exit, None, 128 + number)
        # when the parent is killed the shell takes the terminal back; restore the terminal all the same
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self.app_resume_signal.subscribe(self, lambda _: signal.signal(signal.SIGTTOU, signal.SIG_IGN))
        take_terminal = signal.getsignal(signal.SIGCONT)
        if callable(take_terminal):
            loop.add_signal_handler(signal.SIGCONT, self._on_continue, take_terminal)
        self.set_interval(1.0, self._watch_parent)

    async def on_event(self, event: events.Event) -> None:
        """Let a widget that is dragged have the mouse from the press to the release."""
        if isinstance(event, events.MouseDown) and self.mouse_captured is None:
            self._grabbed = self._grabbed_at(int(event.screen_x), int(event.screen_y))
            self.capture_mouse(self._grabbed)
        await super().on_event(event)
        if isinstance(event, events.MouseUp) and self._grabbed is not None:
            self._grabbed = None
            self.capture_mouse(None)

    def _grabbed_at(self, x: int, y: int) -> Widget | None:
        try:
            hit, _ = self.screen.get_widget_at(x, y)
        except NoWidget:
            return None
        around = (each for each in hit.ancestors_with_self if isinstance(each, Widget))
        return next((each for each in around if isinstance(each, Draggable) and each.is_grabbed_at(x, y)), None)

    def action_redraw(self) -> None:
        """Draw the whole screen again, as when another program has written on the terminal."""
        self.refresh(layout=True)

    def action_help_quit(self) -> None:
        """Exit on Ctrl-C, which a raw terminal sends as a key; Textual would only show how to quit."""
        self.exit(return_code=128 + signal.SIGINT)

    def _handle_exception(self, error: Exception) -> None:
        """Ignore missing widgets during exit, in workers too: a dialog opened then is never composed."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        if not (isinstance(cause, NoMatches) and (self._exit or not self.is_running)):
            super()._handle_exception(error)

    def _on_continue(self, take_terminal: Callable[[int, None], object]) -> None:
        """Take the terminal back, once: SIGCONT arrives twice, from the shell and from the parent."""
        if getattr(self._driver, "_must_signal_resume", False):
            take_terminal(signal.SIGCONT, None)

    def _watch_parent(self) -> None:
        if os.getppid() != self._parent_pid:
            self.exit(return_code=1)
