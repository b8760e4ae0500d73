"""Commands and predicates of the bank: their syntax, their target nodes, and their values."""

from typing import Any

import pytest

from lab.protocols import PROTOCOLS, TASKS, find_protocol
from lab.protocols.accounts import parse_cents
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.commands import Nodes, ProtocolCommandLine
from lab.script.parse import parse
from lab.script.predicates import Compare, Suspicions
from lab.script.scope import CommandError, Scope
from lab.script.statements import When
from lab.script.values import Attribute, Text
from tests.harness import T_US, Rig

TWO = PROTOCOLS["2pc"]
IDS = (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("text", "nodes", "command", "words"),
    [
        ("transfer 100 savings checking", None, "transfer", ("100", "savings", "checking")),
        ("withdraw 350", None, "withdraw", ("350",)),
        ("transactions 50", None, "transactions", ("50",)),
        ("at 2s: transactions 50 at 20/s", None, "transactions", ("50", "at", "20/s")),
        ("on send Prepare 3->1 #2 withdraw 12.50", None, "withdraw", ("12.50",)),
        ("tell 1 transfer 100 savings checking", Nodes((1,)), "transfer", ("100", "savings", "checking")),
        ("refuse 2", Nodes((2,)), "refuse", ()),
        ("refuse 1, 2 coordinator", Nodes((1, 2), ("coordinator",)), "refuse", ()),
        ("tell 2 refuse", Nodes((2,)), "refuse", ()),
    ],
)
def test_a_command_is_followed_by_arguments_or_by_nodes(
    text: str, nodes: Nodes | None, command: str, words: tuple[str, ...]
) -> None:
    """Nodes of a command that takes arguments come before it, with tell."""
    line = parse(text)
    assert line.command == ProtocolCommandLine(nodes, command, words)
    assert parse(str(line)).command == line.command


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            "transfer 100 savngs checking",
            "unknown account savngs; the accounts are savings, checking, moneymarket, ",
        ),
        ("transfer 100 savngs checking", "; did you mean savings?"),
        ("transfer 100 account3 checking", "unknown account account3; "),
        ("transfer x savings checking", "'x' is not an amount: write 350 or 12.50"),
        ("transfer 12.555 savings checking", "'12.555' is not an amount"),
        ("transfer 1,00 savings checking", "'1,00' is not an amount"),
        ("transfer savings checking 100", "the amount comes before the accounts: transfer 100 savings checking"),
        ("collect checking 10", "the amount comes before the accounts: collect 10 checking"),
        ("transfer -5 savings checking", "'-5' is not an amount"),
        ("transfer 0.00 savings checking", "the amount 0.00 is zero"),
        ("withdraw 1000000001", "the amount 1000000001 is too large: the maximum is 1,000,000,000"),
        ("withdraw 0", "the amount 0 is zero: write 350 or 12.50"),
        ("transfer 5 savings savings", "source and target are both savings: name two"),
        ("collect 10", "usage: collect AMOUNT TARGET; got 10: collect 10 checking"),
        ("collect 10 chekcing", "unknown account chekcing; "),
        ("collect 0 checking", "the amount 0 is zero"),
        ("transfer 5 savings", "usage: transfer AMOUNT SOURCE TARGET; got 5 savings: transfer 100 "),
        ("withdraw", "usage: withdraw AMOUNT; got none: withdraw 350"),
        ("transactions 0", "0 is not a number of transactions: expected 1 to 100,000"),
        ("transactions ten", "ten is not a number of transactions"),
        ("transactions 9999999999", "9999999999 is not a number of transactions"),
        ("transactions 5 at 20", "at 20 is not a rate: expected at 1/s to at 1000/s"),
        ("transactions 5 at 0/s", "at 0/s is not a rate"),
        ("transactions 5 at 1001/s", "at 1001/s is not a rate"),
        ("transactions 5 20/s", "the word 'at' is missing: transactions 5 at 20/s"),
        ("transactions 5 at", "at is not a rate"),
        ("transactions 5 at 20/s now", "usage: transactions COUNT [at RATE]; got 5 at 20/s now: "),
        ("refuse", "refuse needs nodes: refuse 2"),
        ("refuse 9", "there is no node 9; the nodes are 1 2 3 4 5"),
        ("tell 2 refuse 3", "refuse takes no arguments; got 3: refuse 2"),
        ("tell 9 withdraw 3", "there is no node 9; the nodes are 1 2 3 4 5"),
        ("at 2s tell 3 withdrw 3", "2pc has no command withdrw; "),
    ],
)
def test_a_mistake_in_a_command_is_reported_before_the_run(text: str, mistake: str) -> None:
    """With what was got, what was expected, and the next step."""
    with pytest.raises(CommandError) as caught:
        parse(text).check(Scope(TWO, IDS))
    assert mistake in str(caught.value)


@pytest.mark.parametrize(
    ("amount", "cents"), [("12.5", 1250), ("1,000", 100_000), ("$10", 1000), ("$1,000.05", 100_005)]
)
def test_an_amount_may_be_written_as_it_is_printed(amount: str, cents: int) -> None:
    """With commas between thousands, one digit of cents, and a dollar sign."""
    parse(f"transfer {amount} savings checking").check(Scope(TWO, IDS))
    assert parse_cents(amount) == cents


def test_the_accounts_depend_on_the_parameters() -> None:
    """For a task on top of an election too."""
    line = parse("transfer 100 savings-2 checking")
    for protocol in (TWO, find_protocol("3pc")):
        line.check(Scope(protocol, IDS, {"accounts": 2}))
        with pytest.raises(CommandError, match="unknown account savings-2"):
            line.check(Scope(protocol, IDS))


def _cluster(leaders: tuple[int, ...] | None, **processes: Any) -> ClusterState:
    """Return four nodes, running unless ``processes`` says otherwise; ``leaders`` None: they elect nobody."""
    cluster = ClusterState((1, 2, 3, 4))
    for node in cluster.nodes:
        state: dict[str, Any] = {"status": "Normal", "coordinator": node if node in (leaders or ()) else 9}
        if leaders is None:
            state = {"status": "Idle"}
        cluster.nodes[node] = NodeState(node, processes.get(f"n{node}", "running"), 1, 0, state)
    return cluster


@pytest.mark.parametrize(
    ("cluster", "node"),
    [
        (_cluster(None), 4),
        (_cluster(None, n4="killed"), 3),
        (_cluster(None, n4="paused", n3="killed"), 2),
        (_cluster(None, n4="paused", n3="killed", n2="killed", n1="killed"), 4),
        (_cluster((2, 3)), 3),
        (_cluster((2, 3), n3="paused"), 2),
        (_cluster((3,), n3="paused"), 3),
        (_cluster((2, 3), n3="killed"), 2),
    ],
)
def test_a_transaction_runs_on_one_node(cluster: ClusterState, node: int) -> None:
    """The highest that leads, or, without elections, that is up; running nodes before paused ones."""
    elects = "coordinator" in cluster.nodes[1].state
    protocol = find_protocol("3pc") if elects else TWO
    assert ProtocolCommandLine(None, "withdraw", ("5",)).targets(cluster, protocol) == (node,)
    assert ProtocolCommandLine(Nodes((1,)), "withdraw", ("5",)).targets(cluster, protocol) == (1,)


def test_a_transaction_is_refused_without_a_coordinator_or_a_node_that_is_up() -> None:
    with pytest.raises(
        CommandError, match="nobody is coordinator at present; wait for the election: when all normal: withdraw 5"
    ):
        ProtocolCommandLine(None, "withdraw", ("5",)).targets(_cluster(()), find_protocol("3pc"))
    with pytest.raises(CommandError, match="no node is up at present; restart one"):
        ProtocolCommandLine(None, "withdraw", ("5",)).targets(ClusterState(IDS), TWO)


# what may be asked


def _holds(text: str, cluster: ClusterState) -> bool:
    trigger = parse(f"when {text}: heal").trigger
    assert isinstance(trigger, When)
    return trigger.predicate.holds(cluster, Suspicions())


@pytest.fixture
def rig() -> Rig:
    """Three nodes with the lecture's accounts."""
    return Rig((1, 2, 3), protocol=TWO).started()


def _assert_holds(rig: Rig, *texts: str) -> None:
    for text in texts:
        parse(f"when {text}: heal").check(Scope(TWO, rig.ids))
        assert _holds(text, rig.cluster), text


def test_before_and_after_the_lectures_plan(rig: Rig) -> None:
    """100 and 300 to checking, 350 of that as cash: no money is lost, and the cash is paid out once."""
    before = ["money == 3000", "balance(savings) == 1000", "committed + aborted == 0", "locks == 0"]
    _assert_holds(rig, *before, "all.open == 0", "all.log == 0", "3.state == none", "all.cash_out == 0")
    rig.do("withdraw 350")
    rig.run(20 * T_US)
    after = [
        "money == 3000",
        "balance(savings) == 900",
        "balance(checking) == 1050",
        "balance(moneymarket) == 700",
    ]
    _assert_holds(
        rig, *after, "committed == 1 and aborted == 0", "locks == 0", "all.open == 0", "all.state == committed"
    )
    _assert_holds(rig, "1.log == 2", "3.log == 4", "3.cash_out == 350", "1.cash_out == 0", "any.cash_out > 0")


def test_cents_are_written_after_a_point(rig: Rig) -> None:
    rig.do("transfer 12.50 savings checking")
    rig.run(20 * T_US)
    _assert_holds(rig, "balance(savings) == 987.50", "balance(checking) - 12.50 == balance(savings) + 12.50")
    _assert_holds(rig, "balance(savings) < 988", "money == 3000.00", "not balance(savings) == 987")


def test_predicates_during_a_transaction(rig: Rig) -> None:
    """It is open and locked at the participants, and uncertain after their votes."""
    rig.do("hold 3->1 Commit", "transfer 100 savings checking")
    rig.run_until(lambda: _holds("3.state == committed", rig.cluster), 20 * T_US, "it is decided")
    _assert_holds(
        rig, "1.state == uncertain", "any.state == uncertain", "1.locks == 1 and locks >= 1", "1.open == 1"
    )
    _assert_holds(rig, "committed == 1", "1.locks + 1.open == 2")


def test_each_transaction_counts_once_also_from_crashed_nodes(rig: Rig) -> None:
    """Logs are final; the amount of money is unknown while a node is down."""
    rig.do("transfer 100 savings checking")
    rig.run(20 * T_US)
    rig.do("refuse 1", "transfer 100 savings checking")
    rig.run(20 * T_US)
    _assert_holds(rig, "committed == 1 and aborted == 1")
    rig.do("kill 1 2 3")
    _assert_holds(
        rig, "committed == 1 and aborted == 1", "locks == 0", "money == none", "balance(savings) == none"
    )
    assert not any(_holds(text, rig.cluster) for text in ("money == 3000", "money != 3000", "3.open == 0"))


def test_committed_is_a_state_next_to_state_and_a_count_elsewhere() -> None:
    """The other side of the comparison decides."""
    trigger = parse("when 3.state == committed: heal").trigger
    assert trigger == When(Compare("==", Attribute(3, "state"), Text("committed")))
    assert str(trigger) == "when 3.state == committed"
    assert parse(f"{trigger!s}: heal").trigger == trigger


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("balance(savngs) == 5", "unknown account savngs; the accounts are savings, checking, moneymarket, "),
        ("3.state == Uncertain", "state is never Uncertain; expected initial, uncertain, commitable, "),
        ("3.state == 5", "state is a word, and 5 is a number, so they are never equal"),
        ("3.state < uncertain", "cannot be ordered"),
        ("money == savings or 3 up", "'savings' is not expected here"),
        ("committed == 1.50", "committed is a number, and 1.50 is an amount of dollars and cents"),
        ("3.open == none", "open is never none"),
        ("3.open == 2.50", "they are never equal"),
        ("3.open < 2.open", "a list cannot be ordered"),
        ("3.status + 1 == 2", "status is not a number"),
        ("money == Normal", "money is never Normal"),
        ("balance(savings) == true", "balance is never true"),
        ("3 == 3.00", "both sides are constant"),
        ("3.stat == 5", "did you mean state?"),
    ],
)
def test_a_mistake_in_a_predicate_is_reported(text: str, mistake: str) -> None:
    """Comparisons with a constant result are refused."""
    with pytest.raises(CommandError) as caught:
        parse(f"when {text}: heal").check(Scope(TWO, IDS))
    assert mistake in str(caught.value)


@pytest.mark.parametrize(
    "text", ["money == 5", "balance(savings) == 5", "locks == 0", "committed > 1", "3.state == 4"]
)
def test_predicates_on_a_bank_are_refused_for_other_protocols(text: str) -> None:
    with pytest.raises(CommandError, match=r"keeps no accounts|has no attribute state"):
        parse(f"when {text}: heal").check(Scope(PROTOCOLS["bully"], IDS))


def test_predicates_on_three_phase_commit() -> None:
    """On top of an election its nodes also have the election's state."""
    assert "3pc" in TASKS
    line = parse("when money == 5000 and all.state == commitable and 3.log > 2 and coordinator up: withdraw 350")
    line.check(Scope(find_protocol("3pc"), IDS))
