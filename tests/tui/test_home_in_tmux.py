"""The home screen with a mouse, as a terminal sends it through tmux: what a click does, and what only two do."""

import shutil
import sys
import time
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal
from tests.tui.terminal_screen import TerminalScreen
from tests.tui.test_mouse_in_tmux import LATE_S, Mouse

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

_EXECUTE = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"


def test_home_by_mouse_alone(tmp_path: Path, runs: Path) -> None:
    """A folded scenario is found by one click, seen after another, run by two; q comes back to its row."""
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
    environment = {
        **{"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TMUX": "", "TMUX_TMPDIR": str(tmp_path)},
        **{name: str(tmp_path) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")},
    }
    tmux = ("tmux", "-f", "/dev/null", "-L", "lab", "new-session", sys.executable, "-m", "lab", *settings)
    with Terminal("-c", _EXECUTE, *tmux, environment=environment) as terminal:
        screen = TerminalScreen(terminal)
        mouse = Mouse(screen)
        screen.sees("NEW HERE?", "first-election", "191 more …")
        mouse.click_on("191 more …")
        screen.sees("2pc-a-lock-is-found ", "Enter: lab run 2pc-a-flipped-bit")
        place = mouse.find("2pc-a-refusal")
        mouse.click(*place)
        screen.sees("One NO is enough", "Enter: lab run 2pc-a-refusal")
        time.sleep(LATE_S)
        mouse.click(*place)
        time.sleep(LATE_S)
        screen.sees("Enter: lab run 2pc-a-refusal")
        mouse.double_click(*place)
        screen.sees("4 nodes", "Acknowledged")
        terminal.type("q")
        screen.sees("ended; recorded, first row under CONTINUE", "Enter: lab run 2pc-a-refusal")
        mouse.click_on("q quits")
        terminal.status()
