"""The main use: five processes elect, lose their coordinator, elect again, and get it back."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from lab.cli.run_report import NoteLog, summarize
from lab.recording.records import End, Fault, Header, Process
from lab.tasks.analysis import Analysis, Report
from lab.worlds.host.runs import list_runs
from tests.worlds.live import STEADY, LiveRun

pytestmark = pytest.mark.live


def test_kill_and_restart_the_coordinator_by_script(tmp_path: Path) -> None:
    """``when all normal kill 5``, and a restart once 4 leads: under 4 in between, under 5 before and after."""
    commands = ("at 1s when all normal kill 5", "when all normal and all.coordinator == 4 restart 5")
    with LiveRun(tmp_path, commands=commands, timing=STEADY) as run:
        run.until(lambda _: len(run.tail.elections.settled) == 3, "three elections")
        assert not run.host.end()
        tail = run.tail.read()
        assert [election.coordinator for election in tail.elections.settled] == [5, 4, 5]
        first, second, third = tail.elections.settled
        assert first.lost_at_us is None
        assert second.lost_at_us is not None
        assert 1_000_000 <= second.lost_at_us < second.settled_at_us < third.settled_at_us
        header, end = tail.records[0], tail.records[-1]
        assert isinstance(header, Header)
        assert isinstance(end, End)
        analysis = Analysis(header, tail.cluster)
        notes = NoteLog(analysis)
        summary = summarize(header, tail.cluster, tail.elections, notes, Report(), str(run.path))
        assert {node.coordinator for node in summary.nodes.values()} == {5}
        assert {node.status for node in summary.nodes.values()} == {"Normal"}
        assert [(fault.command, fault.touched) for fault in summary.faults] == [("kill 5", 1)]


def test_without_restart_the_others_are_under_four(tmp_path: Path) -> None:
    """``when all normal kill 5``: four nodes Normal under 4, node 5 dead."""
    with LiveRun(tmp_path, commands=("when all normal kill 5",)) as run:
        run.settled(4)
        assert run.cluster.nodes[5].process == "killed"
        members = {tuple(run.cluster.nodes[n].state["definition"]["members"]) for n in (1, 2, 3, 4)}
        assert members == {(1, 2, 3, 4)}


@pytest.mark.parametrize("command", ["kill 5", "at 0s kill 5"])
def test_a_node_killed_before_it_connects_delays_nobody(tmp_path: Path, command: str) -> None:
    """A command without a trigger is due at the start, while the processes are forked."""
    with LiveRun(tmp_path, commands=(command,)) as run:
        run.settled(4)
        assert [record.event for record in run.processes(5)] == ["killed"]
        run.order("restart 5")
        run.settled(5)


def test_recorded_pids_are_real(tmp_path: Path) -> None:
    """A ``started`` record names a live process, dead after ``killed``; the next one has another pid."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        pids = {node: run.pid(node) for node in (1, 2, 3)}
        for pid in pids.values():
            os.kill(pid, 0)
            assert psutil.Process(pid).ppid() not in (run.ready.pid, os.getpid())  # the fork server's child
        run.order("kill 3")
        run.process_is(3, "killed")
        assert not psutil.pid_exists(pids[3])
        run.order("restart 3")
        run.process_is(3, "running")
        assert run.cluster.nodes[3].incarnation == 2
        os.kill(run.pid(3), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="states of processes are read from /proc")
def test_paused_is_recorded_when_the_process_is_stopped(tmp_path: Path) -> None:
    """At ``paused`` the process is in state T, at ``resumed`` it is not."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        for _ in range(5):
            run.order("pause 2")
            run.process_is(2, "paused")
            assert psutil.Process(run.pid(2)).status() == psutil.STATUS_STOPPED
            run.order("resume 2")
            run.process_is(2, "running")
            assert psutil.Process(run.pid(2)).status() != psutil.STATUS_STOPPED
        resumed = [record for record in run.processes(2) if record.event == "resumed"]
        assert all(record.paused_us > 0 for record in resumed)


def test_a_run_is_listed_while_it_runs(tmp_path: Path) -> None:
    """``lab list`` shows it until it ends; its folder is for this user only."""
    with LiveRun(tmp_path, nodes=(1, 2)) as run:
        (info,), removed = list_runs()
        assert (info.run, info.pid, info.socket, removed) == (run.config.run, run.ready.pid, run.ready.socket, [])
        assert run.folder.stat().st_mode & 0o777 == 0o700
    assert list_runs() == ([], [])


def test_commands_without_effect(tmp_path: Path) -> None:
    """Each is recorded as having changed nothing, and affects no node."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY) as run:
        run.settled(3)
        for command, expected in (
            ("restart 2", "2: already up, nothing changed"),
            ("resume 2", "2: not paused, nothing changed"),
            ("wipe 2", "2 must be down for that, nothing changed"),
            ("heal", "no link fault is in force, nothing changed"),
            ("heal 1->2", "no link fault is in force, nothing changed"),
            ("kill 9", "there is no node 9; the nodes are 1 2 3"),
        ):
            reply = run.order(command)
            assert (reply.changed, reply.text) == (False, expected)
        assert not run.order("pauze 2").ok
        assert len(run.tail.read().of(Process)) == 3
        struck = run.order("kill 2")
        assert (struck.changed, struck.text) == (True, "2 killed")
        run.process_is(2, "killed")
        assert run.order("kill 2").text == "2: already down, nothing changed"
        lifted = [fault.id for fault in run.tail.read().of(Fault) if fault.lifted]
        assert lifted, "the fault of a command that changed nothing is over at once"
