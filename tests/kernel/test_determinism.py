"""Determinism: the same inputs give the same bytes, also in processes with different hash seeds."""

import os
import subprocess
import sys

import msgspec
import pytest

from tests.harness import T_US, Rig

SCRIPT = ("at 1s kill 5", "at 2500ms pause 4", "at 3s delay 3->2 30ms ±10ms", "at 4s restart 5", "at 5s resume 4")
LONG_US = 8_000_000


def run_lines(seed: int) -> bytes:
    """Return the lines of the recording of a run with kills, pauses and delays."""
    rig = Rig([1, 2, 3, 4, 5], jitter_us=5_000, seed=seed)
    rig.do(*SCRIPT)
    rig.started().run(LONG_US)
    return b"\n".join(msgspec.json.encode(record) for record in rig.records)


def test_the_same_seed_gives_the_same_bytes() -> None:
    """Another seed gives other bytes; otherwise the test would show nothing."""
    assert run_lines(3) == run_lines(3)
    assert run_lines(3) != run_lines(4)


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_same_bytes_for_every_hash_seed(hash_seed: str) -> None:
    """No set order and no ``hash()`` affects a run."""
    code = "import sys; from tests.kernel.test_determinism import run_lines; sys.stdout.buffer.write(run_lines(3))"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, "PYTHONPATH": path}, capture_output=True, check=True
    )
    assert done.stdout == run_lines(3)


def test_the_run_is_worth_comparing() -> None:
    """The run contains elections, faults and late answers."""
    rig = Rig([1, 2, 3, 4, 5], jitter_us=5_000, seed=3)
    rig.do(*SCRIPT)
    rig.started().run(LONG_US)
    assert len({step.changed.get("coordinator") for step in rig.steps}) > 3
    assert rig.now_us > 50 * T_US
    assert {fault.kind for fault in rig.cluster.lifted} == {"kill", "pause"}
    assert [fault.touched > 0 for fault in rig.cluster.faults.values()] == [True]
