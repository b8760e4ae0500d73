"""The mouse as it really comes: sequences that a terminal sends, through tmux, to the interface."""

import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tui.recorded import SHIPPED
from tests.tui.terminal import Terminal
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

_EXECUTE = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
_LEFT, _DRAG, _WHEEL_UP, _WHEEL_DOWN = 0, 32, 64, 65
"""The buttons of the SGR protocol."""


class Mouse:
    """A mouse on a screen; columns and rows count from 0."""

    def __init__(self, screen: TerminalScreen) -> None:
        self._screen = screen

    def find(self, text: str, since: int = 0) -> tuple[int, int]:
        """Wait until the screen shows a text from row ``since`` on; return its column and row."""

        def place() -> tuple[int, int] | None:
            rows = self._screen.text().splitlines()
            return next(
                ((line.index(text), y) for y, line in enumerate(rows) if y >= since and text in line), None
            )

        found = wait_for(place, f"{text!r} on the screen", every_s=0.02)
        assert found is not None
        return found

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition."""
        try:
            wait_for(condition, what, every_s=0.02)
        except AssertionError:
            raise AssertionError(f"{what}; seen is\n{self._screen.text()}") from None

    def row(self, y: int) -> str:
        """Return a row of the screen."""
        return self._screen.text().splitlines()[y]

    def click(self, x: int, y: int) -> None:
        self._send(_LEFT, x, y)
        self._send(_LEFT, x, y, released=True)

    def click_on(self, text: str, since: int = 0) -> None:
        self.click(*self.find(text, since))

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        self._send(_LEFT, *start)
        self._send(_DRAG, *end)
        self._send(_LEFT, *end, released=True)

    def wheel(self, x: int, y: int, down: int) -> None:
        """Turn the wheel by so many notches; negative: up."""
        for _ in range(abs(down)):
            self._send(_WHEEL_DOWN if down > 0 else _WHEEL_UP, x, y)

    def _send(self, button: int, x: int, y: int, released: bool = False) -> None:
        self._screen.type(f"\x1b[<{button};{x + 1};{y + 1}{'m' if released else 'M'}")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal of 120 by 40, in which tmux shows a recording."""
    settings = [
        ";",
        "set",
        "-g",
        "mouse",
        "on",
        ";",
        "set",
        "-g",
        "status",
        "off",
        ";",
        "set",
        "-g",
        "escape-time",
        "0",
    ]
    shown = ["new-session", sys.executable, "-m", "lab", "replay", str(SHIPPED)]
    server = f"lab-{uuid.uuid4().hex}"
    environment = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TMUX": "", "TMUX_TMPDIR": str(tmp_path)}
    tmux = ("tmux", "-f", "/dev/null", "-L", server, *shown, *settings)
    with Terminal("-c", _EXECUTE, *tmux, environment=environment) as terminal:
        yield terminal


def test_a_recording_by_mouse_alone(terminal: Terminal) -> None:
    """Scrub bar, wheel, lines, nodes, tabs, borders, footer and help: each answers to what it suggests."""
    screen = TerminalScreen(terminal)
    mouse = Mouse(screen)
    screen.sees("5 leads 1-4", "hold so far")

    # the footer: it plays, until its word is clicked on
    mouse.click_on("space play")
    log = mouse.find(" log  s diagram")[1] + 1
    bar = mouse.find(" / 9.0 s")[1]
    knob = mouse.row(bar).index("━")
    mouse.until(lambda: "▶" not in mouse.row(bar), "playback stops")

    # the scrub bar: a click, then a drag beyond its left end
    mouse.click(knob + 40, bar)
    mouse.until(lambda: " 4.4 / 9.0 s" in mouse.row(bar), "the moment that was clicked on")
    mouse.drag((knob + 40, bar), (knob - 5, bar - 3))
    mouse.until(lambda: " 0.0 / 9.0 s" in mouse.row(bar), "the moment to which the mouse was dragged")
    mouse.click(knob + 40, bar)

    # the log: the wheel scrolls it, a click goes to the record
    screen.sees(" 4.4 / 9.0 s", " 3.016  5      ● Normal")
    mouse.wheel(60, log + 5, -30)
    mouse.click_on("restart 5", log)
    screen.sees(" 3.0 / 9.0 s")

    # a node: a click selects it, a second one deselects it
    mouse.click_on("─ 4 ")
    screen.sees("k kill" if False else " 4 ")
    print(screen.text())
    raise AssertionError
