"""The cases of a campaign for a CI: whatever failed is red, also what the finding is not about."""

import pytest

from lab.cli.campaign_report import JudgedCount, ViolationCount, junit_cases

JUDGED = tuple(JudgedCount(name, runs, runs, "pair", None) for name, runs in (("A1.1", 9), ("A2", 9), ("A5", 0)))


@pytest.mark.parametrize("name", ["A2", "raises"])
def test_a_failure_without_a_finding_is_red(name: str) -> None:
    """As in a campaign that went on after its first finding, or that was resumed after it."""
    found = junit_cases("program", JUDGED, (ViolationCount(name, (), 2),), {})
    cases = {each.name: each.failure for each in found}
    assert cases.pop("A1.1") == ()
    assert cases.pop(name) == (f"{name}: 2 failures",)
    assert cases.pop("A5") == ("judged in no run, so it does not count as holding",)
    assert not any(cases.values())


def test_an_excused_violation_is_green() -> None:
    cases = junit_cases("program", JUDGED, (ViolationCount("A2", (9,), 2),), {})
    assert [each.name for each in cases if each.failure] == ["A5"]
