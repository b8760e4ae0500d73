"""However the host ends, within a second none of its processes is left, and its recording opens."""

import os
import random
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import msgspec
import psutil
import pytest

from lab.recording.reader import open_recording
from lab.recording.records import End, Link
from lab.recording.timeline import Timeline
from lab.worlds.host.runs import list_runs
from lab.worlds.launch import HostProcess
from lab.worlds.loading.config import RunConfig
from tests.profile import amount, sampled
from tests.waiting import wait_for
from tests.worlds.live import QUICK, LiveRun, Tail, is_gone

pytestmark = pytest.mark.live

EVERY = amount(quick=7, soak=1)
"""Of how many bytes one is the last."""
OWNER = """
import sys, msgspec
from lab.worlds.loading.config import RunConfig
from lab.worlds.launch import HostProcess
host = HostProcess(msgspec.json.decode(sys.argv[1], type=RunConfig))
host.ready()
print(host.process.pid, flush=True)
host.wait()
"""


def _warm_parent(run: LiveRun) -> int:
    parent = psutil.Process(run.pid(1)).ppid()
    assert parent != run.ready.pid
    return parent


def _opens_at_every_cut(path: Path, folder: Path) -> None:
    """Check that the recording opens when cut within its last two records, with all whole records."""
    whole = path.read_bytes()
    complete = whole[: whole.rfind(b"\n") + 1]
    lines = complete.split(b"\n")[:-1]
    start = len(complete) - len(lines[-1]) - len(lines[-2]) - 2
    newline = start + len(lines[-2])
    ends = {start, start + 1, newline, newline + 1, newline + 2, len(complete) - 1, len(complete)}
    cut = folder / "cut.jsonl"
    for end in sorted(ends.union(range(start, len(complete) + 1, EVERY))):
        cut.write_bytes(complete[:end])
        opened = open_recording(cut)
        assert len(opened) >= complete[:end].count(b"\n")
        assert not opened.damage
        # a line whole but for its newline counts as whole
        assert opened.torn == (complete[:end].count(b"\n") == len(opened) and complete[end - 1 : end] != b"\n")
        Timeline(opened).at(len(opened))
        opened.close()


def _gone_but_for_the_recording(run: LiveRun, folder: Path) -> None:
    run.ended()
    assert is_gone(run.session) == []
    running, removed = list_runs()
    assert running == []
    assert removed == [run.config.run]
    assert not run.folder.exists()
    lines = open_recording(run.path)
    assert not any(isinstance(record, End) for record in lines.records())
    lines.close()
    _opens_at_every_cut(run.path, folder)


def _ended_in_good_order(run: LiveRun, folder: Path) -> None:
    run.ended()
    assert is_gone(run.session) == []
    last = run.tail.read().records[-1]
    assert isinstance(last, End)
    assert last.why == "the process that nodes are forked from has ended"
    assert not run.folder.exists()
    _opens_at_every_cut(run.path, folder)


@pytest.mark.parametrize(
    ("victims", "module", "paused"),
    sampled(
        [*product(("host", "fork server", "both"), ("lab.worlds", "tests.worlds.portable"), ("", "2 5", "all"))], 4
    ),
)
def test_sigkill(tmp_path: Path, victims: str, module: str, paused: str) -> None:
    """Kill -9 at a random moment, with paused nodes too, and without the features of Linux too."""
    chance = random.Random(f"{victims} {paused}")
    run = LiveRun(tmp_path, module=module, host=HostProcess)
    process = run.host.process
    assert isinstance(process, subprocess.Popen)
    with process:
        run.ready = run.host.ready()
        run.until(lambda cluster: cluster.nodes[5].process == "running", "the nodes have started")
        parent = _warm_parent(run)
        if paused:
            run.order(f"pause {paused}")
            run.until(lambda cluster: cluster.nodes[5].process == "paused", "it stands")
        wanted = len(run.tail.records) + (0 if paused == "all" else chance.randrange(200))
        wait_for(lambda: len(run.tail.read().records) >= wanted, f"{wanted} records")
        if victims == "both":
            os.kill(run.session, signal.SIGSTOP)  # so that it does not notice the end of its fork server
        if victims != "host":
            os.kill(parent, signal.SIGKILL)
        if victims != "fork server":
            os.kill(run.session, signal.SIGKILL)
        if victims == "fork server":
            _ended_in_good_order(run, tmp_path)
        else:
            _gone_but_for_the_recording(run, tmp_path)
        run.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_run_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    """The recording is complete, and has the reason."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        run.order("pause 1")
        run.process_is(1, "paused")
        os.kill(run.ready.pid, number)
        run.ended()
        last = run.tail.read().records[-1]
        assert isinstance(last, End)
        assert last.why == f"signal {number.name}"


@pytest.mark.parametrize("after", [0, 3, 10])
def test_sigkill_while_it_starts(tmp_path: Path, after: int) -> None:
    """Even before it has reported that it is ready. ``after`` this many records."""
    run = LiveRun(tmp_path, host=HostProcess)
    process = run.host.process
    assert isinstance(process, subprocess.Popen)
    with process:
        if after:
            wait_for(lambda: run.path.exists() and len(run.tail.read().records) >= after, f"{after} records")
        os.kill(run.session, signal.SIGKILL)
        run.ended()
        assert is_gone(run.session) == []
        run.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_owner_dies(tmp_path: Path, number: signal.Signals) -> None:
    """The host notices that the process that started it is gone, and completes the recording."""
    config = RunConfig("owned", "bully", (1, 2, 3), QUICK, {}, Link(), 1, str(tmp_path / "run.jsonl"))
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, msgspec.json.encode(config).decode()], stdout=subprocess.PIPE
    )
    with owner:
        assert owner.stdout is not None
        session = int(owner.stdout.readline())
        os.kill(owner.pid, number)
    assert is_gone(session) == []
    last = Tail(tmp_path / "run.jsonl").read().records[-1]
    assert isinstance(last, End)
    assert last.why == "the process that started it has ended"
    assert list_runs() == ([], [])
