"""The bank in the language: its commands, who they are for, and what a script may ask of its money."""

from typing import Any

import pytest

from lab.protocols import PROTOCOLS, TASKS, find_protocol
from lab.protocols.accounts import parse_cents
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script import CommandError, Tell, When, check_line, nodes_told, parse
from lab.script.commands import Nodes
from lab.script.holding import Suspicions, holds
from lab.script.predicates import Attribute, Compare, Text
from lab.script.printing import said
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
def test_what_is_behind_a_command_are_its_words_or_nodes(
    text: str, nodes: Nodes | None, command: str, words: tuple[str, ...]
) -> None:
    """A command that takes words has them behind it, and its nodes before it; another has nodes behind it."""
    line = parse(text)
    assert line.command == Tell(nodes, command, words)
    assert parse(said(line)).command == line.command


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("transfer 100 savngs checking", "there is no account savngs; there are savings, checking, moneymarket, "),
        ("transfer 100 savngs checking", "; did you mean savings?"),
        ("transfer 100 account3 checking", "there is no account account3; "),
        ("transfer x savings checking", "'x' is no amount: write 350, or 12.50"),
        ("transfer 12.555 savings checking", "'12.555' is no amount"),
        ("transfer 1,00 savings checking", "'1,00' is no amount"),
        ("transfer savings checking 100", "the amount comes before the accounts: transfer 100 savings checking"),
        ("collect checking 10", "the amount comes before the accounts: collect 10 checking"),
        ("transfer -5 savings checking", "'-5' is no amount"),
        ("transfer 0.00 savings checking", "an amount of 0.00 moves nothing"),
        ("withdraw 1000000001", "1000000001 is too large an amount: 1,000,000,000 is the most"),
        ("withdraw 0", "an amount of 0 moves nothing: write 350, or 12.50"),
        ("transfer 5 savings savings", "savings is named twice: name two accounts"),
        ("collect 10", "the words of collect are AMOUNT TARGET; got 10: collect 10 checking"),
        ("collect 10 chekcing", "there is no account chekcing; "),
        ("collect 0 checking", "an amount of 0 moves nothing"),
        ("transfer 5 savings", "the words of transfer are AMOUNT SOURCE TARGET; got 5 savings: transfer 100 "),
        ("withdraw", "the words of withdraw are AMOUNT; got none: withdraw 350"),
        ("transactions 0", "0 is no number of transactions: from 1 to 100,000 at once"),
        ("transactions ten", "ten is no number of transactions"),
        ("transactions 9999999999", "9999999999 is no number of transactions"),
        ("transactions 5 at 20", "at 20 is no rate: write at 20/s, from 1/s to 1000/s"),
        ("transactions 5 at 0/s", "at 0/s is no rate"),
        ("transactions 5 at 1001/s", "at 1001/s is no rate"),
        ("transactions 5 20/s", "the word at is missing: transactions 5 at 20/s"),
        ("transactions 5 at", "at is no rate"),
        ("transactions 5 at 20/s now", "the words of transactions are COUNT [at RATE]; got 5 at 20/s now: "),
        ("refuse", "refuse is for the nodes that you name: refuse 2"),
        ("refuse 9", "there is no node 9; there are 1 2 3 4 5"),
        ("tell 2 refuse 3", "refuse takes no words; got 3: refuse 2"),
        ("tell 9 withdraw 3", "there is no node 9; there are 1 2 3 4 5"),
        ("at 2s tell 3 withdrw 3", "2pc has no command withdrw; "),
    ],
)
def test_a_mistake_in_a_command_is_told_before_the_run(text: str, mistake: str) -> None:
    """What was got, what was expected, and the next step."""
    with pytest.raises(CommandError) as caught:
        check_line(parse(text), TWO, IDS)
    assert mistake in str(caught.value)


@pytest.mark.parametrize(
    ("amount", "cents"), [("12.5", 1250), ("1,000", 100_000), ("$10", 1000), ("$1,000.05", 100_005)]
)
def test_an_amount_may_be_written_as_it_is_printed(amount: str, cents: int) -> None:
    """With commas between the thousands, one place for cents, and a dollar sign."""
    check_line(parse(f"transfer {amount} savings checking"), TWO, IDS)
    assert parse_cents(amount) == cents


def test_which_accounts_there_are_is_up_to_the_parameters() -> None:
    """Two for each node, and of a task above an election too."""
    line = parse("transfer 100 savings-2 checking")
    for protocol in (TWO, find_protocol("3pc")):
        check_line(line, protocol, IDS, {"accounts": 2})
        with pytest.raises(CommandError, match="there is no account savings-2"):
            check_line(line, protocol, IDS)


def _cluster(leaders: tuple[int, ...] | None, **processes: Any) -> ClusterState:
    """Four nodes that run, but for those of which something else is said; None: they elect nobody."""
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
def test_a_transaction_is_for_one_node(cluster: ClusterState, node: int) -> None:
    """The highest that leads, or, where nobody is elected, that is up; one that runs rather than a paused one."""
    elects = "coordinator" in cluster.nodes[1].state
    protocol = find_protocol("3pc") if elects else TWO
    assert nodes_told(Tell(None, "withdraw", ("5",)), cluster, protocol) == (node,)
    assert nodes_told(Tell(Nodes((1,)), "withdraw", ("5",)), cluster, protocol) == (1,)


def test_while_nobody_leads_or_is_up_it_is_for_nobody() -> None:
    """The former where there are elections."""
    with pytest.raises(
        CommandError, match="nobody is coordinator at present; wait for the election: when all normal: withdraw 5"
    ):
        nodes_told(Tell(None, "withdraw", ("5",)), _cluster(()), find_protocol("3pc"))
    with pytest.raises(CommandError, match="no node is up at present; restart one"):
        nodes_told(Tell(None, "withdraw", ("5",)), ClusterState(IDS), TWO)


# what may be asked


def _holds(text: str, cluster: ClusterState) -> bool:
    trigger = parse(f"when {text}: heal").trigger
    assert isinstance(trigger, When)
    return holds(trigger.predicate, cluster, Suspicions())


@pytest.fixture
def rig() -> Rig:
    """Three nodes with the lecture's accounts."""
    return Rig((1, 2, 3), protocol=TWO).started()


def _is_so(rig: Rig, *texts: str) -> None:
    for text in texts:
        check_line(parse(f"when {text}: heal"), TWO, rig.ids)
        assert _holds(text, rig.cluster), text


def test_before_and_after_the_lectures_plan(rig: Rig) -> None:
    """100 and 300 to checking, 350 of that in cash: nothing is lost, and the cash was handed out once."""
    before = ["money == 3000", "balance(savings) == 1000", "committed + aborted == 0", "locks == 0"]
    _is_so(rig, *before, "all.open == 0", "all.log == 0", "3.state == none", "all.dispensed == 0")
    rig.do("withdraw 350")
    rig.run(20 * T_US)
    after = [
        "money == 3000",
        "balance(savings) == 900",
        "balance(checking) == 1050",
        "balance(moneymarket) == 700",
    ]
    _is_so(rig, *after, "committed == 1 and aborted == 0", "locks == 0", "all.open == 0", "all.state == committed")
    _is_so(rig, "1.log == 2", "3.log == 4", "3.dispensed == 350", "1.dispensed == 0", "any.dispensed > 0")


def test_cents_are_written_behind_a_point(rig: Rig) -> None:
    """As in the command."""
    rig.do("transfer 12.50 savings checking")
    rig.run(20 * T_US)
    _is_so(rig, "balance(savings) == 987.50", "balance(checking) - 12.50 == balance(savings) + 12.50")
    _is_so(rig, "balance(savings) < 988", "money == 3000.00", "not balance(savings) == 987")


def test_amid_a_transaction(rig: Rig) -> None:
    """It is open and locked where it has come to, and uncertain where it was voted for."""
    rig.do("hold 3->1 Commit", "transfer 100 savings checking")
    rig.run_until(lambda: _holds("3.state == committed", rig.cluster), 20 * T_US, "it is decided")
    _is_so(rig, "1.state == uncertain", "any.state == uncertain", "1.locks == 1 and locks >= 1", "1.open == 1")
    _is_so(rig, "committed == 1", "1.locks + 1.open == 2")


def test_each_transaction_counts_once_and_of_the_dead_too(rig: Rig) -> None:
    """What a log says it says for good; but how much money there is is not known while a node is down."""
    rig.do("transfer 100 savings checking")
    rig.run(20 * T_US)
    rig.do("refuse 1", "transfer 100 savings checking")
    rig.run(20 * T_US)
    _is_so(rig, "committed == 1 and aborted == 1")
    rig.do("kill 1 2 3")
    _is_so(rig, "committed == 1 and aborted == 1", "locks == 0", "money == none", "balance(savings) == none")
    assert not any(_holds(text, rig.cluster) for text in ("money == 3000", "money != 3000", "3.open == 0"))


def test_committed_is_a_state_beside_a_state_and_a_count_elsewhere() -> None:
    """One word, and what it is compared with says which it is."""
    trigger = parse("when 3.state == committed: heal").trigger
    assert trigger == When(Compare("==", Attribute(3, "state"), Text("committed")))
    assert said(trigger) == "when 3.state == committed"
    assert parse(f"{said(trigger)}: heal").trigger == trigger


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("balance(savngs) == 5", "there is no account savngs; there are savings, checking, moneymarket, "),
        ("3.state == Uncertain", "state is never Uncertain; it is initial, uncertain, commitable, "),
        ("3.state == 5", "state is a state, and 5 is a number: they are never equal"),
        ("3.state < uncertain", "neither less nor more"),
        ("money == savings or 3 up", "'savings' is not expected here"),
        ("committed == 1.50", "committed is a number, and 1.50 is an amount of dollars and cents"),
        ("3.open == none", "open is never none"),
        ("3.open == 2.50", "they are never equal"),
        ("3.open < 2.open", "a list is neither less nor more"),
        ("3.status + 1 == 2", "status is no number"),
        ("money == Normal", "money is never Normal"),
        ("balance(savings) == true", "balance is never true"),
        ("3 == 3.00", "neither side ever changes"),
        ("3.stat == 5", "did you mean state?"),
    ],
)
def test_a_mistake_in_what_is_asked_is_told(text: str, mistake: str) -> None:
    """What could only come out one way is refused."""
    with pytest.raises(CommandError) as caught:
        check_line(parse(f"when {text}: heal"), TWO, IDS)
    assert mistake in str(caught.value)


@pytest.mark.parametrize(
    "text", ["money == 5", "balance(savings) == 5", "locks == 0", "committed > 1", "3.state == 4"]
)
def test_who_keeps_no_accounts_has_no_money(text: str) -> None:
    """Of a protocol without a bank there is nothing to ask."""
    with pytest.raises(CommandError, match=r"keeps no accounts|has no state"):
        check_line(parse(f"when {text}: heal"), PROTOCOLS["bully"], IDS)


def test_three_phase_commit_is_asked_the_same() -> None:
    """Above an election its nodes have the election's state, too."""
    assert "3pc" in TASKS
    line = parse("when money == 5000 and all.state == commitable and 3.log > 2 and coordinator up: withdraw 350")
    check_line(line, find_protocol("3pc"), IDS)
