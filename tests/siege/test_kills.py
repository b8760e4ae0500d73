"""SIGKILL at drawn moments: nothing is left, the terminal is as before, and the recording verifies up to its tear.

The profile ``soak`` draws a thousand moments, and prints at which stage they struck; a failure names its number.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import psutil
import pytest

from lab.protocols import Bully, source_of
from lab.recording.reader import NotARecordingError, open_recording
from lab.replay.reexecution import reexecute
from lab.worlds.host.runs import list_runs
from tests.cli.invocation import Lab
from tests.profile import amount
from tests.tui.terminal import Terminal
from tests.waiting import WAIT_S, wait_for
from tests.worlds.live import LiveRun, is_gone

pytestmark = pytest.mark.live

MOMENTS = amount(quick=2, soak=240)
"""For each victim."""
KILLS_FOR_S = amount(quick=4, soak=600)
NODES = (1, 2, 3)


def recorded_stage(path: Path, name: str) -> str:
    """Return how far a recording came; it must open, and re-execute up to where it was torn."""
    if not path.exists() or not path.stat().st_size:
        return "no recording"
    try:
        store = open_recording(path)
    except NotARecordingError as error:
        if b"\n" in path.read_bytes():
            raise AssertionError(f"{name}: {error}") from error
        return "a torn header"
    try:
        report = reexecute(store, Bully, source_of(Bully)[1])
        assert report.holds, f"{name}: {report.differences}"
        assert not store.damage, f"{name}: {store.damage}"
        return "started" if report.steps else "no step"
    finally:
        store.close()


def _wait_for_moment(chance: Random, most_s: float) -> None:
    time.sleep(chance.uniform(0, most_s))  # a moment is what is drawn here, not a condition


def _fork_server(host: int) -> int | None:
    """Return the process that nodes are forked from, if it exists yet."""
    try:
        return next((child.pid for child in psutil.Process(host).children()), None)
    except psutil.NoSuchProcess:
        return None


@pytest.mark.parametrize("victim", ["host", "fork server"])
def test_host_and_fork_server(tmp_path: Path, victim: str) -> None:
    """Under a program that goes on; the next ``lab list`` removes what is left of the run."""
    stages: Counter[str] = Counter()
    for number in range(MOMENTS):
        folder, name = tmp_path / str(number), f"{victim}, moment {number}"
        folder.mkdir()
        run = LiveRun(folder, nodes=NODES)
        _wait_for_moment(Random(f"{victim}/{number}"), 0.6)
        pid = run.session if victim == "host" else _fork_server(run.session)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        else:
            run.host.process.kill()
        run.ended()
        run.close()
        assert is_gone(run.session) == [], name
        assert list_runs()[0] == [], name
        assert not run.folder.exists(), name
        stages[recorded_stage(run.path, name)] += 1
    print(f"{victim}: {MOMENTS} moments: {dict(stages)}")


def test_command(lab: Lab) -> None:
    """A headless run: its host notices, and ends in good order."""
    stages: Counter[str] = Counter()
    for number in range(MOMENTS):
        name, file = f"command, moment {number}", lab.folder / f"{number}.jsonl"
        running = lab.begin("run", "bully", "--headless", "--for", "60s", "--record", file.name, "--t", "100ms")
        _wait_for_moment(Random(name), 5)
        started = psutil.Process(running.pid).children(recursive=True)
        running.kill()
        running.communicate()
        _, left = psutil.wait_procs(started, WAIT_S)
        assert left == [], name
        wait_for(lambda: not any((lab.runtime / "lab").glob("*/run.json")), f"no run is published ({name})")
        stages[recorded_stage(file, name)] += 1
    assert lab("list").status == 0
    assert lab.left() == []
    print(f"command: {MOMENTS} moments: {dict(stages)}")


def _host_under(terminal: Terminal) -> int | None:
    for each in terminal.processes():
        try:
            if "lab.worlds" in each.cmdline() and os.getsid(each.pid) == each.pid:
                return each.pid
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return None


def _fork_server_under(terminal: Terminal) -> int | None:
    host = _host_under(terminal)
    return None if host is None else _fork_server(host)


def _interface_in(terminal: Terminal) -> int | None:
    try:
        return terminal.interface()
    except (StopIteration, psutil.NoSuchProcess):
        return None


def _is_restored(terminal: Terminal) -> bool:
    """Return whether what the program switched on is off again."""
    modes = ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?1003h", b"\x1b[?1003l"))
    return all(terminal.output.rfind(on) <= terminal.output.rfind(off) for on, off in modes)


VICTIMS: dict[str, Callable[[Terminal], int | None]] = {
    "interface": _interface_in,
    "host": _host_under,
    "fork server": _fork_server_under,
    "command": lambda terminal: terminal.pid,
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_under_the_interface(tmp_path: Path, victim: str) -> None:
    """Whoever is killed, ``q`` ends the rest; unless all of the program is gone, the terminal is restored."""
    stages: Counter[str] = Counter()
    for number in range(max(1, MOMENTS // 3)):
        name, file = f"{victim} under the interface, moment {number}", tmp_path / f"{number}.jsonl"
        with Terminal("-m", "lab", "run", "bully", "--t", "100ms", "--record", str(file)) as terminal:
            _wait_for_moment(Random(name), 6)
            pid = VICTIMS[victim](terminal)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            struck = "not there yet" if pid is None else "struck"
            if victim != "command":
                _quit(terminal)
                wait_for(lambda: _is_restored(terminal), f"the terminal is restored ({name})")
            wait_for(lambda: not terminal.processes(), f"nothing is left ({name})", every_s=0.05)
            assert list_runs()[0] == [], name
        stages[f"{struck}, {recorded_stage(file, name)}"] += 1
    print(f"{victim} under the interface: {dict(stages)}")


def _quit(terminal: Terminal) -> None:
    """Press q until the program has ended: before it is drawn, it reads no keys."""

    def has_ended() -> bool:
        if terminal.pid not in {each.pid for each in terminal.processes()}:
            return True
        terminal.type("q")
        return False

    wait_for(has_ended, "the program ends", every_s=0.3)


def test_kills_every_second(tmp_path: Path) -> None:
    """Descriptors, processes and memory of host and fork server do not grow."""
    with LiveRun(tmp_path, nodes=(1, 2, 3, 4, 5)) as run:
        run.settled(5)
        processes = psutil.Process(run.session), psutil.Process(_fork_server(run.session) or 0)
        _kill_and_restart(run, 5)
        before = _held(run, processes)
        ends_s, kills = time.monotonic() + KILLS_FOR_S, 0
        while time.monotonic() < ends_s:
            _kill_and_restart(run, 5 - kills % 3)
            kills += 1
        run.settled(5)
        after = _held(run, processes)
        print(f"{kills} kills in {KILLS_FOR_S} s, {run.cluster.record:,} records: {before} before, {after} after")
        assert (after["descriptors"], after["processes"]) == (before["descriptors"], before["processes"])
        assert after["memory of the host"] < 2 * before["memory of the host"]
        assert after["memory of the fork server"] < 2 * before["memory of the fork server"]
        assert len(run.processes(5)) > kills / 3


def _kill_and_restart(run: LiveRun, node: int) -> None:
    run.order(f"kill {node}")
    run.process_is(node, "killed")
    time.sleep(0.5)  # an election, in part
    run.order(f"restart {node}")
    run.process_is(node, "running")
    time.sleep(0.4)


def _held(run: LiveRun, processes: tuple[psutil.Process, psutil.Process]) -> dict[str, int]:
    host, server = processes
    return {
        "descriptors": host.num_fds() + server.num_fds(),
        "processes": len(psutil.Process(run.session).children(recursive=True)),
        "memory of the host": host.memory_info().rss,
        "memory of the fork server": server.memory_info().rss,
    }
