"""Texts on the terminal outside the interface: failed nodes, and pages of the guide."""

from pathlib import Path

import pytest

from tests.serve.forked_servers import fork_shell
from tests.tui.recorded import SHIPPED
from tests.tui.terminal import Terminal, without_codes

BROKEN = """from lab.protocols import Bully

class Mine(Bully):
    def on_new_state(self, sender, message):
        if self.id == 1:
            raise ValueError("not today")
        return super().on_new_state(sender, message)
"""


@pytest.mark.live
def test_failed_nodes_are_reported_after_the_interface(tmp_path: Path) -> None:
    """With the error and the line in the user's file, once the interface has closed."""
    (tmp_path / "mine.py").write_text(BROKEN)
    record = ("--record", str(tmp_path / "run.jsonl"))
    words = ("run", f"{tmp_path}/mine.py", "--nodes", "3", "--t", "100ms")
    with Terminal(*words, *record, start_shell=fork_shell) as terminal:
        terminal.shows("3 leads")
        terminal.shows("failed")
        terminal.type("q")
        assert terminal.status() == 0
        terminal.all_gone()
        output = without_codes(terminal.output[terminal.output.rfind(b"\x1b[?1049l") :])
        place = 'mine.py:6 in on_new_state: raise ValueError("not today")'
        assert "lab: node 1 failed at " in output
        assert f" s: ValueError: not today ({place})" in output.replace("\r\n", " ")
        assert "replay:   lab replay" in output


def test_a_page_of_the_guide_is_rendered(tmp_path: Path) -> None:
    """With ``--plain`` it is printed as written."""
    with Terminal("guide", "your-own-protocol", start_shell=fork_shell) as terminal:
        assert terminal.status() == 0
        shown = without_codes(terminal.output)
        assert "Your own protocol" in shown
        assert "```" not in shown
        assert "class MyElection(Election):" in shown
    with Terminal("guide", "your-own-protocol", "--plain", start_shell=fork_shell) as terminal:
        assert terminal.status() == 0
        assert b"\x1b" not in terminal.output
        assert b"```python" in terminal.output


def test_ctrl_l_draws_the_screen_again() -> None:
    """All of it, whatever has been written over it."""
    with Terminal("replay", str(SHIPPED), start_shell=fork_shell) as terminal:
        terminal.shows("leads")
        terminal.shows("command")
        drawn = len(terminal.output)
        terminal.type("\x0c")
        for text in ("timeout T", "assertions", "command"):
            terminal.shows(text, since=drawn)
        terminal.type("q")
        assert terminal.status() == 0
