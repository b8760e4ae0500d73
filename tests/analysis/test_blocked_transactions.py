"""Why a transaction is open: each sentence comes from a run that confirms it."""

import re
from random import Random
from typing import ClassVar

import msgspec
import pytest

from lab.kernel import Started, Step
from lab.protocols import Algorithm, Bully, ThreePhaseCommit, TwoPhaseCommit, stacked
from lab.protocols.transaction import DECIDED, Transaction
from lab.script.parse import parse
from lab.tasks.bank.bank_state import bank_in, open_at
from lab.tasks.bank.blocking import TransactionDiagnosis, blocked_since_us, diagnose_open_transactions
from tests.harness import T_US, Rig

RUN_US = 20 * T_US
KILL_3 = "on send Vote 1->3: kill 3"
"""Between the votes and the word."""


def _two(*script: str, nodes: int = 3, run_us: int = RUN_US) -> Rig:
    """Run the lecture's withdrawal by two-phase commit, coordinated by the highest node, with these commands."""
    rig = Rig(range(1, nodes + 1), protocol=TwoPhaseCommit).started()
    rig.do(*script, f"tell {nodes} withdraw 350")
    return rig.run(run_us)


def _three(*script: str, nodes: int = 5, task: type[ThreePhaseCommit] = ThreePhaseCommit) -> Rig:
    rig = Rig(range(1, nodes + 1), protocol=stacked(task, Bully)).started()
    rig.run_until_agreed()
    rig.do(*script, f"tell {nodes} withdraw 350")
    return rig.run(3 * RUN_US)


def _stuck(rig: Rig) -> TransactionDiagnosis:
    (stuck,) = diagnose_open_transactions(rig.cluster, rig.header)
    return stuck


def _first(rig: Rig) -> str:
    return _stuck(rig).sentences[0]


def _is_decided(rig: Rig) -> bool:
    running = [view for view in rig.cluster.nodes.values() if view.process == "running"]
    return all(each.state in DECIDED for view in running for each in open_at(view))


@pytest.mark.parametrize(
    ("script", "sentence", "remedy"),
    [
        (
            (KILL_3,),
            "1 and 2 are uncertain: they voted YES, their coordinator 3 is dead; decided when 3 comes back",
            "restart 3",
        ),
        (
            ("on send Vote 1->3: pause 3",),
            "1 and 2 are uncertain: they voted YES, their coordinator 3 is paused; decided when 3 goes on",
            "resume 3",
        ),
        (
            ("on send Commit 3->1: cut 3",),
            "1 and 2 are uncertain: they voted YES, their coordinator 3 cannot be reached; "
            "decided when 3 can be reached, which knows that it is committed",
            "heal",
        ),
        (
            ("on send Vote 1->3: kill 3", "on send Vote 1->3: kill 2"),
            "1 is uncertain: it voted YES, its coordinator 3 is dead, 2 is dead; "
            "decided when 3 comes back, or when 2 comes back, which has not voted",
            "restart 2",
        ),
        (
            (KILL_3, "on send Vote 2->3: pause 2"),
            "1 is uncertain: it voted YES, its coordinator 3 is dead, 2 is paused; decided when 3 comes back",
            "restart 3",
        ),
        (
            (KILL_3, "on send Vote 2->3: cut 1<->2"),
            "1 is uncertain: it voted YES, its coordinator 3 is dead, 2 cannot be reached; "
            "decided when 3 comes back",
            "restart 3",
        ),
        (
            ("on send Commit 3->1: kill 1",),
            "3 has committed it, and tells 1 until it knows: 1 is dead; ended when 1 comes back",
            "restart 1",
        ),
        (
            ("on send Commit 3->1: pause 3",),
            "3 has committed it, and is paused; ended when 3 goes on, and all know it",
            "resume 3",
        ),
    ],
)
def test_two_phase_commit(script: tuple[str, ...], sentence: str, remedy: str) -> None:
    """C4, C5: an uncertain node waits for one that knows; when that one is back, all of them finish."""
    rig = _two(*script)
    assert _first(rig) == sentence
    rig.do(remedy)
    rig.run_until(lambda: _is_decided(rig), RUN_US, f"{remedy} ends it: {sentence}")


def test_an_unreachable_node_that_knows_is_named() -> None:
    """C4: the coordinator, or a participant that has received the decision."""
    rig = _two("on send Commit 4->1: partition 4 1 | 2 3 5", "tell 4 withdraw 350", nodes=5, run_us=RUN_US)
    stuck = diagnose_open_transactions(rig.cluster, rig.header)[0]
    assert stuck.transaction == Transaction(4, 1)
    assert stuck.sentences == (
        "2 and 3 are uncertain: they voted YES, their coordinator 4 cannot be reached, 1 cannot be reached; "
        "decided when 4 or 1 can be reached, which know that it is committed",
        "4 has committed it, and tells 2 and 3 until they know: 2 and 3 cannot be reached; "
        "ended when 2 and 3 can be reached",
    )


def test_each_situation_has_a_sentence() -> None:
    """Only the node that is cut off from the coordinator waits for it."""
    rig = _two(
        "on send Vote 1->4: kill 4", "on send Vote 1->4: cut 1<->2", "on send Vote 1->4: cut 1<->3", nodes=4
    )
    assert _stuck(rig).sentences == (
        "1 is uncertain: it voted YES, its coordinator 4 is dead, 2 and 3 cannot be reached; "
        "decided when 4 comes back",
        "2 and 3 are uncertain: they voted YES, their coordinator 4 is dead, 1 cannot be reached; "
        "decided when 4 comes back",
    )


@pytest.mark.parametrize(
    ("until", "sentences"),
    [
        (
            "on send Perform 3->2: kill 3",
            ("1 has not voted: its coordinator 3 is dead; it aborts by itself, if nothing is heard",),
        ),
        (
            "on send Vote 1->3: cut 2<->3",
            (
                "3 coordinates it, and waits for Prepare answers from 1 and 2: 2 cannot be reached; it waits "
                "no longer than T",
                "2 has not voted: its coordinator 3 cannot be reached; it aborts by itself, if nothing is heard",
                "1 is uncertain: it voted YES, its coordinator 3 has not decided, 2 has not voted; "
                "decided when 3 has decided",
            ),
        ),
        (
            "on send Commit 3->1: kill 3",
            (
                "1 and 2 are uncertain: they voted YES, their coordinator 3 is dead; "
                "decided when 3 comes back, which knows that it is committed",
            ),
        ),
        (
            "on send Commit 3->1: lose 3->2 100%",
            (
                "3 has committed it, and waits for 1 and 2 to acknowledge that",
                "1 and 2 are uncertain: they voted YES, their coordinator 3 knows that it is committed; "
                "decided when the decision of 3 arrives",
            ),
        ),
    ],
)
def test_at_the_instant_of_a_fault(until: str, sentences: tuple[str, ...]) -> None:
    """No node is blocked yet, but the node it will wait for is known."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do(until, "tell 3 withdraw 350")
    rig.run_until(lambda: bool(rig.cluster.faults), RUN_US, "the fault")
    assert _stuck(rig).sentences == sentences
    assert _stuck(rig).blocked_since_us is None


def test_a_node_that_can_ask_one_that_knows_is_not_blocked() -> None:
    """C4: any node that knows the outcome answers."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("on deliver Commit 3->1: kill 3", "on send Commit 3->2: cut 3->2", "tell 3 withdraw 350")
    rig.run_until(lambda: rig.cluster.nodes[3].process == "killed", RUN_US, "3 is dead")
    rig.run(1)
    assert _first(rig) == (
        "2 is uncertain: it voted YES, its coordinator 3 is dead, 1 knows that it is committed; "
        "decided as soon as it asks 1"
    )
    rig.run(RUN_US)
    assert _stuck(rig).sentences == (
        "committed at 1 and 2: its coordinator 3 is dead, and had committed it; ended when 3 comes back",
    )


def test_held_messages() -> None:
    """They are neither lost nor delivered."""
    rig = _two("on send Vote 1->3: hold 3->1")
    assert _first(rig) == (
        "3 has committed it, and tells 1 until it knows: 1 does not get its messages; "
        "ended when 1 gets its messages"
    )


@pytest.mark.parametrize(
    ("script", "sentence", "remedy"),
    [
        (
            ("on deliver Vote 1->5: kill 5", "on deliver Vote 1->5: kill 4", "on deliver Vote 1->5: kill 2"),
            "1 and 3 are uncertain: they voted YES, their coordinator 5 is dead, 2 is dead; "
            "decided when 5 comes back, or when a majority can be reached (2 of 4 can)",
            "restart 5",
        ),
        (
            ("on deliver Vote 1->5: kill 5", "on deliver Vote 1->5: kill 2"),
            "1 and 3 are uncertain: they voted YES, their coordinator 5 is dead, 2 is dead; "
            "decided when 5 comes back, or when a majority can be reached (2 of 4 can)",
            "restart 2",
        ),
        (
            ("on send PreCommit 5->1: partition 1 2 | 3 4 5",),
            "1 and 2 are uncertain: they voted YES, their coordinator 5 cannot be reached, 3 cannot be reached; "
            "decided when a majority can be reached (2 of 4 can)",
            "heal",
        ),
        (
            ("on deliver PreCommit 5->1: kill 3", "on deliver PreCommit 5->1: kill 5"),
            "1 and 2 are commitable: they know that all voted YES, their coordinator 5 is dead, 3 is dead; "
            "decided when a majority can be reached (2 of 4 can)",
            "restart 3",
        ),
    ],
)
def test_three_phase_commit(script: tuple[str, ...], sentence: str, remedy: str) -> None:
    """P3, P4: a majority of all participants ends it, or a node that knows the outcome."""
    rig = _three(*script)
    assert _first(rig) == sentence
    rig.do(remedy)
    rig.run_until(lambda: _is_decided(rig), 5 * RUN_US, f"{remedy} ends it: {sentence}")


def test_a_task_of_another_name_has_the_same_explanation() -> None:
    """P4: what counts is that an elected node terminates open transactions."""

    class Renamed(ThreePhaseCommit):
        name: ClassVar[str] = "four-phases"

    script = "on deliver Vote 1->5: kill 5", "on deliver Vote 1->5: kill 2"
    assert _first(_three(*script, task=Renamed)) == _first(_three(*script))


def test_a_majority_without_a_coordinator() -> None:
    """P2: it is not blocked; the termination waits for an election."""
    rig = Rig(range(1, 6), protocol=stacked(ThreePhaseCommit, Bully)).started()
    rig.run_until_agreed()
    rig.do("on deliver Vote 1->5: kill 5", "tell 5 withdraw 350")
    rig.run_until(lambda: rig.cluster.nodes[5].process == "killed", RUN_US, "5 is dead")
    assert _first(rig).endswith("their coordinator 5 is dead; decided when a coordinator is elected")
    rig.run_until(lambda: rig.agreed() == 4, 10 * RUN_US, "4 leads")
    assert _first(rig).endswith("; decided when 4, which is elected, has asked all")


def test_times_and_locks() -> None:
    """The locks, the transactions refused because of them, and the times since which it is open and blocked."""
    rig = _two(KILL_3, run_us=10 * T_US)
    rig.do("tell 2 transfer 10 checking savings")
    rig.run(RUN_US)
    stuck = next(
        each
        for each in diagnose_open_transactions(rig.cluster, rig.header)
        if each.transaction == Transaction(3, 1)
    )
    assert stuck.locks == ("savings", "checking", "moneymarket")
    assert stuck.turned_away == (Transaction(2, 1),)
    noted = [
        step.at_us
        for step in rig.steps
        if step.node == 1 and any(each.get("blocked_us") for each in step.changed.get("open", []))
    ]
    assert stuck.blocked_since_us == blocked_since_us(rig.cluster.nodes[1]) == noted[0]
    assert stuck.since_us is not None
    assert stuck.since_us < stuck.blocked_since_us
    assert blocked_since_us(rig.cluster.nodes[3]) is None
    rig.do("restart 3")
    rig.run(RUN_US)
    assert diagnose_open_transactions(rig.cluster, rig.header) == ()
    assert blocked_since_us(rig.cluster.nodes[1]) is None


def test_the_money_of_a_bank_with_a_dead_node() -> None:
    """The accounts of the node are computed from its log; nothing is lost, though money is in transit."""
    rig = _two("on send Commit 3->1: kill 3", run_us=2 * T_US)
    bank = bank_in(rig.cluster, rig.header)
    assert {each.name: (each.cents, each.is_alive) for each in bank.accounts} == {
        "savings": (900_00, True),
        "checking": (1050_00, True),
        "moneymarket": (700_00, False),
    }
    assert (bank.total, bank.cash_out, bank.missing) == (2650_00, 350_00, 0)
    assert [each.lock is not None for each in bank.accounts] == [False, True, False]


def test_a_wiped_log_is_lost() -> None:
    """No restart brings it back."""
    rig = _two(KILL_3)
    assert "log" in rig.cluster.nodes[3].state
    rig.do("wipe 3")
    assert "log" not in rig.cluster.nodes[3].state


def test_a_log_is_known_between_start_and_first_step() -> None:
    """The record of the process comes before the node's first step."""
    rig = _two(KILL_3)
    before = rig.cluster.nodes[3].state["log"]
    seen = []
    rig.watchers.append(lambda: seen.append(rig.cluster.nodes[3].state.get("log")))
    rig.do("restart 3")
    assert seen[0] == before
    assert any(
        isinstance(step.input, Started) and step.incarnation == 2 for step in rig.steps if isinstance(step, Step)
    )


@pytest.mark.parametrize("protocol", [TwoPhaseCommit, stacked(ThreePhaseCommit, Bully)])
def test_every_record_has_an_explanation(protocol: type[Algorithm]) -> None:
    """For each open transaction: the states, the reasons and what would end it, unless it is just ending."""
    sentences: set[str] = set()
    for seed in range(8):
        chance = Random(f"blocked {seed}")
        rig = Rig((1, 2, 3, 4), protocol=protocol, jitter_us=8000, seed=seed).started()

        def collect(rig: Rig = rig) -> None:
            for stuck in diagnose_open_transactions(rig.cluster, rig.header):
                assert stuck.sentences
                sentences.update(stuck.sentences)

        rig.watchers.append(collect)
        for _ in range(10):
            node, others = chance.randint(1, 4), chance.randint(1, 3)
            script = (f"kill {node}", f"pause {node}", f"restart {node}", f"resume {node}", f"hold {node}", "heal")
            rig.control.execute(parse(chance.choice((*script, f"partition {others} | {others + 1}", "heal"))))
            rig.control.execute(parse(f"tell {chance.randint(1, 4)} withdraw 350"))
            rig.run(chance.randint(1_000, 4 * T_US))
    assert len(sentences) > 20
    shape = re.compile(
        r"[\w, ]+(: [\w, ]+)?; [\w, ]+( \(\d of \d can\))?|\d has \w+ it, and waits for .* to acknowledge that"
    )
    assert [sentence for sentence in sentences if not shape.fullmatch(sentence)] == []


@pytest.mark.parametrize(
    "state",
    [
        {"open": 3, "log": "x"},
        {"open": [{"transaction": [1]}], "balances": [], "locks": [], "log": [3, {"transaction": [3, 1]}]},
        {"open": [], "balances": [["savings", "x"]], "locks": [["savings"]], "log": [None]},
        {"log": [{"what": "aborted", "transaction": [3, 1]}, {"what": "committed", "transaction": [3, 1]}]},
        {"log": [{"what": "precommit", "transaction": [7, 7]}]},
        {
            **{
                "balances": [],
                "locks": [],
                "open": [{"transaction": [3, 1], "state": "uncertain", "since_us": 0}],
            },
            "log": [{"what": "committed", "transaction": [3, 1]}],
        },
        {"log": [{"what": "prepared", "transaction": [3, 1], "changes": [["elsewhere", 1, 2]]}] * 2},
    ],
)
def test_foreign_recordings(state: dict[str, object]) -> None:
    """An explanation, or none."""
    rig = _two(KILL_3)
    nodes = rig.cluster.nodes
    for node in (1, 3):
        nodes[node] = msgspec.structs.replace(nodes[node], state=state)
    assert all(stuck.sentences for stuck in diagnose_open_transactions(rig.cluster, rig.header))


def test_another_protocol_has_no_transactions() -> None:
    """And no bank."""
    rig = Rig((1, 2, 3)).started()
    rig.run_until_agreed()
    assert diagnose_open_transactions(rig.cluster, rig.header) == ()
    assert blocked_since_us(rig.cluster.nodes[1]) is None
