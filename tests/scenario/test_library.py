"""The built-in scenarios: each has the outcome that it expects.

The profile ``soak`` runs each so often in each of its worlds, with other seeds.
"""

from pathlib import Path

import pytest

from lab.cli.scenario_check import format_report
from lab.protocols import PROTOCOLS, TASKS
from lab.scenario.file import ScenarioError, World, find, names, read_scenario, shipped
from lab.scenario.run_scenario import jobs_of, run_all, run_simulated
from tests.profile import amount

FILES = shipped()
ALWAYS_LIVE = ("coordinator-dies", "pause-makes-two-coordinators")
MANY = amount(quick=0, soak=100)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_passes_in_simulation(path: Path) -> None:
    """Every expectation is met, every line runs, no fault is inert."""
    scenario = read_scenario(path)
    if "simulated" in scenario.worlds:
        report = run_simulated(scenario)
        assert report.passed, "\n".join(format_report(report))


def test_all_have_a_description() -> None:
    """Two or three sentences on what to look at, and the source."""
    scenarios = [(path.name, read_scenario(path)) for path in FILES]
    assert [name for name, scenario in scenarios if len(scenario.shows) <= 40 or not scenario.source] == []


def _failed(wanted: list[Path], worlds: tuple[World, ...], runs: int, folder: Path) -> list[str]:
    jobs = jobs_of([read_scenario(path) for path in wanted], worlds, runs, folder)
    assert jobs
    reports = list(run_all(jobs, 2))
    assert len(reports) == len(jobs)
    return [line for report in reports if not report.passed for line in format_report(report)]


@pytest.mark.live
def test_some_pass_live(tmp_path: Path) -> None:
    """On real processes, in every run of the tests."""
    failed = _failed([find(name) for name in ALWAYS_LIVE], ("live",), 1, tmp_path)
    assert not failed, "\n".join(failed)


@pytest.mark.soak
@pytest.mark.parametrize("world", ["simulated", "live"])
def test_all_pass_with_many_seeds(world: World, tmp_path: Path) -> None:
    failed = _failed(FILES, (world,), MANY, tmp_path)
    assert not failed, "\n".join(failed)


def test_there_are_enough() -> None:
    """At least thirty situations, none named like a protocol, as lab run accepts both."""
    assert len(names()) >= 30
    assert not {*names()} & {*PROTOCOLS, *TASKS}


def test_they_are_found_by_name() -> None:
    """Or by path; an unknown name gets a suggestion, or the command that lists them."""
    assert find("coordinator-dies") in FILES
    assert find("mine.scenario") == Path("mine.scenario")
    with pytest.raises(ScenarioError, match="did you mean coordinator-dies"):
        find("coordinater-dies")
    with pytest.raises(ScenarioError, match="see lab scenario list"):
        find("xyzzy")
