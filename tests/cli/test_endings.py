"""However a headless run is ended: the recording is there, nothing else is, and the exit status says which."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.cli.calling import SHIPPED, Lab
from tests.waiting import wait_for
from tests.worlds.live import Tail, is_gone


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("form", ["report", "json"])
def test_interrupted(lab: Lab, number: signal.Signals, form: str) -> None:
    """130, a complete recording, and the report of what there was."""
    with lab.start("--for", "60s", "--record", "a.jsonl", *(["--json"] if form == "json" else [])) as run:
        run.settled(5)
        assert lab("ctl", "pause 2").status == 0
        run.process.send_signal(number)
        done = run.ended()
        assert (done.status, done.err) == (130, "")
        assert str(lab.folder / "a.jsonl") in done.out
        assert done.out.startswith('{"world":"live"' if form == "json" else "bully, live, ")
        assert run.reason() == "whoever started it has ended"
        assert is_gone(run.info.pid) == []
    assert lab.left() == []
    assert lab("verify", "a.jsonl").status == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", ["the host is started", "the recording has begun"])
def test_interrupted_while_it_starts(lab: Lab, number: signal.Signals, after: str) -> None:
    """130 as well, with no word of ours about it."""
    file = lab.folder / "a.jsonl"
    with lab.start("--for", "60s", "--record", "a.jsonl") as run:
        process = psutil.Process(run.process.pid)
        wait_for(file.exists if "recording" in after else process.children, after)
        (host,) = process.children()
        run.process.send_signal(number)
        done = run.ended()
        assert (done.status, done.err) == (130, "")
    assert is_gone(host.pid) == []
    assert lab.left() == []
    if file.exists():
        assert lab("verify", "a.jsonl").status == 0


def test_the_disk_is_full(lab: Lab, tmp_path: Path) -> None:
    """1, and why, without a traceback; what was recorded up to then is there, and re-executes."""
    limited = ("bash", "-c", 'ulimit -f 40; exec "$0" "$@"', sys.executable, "-m", "lab")
    home = tmp_path / "h"
    home.mkdir()
    full = Lab(lab.folder, home, limited)
    done = full("run", "bully", "--headless", "--for", "20s", "--t", "20ms", "--record", "a.jsonl", "--json")
    assert (done.status, done.out) == (1, "")
    why, said = done.err.splitlines()
    assert why == "the recording cannot be written: File too large"
    assert said.endswith(f"(recording: {lab.folder / 'a.jsonl'})")
    assert lab("verify", "a.jsonl").status == 0
    assert full.left() == []


def test_the_host_is_killed(lab: Lab) -> None:
    """1, and where to find what was recorded up to then; ``lab list`` cleans up."""
    with lab.start("--for", "60s", "--record", "a.jsonl", "--json") as run:
        run.settled(5)
        os.kill(run.info.pid, signal.SIGKILL)
        done = run.ended()
        assert (done.status, done.out) == (1, "")
        told = f"the host was killed; what was recorded up to then is there (recording: {lab.folder / 'a.jsonl'})"
        assert done.line() == told
        assert run.reason() == ""
        assert is_gone(run.info.pid) == []
        said = lab("list").out
        assert said.startswith(f"removed what the dead host of {run.info.run} had left\nno run is going on\n")
    assert lab("verify", "a.jsonl").status == 0


def test_lab_itself_is_killed(lab: Lab) -> None:
    """The host notices, and ends in good order."""
    with lab.start("--for", "60s") as run:
        run.settled(5)
        run.process.kill()
        assert run.ended().status == -signal.SIGKILL
        wait_for(lambda: lab.left() == [], "the host has cleaned up")
        assert is_gone(run.info.pid) == []
        assert run.reason() == "whoever started it has ended"


def test_its_time_is_up(lab: Lab) -> None:
    """The usual end; a paused node does not hold it up."""
    with lab.start("--for", "1s", "--do", "at 500ms pause all") as run:
        path = Path(run.info.recording)
        wait_for(lambda: not lab.left(), "the host has cleaned up")
        assert run.ended().status == 0
        assert run.reason() == "its time was up"
        assert {view.process for view in Tail(path).read().cluster.nodes.values()} == {"paused"}


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
@pytest.mark.parametrize("words", [("list",), ("show", "a.jsonl"), ("--help",)])
def test_the_output_cannot_be_written(lab: Lab, words: tuple[str, ...]) -> None:
    """A full disk is told in a line."""
    (lab.folder / "a.jsonl").write_bytes(SHIPPED.read_bytes())
    assert lab.into("/dev/full", *words).line() == "No space left on device"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("list",), ("show", "a.jsonl"), ("--help",)])
def test_nobody_reads_the_output(lab: Lab, words: tuple[str, ...], unbuffered: str) -> None:
    """``lab show a.jsonl | head`` is no mistake."""
    (lab.folder / "a.jsonl").write_bytes(SHIPPED.read_bytes())
    done = lab.into("", *words, environment={"PYTHONUNBUFFERED": unbuffered})
    assert (done.status, done.err) == (0, "")
