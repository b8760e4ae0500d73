"""A user's protocol with an endless step: reported with its line, wherever it runs."""

import re
import signal
from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.recording.records import Link
from lab.worlds.launch import HostProcess
from lab.worlds.loading.config import RunConfig
from tests.cli.invocation import Lab
from tests.waiting import WAIT_S, wait_for
from tests.worlds.live import is_gone

MINE = """from lab.kernel import on
from lab.protocols import Bully
from lab.protocols.bully import EnterElection, EnterElectionAnswer


class Mine(Bully):
    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        while True:
            pass
"""
ERROR = "StepTooLongError: on_enter_election did not return within 0.{} s of computing"
PLACE = r"mine\.py:(9|10) in on_enter_election: (while True:|pass)"
MESSAGE = rf"node 1 failed at [\d.]+ s: {ERROR.format('[15]')} \({PLACE}\)"


@pytest.fixture
def mine(lab: Lab) -> Path:
    """Return ``mine.py``, in the working directory."""
    path = lab.folder / "mine.py"
    path.write_text(MINE)
    return path


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    "how", [pytest.param(("--sim",), id="simulated"), pytest.param((), id="live", marks=pytest.mark.live)]
)
def test_run(lab: Lab, how: tuple[str, ...]) -> None:
    """The node fails, which is reported at the end with the line; the recording re-executes."""
    done = lab("run", "mine.py", *how, "--nodes", "2", "--headless", "--for", "4s", "--record", "run.jsonl")
    assert done.status == 1, done
    assert re.search("^  node 1  failed ", done.out, re.MULTILINE)
    assert re.fullmatch(MESSAGE, done.line())
    verified = lab("verify", "run.jsonl", "--protocol", "mine.py")
    assert verified.status == 1
    assert "steps re-executed" in verified.out


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less for a step in this process: a search makes many runs with the endless one."""
    monkeypatch.setattr("lab.worlds.watchdog._MOST_S", 0.1)


@pytest.mark.usefixtures("mine", "impatient")
def test_check(lab: Lab) -> None:
    """It is found with the first seed, shrunk and recorded; the exit status is 1. Workers: ``test_watchdog``."""
    done = lab.within("check", "mine.py", "--runs", "1", "--nodes", "2", "--faults", "kill", "--workers", "1")
    assert done.status == 1, done
    assert f"seed 1: raises fails with all assumptions intact: {ERROR.format(1)}\n" in done.out
    assert (lab.folder / "mine-raises-seed1.jsonl").exists()


@pytest.mark.usefixtures("mine", "impatient")
def test_explore(lab: Lab) -> None:
    """It is a state in which a node has failed."""
    done = lab.within("explore", "mine.py", "--nodes", "2", "--from", "start", "--kills", "0")
    assert done.status == 1, done
    assert "recorded: mine-raises-synchronous.jsonl, " in done.out
    assert re.search(MESSAGE, done.err)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_a_signal_ends_it(lab: Lab, number: signal.Signals) -> None:
    """In the middle of the step: soon, and with a report."""
    process = lab.begin("run", "mine.py", "--sim", "--headless", "--for", "10000m", "--record", "run.jsonl")
    path = lab.folder / "run.jsonl"
    wait_for(lambda: path.exists() and path.stat().st_size > 0, "the recording has its header")
    process.send_signal(number)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, err
    assert out.startswith(b"mine, simulated, ")


def test_the_host_ends_with_its_parent(lab: Lab, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even during such a step."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    recording = str(lab.folder / "run.jsonl")
    config = RunConfig(
        *("run", str(mine), (1, 2), Timing(40_000, 20_000), {}, Link(1_000), 1, recording), world="simulated"
    )
    host = HostProcess(config)
    try:
        wait_for(Path(recording).exists, "it is under way")
        assert host.process.stdin is not None
        host.process.stdin.close()
        assert host.wait(WAIT_S) == 0
        assert is_gone(host.process.pid) == []
    finally:
        host.process.kill()
        host.close()
