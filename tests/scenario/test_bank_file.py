"""A scenario of the bank, simulated and live, and mistakes in it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.scenario.file import Scenario, ScenarioError
from lab.scenario.report import ScenarioReport
from lab.scenario.run_scenario import run_simulated
from tests.scenario.recorded_runs import run_live
from tests.scenario.writing import written

DAY = """
when all.status == Idle: transfer 100 savings checking
then when committed == 1: expect balance(savings) == 900 and money == 3000
refuse 2
withdraw 350
expect aborted == 1 and all.open == 0 within 1s
then tell 1 withdraw 350
expect 1.cash_out == 350 and committed == 2 within 1s
expect money == 3000 and locks == 0 and all.open == 0
expect no violation
"""
SETTINGS = ('protocol = "2pc"', 'nodes = "3"', 'for = "4s"')

WRONG = """
at 300ms: transfer 100 savngs checking
then withdraw 1.505
expect balance(savings-2) == 5
refuse
when 3.state == undecided: kill 3
"""


@pytest.mark.parametrize("run", [run_simulated, pytest.param(run_live, marks=pytest.mark.live)])
def test_a_day_of_the_bank(run: Callable[[Scenario, Path], ScenarioReport], tmp_path: Path) -> None:
    """Every line runs, each when the one before it is done."""
    report = run(written(tmp_path, DAY, *SETTINGS), tmp_path / "day.jsonl")
    assert report.passed, report.findings


def test_values_are_reported_in_dollars(tmp_path: Path) -> None:
    """If an expectation is not met."""
    script = "transfer 12.50 savings checking\nthen when committed == 1: expect balance(savings) == 987"
    report = run_simulated(written(tmp_path, script, *SETTINGS), tmp_path / "run.jsonl")
    assert any("balance(savings) was 987.50" in str(finding) for finding in report.findings), report.findings


def test_each_typo_is_reported_with_its_line_and_a_suggestion(tmp_path: Path) -> None:
    """The accounts depend on the head: one per node, or two."""
    with pytest.raises(ScenarioError) as caught:
        written(tmp_path, WRONG, *SETTINGS)
    mistakes = [each.partition("tested.scenario:")[2] for each in caught.value.mistakes]
    assert [each.partition(":")[0] for each in mistakes] == ["7", "8", "9", "10", "11"]
    expected = [
        "unknown account savngs; the accounts are savings, checking, moneymarket; did you mean savings?",
        "'1.505' is not an amount: write 350 or 12.50",
        "unknown account savings-2; the accounts are savings, checking, moneymarket; did you mean savings?",
        "refuse needs nodes: refuse 2",
        "'undecided:' is not expected here",
    ]
    for got, wanted in zip(mistakes, expected, strict=True):
        assert wanted in got
    fine = "expect balance(savings-2) == 1000\ntransfer 5 savings-2 checking-2"
    assert written(tmp_path, fine, *SETTINGS, "set = { accounts = 2 }").parameters == {"accounts": 2}
