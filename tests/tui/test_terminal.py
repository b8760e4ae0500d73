"""However the interface ends, the terminal is restored, no process is left, and the exit status is right."""

import os
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from lab.kernel import Step
from lab.recording.reader import open_recording
from lab.recording.records import End
from tests.profile import amount
from tests.serve.forked_servers import fork_shell
from tests.tui.recorded import SHIPPED
from tests.tui.terminal import Terminal, colours, without_codes
from tests.waiting import wait_for

LEADS = "5 leads 1-4"
STALLED_MS = amount(quick=1_500, soak=5_000)
"""So long the interface is blocked: from its next frame on, as a stalled terminal takes nothing."""


def _run(path: Path, *more: str, t: str = "100ms", **environment: str) -> Terminal:
    record = ("--record", str(path / "run.jsonl"))
    words = ("run", "bully", "--t", t, *record, *more)
    if environment:  # which the interpreter reads when it starts
        return Terminal("-m", "lab", *words, environment=environment)
    return Terminal(*words, start_shell=fork_shell)


def _clock_us(path: Path) -> int:
    return _steps(path)[-1].at_us


def _steps(path: Path) -> list[Step]:
    lines = open_recording(path)
    steps = [record for record in lines.records() if isinstance(record, Step)]
    lines.close()
    return steps


def _heartbeats(path: Path, for_ms: int) -> list[int]:
    """Wait until the run has lasted that long; return the times of heartbeats sent meanwhile."""
    began_us = _clock_us(path)
    wait_for(lambda: _clock_us(path) > began_us + for_ms * 1000, "the run goes on", every_s=0.1)
    sending = [step for step in _steps(path) if any(message.kind == "AreYouNormal" for message in step.sent)]
    return [step.at_us for step in sending if step.at_us >= began_us]


def _quiet(terminal: Terminal) -> int:
    """Return how much was written, if nothing more follows for several frames; else 0."""
    written = len(terminal.output)
    time.sleep(0.5)
    return written if len(terminal.output) == written else 0


def _ended(terminal: Terminal, path: Path, status: int) -> None:
    assert terminal.status() == status, terminal.last()
    terminal.is_as_before()
    terminal.all_gone()
    lines = open_recording(path / "run.jsonl")
    assert len(lines) > 50
    assert not lines.torn
    lines.close()


@pytest.mark.live
@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda terminal: terminal.type("q"), 0),
        (lambda terminal: terminal.type("\x03"), 130),
        pytest.param(lambda terminal: os.kill(terminal.pid, signal.SIGINT), 130, marks=pytest.mark.soak),
        pytest.param(lambda terminal: os.kill(terminal.pid, signal.SIGTERM), 143, marks=pytest.mark.soak),
        (lambda terminal: os.kill(terminal.pid, signal.SIGHUP), 129),
        pytest.param(lambda terminal: os.kill(terminal.pid, signal.SIGQUIT), 131, marks=pytest.mark.soak),
        (lambda terminal: os.kill(terminal.interface(), signal.SIGKILL), 137),
        (lambda terminal: os.killpg(terminal.pid, signal.SIGTERM), 143),
    ],
    ids=["q", "Ctrl-C", "INT", "TERM", "HUP", "QUIT", "KILL", "TERM-to-all"],
)
def test_a_run_ends(end: Callable[[Terminal], None], status: int, tmp_path: Path) -> None:
    """The signals have one handler: one of them is sent in the profile ``quick``, and one to all processes."""
    with _run(tmp_path) as terminal:
        terminal.shows(LEADS)
        end(terminal)
        _ended(terminal, tmp_path, status)
        wait_for(lambda: "replay:   lab replay" in without_codes(terminal.output), "what to do next")


@pytest.mark.parametrize(
    ("number", "status"),
    [(None, 0), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.soak), (signal.SIGKILL, 137)],
)
def test_a_replay_ends(number: int | None, status: int) -> None:
    with Terminal("replay", str(SHIPPED), start_shell=fork_shell) as terminal:
        terminal.shows("leads")
        if number is None:
            terminal.type("q")
        else:
            os.kill(terminal.interface(), number)
        assert terminal.status() == status
        terminal.is_as_before()
        terminal.all_gone()


def test_what_is_typed_while_the_interface_starts_is_kept() -> None:
    """The terminal says at once that it is starting, echoes nothing, and the interface takes the keys."""
    with Terminal("-m", "lab", "replay", str(SHIPPED)) as terminal:
        terminal.shows("starting ...")
        terminal.type("?")
        terminal.shows("keys and commands")  # the title of the help
        before, _, _ = terminal.output.partition(b"\x1b[?1049h")
        assert "?" not in without_codes(before)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.status() == 143
        terminal.is_as_before()


@pytest.mark.live
def test_an_interface_that_fails_to_start_leaves_its_error_alone(tmp_path: Path) -> None:
    """The line that said that it is starting is gone."""
    file = tmp_path / "mine.py"
    file.write_text("raise ValueError('not today')", "utf-8")
    with Terminal("-m", "lab", "run", str(file)) as terminal:
        assert terminal.status() == 2
        assert terminal.output.decode().splitlines()[0].startswith("lab: ")


@pytest.mark.live
def test_an_internal_error_restores_the_terminal(tmp_path: Path) -> None:
    arguments = ("run", "bully", "--t", "100ms", "--record", str(tmp_path / "run.jsonl"))
    with Terminal("-m", "tests.tui.broken", *arguments) as terminal:
        assert terminal.status() == 1
        terminal.is_as_before()
        terminal.all_gone()
        wait_for(lambda: "broken on purpose" in without_codes(terminal.output), "the reason")


@pytest.mark.live
def test_a_hangup_leaves_no_process(tmp_path: Path) -> None:
    with _run(tmp_path) as terminal:
        terminal.shows(LEADS)
        terminal.hang_up()
        terminal.all_gone()
        lines = open_recording(tmp_path / "run.jsonl")
        assert isinstance(lines.record(len(lines) - 1), End)
        lines.close()


@pytest.mark.live
def test_a_hangup_of_a_stalled_terminal_leaves_no_process(tmp_path: Path) -> None:
    """The interface is blocked on output when the terminal disappears."""
    with _run(tmp_path) as terminal:
        terminal.shows(LEADS)
        terminal.stall()
        terminal.type(":heartbeats\r")
        _heartbeats(tmp_path / "run.jsonl", STALLED_MS)
        terminal.hang_up()
        terminal.all_gone()


@pytest.mark.live
def test_killing_the_parent_leaves_no_process(tmp_path: Path) -> None:
    with _run(tmp_path) as terminal:
        terminal.shows(LEADS)
        os.kill(terminal.pid, signal.SIGKILL)
        assert terminal.status() == -signal.SIGKILL
        terminal.all_gone()
        terminal.is_as_before()


@pytest.mark.live
def test_killing_the_parent_of_a_stalled_interface_leaves_no_process(tmp_path: Path) -> None:
    """Blocked on output to a terminal that then disappears, it can neither exit nor be told to."""
    with _run(tmp_path) as terminal:
        terminal.shows(LEADS)
        terminal.stall()
        terminal.type(":heartbeats\r")
        _heartbeats(tmp_path / "run.jsonl", STALLED_MS)
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.hang_up()
        terminal.all_gone()


@pytest.mark.live
def test_no_color_writes_no_colour_code(tmp_path: Path) -> None:
    with _run(tmp_path, NO_COLOR="1") as terminal:
        terminal.shows(LEADS)
        terminal.type("5")
        terminal.shows("node 5 selected")
        terminal.type("q")
        _ended(terminal, tmp_path, 0)
        assert colours(terminal.output) == set()
    with _run(tmp_path) as terminal:
        terminal.shows(LEADS)
        terminal.type("q")
        _ended(terminal, tmp_path, 0)
        assert len(colours(terminal.output)) > 5


@pytest.mark.live
@pytest.mark.parametrize("environment", [{"TERM": "linux"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_a_terminal_without_unicode_gets_ascii(environment: dict[str, str], tmp_path: Path) -> None:
    with _run(tmp_path, **environment) as terminal:
        terminal.shows(LEADS)
        terminal.type("5")
        terminal.shows("node 5 selected")
        wait_for(
            lambda: "## 5 * Normal ^ leads #" in without_codes(terminal.output).replace("=", "#"),
            "node 5 in ASCII",
        )
        terminal.type("q")
        _ended(terminal, tmp_path, 0)


@pytest.mark.live
def test_a_stalled_terminal_holds_up_no_node(tmp_path: Path) -> None:
    """The interface waits for the terminal, but the run does not, and no election results."""
    path = tmp_path / "run.jsonl"
    with _run(tmp_path, "--set", "check_every=100ms", t="500ms") as terminal:
        terminal.shows(LEADS)
        terminal.type(":heartbeats\r")
        terminal.stall()
        written, began_us = wait_for(lambda: _quiet(terminal), "nothing is written any more"), _clock_us(path)
        heard = _heartbeats(path, 3_000)
        assert len(terminal.output) == written, "the terminal was stalled all the while"
        terminal.resume()
        wait_for(lambda: len(terminal.output) > written, "the interface draws again")
        terminal.type("q")
        _ended(terminal, tmp_path, 0)
    lines = open_recording(path)
    steps = [record for record in lines.records() if isinstance(record, Step) and record.at_us >= began_us]
    assert [step for step in steps if "status" in step.changed] == []
    assert max(later - sooner for sooner, later in pairwise(heard)) < 1_000_000
    lines.close()
