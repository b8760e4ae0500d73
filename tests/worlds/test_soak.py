"""Many short runs under random faults: every recording re-executes, and nothing is left.

The profile ``soak`` runs a hundred; a failure names the seed to run alone.
"""

from pathlib import Path
from random import Random

import pytest

from lab.protocols import Bully
from lab.recording.records import End
from lab.worlds.host.runs import list_runs
from tests.profile import amount
from tests.worlds.live import QUICK, LiveRun, is_gone, reexecutes
from tests.worlds.random_faults import random_commands

pytestmark = pytest.mark.live

RUNS = amount(quick=3, soak=100)
FOR_MS = 1_100


@pytest.mark.parametrize("seed", range(RUNS))
def test_soak(tmp_path: Path, seed: int) -> None:
    chance = Random(f"soak/{seed}")
    commands = random_commands(chance, Bully, chance.randrange(6, 16), FOR_MS)
    shown = f"seed {seed}:\n" + "\n".join(commands)
    run = LiveRun(tmp_path, commands=commands, end_us=FOR_MS * 1000, seed=seed)
    try:
        run.ended()
        assert run.host.process.poll() == 0, f"{shown}\n{run.host.stderr_text()}"
        assert is_gone(run.session) == [], shown
        assert list_runs() == ([], []), shown
        assert run.host.stderr_text() == "", shown
        assert isinstance(run.tail.read().records[-1], End), shown
        try:
            assert reexecutes(run.path) > 0
        except AssertionError as error:
            raise AssertionError(f"{shown}\n{error}") from error
    finally:
        run.close()
    assert run.config.timing is QUICK
