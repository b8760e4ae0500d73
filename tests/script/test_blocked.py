"""Predicates about blocked nodes: a state, an attribute, and a count."""

import pytest

from lab.protocols import Bully, TwoPhaseCommit
from lab.recording.records import Captioned
from lab.script.parse import parse
from lab.script.predicates import Suspicions
from lab.script.scope import CommandError, Scope
from lab.script.statements import When
from tests.harness import T_US, Rig


def _blocked() -> Rig:
    """Return a run in which 1 and 2 wait for 3, which has crashed."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("on send Vote 1->3: kill 3", 'when 2 blocked: say "now"', "tell 3 withdraw 350")
    return rig.run(20 * T_US)


def _holds(predicate: str, rig: Rig) -> bool:
    line = parse(f"when {predicate}: heal")
    line.check(Scope(TwoPhaseCommit, (1, 2, 3)))
    assert isinstance(line.trigger, When)
    return line.trigger.predicate.holds(rig.cluster, Suspicions(rig.cluster))


@pytest.mark.parametrize(
    ("predicate", "blocked", "after"),
    [
        ("1 blocked", True, False),
        ("3 blocked", False, False),
        ("any blocked", True, False),
        ("all blocked", True, False),
        ("1.blocked == true", True, False),
        ("3.blocked == false", False, True),
        ("any.blocked == true", True, False),
        ("blocked == 2", True, False),
        ("blocked == 0", False, True),
    ],
)
def test_who_is_blocked(predicate: str, blocked: bool, after: bool) -> None:
    """Only nodes that are up can be blocked, until their coordinator recovers."""
    rig = _blocked()
    assert _holds(predicate, rig) == blocked
    rig.do("restart 3")
    rig.run(10 * T_US)
    assert _holds(predicate, rig) == after


def test_a_trigger_fires_when_a_node_becomes_blocked() -> None:
    """At the record in which the node notes that it has asked everybody."""
    rig = _blocked()
    (caption,) = (each for each in rig.records if isinstance(each, Captioned))
    first = next(
        step.at_us
        for step in rig.steps
        if step.node == 2 and any(each.get("blocked_us") for each in step.changed.get("open", []))
    )
    assert caption.at_us == first


@pytest.mark.parametrize("predicate", ["1 blocked", "blocked == 0", "1.blocked == true"])
def test_blocked_is_refused_for_an_election(predicate: str) -> None:
    with pytest.raises(
        CommandError, match=r"bully (keeps no accounts, so there is no|a node of bully has no )?.*blocked"
    ):
        parse(f"when {predicate}: kill 1").check(Scope(Bully, (1, 2, 3)))
