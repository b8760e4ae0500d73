"""Names of nodes in commands, triggers, predicates and queries: ``n1`` in the cluster, ``c4``, ``lin-kv``."""

import pickle
from pathlib import Path

import pytest
from msgspec.structs import replace

import lab
from lab.protocols import PROTOCOLS
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Commanded, Fault, Role
from lab.script import predicates as p
from lab.script import values as v
from lab.script.commands import Command, Inject, LinkFault, LinkSet, NodeCommand, Nodes, Partition, WorldCommand
from lab.script.parse import parse, parse_predicate, parse_watch
from lab.script.query import read_query
from lab.script.scope import CommandError, NamedNode, NodeNames, Scope
from lab.script.statements import BeforeMessage, OnMessage, OnStatus, OnStore, Trigger
from lab.tui.widgets.prompts import RunWords, complete
from tests.properties.synthetic import header

OTHERS = {4: "c4", 5: "c5", 6: "lin-kv", 7: "my-store"}
NAMES = NodeNames.among((1, 2, 3), OTHERS)
REGISTER = Path(lab.__file__).with_name("guide") / "build" / "register.py"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("kill c4", NodeCommand("kill", Nodes((4,)))),
        ("pause lin-kv n2, 3", NodeCommand("pause", Nodes((6, 2, 3)))),
        ("restart my-store", NodeCommand("restart", Nodes((7,)))),
        ("partition n1 lin-kv | 2 3", Partition((Nodes((1, 6)), Nodes((2, 3))))),
        ("cut c4->n2", LinkFault("cut", LinkSet(Nodes((4,)), Nodes((2,))))),
        ("delay n1 lin-kv<->c5 9ms", LinkFault("delay", LinkSet(Nodes((1, 6)), Nodes((5,)), True), 9_000)),
        ("hold lin-kv", LinkFault("hold", LinkSet(Nodes((6,))))),
        ("inject c4->n1 Read", Inject(4, 1, "Read")),
        ("deliver lin-kv->n1", WorldCommand("deliver", source=6, node=1)),
        ("fire c5", WorldCommand("fire", node=5)),
    ],
)
def test_commands(text: str, command: Command) -> None:
    """A name stands for the id; the canonical text has the name, and is the same command."""
    found = parse(text, names=NAMES).command
    assert found == command
    assert str(found).split() == text.replace(",", "").split()
    assert parse(str(found), names=NAMES).command == command


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("on send Read c4->n3: heal", OnMessage("send", "Read", 4, 3)),
        ("before deliver Read lin-kv->n3: heal", BeforeMessage("deliver", "Read", 6, 3)),
        ("on store n2: heal", OnStore(2)),
        ("on status n2 Election: heal", OnStatus(2, "Election")),
    ],
)
def test_triggers(text: str, trigger: Trigger) -> None:
    assert parse(text, names=NAMES).triggers == (trigger,)
    assert str(parse(text, names=NAMES)) == text


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("lin-kv down", p.Is(6, "down")),
        ("n1 suspects n2", p.Suspects(1, 2)),
        ("c4->n2 cut", p.LinkIs(4, 2)),
        ("all.coordinator == n3", p.Compare("==", v.Attribute("all", "coordinator"), v.Number(3))),
        ("flying(Read c4->n1) > 2", p.Compare(">", v.Count("flying", "Read", 4, 1), v.Number(2))),
        ("my-store.process == killed", p.Compare("==", v.Attribute(7, "process"), v.Text("killed"))),
    ],
)
def test_predicates(text: str, predicate: p.Predicate) -> None:
    assert parse_predicate(text, names=NAMES) == predicate
    assert str(parse_predicate(text, names=NAMES)) == text


def test_watches() -> None:
    assert str(parse_watch("lin-kv.status", names=NAMES)) == "lin-kv.status"


@pytest.mark.parametrize("text", ["kill c9", "kill n4", "kill seq-kv", "cut c9->n1", "when n9 normal: heal"])
def test_an_unknown_name_is_answered_with_those_there_are(text: str) -> None:
    with pytest.raises(CommandError, match=r"there is no node .*; the nodes are 1 2 3 c4 c5 lin-kv my-store$"):
        parse(text, names=NAMES)


@pytest.mark.parametrize(
    ("text", "near"),
    [("kill lin-vk", "lin-kv"), ("pause my-stor", "my-store"), ("kill cluster", "c4, c5, lin-kv")],
)
def test_a_word_that_is_no_name_is_answered_with_the_nearest(text: str, near: str) -> None:
    with pytest.raises(CommandError, match=near):
        parse(text, names=NAMES)


def test_a_number_that_is_no_node_is_answered_with_the_names() -> None:
    scope = Scope(PROTOCOLS["bully"], (1, 2, 3), others=OTHERS)
    with pytest.raises(CommandError, match=r"no node 9; the nodes are 1 2 3 c4 c5 lin-kv my-store$"):
        parse("kill 9", names=NAMES).check(scope)


def test_without_a_run_names_are_read_and_remain_unknown() -> None:
    """So that a command can be checked before it is sent; it strikes nobody."""
    command = parse("kill lin-kv").command
    assert str(command) == "kill lin-kv"
    assert isinstance(command, NodeCommand)
    with pytest.raises(CommandError, match="no node lin-kv"):
        command.nodes.resolve(ClusterState((1, 2, 3)))


def test_a_recording_may_hold_any_names() -> None:
    """Those that no service can have cannot be written, and break nothing."""
    names = NodeNames.among((1,), {2: "a/b", 3: "kill", 4: "(", 5: "\n", 6: "", 7: "my-store"})
    assert names.beyond(()) == ("my-store",)
    assert parse("kill my-store", names=names).command == NodeCommand("kill", Nodes((7,)))
    with pytest.raises(CommandError, match="'a/b' is not expected here"):
        parse("kill a/b", names=names)


def test_a_named_node_is_its_id() -> None:
    node = NamedNode(6, "lin-kv")
    assert node == 6
    assert {6: "found"}[node] == "found"
    assert f"{node}" == "lin-kv"
    copied = pickle.loads(pickle.dumps(node))
    assert (copied, str(copied)) == (6, "lin-kv")


def test_completion_offers_the_names() -> None:
    run = RunWords(kinds=("Read",), nodes=(1, 2), names=("c4", "lin-kv"))
    assert complete("kill li", [], run)[0] == "kill lin-kv"
    assert complete("cut 1->li", [], run) == ["cut 1->lin-kv"]
    assert "on send Read c4->1" in complete("on send Read c4", [], run)


def test_queries() -> None:
    roles = (Role("clients", "client", {4: "c4"}), Role("lin-kv", "lin-kv", {6: "lin-kv"}))
    found = replace(header(), roles=roles)
    assert read_query("node:lin-kv", found) == read_query("node:6", found)
    assert read_query("link:c4->n1", found) == read_query("link:4->1", found)
    with pytest.raises(CommandError, match=r"no node c9; the nodes are .* c4 lin-kv"):
        read_query("from:c9", found)


# in runs

SCRIPT = """\
at 1s: partition n1 lin-kv | 2 n3
then on send Read c4->n1: kill 7
then when lin-kv down: pause c5
at 3s: resume c5
at 4s: restart lin-kv
at 5s: slow-disk c4 1ms
expect never lin-kv paused
"""


@pytest.fixture(scope="module")
def run() -> lab.Run:
    return lab.simulate(str(REGISTER), 3, workload="lin-kv", services=("lin-kv",), for_="6s", script=SCRIPT)


def test_records_have_the_names(run: lab.Run) -> None:
    commanded = [record for record in run.records if isinstance(record, Commanded)]
    assert [record.outcome for record in commanded] == [
        *("8 links", "lin-kv killed", "c5 paused", "c5 resumed", "lin-kv restarted", "1 disk"),
    ]
    faults = {record.text: record.nodes for record in run.records if isinstance(record, Fault) and record.text}
    assert faults == {
        "partition n1 lin-kv | 2 n3": (),
        "kill lin-kv": (7,),
        "pause c5": (5,),
        "slow-disk c4 1ms": (4,),
    }


def test_a_partition_separates_those_that_it_names(run: lab.Run) -> None:
    """In both directions, and nobody else: the clients reach all."""
    (fault,) = (record for record in run.records if isinstance(record, Fault) and record.links)
    assert set(fault.links) == {
        (a, b) for one, two in (((1, 7), (2, 3)), ((2, 3), (1, 7))) for a in one for b in two
    }


def test_a_branch_goes_on_with_named_faults_in_force(run: lab.Run) -> None:
    branch = run.branch("2s", script="at 3s: resume c5", for_="2s")
    assert not branch.failures
    with pytest.raises(CommandError, match="there is no node c9"):
        run.branch("2s", script="at 3s: kill c9")
