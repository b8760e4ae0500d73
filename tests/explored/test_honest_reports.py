"""What an exploration could easily say too much of: it finds it, or says that it does not look."""

from pathlib import Path
from typing import Any

import lab

FILE = Path(__file__).with_name("honest.py")


def _explored(protocol: str, nodes: int = 3, **more: Any) -> lab.Exploration:
    return lab.explore(f"{FILE}:{protocol}", nodes, **{"kills": 0, "timeouts": "prompt", **more})


def test_a_value_that_an_expression_keeps_distinguishes_states() -> None:
    """Though a variable has the same: the sum is 0 or 1 when it is read, and so 3 or 4."""
    found = _explored("Till")
    assert "sums_differ" in found.failures
    assert found.is_exhaustive


def test_conditions_of_one_name_are_distinguished() -> None:
    """Two executions differ in nothing else: in one the node goes on, in the other it waits for ever."""
    assert {"nobody_passes", "nobody_waits"} <= {*_explored("Turnstile").failures}


def test_where_a_node_has_several_timers_the_search_is_not_exhaustive() -> None:
    """If messages take any time: between two timers, time does not pass there."""
    assert "messages that a node gets between two of its timers" in _explored("Clock", 2, timeouts="any").coverage
    assert "timers" not in _explored("Till", timeouts="any").coverage
    assert "timers" not in _explored("Clock", 2).coverage


def test_what_properties_must_not_read_is_an_error() -> None:
    """Times, and fields that tell no states apart."""
    verdicts = _explored("Clock", 2).verdicts
    assert verdicts["few_ticks"].startswith("not judged: an error in its code: honest.py:")
    assert "ticks is auxiliary: an exploration does not tell states apart by it" in verdicts["few_ticks"]
    assert "an exploration has no times: at_us is known in runs alone" in verdicts["soon"]


def test_the_assumptions_that_are_broken_are_known() -> None:
    assert _explored("Till").verdicts["only_if_broken"].startswith("not judged: no state was of the kind")
    assert _explored("Till", cuts=1).verdicts["only_if_broken"].startswith("holds")


def test_what_must_hold_in_the_end_is_not_judged_from_then_on() -> None:
    """The light blinks for ever."""
    words = "holds in the end; whether it stays so, and in time, is not judged"
    assert _explored("Clock", 2).verdicts["stays_on"] == words


def test_a_bound_before_any_end_shows_nothing_of_ends() -> None:
    assert _explored("Clock", 2, depth=2).verdicts["stays_on"].startswith("not judged: ")


def test_an_excused_violation_does_not_hold() -> None:
    found = _explored("Till", cuts=1)
    assert not found.holds
    lone = lab.explore("bully", 2, kills=0, cuts=1, timeouts="prompt")
    assert lone.excused
    assert not lone.failures
    assert not lone.holds
