"""Signals from outside the program: their effect on a node's process is recorded."""

import os
import signal
from pathlib import Path

import pytest

from lab.recording.records import Commanded, Fault
from lab.worlds.launch import HostProcess
from tests.worlds.live import STEADY, LiveRun

pytestmark = pytest.mark.live


def test_kill_9_from_outside(tmp_path: Path) -> None:
    """The node is killed, without a command or fault; the others elect; it can be restarted."""
    with LiveRun(tmp_path, host=HostProcess) as run:
        run.settled(5)
        os.kill(run.pid(5), signal.SIGKILL)
        run.process_is(5, "killed")
        run.settled(4)
        assert run.tail.of(Fault) == []
        assert run.tail.of(Commanded) == []
        assert run.order("restart 5").text == "5 restarted"
        run.settled(5)


def test_stop_and_cont_from_outside(tmp_path: Path) -> None:
    """It is paused, and can be resumed by command; and the other way round."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        os.kill(run.pid(3), signal.SIGSTOP)
        run.process_is(3, "paused")
        run.settled(2)
        assert run.order("pause 3").text == "3: not running, nothing changed"
        assert run.order("resume 3").changed
        run.process_is(3, "running")
        run.settled(3)
        run.order("pause 3")
        run.process_is(3, "paused")
        os.kill(run.pid(3), signal.SIGCONT)
        run.process_is(3, "running")
        run.settled(3)
        assert run.order("resume 3").text == "3: not paused, nothing changed"


def test_stops_too_short_to_be_seen(tmp_path: Path) -> None:
    """STOP and CONT at once, forty times: the node continues, and pauses and resumes come in pairs."""
    with LiveRun(tmp_path, nodes=(1, 2), timing=STEADY) as run:
        run.settled(2)
        for _ in range(40):
            os.kill(run.pid(1), signal.SIGSTOP)
            os.kill(run.pid(1), signal.SIGCONT)
        run.order("kill 2")
        run.process_is(2, "killed")
        run.settled(1)
        run.order("restart 2")
        run.settled(2)
        events = [record.event for record in run.processes(1)][1:]
        assert events == ["paused", "resumed"] * (len(events) // 2), "a pause is over before the next begins"


def test_other_signals_to_a_node_end_it_or_nothing(tmp_path: Path) -> None:
    """Ctrl-C and other signals to process groups do not end a node; SIGABRT does, as a crash."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(run.pid(2), number)
        before = run.cluster.nodes[2].step_us
        run.until(lambda cluster: cluster.nodes[2].step_us > before, "node 2 goes on")
        os.kill(run.pid(2), signal.SIGABRT)
        run.process_is(2, "killed")
