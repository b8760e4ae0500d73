"""Ctrl-Z where there is a shell: the shell gets the terminal, and the interface gets it back."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.tui.terminal import Terminal
from tests.waiting import wait_for

pytestmark = pytest.mark.live


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(tmp_path: Path) -> None:
    """Repeatedly; at the end the terminal is as it was at the start."""
    record = ("--record", str(tmp_path / "run.jsonl"))
    with Terminal("-m", "lab", "run", "bully", "--t", "100ms", *record) as terminal:
        terminal.shows("5 leads 1-4")
        program = psutil.Process(terminal.pid)
        for _ in range(2):
            terminal.type("\x1a")
            wait_for(lambda: program.status() == psutil.STATUS_STOPPED, "it has stopped")
            terminal.is_as_before()
            before = len(terminal.output)
            os.killpg(terminal.pid, signal.SIGCONT)
            terminal.shows("\x1b[?1049h", before)
            terminal.shows("leads", before)
        terminal.type("q")
        assert terminal.status() == 0
        terminal.is_as_before()
        terminal.all_gone()
