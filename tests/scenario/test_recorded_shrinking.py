"""Shrinking what was made from a recording: the outcome stays, and what it does not need goes."""

from pathlib import Path

import pytest

from lab.scenario.file import Scenario, scenario_in
from lab.scenario.recorded import make_scenario
from lab.scenario.running import run_simulated
from lab.scenario.writing import Source
from lab.script import Expectation
from lab.worlds.campaign.shrink import fewer
from tests.scenario.recorded_runs import random_recording, session


def _shrunk(recording: Path) -> Scenario:
    made = make_scenario(Source(recording, folder=recording.parent), True, lambda said: None)
    assert made.is_same
    return scenario_in(made.text, recording.parent / "made.scenario")


def _commands(scenario: Scenario) -> list[str]:
    return [line.text for line in scenario.lines if not isinstance(line.command, Expectation)]


def test_what_does_not_matter_goes(tmp_path: Path) -> None:
    """The pause that breaks A1.1 stays, with as many nodes as that takes; what else was done is gone."""
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


def test_who_is_down_stays_down(tmp_path: Path) -> None:
    """A node that is down in the end is of the outcome, and so is what killed it."""
    scenario = _shrunk(
        session(tmp_path / "run.jsonl", [(1_500, "kill 3"), (2_500, "kill 2"), (4_000, "restart 2")])
    )
    assert _commands(scenario) == ["kill 3"]
    assert {3, 5} <= set(scenario.nodes)


def test_who_led_on_the_way_is_of_the_outcome(tmp_path: Path) -> None:
    """Though all is in the end as it was at first, the takeovers stay, and a kill that was none goes."""
    given = [(1_500, "kill 5"), (3_500, "kill 4"), (5_500, "restart 4 5"), (7_000, "kill 1"), (8_500, "restart 1")]
    scenario = _shrunk(session(tmp_path / "run.jsonl", given, end_ms=10_000))
    assert _commands(scenario) == ["kill 5", "kill 4", "restart 4 5"]
    assert {3, 4, 5} <= set(scenario.nodes)


def test_a_script_that_changes_nothing_in_the_end_is_kept(tmp_path: Path) -> None:
    """Where the same comes of no command at all; that is said."""
    recording = session(tmp_path / "run.jsonl", [(1_500, "kill 2"), (3_500, "restart 2")])
    made = make_scenario(Source(recording, folder=tmp_path), True, lambda said: None)
    assert "kill 2" in made.text
    assert "restart 2" in made.text
    assert made.notes == ("not shrunk: the same comes of no command at all, so all of them are kept",)


@pytest.mark.parametrize("seed", range(6))
def test_the_outcome_stays(tmp_path: Path, seed: int) -> None:
    """Of random recordings: it passes, and no line more could be left out at once."""
    recording, shown = random_recording(tmp_path / "run.jsonl", seed)
    scenario = _shrunk(recording)
    report = run_simulated(scenario)
    assert [each for each in report.findings if "touched nothing" not in each.was] == [], shown


def test_fewer() -> None:
    """All at first, then halves, then one at a time."""
    assert [*fewer((1, 2, 3))] == [(), (2, 3), (1, 3), (1, 2)]
    assert [*fewer((1, 2))] == [(), (2,), (1,)]
    assert [*fewer(())] == []
