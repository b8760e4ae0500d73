"""Two-phase commit, rule by rule (C1-C6), over the bank of section 10."""

import msgspec
import pytest

from lab.kernel import CommandInput
from lab.properties.judge import Judge
from lab.protocols import find_protocol
from tests.harness import T_US, TM_US, Rig

_S = 1_000_000
SAVINGS, CHECKING, MONEYMARKET = 1, 2, 3
"""The nodes that keep them."""


def _bank(nodes: int = 4) -> Rig:
    return Rig(range(1, nodes + 1), protocol=find_protocol("2pc"), latency_us=10_000).started()


def _give_command(rig: Rig, node: int, line: str) -> None:
    command, *words = line.split()
    rig.give_command(node, CommandInput(command, tuple(words)))


def _begun(line: str = "withdraw 350", node: int = 4, nodes: int = 4) -> Rig:
    rig = _bank(nodes)
    _give_command(rig, node, line)
    return rig


def _log(rig: Rig, node: int) -> list[str]:
    return [entry["what"] for entry in rig.cluster.nodes[node].state["log"]]


def _money(rig: Rig, *nodes: int) -> list[int]:
    """Return the balances of the accounts on these nodes, in whole units."""
    return [cents // 100 for node in nodes for _, cents in rig.cluster.nodes[node].state["balances"]]


def _until_sent(rig: Rig, kind: str, count: int = 1) -> None:
    rig.run_until(lambda: len(rig.sent(kind)) >= count, 10 * _S, f"{kind} is sent")


def _reach(rig: Rig, what: str, *nodes: int) -> None:
    rig.run_until(lambda: all(what in _log(rig, node) for node in nodes), 30 * _S, f"{what} at {nodes}")


def _is_clean(rig: Rig) -> bool:
    return not any(view.state["open"] or view.state["locks"] for view in rig.cluster.nodes.values())


@pytest.mark.parametrize("protocol", ["2pc", "3pc", "e3pc"])
@pytest.mark.parametrize(("line", "nodes"), [("withdraw 350", 4), ("collect 10 checking", 10)])
def test_C1_C3_a_plan_of_slow_operations_commits(protocol: str, line: str, nodes: int) -> None:
    """A participant waits for the rest of the plan, too: a message takes all of Tm here, and nothing is late."""
    rig = Rig(range(1, nodes + 1), protocol=find_protocol(protocol), latency_us=TM_US).started()
    rig.run(20 * _S)
    leader = max(rig.cluster.nodes)
    _give_command(rig, leader, line)
    _reach(rig, "committed", leader, 1)
    assert not [step for step in rig.steps if any("aborted" in note for note in step.notes)]


def test_C1_all_yes_commits() -> None:
    """The plan of the lecture notes: 100 and 300 go to checking, and 350 is cashed out after the commit point."""
    rig = _begun()
    _reach(rig, "ended", 4)
    assert _log(rig, 4) == ["begin", "prepared", "committed", "ended"]
    assert [_log(rig, node) for node in (1, 2, 3)] == [["prepared", "committed"]] * 3
    assert _money(rig, SAVINGS, CHECKING, MONEYMARKET) == [900, 1050, 700]
    assert rig.cluster.nodes[4].state["cash_out"] == 350_00
    assert [note for step in rig.steps for note in step.notes] == ["4.1 hands out 350"]
    assert _is_clean(rig)


def test_C1_the_decision_is_in_the_log_before_it_is_sent() -> None:
    """The step that sends Commit is the one that logs it, and a step is stored before its messages leave."""
    rig = _begun()
    _reach(rig, "ended", 4)
    (decisive,) = [step for step in rig.steps if any(message.kind == "Commit" for message in step.sent)]
    assert [entry["what"] for entry in decisive.logged["log"]] == ["committed"]


def test_C1_a_no_decides_abort() -> None:
    """Node 2 refuses: it logs abort and is done; the others, which voted YES, undo their work."""
    rig = _bank()
    _give_command(rig, 2, "refuse")
    _give_command(rig, 4, "withdraw 350")
    _reach(rig, "ended", 4)
    assert _log(rig, 2) == ["aborted"]
    assert [_log(rig, node) for node in (1, 3)] == [["prepared", "aborted"]] * 2
    assert _money(rig, SAVINGS, CHECKING, MONEYMARKET) == [1000, 1000, 1000]
    _give_command(rig, 4, "withdraw 350")
    _reach(rig, "committed", 2)


def test_C1_a_missing_vote_decides_abort() -> None:
    """Node 2 crashes before it votes: T later the decision is made, and node 2 gets it when it restarts."""
    rig = _begun()
    _until_sent(rig, "Prepare")
    rig.kill(2)
    _reach(rig, "aborted", 1, 3, 4)
    assert "ended" not in _log(rig, 4)
    rig.restart(2)
    _reach(rig, "ended", 4)
    assert _log(rig, 2) == ["aborted"]


def test_an_amount_that_checking_does_not_cover_is_not_cashed_out() -> None:
    """Step 5 of the lecture notes: 1,400 are there by then, so 1,400.01 is refused, and 1,400 is not."""
    rig = _begun("withdraw 1400.01")
    _reach(rig, "ended", 4)
    assert _money(rig, SAVINGS, CHECKING, MONEYMARKET) == [1000, 1000, 1000]
    _give_command(rig, 4, "withdraw 1400")
    rig.run(5 * _S)
    assert _money(rig, SAVINGS, CHECKING, MONEYMARKET) == [900, 0, 700]
    assert rig.cluster.nodes[4].state["cash_out"] == 1400_00


def test_C2_prepared_work_survives_a_crash() -> None:
    """Savings votes YES and crashes: after the restart its work is redone and locked until the decision."""
    rig = _begun()
    _until_sent(rig, "Vote", 3)
    rig.kill(1)
    rig.kill(4)
    rig.run(_S)
    rig.restart(1)
    rig.run(_S // 10)
    assert _money(rig, SAVINGS) == [900]
    assert rig.cluster.nodes[1].state["locks"] == [["savings", [4, 1]]]
    assert rig.cluster.nodes[1].status == "Uncertain"
    rig.restart(4)
    _reach(rig, "ended", 4)
    assert _money(rig, SAVINGS) == [1000]
    assert _is_clean(rig)


def test_C2_unprepared_work_does_not_survive_a_crash() -> None:
    """Savings crashes after its operation: the work is undone, so it votes NO, and nothing is lost."""
    rig = _begun()
    _until_sent(rig, "Performed")
    assert _money(rig, SAVINGS) == [900]
    rig.kill(1)
    rig.restart(1)
    _reach(rig, "ended", 4)
    assert ["NO", "what it did is lost"] in [[vote["vote"], vote.get("against")] for vote in _votes(rig)]
    assert _money(rig, SAVINGS, CHECKING, MONEYMARKET) == [1000, 1000, 1000]


def _votes(rig: Rig) -> list[dict[str, str]]:
    return [msgspec.json.decode(m.body) for step in rig.steps for m in step.sent if m.kind == "Vote"]


def test_C3_a_participant_that_has_not_voted_aborts_by_itself() -> None:
    """The coordinator crashes before Prepare: nobody is asked, and the locks are free 3·T later."""
    rig = _begun()
    _until_sent(rig, "Performed")
    rig.kill(4)
    _reach(rig, "aborted", 1)
    assert not rig.sent("OutcomeOf")
    assert rig.cluster.nodes[1].state["locks"] == []


def test_C1_the_work_of_a_long_plan_is_not_late() -> None:
    """No assumption is broken, and none of the nodes fails: so nothing that is open then is late."""
    rig = Rig(range(1, 41), protocol=find_protocol("2pc"), latency_us=TM_US).started()
    _give_command(rig, 1, "collect 10 savings")
    rig.run(32 * T_US)
    assert rig.cluster.nodes[1].state["open"], "the plan takes longer than 30·T"
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    assert judge.violations == []


def test_C4_another_participant_knows() -> None:
    """The coordinator crashes after it told one: the others learn it from that one."""
    rig = _begun()
    rig.do("on send Commit 4->1: kill 4")
    _reach(rig, "committed", 1, 2, 3)
    assert rig.cluster.nodes[4].process == "killed"
    rig.restart(4)
    _reach(rig, "ended", 4)
    assert _money(rig, SAVINGS, CHECKING, MONEYMARKET) == [900, 1050, 700]


def test_C4_one_that_has_not_voted_aborts() -> None:
    """Prepare reached two of three before the crash: the third aborts when it is asked, and all know it."""
    rig = _begun()
    rig.do("on send Prepare 4->2: kill 4")
    _reach(rig, "aborted", 1, 2, 3)
    assert _log(rig, 1) == ["prepared", "aborted"]
    assert _log(rig, 3) == ["aborted"]


@pytest.mark.parametrize("rounds", [1, 20])
def test_C4_all_uncertain_is_blocked(rounds: int) -> None:
    """The coordinator crashes between votes and decision: they hold their locks until it is back."""
    rig = _begun()
    _until_sent(rig, "Vote", 3)
    rig.kill(4)
    rig.run(rounds * 5 * _S)
    for node in (1, 2, 3):
        view = rig.cluster.nodes[node]
        assert view.status == "Blocked"
        assert view.state["open"][0]["blocked_us"] < 5 * _S
        assert len(view.state["locks"]) == 1
    rig.restart(4)
    _reach(rig, "ended", 4)
    assert [_log(rig, node)[-1] for node in (1, 2, 3)] == ["aborted"] * 3
    assert _is_clean(rig)


def test_C5_a_coordinator_with_a_decision_sends_it_after_the_crash() -> None:
    """It crashes at the commit point, before anybody hears of it: the logged decision stands."""
    rig = _begun()
    rig.do("lose 4->1 Commit 100%", "on send Commit 4->1: kill 4")
    rig.run(10 * _S)
    assert [rig.cluster.nodes[node].status for node in (1, 2, 3)] == ["Blocked"] * 3
    rig.do("heal")
    rig.restart(4)
    _reach(rig, "ended", 4)
    assert _money(rig, SAVINGS, CHECKING, MONEYMARKET) == [900, 1050, 700]
    assert rig.cluster.nodes[4].state["cash_out"] == 350_00


def test_C3_a_node_that_was_never_asked_to_vote_needs_no_decision() -> None:
    """The node of checking is dead: the transfer is aborted, sent once, and ended, though it never arrives."""
    rig = _bank(4)
    rig.kill(2)
    _give_command(rig, 4, "transfer 100 savings checking")
    _reach(rig, "ended", 4)
    assert rig.cluster.nodes[2].process == "killed"
    assert _log(rig, 4) == ["begin", "aborted", "ended"]
    assert _money(rig, SAVINGS) == [1000]
    assert not any(rig.cluster.nodes[node].state["open"] for node in (1, 3, 4))


def test_C6_a_node_that_finds_a_lock_votes_no() -> None:
    """Two coordinators want the same accounts: one gives up at once, and nobody waits."""
    rig = _bank(5)
    _give_command(rig, 5, "transfer 100 savings checking")
    rig.run(15_000)
    _give_command(rig, 4, "transfer 50 savings moneymarket")
    rig.run(_S // 2)
    assert _log(rig, 4)[-2:] == ["aborted", "ended"]
    assert rig.cluster.nodes[1].state["balances"] == [["savings", 900_00]]
    assert "4.1 is aborted: savings is locked by 5.1" in [note for step in rig.steps for note in step.notes]


def test_a_duplicated_operation_is_performed_once() -> None:
    """Every message arrives twice: no account changes twice."""
    rig = _bank()
    rig.do("duplicate all 100%")
    _give_command(rig, 4, "withdraw 350")
    _reach(rig, "ended", 4)
    rig.run(_S)
    assert _money(rig, SAVINGS, CHECKING, MONEYMARKET) == [900, 1050, 700]
