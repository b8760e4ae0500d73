"""Live runs of every protocol under random faults: each recording passes ``lab verify``, and nothing is left.

The profile ``soak`` makes three runs of each, with 50 commands; else one with 15.
"""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from lab.protocols import PROTOCOLS, Algorithm, find_protocol
from lab.recording.records import End
from lab.worlds.host.runs import list_runs
from tests.profile import SOAK, amount, sampled
from tests.worlds.live import LiveRun, is_gone
from tests.worlds.random_faults import random_commands

SEEDS = range(amount(quick=1, soak=3))
COMMANDS, FOR_MS = (50, 8_000) if SOAK else (15, 2_000)
EVERY = [*PROTOCOLS.values(), find_protocol("field")]


@pytest.mark.live
@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("protocol", sampled(EVERY, 4), ids=lambda protocol: protocol.name)
def test_random_faults(tmp_path: Path, runs: Path, protocol: type[Algorithm], seed: int) -> None:
    """Issue 4: every recording passes ``lab verify``; no process, socket or folder is left."""
    commands = random_commands(Random(f"live/{protocol.name}/{seed}"), protocol, COMMANDS, FOR_MS)
    shown = f"{protocol.name}, seed {seed}:\n" + "\n".join(commands)
    run = LiveRun(tmp_path, commands=commands, end_us=FOR_MS * 1000, seed=seed, protocol=protocol)
    try:
        run.host.wait(FOR_MS / 1000 + 20)
        assert run.host.process.poll() == 0, f"{shown}\n{run.host.stderr_text()}"
        assert run.host.stderr_text() == "", shown
        assert is_gone(run.session) == [], shown
        assert list_runs() == ([], []), shown
        assert [path for path in runs.rglob("*") if not path.is_dir()] == [], shown
        assert not run.folder.exists(), shown
        assert isinstance(run.tail.read().records[-1], End), shown
    finally:
        run.close()
    verified = subprocess.run(
        [sys.executable, "-m", "lab", "verify", str(run.path)], capture_output=True, text=True, check=False
    )
    proves_nothing = verified.stderr.endswith("nothing was judged, so nothing holds\n")
    assert verified.returncode == int(proves_nothing), f"{shown}\n{verified.stdout}{verified.stderr}"
    assert ": as recorded; " in verified.stdout


def test_every_protocol_is_tried() -> None:
    """Both bullies, the ring, invitation, the token, and the field."""
    assert {each.name for each in EVERY} >= {"bully", "bully-tanenbaum", "ring", "invitation", "token", "field"}
