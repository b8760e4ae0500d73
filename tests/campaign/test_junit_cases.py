"""The cases of a campaign for a CI: whatever failed is red, also what the finding is not about."""

import pytest

from lab.cli.campaign_report import JudgedCount, ViolationCount, junit_cases
from lab.cli.check_programs import CheckProgramDocument, _junit_suite


def _document(*violations: ViolationCount) -> CheckProgramDocument:
    judged = tuple(
        JudgedCount(name, runs, runs, "pair", None) for name, runs in (("A1.1", 9), ("A2", 9), ("A5", 0))
    )
    return CheckProgramDocument(
        "./node", "program", 9, 3_000_000, 90, {}, violations, judged, {}, (), None, (), None
    )


@pytest.mark.parametrize("name", ["A2", "raises"])
def test_a_failure_without_a_finding_is_red(name: str) -> None:
    """As in a campaign that went on after its first finding, or that was resumed after it."""
    cases = {each.name: each.failure for each in _junit_suite(_document(ViolationCount(name, (), 2)), 1.0).cases}
    assert cases.pop("A1.1") == ()
    assert cases.pop(name) == (f"{name}: 2 failures",)
    assert cases.pop("A5") == ("judged in no run, so it does not count as holding",)
    assert not any(cases.values())


def test_an_excused_violation_is_green() -> None:
    document = _document(ViolationCount("A2", (9,), 2))
    cases = junit_cases("program", document.judged, document.violations, {})
    assert [each.name for each in cases if each.failure] == ["A5"]
