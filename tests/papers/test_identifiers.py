"""I1, A5: a node is killed at every step of a run, and between any two messages, and no identifier comes twice.

Three nodes come up, merge, lose their coordinator, and merge again; the node that takes the step dies right after
it, or at a message of it, and comes back at once with what stable storage held.
"""

import pytest

from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import InvitationElection
from tests.harness import T_US, Rig
from tests.profile import amount

END_US = 22 * T_US
EVERY = amount(quick=4, soak=1)
"""A kill strikes at every so many steps."""


def _rig() -> Rig:
    rig = Rig((1, 2, 3), protocol=InvitationElection, jitter_us=3_000)
    rig.do(f"at {9 * T_US}us kill 3", f"at {16 * T_US}us restart 3")
    return rig


def _calm() -> Rig:
    return _rig().started().run(END_US)


def _violations(rig: Rig) -> list[Violation]:
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    return [violation for violation in judge.violations if violation.assertion != "A4"]


def _formed(rig: Rig) -> list[tuple[int, int]]:
    """Every identifier that was formed, as often as it was."""
    return [(step.node, step.stored["counter"]) for step in rig.steps if "counter" in step.stored]


def test_I1_a_calm_run_forms_groups_to_strike_at() -> None:
    """Or the tests below would show nothing."""
    rig = _calm()
    assert len(_formed(rig)) >= 8
    assert {kind for _, kind, _ in rig.sent()} >= {"Invitation", "Accept", "Ready", "ReadyAnswer"}


@pytest.mark.parametrize("wipe", [False, True])
def test_I1_killed_after_every_step(wipe: bool) -> None:
    """I1: the counter was stored with the step, or the step was not.

    After a wipe identifiers come again: A5 is violated, excused by assumption 4, and nothing else is.
    """
    steps, caught = len(_calm().steps), 0
    for struck_at in range(3, steps, EVERY):
        rig = _rig().started()
        while len(rig.steps) < struck_at:
            rig.step()
        node = rig.steps[-1].node
        if node not in rig.incarnations:
            continue
        rig.do(f"kill {node}", *([f"wipe {node}"] if wipe else []), f"restart {node}")
        rig.run(END_US - rig.now_us)
        found = _violations(rig)
        formed = _formed(rig)
        if not wipe:
            assert found == [], f"step {struck_at}: {found[0]}"
            assert len(set(formed)) == len(formed), f"step {struck_at}"
        assert not [violation for violation in found if violation.is_failure], f"step {struck_at}"
        caught += any(violation.assertion == "A5" for violation in found)
    assert (caught > steps // (2 * EVERY)) is wipe


def test_I1_killed_at_every_message() -> None:
    """I1: between two messages of one step too, as each first leaves on each link."""
    messages = dict.fromkeys(_calm().sent("Invitation", "Accept", "AcceptAnswer", "Ready", "ReadyAnswer"))
    assert len(messages) >= 10
    for source, kind, target in messages:
        on = f"on send {kind} {source}->{target}"
        rig = _rig()
        rig.do(f"{on} kill {source}", f"{on} restart {source}")
        rig.started().run(END_US)
        assert rig.cluster.nodes[source].incarnation == (3 if source == 3 else 2), on
        assert _violations(rig) == [], on
        formed = _formed(rig)
        assert len(set(formed)) == len(formed), on


def test_I1_the_counter_is_stored_in_the_step_that_uses_it() -> None:
    """I1: no step sends an identifier with a counter above the one that is in stable storage by then."""
    stored: dict[int, int] = {}
    used = 0
    rig = _calm()
    for step in rig.steps:
        stored[step.node] = step.stored.get("counter", stored.get(step.node, 0))
        group = step.changed.get("group")
        if group and group[0] == step.node:
            assert group[1] == stored[step.node]
            used += 1
    assert used == len(_formed(rig))
