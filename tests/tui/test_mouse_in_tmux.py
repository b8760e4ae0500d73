"""The mouse as it really comes: sequences that a terminal sends, through tmux, to the interface."""

import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from itertools import chain
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
LATE_S = 0.8
"""Longer than the time in which two clicks are a double click."""
_NOTCHES, _LINES_A_NOTCH = 8, 2
_LINE = 110
"""The columns of a line of the log, without the scroll bar."""


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

        self.until(lambda: place() is not None, f"{text!r} on the screen")
        found = place()
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
        self._screen.type(_press(_LEFT, x, y) + _press(_LEFT, x, y, released=True))

    def double_click(self, x: int, y: int) -> None:
        """Click twice; both are sent at once, because a busy machine could make two clicks of them."""
        self._screen.type(2 * (_press(_LEFT, x, y) + _press(_LEFT, x, y, released=True)))

    def click_on(self, text: str, since: int = 0) -> None:
        self.click(*self.find(text, since))

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        for sequence in (_press(_LEFT, *start), _press(_DRAG, *end), _press(_LEFT, *end, released=True)):
            self._screen.type(sequence)

    def wheel(self, x: int, y: int, down: int) -> None:
        """Turn the wheel by so many notches; negative: up."""
        for _ in range(abs(down)):
            self._screen.type(_press(_WHEEL_DOWN if down > 0 else _WHEEL_UP, x, y))


def _press(button: int, x: int, y: int, released: bool = False) -> str:
    """Return what a terminal sends for a button; it counts from 1."""
    return f"\x1b[<{button};{x + 1};{y + 1}{'m' if released else 'M'}"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal of 120 by 40, in which tmux shows a recording."""
    # without its own bindings, tmux forwards every event
    settings = ("set -g mouse on", "set -g status off", "unbind -a -T root")
    shown = ["new-session", sys.executable, "-m", "lab", "replay", str(SHIPPED)]
    server = f"lab-{uuid.uuid4().hex[:8]}"
    environment = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TMUX": "", "TMUX_TMPDIR": str(tmp_path)}
    tmux = (
        "tmux",
        "-f",
        "/dev/null",
        "-L",
        server,
        *shown,
        *chain.from_iterable((";", *each.split()) for each in settings),
    )
    with Terminal("-c", _EXECUTE, *tmux, environment=environment) as terminal:
        yield terminal


def test_a_recording_by_mouse_alone(terminal: Terminal) -> None:
    """Footer, scrub bar, log, nodes, tabs, diagram, borders, help: each answers to what it suggests."""
    screen = TerminalScreen(terminal)
    mouse = Mouse(screen)
    screen.sees("5 leads 1-4", "hold so far")

    # the footer and the state before the scrub bar: it plays until one is clicked on
    mouse.click_on("space play")
    bar = mouse.find(" / 9.0 s")[1]
    log = mouse.find(" log  s diagram")[1] + 1
    mouse.until(lambda: "‖" in mouse.row(bar), "playback stops")
    mouse.click(4, bar)
    mouse.until(lambda: "▶" in mouse.row(bar), "playback goes on")
    mouse.click(4, bar)
    mouse.until(lambda: "‖" in mouse.row(bar), "playback stops again")

    def clock() -> float:
        return float(mouse.row(bar).partition(" / ")[0].split()[-1])

    # the scrub bar: a mark, a moment, a drag beyond its left end, and its right end
    mouse.click_on("▲", bar)
    screen.sees("2 COORDINATORS", " 5.714 / 9.0 s")
    first = mouse.row(bar).index("1x ") + 3
    mouse.click(first + 45, bar)
    mouse.until(lambda: abs(clock() - 45 / 82 * 9.008) < 0.1, "the moment that was clicked on")
    mouse.drag((first + 45, bar), (first - 5, bar - 3))
    mouse.until(lambda: clock() == 0, "the start")
    mouse.click(mouse.row(bar).rindex("─"), bar)
    mouse.until(lambda: clock() > 9, "the end")

    # the log: the wheel scrolls, a click selects in all views, a double click goes there
    screen.sees("the run ended")
    first_line = mouse.row(log)[:_LINE].rstrip()
    mouse.wheel(60, log + 5, -_NOTCHES)
    lowered = log + _NOTCHES * _LINES_A_NOTCH
    mouse.until(lambda: mouse.row(lowered)[:_LINE].rstrip() == first_line, "all notches are handled")
    x, y = mouse.find(" 4      ~ Reorganization", log)
    mouse.click(x, y)
    mouse.until(lambda: mouse.row(y + 1).startswith("▶"), "the other row of its record is marked")
    assert mouse.row(y).startswith(" ")
    assert clock() > 9
    time.sleep(LATE_S)
    mouse.double_click(x, y)
    mouse.until(lambda: clock() < 9, "the moment of the row")
    mouse.until(lambda: f" {clock():.3f}  4      ~ Reorganization" in screen.text(), "its row")

    # a node, the tabs, and a message of the diagram
    mouse.click_on("─ 4 ")
    screen.sees("━ 4 ")
    mouse.click_on("s diagram")
    screen.sees("+ zoom in")
    mouse.click_on("EnterElection", log + 2)
    screen.sees("EnterElection 5 to ", "sent at 7.405 s")

    # the line of tabs is a border
    x, y = mouse.find("s diagram")
    mouse.drag((x + 40, y), (x + 40, y - 5))
    mouse.until(lambda: mouse.find("s diagram")[1] == y - 5, "the view is taller")

    # the help, left by a click outside
    mouse.click_on("? help")
    screen.sees("keys and commands")
    mouse.click(1, 1)
    mouse.until(lambda: "keys and commands" not in screen.text(), "the help is closed")

    mouse.click_on("q quit")
    assert terminal.status() == 0
