"""What every application here owes its terminal: a clean end, whatever ends it, and no colour if told so.

Nor does one draw what the terminal cannot.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.filter import Monochrome, NoColor

from lab.glyphs import draws_unicode
from lab.tui.terminal.plain import AsciiOnly
from lab.tui.terminal.themes import OWN_THEMES, first_theme

__all__ = ["TerminalApp"]

R = TypeVar("R")


class TerminalApp(App[R]):
    """An application that a signal, Ctrl-C or the end of its parent ends with the terminal as it was.

    The exit status is then 128 + the signal. Subclasses may have an ``on_mount`` of their own: both run.
    """

    TITLE = "lab"
    CSS = "* { scrollbar-size-vertical: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+z", "suspend_process", show=False)]

    def __init__(self) -> None:
        super().__init__()
        # Textual's own way of having no colour is to write shades of grey
        self._filters = [NoColor() if isinstance(each, Monochrome) else each for each in self._filters]
        if not draws_unicode():
            self._filters.append(AsciiOnly())
        self._parent_pid = os.getppid()
        for theme in OWN_THEMES:
            self.register_theme(theme)
        self.theme = first_theme(os.environ)

    def on_mount(self) -> None:
        """Take the signals."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            loop.add_signal_handler(number, self.exit, None, 128 + number)
        # when the parent is killed the shell takes the terminal back; it is put right all the same
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self.app_resume_signal.subscribe(self, lambda _: signal.signal(signal.SIGTTOU, signal.SIG_IGN))
        take_terminal = signal.getsignal(signal.SIGCONT)
        if callable(take_terminal):
            loop.add_signal_handler(signal.SIGCONT, self._go_on, take_terminal)
        self.set_interval(1.0, self._watch_parent)

    def action_help_quit(self) -> None:
        """Ctrl-C, which a raw terminal sends as a key; Textual only says there how to quit."""
        self.exit(return_code=128 + signal.SIGINT)

    def _handle_exception(self, error: Exception) -> None:
        """A dialog that opens while the application ends gets no widgets any more; to miss them is no failure."""
        if not (self._exit and isinstance(error, NoMatches)):
            super()._handle_exception(error)

    def _go_on(self, take_terminal: Callable[[int, None], object]) -> None:
        """Take the terminal back, once: that it goes on is said twice, by the shell and by the parent."""
        if getattr(self._driver, "_must_signal_resume", False):
            take_terminal(signal.SIGCONT, None)

    def _watch_parent(self) -> None:
        if os.getppid() != self._parent_pid:
            self.exit(return_code=1)
