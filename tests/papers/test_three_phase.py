"""Three-phase commit, rule by rule (P1-P8), with the election of its new coordinator in the same nodes."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from lab.kernel import CommandInput
from lab.protocols import ThreePhaseCommit, find_protocol
from lab.protocols.e3pc import newest_attempt
from lab.protocols.three_phase import StateAnswer, next_state
from lab.protocols.transaction import Round, State
from tests.harness import Rig

UNCERTAIN, COMMITABLE, ABORTABLE = State.UNCERTAIN, State.COMMITABLE, State.ABORTABLE
COMMITTED, ABORTED = State.COMMITTED, State.ABORTED
_S = 1_000_000


def _bank(
    nodes: int = 3, election: str = "bully", line: str = "withdraw 350", name: str = "3pc", **parameters: Any
) -> Rig:
    """Return a cluster whose highest node leads and is given withdraw: the participants are 1 to 3, and itself."""
    command, *words = line.split()
    protocol = find_protocol(name, {"election": election})
    given = protocol.Parameters(**parameters)
    rig = Rig(range(1, nodes + 1), protocol=protocol, latency_us=10_000, parameters=given)
    rig.started()
    leader = rig.run_until_agreed()
    rig.run(_S // 10)
    rig.give_command(leader, CommandInput(command, tuple(words)))
    return rig


def _log(rig: Rig, node: int) -> list[str]:
    return [entry["what"] for entry in rig.cluster.nodes[node].state["log"]]


def _reach(rig: Rig, what: str, *nodes: int) -> None:
    """Run until these entries are in the logs of these nodes."""
    rig.run_until(lambda: all(what in _log(rig, node) for node in nodes), 30 * _S, f"{what} at {nodes}")


def _until_sent(rig: Rig, kind: str) -> None:
    rig.run_until(lambda: bool(rig.sent(kind)), 10 * _S, f"{kind} is sent")


def _open(rig: Rig) -> list[int]:
    return [node for node, view in rig.cluster.nodes.items() if view.process == "running" and view.state["open"]]


def test_P1_three_phases() -> None:
    """Prepare, PreCommit and Commit, each to all and answered by all; the log entries are in this order."""
    rig = _bank(4)
    _reach(rig, "ended", 4)
    assert [_log(rig, node) for node in (1, 2, 3)] == [["prepared", "precommit", "committed"]] * 3
    assert _log(rig, 4) == ["begin", "prepared", "precommit", "committed", "ended"]
    kinds = ("Prepare", "Vote", "PreCommit", "PreAcknowledged", "Commit", "Acknowledged")
    assert [kind for _, kind, _ in rig.sent(*kinds)] == [kind for kind in kinds for _ in range(3)]
    assert rig.cluster.nodes[4].state["cash_out"] == 350_00


def test_P1_a_silent_participant_is_taken_for_failed() -> None:
    """A participant that crashes when PreCommit is sent does not stop the others: they commit, T later."""
    rig = _bank(4)
    _until_sent(rig, "PreCommit")
    rig.kill(1)
    _reach(rig, "committed", 2, 3, 4)
    assert "precommit" not in _log(rig, 1)
    rig.restart(1)
    _reach(rig, "committed", 1)
    _reach(rig, "ended", 4)
    rig.run(10 * _S)
    assert _open(rig) == []


def test_C3_a_participant_that_has_not_voted_aborts_by_itself() -> None:
    """The coordinator crashes before Prepare: the work is undone after the timeout, and nobody is asked."""
    rig = _bank(4)
    _until_sent(rig, "Perform")
    rig.run(15_000)
    assert rig.cluster.nodes[1].state["balances"] == [["savings", 900_00]]
    rig.kill(4)
    _reach(rig, "aborted", 1)
    assert rig.cluster.nodes[1].state["balances"] == [["savings", 1000_00]]
    assert not rig.sent("InDoubt")


@pytest.mark.parametrize("election", ["bully", "bully-tanenbaum", "ring", "invitation"])
@pytest.mark.parametrize(("kind", "outcome"), [("Vote", "aborted"), ("PreAcknowledged", "committed")])
def test_P2_P5_an_elected_coordinator_ends_it(election: str, kind: str, outcome: str) -> None:
    """The coordinator dies between the phases: the others elect another one, which ends it in its absence."""
    rig = _bank(3, election)
    dead = rig.run_until_agreed()
    _until_sent(rig, kind)
    rig.kill(dead)
    others = [node for node in rig.ids if node != dead]
    _reach(rig, outcome, *others)
    assert rig.sent("InDoubt") or rig.sent("StateOf")
    assert _open(rig) == []
    rig.restart(dead)
    _reach(rig, outcome, dead)
    rig.run(20 * _S)
    assert _open(rig) == []


def test_P5_two_phase_commit_blocks_where_this_does_not() -> None:
    """After such a crash between the votes and the decision, nodes of 2pc wait until it restarts."""
    rig = Rig(range(1, 4), protocol=find_protocol("2pc"), latency_us=10_000).started()
    rig.give_command(3, CommandInput("withdraw", ("350",)))
    _until_sent(rig, "Vote")
    rig.kill(3)
    rig.run(60 * _S)
    assert [rig.cluster.nodes[node].status for node in (1, 2)] == ["Blocked", "Blocked"]
    rig.restart(3)
    rig.run(5 * _S)
    assert _log(rig, 1) == ["prepared", "aborted"]
    assert _open(rig) == []


def _state_answers(*states: State, crashed: tuple[int, ...] = ()) -> Mapping[int, StateAnswer]:
    return {node: StateAnswer(state, node in crashed) for node, state in enumerate(states, start=1)}


@pytest.mark.parametrize(
    ("replies", "following"),
    [
        (_state_answers(ABORTED), ABORTED),  # 1: whoever else answers
        (_state_answers(UNCERTAIN, COMMITABLE, ABORTED), ABORTED),
        (_state_answers(COMMITTED), COMMITTED),  # 2
        (_state_answers(UNCERTAIN, UNCERTAIN, COMMITTED), COMMITTED),
        (_state_answers(COMMITABLE, UNCERTAIN, UNCERTAIN), COMMITABLE),  # 3, before 4
        (_state_answers(COMMITABLE, COMMITABLE, COMMITABLE), COMMITABLE),
        (_state_answers(UNCERTAIN, UNCERTAIN, UNCERTAIN), ABORTABLE),  # 4
        (_state_answers(UNCERTAIN, ABORTABLE, UNCERTAIN), ABORTABLE),
        (_state_answers(COMMITABLE, UNCERTAIN), None),  # 5: two of five are no majority (P4)
        (_state_answers(UNCERTAIN, UNCERTAIN), None),
        (_state_answers(), None),
        (_state_answers(UNCERTAIN, UNCERTAIN, UNCERTAIN, crashed=(1, 2)), None),
        (_state_answers(UNCERTAIN, UNCERTAIN, UNCERTAIN, UNCERTAIN, crashed=(1,)), ABORTABLE),
        (_state_answers(COMMITABLE, UNCERTAIN, UNCERTAIN, crashed=(1, 2, 3)), COMMITABLE),
        (_state_answers(COMMITABLE, ABORTABLE, UNCERTAIN, ABORTABLE), None),  # no rule fits (P7)
        (_state_answers(COMMITABLE, ABORTABLE, ABORTABLE, ABORTABLE), ABORTED),  # 4, its end
        (_state_answers(*[UNCERTAIN] * 5, crashed=(1, 2, 3, 4, 5)), ABORTABLE),
    ],
)
def test_P3_the_first_rule_that_fits(replies: Mapping[int, StateAnswer], following: State | None) -> None:
    """With five participants."""
    assert next_state(replies, 5) is following


def test_P7_e3pc_continues_the_newest_attempt() -> None:
    """Commitable and abortable states coexist; they are of different attempts."""
    old = _state_answers(COMMITABLE, UNCERTAIN)
    new = {3: StateAnswer(ABORTABLE, round=Round(1, 4), promised=Round(1, 4))}
    assert newest_attempt({**old, **new}, 5) is ABORTABLE
    newer = {4: StateAnswer(COMMITABLE, round=Round(2, 1), promised=Round(2, 1))}
    assert newest_attempt({**old, **new, **newer}, 5) is COMMITABLE
    assert newest_attempt(_state_answers(UNCERTAIN, UNCERTAIN, UNCERTAIN), 5) is ABORTABLE
    assert newest_attempt(_state_answers(COMMITABLE, UNCERTAIN), 5) is None
    assert newest_attempt(_state_answers(UNCERTAIN, ABORTED), 5) is ABORTED


def _alone(rig: Rig) -> None:
    """Let the coordinator commit alone, all others being down, and crash; then the others restart."""
    _until_sent(rig, "PreCommit")
    rig.kill(1)
    rig.kill(2)
    _reach(rig, "committed", 3)
    rig.kill(3)
    rig.run(_S)
    rig.restart(1)
    rig.restart(2)
    rig.run(20 * _S)


@pytest.mark.parametrize("name", ["3pc", "e3pc"])
def test_P6_with_a_majority_nobody_commits_alone(name: str) -> None:
    """The coordinator blocks until others are commitable, too; it crashes, and they abort."""
    rig = _bank(3, name=name)
    _until_sent(rig, "PreCommit")
    rig.kill(1)
    rig.kill(2)
    rig.run(20 * _S)
    assert _log(rig, 3)[-1] in ("precommit", "joined")
    assert any(each["blocked_us"] is not None for each in rig.cluster.nodes[3].state["open"])
    rig.kill(3)
    rig.restart(1)
    rig.restart(2)
    _reach(rig, "aborted", 1, 2)
    rig.restart(3)
    _reach(rig, "aborted", 3)


def test_P6_with_everyone_alive_uncertain_after_a_crash_proves_nothing() -> None:
    """The coordinator committed alone while all others were down: they wait until they learn it."""
    rig = _bank(3, commit_after="everyone_alive")
    _alone(rig)
    assert [_log(rig, node)[-1] for node in (1, 2)] == ["prepared", "prepared"]
    rig.restart(3)
    _reach(rig, "committed", 1, 2)


def test_P6_if_it_proved_something_crashes_alone_would_break_A6(monkeypatch: pytest.MonkeyPatch) -> None:
    """One node has committed, and the others abort."""

    def forgetful(replies: Mapping[int, StateAnswer], participants: int) -> State | None:
        fresh = {node: msgspec.structs.replace(each, crashed=False) for node, each in replies.items()}
        return next_state(fresh, participants)

    monkeypatch.setattr(ThreePhaseCommit, "next_state", staticmethod(forgetful))
    rig = _bank(3, commit_after="everyone_alive")
    _alone(rig)
    assert [_log(rig, node)[-1] for node in (1, 2, 3)] == ["aborted", "aborted", "committed"]


def _split(name: str) -> Rig:
    """Node 1 alone is commitable, and down; the others begin to abort, and their leader crashes meanwhile."""
    rig = _bank(6, line="collect 10 savings", name=name)
    rig.do("on send PreCommit 6->1: kill 6")
    _reach(rig, "precommit", 1)
    rig.kill(1)
    rig.do("lose 5->2 Abort 100%", "lose 5->3 Abort 100%", "lose 5->4 Abort 100%", "on send Abort 5->2: kill 5")
    _reach(rig, "aborted", 5)
    rig.run(_S)
    rig.do("heal")
    return rig


def test_P7_e3pc_ends_what_3pc_leaves_open() -> None:
    """Node 1 restarts commitable, others are abortable, and the node that has aborted is down: they abort, too."""
    rig = _split("e3pc")
    assert [_log(rig, node)[-1] for node in (2, 3, 4)] == ["preabort"] * 3
    rig.restart(1)
    _reach(rig, "aborted", 1, 2, 3, 4)
    for node in (5, 6):
        rig.restart(node)
    rig.run(20 * _S)
    assert [_log(rig, node)[-1] for node in (5, 6)] == ["aborted", "ended"]
    assert _open(rig) == []


def test_P7_a_majority_blocks() -> None:
    """1 is commitable, so rule 4 does not fit, and no majority fits rule 3; until the one that aborted is back."""
    rig = _split("3pc")
    rig.restart(1)
    rig.run(60 * _S)
    assert _open(rig) == [1, 2, 3, 4]
    rig.restart(5)
    _reach(rig, "aborted", 1, 2, 3, 4)


def test_total_failure_ends_when_all_are_back() -> None:
    """All crash when two of them are commitable: they commit once all have answered."""
    rig = _bank(3)
    _reach(rig, "precommit", 1)
    for node in rig.ids:
        rig.kill(node)
    rig.run(_S)
    for node in rig.ids:
        rig.restart(node)
    _reach(rig, "committed", 1, 2, 3)
    rig.run(20 * _S)
    assert _open(rig) == []


def test_P6_a_partition_breaks_it_with_everyone_alive() -> None:
    """The famous counterexample: nodes beyond the cut are taken for failed, are uncertain, and abort (8)."""
    rig = _bank(4, commit_after="everyone_alive")
    _until_sent(rig, "PreCommit")
    rig.do("partition 4 | 1 2 3")
    rig.run(20 * _S)
    assert _log(rig, 4)[-1] == "committed"
    assert [_log(rig, node)[-1] for node in (1, 2, 3)] == ["aborted"] * 3
    assert rig.header.protocol.relies_on["A6"] == (4, 8, 9)


@pytest.mark.parametrize("name", ["3pc", "e3pc"])
def test_P6_a_partition_does_not_break_it_with_a_majority(name: str) -> None:
    """The same partition: the coordinator waits, and aborts when it hears of the others."""
    rig = _bank(4, name=name)
    _until_sent(rig, "PreCommit")
    rig.do("partition 4 | 1 2 3")
    rig.run(20 * _S)
    assert _log(rig, 4)[-1] in ("precommit", "joined")
    assert [_log(rig, node)[-1] for node in (1, 2, 3)] == ["aborted"] * 3
    rig.do("heal")
    _reach(rig, "aborted", 4)
    assert rig.header.protocol.relies_on["A6"] == (4,)


def test_a_cut_before_the_votes_does_no_harm() -> None:
    """A partition one phase earlier: a missing vote is a NO, so both sides abort."""
    rig = _bank(4)
    _until_sent(rig, "Prepare")
    rig.do("partition 4 | 1 2 3")
    rig.run(20 * _S)
    assert [_log(rig, node)[-1] for node in (1, 2, 3, 4)] == ["aborted"] * 4


def test_P7_e3pc_always_needs_a_majority() -> None:
    """It has no such reading, and A6 relies on stable storage alone."""
    protocol = find_protocol("e3pc")
    assert "commit_after" not in protocol.Parameters.__struct_fields__
    assert protocol.relied_on(protocol.Parameters())["A6"] == (4,)
