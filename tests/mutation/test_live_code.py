"""What the parameters of a run leave in use of a protocol's source: only that is mutated."""

import ast
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from lab.worlds.loading.settings import parameters_of
from lab.worlds.loading.targets import load_protocol
from lab.worlds.mutation.live_code import ALL_LIVE, LiveCode
from lab.worlds.mutation.mutable_source import ProtocolSource
from lab.worlds.mutation.mutants import Mutant, mutants_of


class _Parameters(Struct, frozen=True):
    reading: str = "first"
    every_us: int | None = None
    without: tuple[str, ...] = ()


class _Repair:
    def applies(self, parameters: Any) -> bool:
        return "repair" not in parameters.without


LIVE = LiveCode(_Parameters(), {"REPAIR": _Repair(), "READINGS": ("second", "third"), "node": 1})


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("self.parameters.reading == 'first'", True),
        ("self.parameters.reading != 'first'", False),
        ("self.parameters.reading in READINGS", False),
        ("self.parameters.every_us", False),
        ("not self.parameters.every_us", True),
        ("REPAIR.applies(self.parameters)", True),
        ("self.parameters.reading == 'second' and self.leads", False),
        ("self.parameters.reading == 'first' or self.leads", True),
        ("self.parameters.reading == 'first' and self.leads", None),
        ("self.leads", None),
        ("True", None),
        ("node == 1", None),
        ("self.parameters.reading == reading", None),
        ("self.choose(self.parameters.reading)", None),
        ("self.parameters.unknown == 1", None),
    ],
)
def test_what_settles_a_condition(condition: str, value: bool | None) -> None:
    expression = ast.parse(condition, mode="eval").body
    assert LIVE.decide(expression) is value
    assert ALL_LIVE.decide(expression) is None


def _mutants(target: str, *settings: str) -> list[Mutant]:
    protocol = load_protocol(target)
    parameters = msgspec.convert(parameters_of(protocol, settings), protocol.Parameters)
    return list(mutants_of(ProtocolSource(protocol), parameters))


def _places(mutants: list[Mutant]) -> Iterator[tuple[str, str]]:
    return ((each.place, each.summary) for each in mutants)


def test_a_reading_is_the_users_choice() -> None:
    """Neither the condition is mutated, nor the arm that it rules out; with the other reading, that arm is."""
    default = set(_places(_mutants("bully")))
    assert not any("self.parameters.halting" in each for _, each in default)
    assert not any("self.ask_all(self.lower, EnterElection(), within=2" in each for _, each in default)
    at_once = set(_places(_mutants("bully", "halting=at_once")))
    assert any("self.ask_all(self.lower, EnterElection(), within=2" in each for _, each in at_once)


def test_a_repair_that_is_left_out_is_not_mutated_and_what_it_replaces_is() -> None:
    repaired = {place for place, _ in _places(_mutants("ring"))}
    text = {place for place, _ in _places(_mutants("ring", "without=number_elections"))}
    assert "RingText.least_version" in text - repaired
    assert any(place.startswith("NumberElections.") for place in repaired)
    replacing = {place for place in repaired if place.startswith("NumberElections.") and place not in text}
    assert replacing, "a method of the repair that replaces one of the text"


def test_a_variation_that_does_not_apply_is_not_mutated() -> None:
    assert not any(place.startswith("QuickRegroup.") for place, _ in _places(_mutants("invitation")))
    chosen = _mutants("invitation", "quick_regroup=true")
    assert any(place.startswith("QuickRegroup.") for place, _ in _places(chosen))


def test_a_property_may_be_settled() -> None:
    """One that returns what the parameters choose; e3pc, which has no choice, replaces it by a constant."""

    def asking(*words: str) -> set[int]:
        """Return the mutants of conditions that ask for it; none changes the question itself."""
        found = [each for each in _mutants(*words) if each.file == "three_phase.py" and "majority" in each.summary]
        assert all(each.place != "ThreePhaseCommit._needs_majority" for each in found)
        return {each.number for each in found if "self._needs_majority" in each.summary.partition("→")[0]}

    assert not asking("3pc")
    assert not asking("e3pc")
    assert asking("3pc", "commit_after=everyone_alive")


def test_a_mutant_has_its_number_whatever_the_parameters_are() -> None:
    """So that ``--show 12`` shows the same one, and a list that was made earlier stays right."""
    source = ProtocolSource(load_protocol("bully"))
    every = {each.number: each.diff for each in mutants_of(source)}
    for settings in ((), ("halting=at_once",), ("without=all",)):
        found = _mutants("bully", *settings)
        assert 0 < len(found) < len(every)
        assert all(every[each.number] == each.diff for each in found)
