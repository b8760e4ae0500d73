"""A member and its coordinator crash, one after the other: results and readings are reported together."""

from typing import Any

import pytest

import lab
from lab.protocols.field import Field

SCRIPT = ["at 790ms kill 1", "at 1.14s restart 1", "at 2.7s kill 2", "at 2.7s restart 2"]


def counts_in_run() -> str:
    run = lab.simulate("field", 2, seed=500_063, script=SCRIPT, for_="2.859s", latency="1ms", jitter="0ms")
    return next(verdict.word for verdict in run.verdicts if verdict.assertion == "counts")


def test_the_readings_before_a_crash_are_reported_with_the_results() -> None:
    """Node 2 has told node 1 what that surveyed before its crash, and loses it in its own."""
    assert counts_in_run() == "holds"


def test_without_them_there_are_more_results_than_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    result = Field._result

    def forgets_earlier(self: Field, node: int, number: int, regions: Any, made: Any) -> Any:
        return result(self, node, number, regions, made[:1])

    monkeypatch.setattr(Field, "_result", forgets_earlier)
    assert counts_in_run() == "fails"
