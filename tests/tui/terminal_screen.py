"""The screen of a terminal, as a terminal emulator draws it."""

from collections.abc import Callable

import pyte

from tests.tui.terminal import Terminal
from tests.waiting import WAIT_S, wait_for

__all__ = ["TerminalScreen", "text_on", "wait_for_texts"]


def text_on(screen: pyte.Screen) -> str:
    """Return the visible text; ``Screen.display`` takes four times as long."""
    rows = (screen.buffer[y] for y in range(screen.lines))
    return "\n".join("".join([row[x].data for x in range(screen.columns)]).rstrip() for row in rows)


def wait_for_texts(screen: Callable[[], str], texts: tuple[str, ...], every_s: float) -> str:
    """Wait until the screen shows all of these at once; return its text."""

    def seen() -> str:
        shown = screen()
        return shown if all(text in shown for text in texts) else ""

    try:
        return wait_for(seen, "", WAIT_S, every_s)
    except AssertionError:
        raise AssertionError(f"{texts} not within {WAIT_S:g} s; seen is\n{screen()}") from None


class TerminalScreen:
    """A screen of 120 by 40, read on demand."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._screen = pyte.Screen(120, 40)
        self._stream = pyte.ByteStream(self._screen)
        self._fed = 0
        self._text = ""

    def text(self) -> str:
        """Return the visible text."""
        output = self.terminal.output
        if len(output) > self._fed:
            new, self._fed = output[self._fed :], len(output)
            self._stream.feed(new)
            self._text = text_on(self._screen)
        return self._text

    def sees(self, *texts: str) -> str:
        """Wait until the screen shows all of these at once; return its text."""
        return wait_for_texts(self.text, texts, 0.02)

    def type(self, keys: str) -> None:
        self.terminal.type(keys)

    def enter_command(self, line: str) -> None:
        """Type this after a colon, once the command line is open."""
        self.type(":")
        self.type(f"{line}\r")
