"""Scenarios from recordings of live runs have the same outcome in simulation, and live."""

from pathlib import Path
from random import Random

import pytest

from lab.protocols import Algorithm, Bully, InvitationElection, Ring
from lab.scenario.file import read_scenario
from lab.scenario.from_recording import ScenarioSource, make_scenario
from lab.scenario.run_scenario import run_simulated
from tests.profile import amount, sampled
from tests.scenario.recorded_runs import run_live
from tests.waiting import WAIT_S
from tests.worlds.conftest import runs  # noqa: F401 - a folder of their own for what runs
from tests.worlds.live import STEADY, LiveRun
from tests.worlds.random_faults import random_commands

pytestmark = pytest.mark.live

SEEDS = range(amount(quick=1, soak=10))


def test_a_session_on_processes(tmp_path: Path) -> None:
    """Interactive commands wait for what had happened; it passes in both worlds."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY) as run:
        run.settled(3)
        run.order("kill 3")
        run.settled(2)
        run.order("restart 3")
        run.settled(3)
    made = make_scenario(ScenarioSource(run.path, folder=tmp_path), False, lambda text: None)
    assert made.is_same
    assert "when all normal:       kill 3     # 2 leads after" in made.text
    assert "then when all normal:  restart 3  # 3 leads after" in made.text
    path = tmp_path / "made.scenario"
    path.write_text(made.text, "utf-8")
    assert run_simulated(read_scenario(path)).passed, made.text
    findings = run_live(read_scenario(path), tmp_path / "again.jsonl").findings
    # a busy machine may be slow enough to break an assumption
    assert [each for each in findings if "violation" not in each.expected] == [], made.text


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "protocol", sampled([Bully, Ring, InvitationElection], 2), ids=lambda protocol: protocol.name
)
def test_random_live_runs(tmp_path: Path, protocol: type[Algorithm], seed: int) -> None:
    """The outcome is the same, or it is said that it is not; the file is valid in any case."""
    commands = random_commands(Random(f"recorded/{protocol.name}/{seed}"), protocol, 4, 2_000)
    run = LiveRun(tmp_path, commands=commands, timing=STEADY, protocol=protocol, end_us=5_000_000, seed=seed)
    try:
        run.host.wait(WAIT_S)
    finally:
        run.close()
    made = make_scenario(ScenarioSource(run.path, folder=tmp_path), False, lambda text: None)
    path = tmp_path / "made.scenario"
    path.write_text(made.text, "utf-8")
    scenario = read_scenario(path)
    print(f"{protocol.name} {seed}: {'the same' if made.is_same else 'something else'}, {scenario.worlds}")
    if made.is_same:
        findings = run_simulated(scenario).findings
        assert [each for each in findings if "touched nothing" not in each.was] == [], made.text
    else:
        assert any("outcome is different" in doubt for doubt in made.doubts)
        assert "its outcome is different" in " ".join(made.text.split())
