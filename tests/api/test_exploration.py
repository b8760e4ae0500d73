"""An exploration in Python: what it found, and the shortest way there."""

from pathlib import Path

import pytest

import lab
from lab.api.exploration import Exploration
from lab.script.scope import CommandError
from lab.text import UserError


@pytest.fixture(scope="module")
def excused() -> Exploration:
    """Messages may take any time, so nodes follow a leader that lives no more."""
    return lab.explore("bully", 2, timeouts="any", states=5_000)


def test_a_protocol_that_holds() -> None:
    found = lab.explore("bully", 2)
    assert found.holds, found
    assert found.run is None
    assert found.failures == found.excused == ()
    assert str(found).startswith(f"bully: {found.tally.states:,} states, ")
    assert "  A2       no violation in " in str(found)
    assert not found.is_exhaustive  # ages are told apart up to a bound only
    assert found._repr_html_().startswith("<pre>bully: ")


def test_a_failure(my_election: Path) -> None:
    """The shortest counterexample is a run that shows it."""
    found = lab.explore(f"{my_election}:MyElection", 2, restarts=1)
    assert not found.holds
    assert found.failures == ("A1.1",)
    assert found.verdicts["A1.1"].startswith("violated in ")
    run = found.run
    assert run is not None
    assert {verdict.assertion: verdict.word for verdict in run.verdicts}["A1.1"] == "fails"
    assert run.commands == ("kill 2", "restart 2")
    assert "<svg" in found._repr_html_()


def test_excused_violations(excused: Exploration, tmp_path: Path) -> None:
    assert not excused.failures
    assert "A1.1" in excused.excused
    assert excused.verdicts["A1.1"].endswith("excused: assumptions 8 and 9 broken")
    run = excused.run
    assert run is not None
    run.save(tmp_path / "found.jsonl")
    words = {verdict.assertion: verdict.word for verdict in lab.load(tmp_path / "found.jsonl").verdicts}
    assert words[excused.excused[0]] == "excused"


def test_a_search_that_was_stopped_does_not_hold() -> None:
    """What is about whole executions is then not judged."""
    found = lab.explore("bully", 3, states=100)
    assert not found.holds
    assert found.coverage == "stopped at 100 states"
    assert found.verdicts["A2"].startswith("not judged")


def test_what_cannot_be_judged_does_not_hold(excused: Exploration) -> None:
    assert excused.verdicts["A2"].startswith("not judged")
    assert not lab.explore("bully", 1, kills=0).holds  # one node has nobody to disagree with


def test_commands() -> None:
    """By default the first that drives the protocol; none if there are none."""
    driven, idle = lab.explore("2pc", 2, kills=0), lab.explore("2pc", 2, kills=0, commands=())
    assert driven.tally.states > idle.tally.states
    assert driven.tally.states == lab.explore("2pc", 2, kills=0, commands=["tell 2 withdraw 350"]).tally.states


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"nodes": 8}, UserError, "nodes=8: 1 to 7 nodes can be explored"),
        ({"timeouts": "promt"}, UserError, "timeouts='promt': expected .*; did you mean prompt"),
        ({"kills": -1}, UserError, "kills=-1: expected a whole number from 0"),
        ({"pauses": 1, "timeouts": "any"}, UserError, "leave out one of them"),
        ({"suspicions": 1}, UserError, "suspicions with timeouts='synchronous': only timeouts='budget' counts"),
        ({"commands": ["kill 3"]}, CommandError, "'kill 3': an exploration takes only commands of the protocol"),
        ({"commands": ["tell 9 withdraw 350"]}, CommandError, "there is no node 9"),
        ({"protocol": "field"}, UserError, "explore the election below it"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        lab.explore(**{"protocol": "2pc", **arguments})  # type: ignore[arg-type]
