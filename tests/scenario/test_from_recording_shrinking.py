"""Shrinking a scenario made from a recording: the outcome stays, and what it does not need is removed."""

from pathlib import Path

import pytest

from lab.scenario.file import Scenario, scenario_in
from lab.scenario.from_recording import ScenarioSource, make_scenario
from lab.scenario.run_scenario import run_simulated
from lab.script.statements import Expectation
from lab.worlds.campaign.finding import fewer
from tests.profile import amount
from tests.scenario.recorded_runs import random_recording, session


def _shrunk(recording: Path) -> Scenario:
    made = make_scenario(ScenarioSource(recording, folder=recording.parent), True, lambda text: None)
    assert made.is_same
    return scenario_in(made.text, recording.parent / "made.scenario")


def _commands(scenario: Scenario) -> list[str]:
    return [line.text for line in scenario.lines if not isinstance(line.command, Expectation)]


def test_irrelevant_commands_and_nodes_are_removed(tmp_path: Path) -> None:
    """The pause that breaks A1.1 stays, with as many nodes as it needs."""
    given = [
        (1_500, "kill 2"),
        (3_000, "restart 2"),
        (4_500, "pause 5"),
        (6_500, "resume 5"),
        (9_000, "delay 1->2 5ms"),
    ]
    scenario = _shrunk(session(tmp_path / "run.jsonl", given, end_ms=11_000))
    assert _commands(scenario) == ["pause 5", "resume 5"]
    assert scenario.nodes == (4, 5)
    assert "expect violation A1.1 under pause" in scenario.script
    assert scenario.lines[0].source == "when all normal: pause 5"
    assert run_simulated(scenario).passed


def test_a_node_that_is_down_stays_down(tmp_path: Path) -> None:
    """It is part of the outcome, so its kill stays."""
    scenario = _shrunk(
        session(tmp_path / "run.jsonl", [(1_500, "kill 3"), (2_500, "kill 2"), (4_000, "restart 2")])
    )
    assert _commands(scenario) == ["kill 3"]
    assert {3, 5} <= set(scenario.nodes)


def test_the_sequence_of_coordinators_is_part_of_the_outcome(tmp_path: Path) -> None:
    """The final state is that of the start, but the takeovers stay; a kill without one is removed."""
    given = [(1_500, "kill 5"), (3_500, "kill 4"), (5_500, "restart 4 5"), (7_000, "kill 1"), (8_500, "restart 1")]
    scenario = _shrunk(session(tmp_path / "run.jsonl", given, end_ms=10_000))
    assert _commands(scenario) == ["kill 5", "kill 4", "restart 4 5"]
    assert {3, 4, 5} <= set(scenario.nodes)


def test_a_script_without_effect_on_the_outcome_is_kept(tmp_path: Path) -> None:
    """With a note."""
    recording = session(tmp_path / "run.jsonl", [(1_500, "kill 2"), (3_500, "restart 2")])
    made = make_scenario(ScenarioSource(recording, folder=tmp_path), True, lambda text: None)
    assert "kill 2" in made.text
    assert "restart 2" in made.text
    assert made.notes == ("not shrunk: the outcome is the same without any command, so all are kept",)


@pytest.mark.parametrize("seed", range(amount(quick=5, soak=20)))
def test_the_outcome_stays(tmp_path: Path, seed: int) -> None:
    """Of random recordings: it passes, and no single line could be removed."""
    recording, shown = random_recording(tmp_path / "run.jsonl", seed)
    scenario = _shrunk(recording)
    report = run_simulated(scenario)
    assert [each for each in report.findings if "touched nothing" not in each.was] == [], shown


def test_fewer() -> None:
    """All at first, then halves, then one at a time."""
    assert [*fewer((1, 2, 3))] == [(), (2, 3), (1, 3), (1, 2)]
    assert [*fewer((1, 2))] == [(), (2,), (1,)]
    assert [*fewer(())] == []
