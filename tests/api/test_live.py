"""A live cluster in Python: commands, waits, and the run that it leaves."""

import gc
from pathlib import Path

import pytest

import lab
from lab.recording.records import End, Expected
from lab.script.scope import CommandError
from lab.text import UserError
from lab.worlds.launch import HostFailedError
from tests.waiting import wait_for

pytestmark = pytest.mark.live


def test_what_it_does() -> None:
    """It elects, loses its leader, and ends as a run that can be asked and branched from."""
    with lab.live("bully", nodes=3, script='at 0s mark "begin"') as cluster:
        first_us = cluster.wait_until("all normal and all.coordinator == 3", within="20s")
        assert cluster.execute("kill 3").changed
        assert not cluster.execute("kill 3").changed
        assert cluster.wait_until("all normal and all.coordinator == 2", within="20s") > first_us
        assert {node.id: node.coordinator for node in cluster.state.nodes} == {1: 2, 2: 2, 3: None}
    run = cluster.end()
    assert run is cluster.end()
    assert run.holds, run.verdicts
    assert [each.coordinator for each in run.elections] == [3, 2]
    assert run.commands == ("kill 3", "kill 3")
    assert [each.met for each in run.records if isinstance(each, Expected)] == [True, True]
    last = run.records[-1]
    assert isinstance(last, End)
    assert last.why == "ended by its driver"
    assert run.branch("100ms", for_="1s").records


def test_what_does_not_work() -> None:
    """Each error says what was wrong, and the cluster goes on."""
    with lab.live("bully", nodes=3) as cluster:
        cluster.wait_until("all normal", within="20s")
        with pytest.raises(CommandError, match=r"'kil 3': .*did you mean 'kill'"):
            cluster.execute("kil 3")
        with pytest.raises(CommandError, match="there is no node 9"):
            cluster.wait_until("9 normal")
        with pytest.raises(TimeoutError, match=r"not within 50ms: 2 leads: 2\.coordinator was 3|2 leads"):
            cluster.wait_until("2 leads", within="50ms")
        assert cluster.execute("kill 3").changed
    with pytest.raises(HostFailedError, match=f"the run {cluster.name} is over"):
        cluster.execute("kill 2")
    with pytest.raises(HostFailedError, match="is over"):
        cluster.wait_until("all normal")


def test_the_recording_is_where_it_was_wanted(tmp_path: Path) -> None:
    """Also if the program fails amid the run."""

    def fail() -> None:
        with lab.live("bully", nodes=3, record=tmp_path / "run.jsonl") as cluster:
            cluster.wait_until("all normal", within="20s")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    run = lab.load(tmp_path / "run.jsonl")
    assert isinstance(run.records[-1], End)
    assert run.elections


def test_the_folder_goes_with_the_run() -> None:
    """And a cluster that nobody holds any more ends."""
    cluster = lab.live("bully", nodes=1)
    process, folder = cluster._host.process, cluster._path.parent
    assert folder.exists()
    del cluster
    gc.collect()
    wait_for(lambda: process.poll() is not None, "the host ends")
    assert not folder.exists()
    run = lab.live("bully", nodes=1).end()
    folder = run._store.path.parent
    assert folder.exists()
    del run
    gc.collect()
    assert not folder.exists()


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nodes=65: a live run allows 1 to 64 nodes"):
        lab.live("bully", nodes=65)
    with pytest.raises(CommandError, match="'at 2s kill 9': there is no node 9"):
        lab.live("bully", script="at 2s kill 9")
    with pytest.raises(HostFailedError, match="the recording cannot be written"):
        lab.live("bully", record=tmp_path / "missing" / "run.jsonl")
