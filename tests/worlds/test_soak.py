"""Many short runs with random faults: every recording re-executes, and nothing is left.

LAB_SOAK=100 pytest tests/worlds/test_soak.py   runs a hundred; a failure names the seed to run alone.
"""

import os
from pathlib import Path
from random import Random

import pytest

from lab.journal import End
from lab.worlds.runs import list_runs
from tests.worlds.live import QUICK, LiveRun, is_gone, reexecutes

RUNS = int(os.environ.get("LAB_SOAK", "6"))
FOR_MS = 1_100


def _commands(chance: Random) -> tuple[str, ...]:
    """Some dozen faults at random times, some on messages."""
    commands = []
    for _ in range(chance.randrange(6, 16)):
        node, other = chance.sample(range(1, 6), 2)
        some = " ".join(str(n) for n in sorted(chance.sample(range(1, 6), chance.randrange(1, 4))))
        command = chance.choice(
            [
                f"kill {node}",
                f"kill {some}",
                "kill coordinator",
                f"restart {node}",
                "restart all",
                f"pause {node}",
                "pause coordinator",
                "resume all",
                f"wipe {some}",
                f"partition {some}",
                f"delay {node}->{other} {chance.randrange(80)}ms ±{chance.randrange(1, 20)}ms",
                f"lose {node} {chance.randrange(100)}%",
                f"cut {node}->{other}",
                f"duplicate all {chance.randrange(60)}%",
                f"reorder all {chance.randrange(60)}% {chance.randrange(1, 30)}ms",
                "heal",
                f"heal {node}<->{other}",
            ]
        )
        kind = chance.choice(["AreYouUp", "EnterElection", "EnterElectionAnswer", "SetCoordinator", "NewState"])
        moment = chance.choice(["send", "deliver"])
        trigger = chance.choice([f"at {chance.randrange(FOR_MS)}ms", f"on {moment} {kind}", "when all normal"])
        commands.append(f"{trigger}: {command}")
    return tuple(commands)


@pytest.mark.parametrize("seed", range(RUNS))
def test_soak(tmp_path: Path, seed: int) -> None:
    """One run."""
    commands = _commands(Random(f"soak/{seed}"))
    shown = f"seed {seed}:\n" + "\n".join(commands)
    run = LiveRun(tmp_path, commands=commands, end_us=FOR_MS * 1000, seed=seed)
    try:
        run.ended()
        assert run.host.process.returncode == 0, f"{shown}\n{run.host.said()}"
        assert is_gone(run.session) == [], shown
        assert list_runs() == ([], []), shown
        assert run.host.said() == "", shown
        assert isinstance(run.tail.read().records[-1], End), shown
        try:
            assert reexecutes(run.path) > 0
        except AssertionError as error:
            raise AssertionError(f"{shown}\n{error}") from error
    finally:
        run.close()
    assert run.config.timing is QUICK
