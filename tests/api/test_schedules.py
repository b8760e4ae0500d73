"""The strategy of schedules: whatever it draws can be executed."""

import sys
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings

import lab
from lab.api.schedules import _FAULTS
from lab.script.parse import parse
from lab.text import UserError
from lab.worlds.campaign.schedule import FAULTS
from lab.worlds.loading.user_module import TargetError

UNEXPLAINED = settings(database=None, phases=[Phase.generate, Phase.shrink])
"""To explain what was found takes a hundred further draws."""


def test_every_kind_of_fault_is_known() -> None:
    assert list(_FAULTS) == list(FAULTS)


@settings(max_examples=20, deadline=None)
@given(schedule=lab.schedules(nodes=(1, 4), faults="all"))
def test_any_schedule_can_be_executed(schedule: dict[str, Any]) -> None:
    """It says what it does: the same commands are in the run, in the same order."""
    run = lab.simulate("token", **schedule)
    assert run.commands == tuple(schedule["script"])
    assert len(run.header.nodes) == schedule["nodes"]
    latency_us, jitter_us = run.header.link.latency_us, run.header.link.jitter_us
    assert 0 < latency_us - jitter_us <= latency_us + jitter_us <= run.header.timing.tm_us


@settings(max_examples=15, deadline=None)
@given(schedule=lab.schedules(nodes=3, faults="kill,partition", protocol="2pc", t="100ms"))
def test_a_schedule_for_a_protocol_gives_its_commands(schedule: dict[str, Any]) -> None:
    run = lab.simulate("2pc", **schedule)
    assert run.header.timing.t_us == 100_000
    assert any("tell" in line for line in run.commands)
    assert not run.failures, run.verdicts


def test_schedules_strike_at_messages_of_the_protocol() -> None:
    struck = find(
        lab.schedules(nodes=2, protocol="bully"),
        lambda schedule: any(" on " in line for line in schedule["script"]),
        settings=UNEXPLAINED,
    )
    (line,) = struck["script"]
    assert parse(line).triggers


def test_a_schedule_shrinks_to_nothing() -> None:
    schedules = lab.schedules(nodes=(2, 4), faults="kill,pause")
    least = find(schedules, lambda schedule: True, settings=UNEXPLAINED)
    assert least == {
        "nodes": 2,
        "script": ["at 0s heal", "at 0s resume all"],
        "for_": "12s",
        "seed": 0,
        "t": "200ms",
        "latency": "1ms",
        "jitter": "0ms",
    }


def test_wrong_arguments() -> None:
    with pytest.raises(UserError, match=r"nodes=\(5, 3\): expected a number from 1"):
        lab.schedules(nodes=(5, 3))
    with pytest.raises(UserError, match="unknown fault 'kil'"):
        lab.schedules(faults="kil")
    with pytest.raises(UserError, match="'soon' is not a duration"):
        lab.schedules(t="soon")
    with pytest.raises(TargetError, match=r"did you mean bully\?"):
        lab.schedules(protocol="bulli")


def test_without_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis.strategies", None)
    with pytest.raises(ImportError, match=r"requires hypothesis: pip install 'coordinator-lab\[hypothesis\]'"):
        lab.schedules()
