"""Stable storage (rule M3): atomic under a kill at any instant, on disk before a message leaves, kept, wiped."""

import os
import random
import signal
from pathlib import Path

import pytest

from lab.kernel import Started, Step
from lab.kernel.storage import Write
from lab.recording.records import Process
from lab.worlds.live.stable_storage import StableStorage, truncate, wipe
from tests.profile import amount
from tests.waiting import wait_for
from tests.worlds.live import STEADY, LiveRun, Tail

PADDING = "x" * 5_000
"""Makes the file longer than a page or two, so that a torn write would show."""


def _write_for_ever(folder: Path, report: int) -> None:
    storage = StableStorage(folder, 1)
    version = storage.values.get("version", 0)
    while True:
        version += 1
        storage.write(Write({"version": version, "padding": f"{version}{PADDING}", "last": version}))
        os.write(report, version.to_bytes(8, "big"))


def test_M3_a_write_is_atomic_under_sigkill(tmp_path: Path) -> None:
    """Many writers are killed at random moments: each time a whole value, never older than reported."""
    chance = random.Random("sixty kills")
    for _ in range(amount(quick=20, soak=60)):
        reading, writing = os.pipe()
        writer = os.fork()
        if writer == 0:
            try:
                _write_for_ever(tmp_path, writing)
            finally:
                os._exit(1)
        os.close(writing)
        reported = os.read(reading, 8)  # one write at least; then more, until the kill
        wait_for(lambda: chance.random() < 0.1, "a random moment", every_s=0.0005)
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        while more := os.read(reading, 1 << 16):
            reported = (reported + more)[-8:]
        os.close(reading)
        values = StableStorage(tmp_path, 1).values
        assert values["version"] >= int.from_bytes(reported, "big")
        assert values["last"] == values["version"]
        assert values["padding"] == f"{values['version']}{PADDING}"


def test_a_write_keeps_what_it_does_not_name(tmp_path: Path) -> None:
    """Values are replaced one by one, and nodes do not share them; wiping empties one node's."""
    StableStorage(tmp_path, 1).write(Write({"a": 1, "b": [1]}))
    StableStorage(tmp_path, 1).write(Write({"b": [2]}))
    StableStorage(tmp_path, 2).write(Write({"a": 9}))
    assert StableStorage(tmp_path, 1).values == {"a": 1, "b": [2]}
    assert wipe(tmp_path, 1)
    assert not wipe(tmp_path, 1)
    assert StableStorage(tmp_path, 1).values == {}
    assert StableStorage(tmp_path, 2).values == {"a": 9}


def test_a_log_in_storage_grows(tmp_path: Path) -> None:
    """Appended entries follow the old ones, across incarnations."""
    storage = StableStorage(tmp_path, 1)
    storage.write(Write({"a": 1}, {"log": ["x", "y"]}))
    storage.write(Write({}, {"log": ["z"]}))
    again = StableStorage(tmp_path, 1)
    again.write(Write({}, {"log": [[1]]}))
    assert StableStorage(tmp_path, 1).values == {"a": 1, "log": ["x", "y", "z", [1]]}


def test_a_write_torn_at_any_byte_is_no_write(tmp_path: Path) -> None:
    """However much of the last line a crash leaves: the values before it, and the next write is whole."""
    storage = StableStorage(tmp_path, 1)
    storage.write(Write({"a": 1}, {"log": ["x"]}))
    (file,) = tmp_path.iterdir()
    before = file.stat().st_size
    storage.write(Write({"a": 2}, {"log": ["y"]}))
    whole = file.read_bytes()
    for length in range(before, len(whole)):
        file.write_bytes(whole[:length])
        torn = StableStorage(tmp_path, 1)
        assert torn.values == {"a": 1, "log": ["x"]}
        torn.write(Write({"a": 3}))
        assert StableStorage(tmp_path, 1).values == {"a": 3, "log": ["x"]}


def test_writes_beyond_the_last_that_counts_are_undone(tmp_path: Path) -> None:
    """What a process wrote after its crash, whole or torn."""
    for writes, left in ((0, {}), (2, {"a": 2}), (3, {"a": 3}), (9, {"a": 3})):
        wipe(tmp_path, 1)
        storage = StableStorage(tmp_path, 1)
        for value in (1, 2, 3):
            storage.write(Write({"a": value}))
        (file,) = tmp_path.iterdir()
        with file.open("ab") as torn:
            torn.write(b'{"stored":{"a"')
        truncate(tmp_path, 1, writes)
        assert StableStorage(tmp_path, 1).values == left
    truncate(tmp_path, 2, 0)
    assert not (tmp_path / "2.jsonl").exists()


def _starts(tail: Tail, node: int) -> list[Started]:
    return [step.input for step in tail.of(Step) if step.node == node and isinstance(step.input, Started)]


@pytest.mark.live
def test_restart_brings_back_what_was_stored_and_wipe_empties_it(tmp_path: Path) -> None:
    """Node 1 restarts with its version; after a wipe with nothing; the wipe is recorded."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        version = run.cluster.nodes[1].state["version"]
        assert version >= 1
        run.order("kill 1")
        run.process_is(1, "killed")
        run.order("restart 1")
        run.until(lambda _: len(_starts(run.tail, 1)) == 2, "the second life of 1 has begun")
        assert _starts(run.tail, 1)[1].stored["version"] >= version
        run.settled(3)
        assert run.cluster.nodes[1].state["version"] > version
        run.order("kill 1")
        run.process_is(1, "killed")
        assert run.order("wipe 1").changed
        assert not run.order("wipe 1").changed
        assert [r.event for r in run.tail.read().of(Process) if r.node == 1][-1] == "wiped"
        run.order("restart 1")
        run.until(lambda _: len(_starts(run.tail, 1)) == 3, "the third life of 1 has begun")
        assert _starts(run.tail, 1)[2].stored == {}
        run.settled(3)


@pytest.mark.live
def test_wipe_and_restart_given_while_the_process_is_dying(tmp_path: Path) -> None:
    """Kill, wipe, restart in immediate succession are executed in this order."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        for command in ("kill 1", "wipe 1", "restart 1"):
            assert run.order(command).changed
        run.until(lambda _: len(_starts(run.tail, 1)) == 2, "the second life of 1 has begun")
        assert [r.event for r in run.processes(1)] == ["started", "killed", "wiped", "started"]
        assert _starts(run.tail, 1)[1].stored == {}
        run.settled(3)


@pytest.mark.live
@pytest.mark.parametrize("paused", [2, 3])
def test_stored_before_sent(tmp_path: Path, paused: int) -> None:
    """When the host sees the first message of a step that stores, the value is on disk.

    The node is paused on that very message, so nothing later can have written the file.
    """
    message = {3: "NewState 3->1", 2: "NewStateAnswer 2->3"}[paused]
    with LiveRun(
        tmp_path, nodes=(1, 2, 3), timing=STEADY, commands=(f"on send {message}: pause {paused}",)
    ) as run:
        run.process_is(paused, "paused")
        kind = message.partition(" ")[0]
        step = next(s for s in run.tail.of(Step) if s.node == paused and any(m.kind == kind for m in s.sent))
        assert step.stored["version"] == 1
        stored = StableStorage(run.folder / "safe", paused).values
        assert stored["version"] >= step.stored["version"]
        run.order(f"resume {paused}")
        run.settled(3)
