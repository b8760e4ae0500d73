"""Who is blocked, in predicates: a state of a node, an attribute, and a count."""

import pytest

from lab.protocols import Bully, TwoPhaseCommit
from lab.recording.records import Captioned
from lab.script import CommandError, check_line, parse
from lab.script.holding import Suspicions, holds
from lab.script.triggers import When
from tests.harness import T_US, Rig


def _blocked() -> Rig:
    """1 and 2 wait for 3, which is dead."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("on send Vote 1->3: kill 3", 'when 2 blocked: say "now"', "tell 3 withdraw 350")
    return rig.run(20 * T_US)


def _holds(predicate: str, rig: Rig) -> bool:
    line = parse(f"when {predicate}: heal")
    check_line(line, TwoPhaseCommit, (1, 2, 3))
    assert isinstance(line.trigger, When)
    return holds(line.trigger.predicate, rig.cluster, Suspicions(rig.cluster))


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
    """Of the nodes that are up; until their coordinator is back. Of what is down nothing is known."""
    rig = _blocked()
    assert _holds(predicate, rig) == blocked
    rig.do("restart 3")
    rig.run(10 * T_US)
    assert _holds(predicate, rig) == after


def test_a_trigger_comes_as_soon_as_it_is_so() -> None:
    """At the record by which the node says that it has asked everybody."""
    rig = _blocked()
    (said,) = (each for each in rig.records if isinstance(each, Captioned))
    first = next(
        step.at_us
        for step in rig.steps
        if step.node == 2 and any(each.get("blocked_us") for each in step.changed.get("open", []))
    )
    assert said.at_us == first


@pytest.mark.parametrize("predicate", ["1 blocked", "blocked == 0", "1.blocked == true"])
def test_an_election_has_none(predicate: str) -> None:
    """It says so, instead of waiting for ever."""
    with pytest.raises(
        CommandError, match=r"bully (keeps no accounts, so there is no|a node of bully has no )?.*blocked"
    ):
        check_line(parse(f"when {predicate}: kill 1"), Bully, (1, 2, 3))
