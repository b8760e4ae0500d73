"""The ends of headless runs: a recording, nothing else left over, and an exit status for the reason."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.cli.invocation import SHIPPED, Lab
from tests.waiting import wait_for
from tests.worlds.live import Tail, is_gone


@pytest.mark.live
@pytest.mark.parametrize(
    ("number", "form"),
    [
        (signal.SIGINT, "report"),
        (signal.SIGTERM, "json"),
        pytest.param(signal.SIGINT, "json", marks=pytest.mark.soak),
        pytest.param(signal.SIGTERM, "report", marks=pytest.mark.soak),
    ],
)
def test_interrupted(lab: Lab, number: signal.Signals, form: str) -> None:
    """130, a complete recording, and a report of the run so far."""
    with lab.start("--for", "60s", "--record", "a.jsonl", *(["--json"] if form == "json" else [])) as run:
        run.settled(5)
        assert lab("ctl", "pause 2").status == 0
        run.process.send_signal(number)
        done = run.ended()
        assert (done.status, done.err) == (130, "")
        assert str(lab.folder / "a.jsonl") in done.out
        assert done.out.startswith('{"format":1,"world":"live"' if form == "json" else "bully, live, ")
        assert run.reason() == "the process that started it has ended"
        assert is_gone(run.info.pid) == []
    assert lab.left() == []
    assert lab("verify", "a.jsonl").status == 0


@pytest.mark.live
@pytest.mark.parametrize(
    ("number", "after"),
    [
        (signal.SIGINT, "the host is started"),
        (signal.SIGTERM, "the recording has begun"),
        pytest.param(signal.SIGINT, "the recording has begun", marks=pytest.mark.soak),
        pytest.param(signal.SIGTERM, "the host is started", marks=pytest.mark.soak),
    ],
)
def test_interrupted_while_it_starts(lab: Lab, number: signal.Signals, after: str) -> None:
    """130 as well, without any output of ours."""
    file = lab.folder / "a.jsonl"
    with lab.start("--for", "60s", "--record", "a.jsonl") as run:
        process = psutil.Process(run.process.pid)
        wait_for(file.exists if "recording" in after else process.children, after)
        hosts = process.children()  # none yet, where the recording was created first
        run.process.send_signal(number)
        done = run.ended()
        assert (done.status, done.err) == (130, "")
    assert [each.pid for each in hosts if is_gone(each.pid) != []] == []
    assert lab.left() == []
    if file.exists() and file.stat().st_size:  # it is empty if its host ended before the first record
        verified = lab("verify", "a.jsonl")
        assert "a.jsonl: as recorded; " in verified.out
        assert verified.status == int("nothing was judged" in verified.err)


@pytest.mark.live
def test_the_disk_is_full(lab: Lab, tmp_path: Path) -> None:
    """1 and the reason, without a traceback; the recording so far is there, and re-executes."""
    limited = ("bash", "-c", 'ulimit -f 40; exec "$0" "$@"', sys.executable, "-m", "lab")
    home = tmp_path / "h"
    home.mkdir()
    full = Lab(lab.folder, home, limited)
    done = full("run", "bully", "--headless", "--for", "20s", "--t", "20ms", "--record", "a.jsonl", "--json")
    assert (done.status, done.out) == (1, "")
    why, output = done.err.splitlines()
    assert why == "the recording cannot be written: File too large"
    assert output.endswith(f"(recording: {lab.folder / 'a.jsonl'})")
    assert lab("verify", "a.jsonl").status == 0
    assert full.left() == []


@pytest.mark.live
def test_the_host_is_killed(lab: Lab) -> None:
    """1, and the path of the recording so far; ``lab list`` cleans up."""
    with lab.start("--for", "60s", "--record", "a.jsonl", "--json") as run:
        run.settled(5)
        os.kill(run.info.pid, signal.SIGKILL)
        done = run.ended()
        assert (done.status, done.out) == (1, "")
        result = f"the host was killed; its recording has all up to then (recording: {lab.folder / 'a.jsonl'})"
        assert done.line() == result
        assert run.reason() == ""
        assert is_gone(run.info.pid) == []
        output = lab("list").out
        assert output.startswith(f"removed the files of {run.info.run}, whose host has crashed\nno active runs\n")
    assert lab("verify", "a.jsonl").status == 0


@pytest.mark.live
def test_lab_itself_is_killed(lab: Lab) -> None:
    """The host notices, and ends in good order."""
    with lab.start("--for", "60s") as run:
        run.settled(5)
        run.process.kill()
        assert run.ended().status == -signal.SIGKILL
        wait_for(lambda: lab.left() == [], "the host has cleaned up")
        assert is_gone(run.info.pid) == []
        assert run.reason() == "the process that started it has ended"


@pytest.mark.live
def test_the_run_ends_at_its_time(lab: Lab) -> None:
    """The usual end; a paused node does not delay it."""
    with lab.start("--for", "3s", "--do", "at 500ms pause all") as run:
        path = Path(run.info.recording)
        wait_for(lambda: not lab.left(), "the host has cleaned up")
        assert run.ended().status == 0
        assert run.reason() == "its time limit was reached"
        assert {view.process for view in Tail(path).read().cluster.nodes.values()} == {"paused"}


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
@pytest.mark.parametrize(
    "words", [pytest.param(("list",), marks=pytest.mark.soak), ("show", "a.jsonl"), ("--help",)]
)
def test_the_output_cannot_be_written(lab: Lab, words: tuple[str, ...]) -> None:
    """A full disk is reported in one line."""
    (lab.folder / "a.jsonl").write_bytes(SHIPPED.read_bytes())
    assert lab.into("/dev/full", *words).line() == "No space left on device"


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        (("show", "a.jsonl"), ""),
        (("--help",), "1"),
        pytest.param(("show", "a.jsonl"), "1", marks=pytest.mark.soak),
        pytest.param(("--help",), "", marks=pytest.mark.soak),
        pytest.param(("list",), "", marks=pytest.mark.soak),
        pytest.param(("list",), "1", marks=pytest.mark.soak),
    ],
)
def test_a_closed_pipe_ends_it_without_a_word(lab: Lab, words: tuple[str, ...], unbuffered: str) -> None:
    """``lab show a.jsonl | head``: with the status of a program that SIGPIPE ends, as nobody has read it all."""
    (lab.folder / "a.jsonl").write_bytes(SHIPPED.read_bytes())
    done = lab.into("", *words, environment={"PYTHONUNBUFFERED": unbuffered})
    assert (done.status, done.err) == (141, "")
