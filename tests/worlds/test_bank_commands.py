"""The bank's commands, simulated and live: single, in a load, and refused by nodes that may not begin."""

from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from lab.cli.run_report import Note, NoteLog
from lab.kernel import CommandInput, Step
from lab.protocols import TwoPhaseCommit, find_protocol
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Commanded
from lab.script.parse import parse
from lab.script.values import attribute_of
from lab.tasks.bank.bank_analysis import BankAnalysis
from lab.worlds.run import CommandOutcome
from tests.harness import T_US, Rig
from tests.worlds.live import STEADY, LiveRun

NODES = (1, 2, 3)
CALM_US = 20 * T_US


@pytest.fixture
def rig() -> Rig:
    """Three nodes with an account each."""
    return Rig(NODES, protocol=TwoPhaseCommit).started()


def _done(rig: Rig, text: str) -> CommandOutcome:
    outcome = rig.control.execute(parse(text))
    rig.run(CALM_US)
    return outcome


def _begun(steps: list[Step]) -> list[Step]:
    return [step for step in steps for entry in step.logged.get("log", []) if entry["what"] == "begin"]


def _outcomes(rig: Rig) -> list[str]:
    """Return the outcomes of the transactions, from the log of node 3."""
    entries = rig.cluster.nodes[3].state["log"]
    return [entry["what"] for entry in entries if entry["what"] in ("committed", "aborted")]


def _balances(rig: Rig) -> list[int]:
    """Return the balances in dollars."""
    return [cents // 100 for node in NODES for _, cents in rig.cluster.nodes[node].state["balances"]]


def test_a_transfer_is_for_the_highest_that_runs(rig: Rig) -> None:
    """Two-phase commit elects nobody; a transfer goes to the highest node, or to the one named."""
    assert _done(rig, "transfer 100 savings checking").text == "3 told"
    assert _done(rig, "tell 1 transfer 50 moneymarket savings").text == "1 told"
    assert _balances(rig) == [950, 1100, 950]
    rig.do("kill 3")
    assert _done(rig, "transfer 1 savings checking").text == "2 told"


def test_a_node_that_is_down_is_not_reached(rig: Rig) -> None:
    """The reply says so, and nothing changes."""
    rig.do("kill 2")
    outcome = _done(rig, "tell 2 withdraw 5")
    assert (outcome.changed, outcome.text) == (False, "2 down, nothing changed")


@pytest.mark.parametrize(
    "text", ["transfer 5 savings saving", "withdraw x", "transactions 0", "refuse", "tell 1 refuse 2", "withdraw"]
)
def test_bad_arguments_reach_no_node(rig: Rig, text: str) -> None:
    """Given by hand, without an earlier check: refused and recorded, and no node fails."""
    outcome = _done(rig, text)
    assert (outcome.changed, outcome.refused) == (False, True)
    assert not any(isinstance(step.input, CommandInput) for step in rig.steps)
    assert [each.refused for each in rig.records if isinstance(each, Commanded)] == [True]


def test_an_overdraft_aborts(rig: Rig) -> None:
    """The command is valid; the transaction is aborted, and every cent is where it was."""
    assert _done(rig, "withdraw 1400.01").text == "3 told"
    assert (_outcomes(rig), _balances(rig)) == (["aborted"], [1000, 1000, 1000])
    _done(rig, "withdraw 1400")
    assert (_outcomes(rig), _balances(rig)) == (["aborted", "committed"], [900, 0, 700])


def test_refuse_makes_a_node_vote_no_once(rig: Rig) -> None:
    """The next transaction is aborted, and the one after it is not."""
    assert _done(rig, "refuse 2").text == "2 told"
    for _ in range(2):
        _done(rig, "transfer 100 savings checking")
    assert _outcomes(rig) == ["aborted", "committed"]


def test_a_load_keeps_its_rate_and_is_the_same_in_every_run() -> None:
    """To the microsecond: the k-th begins k intervals after the first, however long each takes."""
    runs = []
    for _ in range(2):
        rig = Rig(NODES, protocol=TwoPhaseCommit, latency_us=40_000).started()
        rig.do("at 1s transactions 30 at 7/s")
        rig.run(6_000_000)
        runs.append(rig)
    begun = _begun(runs[0].steps)
    assert [step.at_us for step in begun] == [1_000_000 + k * 1_000_000 // 7 for k in range(30)]
    assert {step.node for step in begun} == {3}
    assert runs[0].records == runs[1].records
    assert runs[0].protocol(3).load.left == 0
    assert sum(_balances(runs[0])) in (2999, 3000)  # of whole dollars


def test_without_a_rate_it_is_ten_a_second(rig: Rig) -> None:
    """A second load replaces the first."""
    rig.do("transactions 50")
    rig.run(1_000_000)
    rig.do("transactions 3 at 2/s")
    rig.run(5_000_000)
    times = [step.at_us for step in _begun(rig.steps)]
    assert [later - earlier for earlier, later in pairwise(times)][:9] == [100_000] * 9
    assert [later - earlier for earlier, later in pairwise(times)][-2:] == [500_000] * 2


def _notes(rig: Rig) -> list[str]:
    return [note for step in rig.steps for note in step.notes if "aborted: " not in note]


def test_the_result_of_a_load_is_noted(rig: Rig) -> None:
    """When the last of its transfers is decided; for a replaced load, with those not begun."""
    rig.do("transactions 20 at 20/s")
    rig.run(3_000_000)
    committed = _outcomes(rig).count("committed")
    assert _notes(rig) == [f"the load of 20 has ended: {committed} committed, {20 - committed} aborted"]
    assert 0 < committed < 20
    rig.do("transactions 50", "after 250ms transactions 1")
    rig.run(3_000_000)
    assert _notes(rig)[1] == "load replaced: 47 transfers not begun"


def test_the_unfinished_load_of_a_dead_node_is_in_the_summary(rig: Rig) -> None:
    """A dead node can note nothing itself."""
    rig.do("transactions 60 at 10/s", "at 1950ms kill 3")
    rig.run(3_000_000)
    notes = NoteLog(BankAnalysis(rig.header, rig.cluster))
    for record in rig.records:
        notes.observe(record)
    assert notes.notes[-1] == Note(1_950_000, 3, "killed, and its load ended: 40 transfers never begun")


def test_transactions_due_during_a_pause_are_begun_after_it(rig: Rig) -> None:
    """None is left out."""
    rig.do("transactions 20 at 10/s", "at 500ms pause 3", "at 1500ms resume 3")
    rig.run(4_000_000)
    times = [step.at_us for step in _begun(rig.steps)]
    assert len(times) == 20
    assert times[-1] == times[0] + 1_900_000


# three-phase commit


def test_a_node_that_does_not_lead_refuses() -> None:
    """With a remark that has the reason; transactions are for the elected coordinator."""
    rig = Rig(NODES, protocol=find_protocol("3pc")).started()
    rig.run_until_agreed()
    rig.run(CALM_US)
    for text in ("tell 1 withdraw 5", "tell 1 transactions 5 at 5/s"):
        expected = "1 told; this is for the elected coordinator; the log says whether it was refused"
        assert _done(rig, text).text == expected
    notes = [note for step in rig.steps for note in step.notes if step.node == 1]
    assert notes == ["refused: only the elected coordinator begins transactions"] * 2
    assert not _begun(rig.steps)
    assert _done(rig, "transfer 100 savings checking").text == "3 told"
    assert _outcomes(rig) == ["committed"]


class Tiring(TwoPhaseCommit):
    """Two-phase commit by nodes that coordinate three transactions each, and no more."""

    name: ClassVar[str] = "tiring"

    def _coordination_refusal(self) -> str:
        return "" if self._ledger.begun < 3 else "it is tired"


def test_a_load_ends_when_its_node_may_begin_no_more() -> None:
    """With remarks on the reason and the result; a later load is refused as well."""
    rig = Rig(NODES, protocol=Tiring).started()
    rig.do("transactions 10 at 10/s")
    rig.run(CALM_US)
    assert len(_begun(rig.steps)) == 3
    assert [note for step in rig.steps for note in step.notes if "tired" in note] == ["refused: it is tired"]
    assert _notes(rig)[-1].startswith("the load of 10 has ended: ")
    assert _notes(rig)[-1].endswith(" aborted, 7 not begun")
    assert rig.protocol(3).load.left == 0
    rig.do("transactions 10 at 10/s")
    rig.run(CALM_US)
    assert len(_begun(rig.steps)) == 3


# live


@pytest.mark.live
def test_live_transfers_refusals_and_a_load(tmp_path: Path) -> None:
    """Real processes: the host checks the arguments, and the load keeps its rate by the real clock."""
    with LiveRun(tmp_path, nodes=NODES, protocol=TwoPhaseCommit, timing=STEADY) as run:
        run.until(lambda cluster: all(view.status == "Idle" for view in cluster.nodes.values()), "all are idle")
        assert run.order("transfer 100 savings checking").text == "3 told"
        run.until(lambda cluster: _accounts(cluster) == [900, 1100, 1000], "100 from savings to checking")
        refused = run.order("transfer 100 saving checking")
        assert not refused.ok
        assert refused.text.endswith("did you mean savings?")
        assert run.order("refuse 2").text == "2 told"
        run.order("tell 1 transfer 100 savings checking")
        run.until(
            lambda cluster: _what(cluster, 1)[-1:] == ["ended"] and "aborted" in _what(cluster, 1),
            "1's is aborted",
        )
        assert run.order("transactions 10 at 50/s").text == "3 told"
        run.until(lambda cluster: _what(cluster, 3).count("ended") == 11, "eleven transactions of 3 have ended")
        begun = [step.at_us for step in _begun(run.tail.of(Step)) if step.node == 3][1:]
        assert begun[-1] - begun[0] >= 9 * 20_000
        assert all(at_us >= begun[0] + k * 20_000 for k, at_us in enumerate(begun)), "none is early"
        assert not any(attribute_of(view, "locks", run.tail.cluster) for view in run.tail.cluster.nodes.values())


def _accounts(cluster: ClusterState) -> list[int]:
    return [cents // 100 for view in cluster.nodes.values() for _, cents in view.state.get("balances", [])]


def _what(cluster: ClusterState, node: int) -> list[str]:
    return [entry["what"] for entry in cluster.nodes[node].state.get("log", [])]
