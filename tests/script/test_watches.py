"""Watches: which expressions there are, what they show, and that none ever raises."""

import contextlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from lab.kernel import Protocol
from lab.protocols import PROTOCOLS, Bully
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script import values as v
from lab.script import vocabulary
from lab.script.parse import parse_watch
from lab.script.predicates import Predicate
from lab.script.scope import CommandError, Scope
from lab.script.watches import Watch, WatchedNodes, WatchedPredicate, WatchedValue, WatchReading, watch_for
from tests.script.strategies import PREDICATES, VALUES

IDS = (1, 2, 3, 4, 5)
TWO_PHASE = PROTOCOLS["2pc"]
STATES: dict[int, dict[str, Any]] = {
    1: {"status": "follower", "term": 2, "votes": [3, {"term": 2, "index": 7}], "word": "", "chosen": True},
    2: {"status": "follower", "term": 2, "group": [2, 1], "word": "two words", "share": 0.25},
    3: {"status": "leader", "term": 5, "votes": [], "entry": {"term": 5, "index": 9}, "empty": {}},
    4: {"status": "candidate", "term": None, "votes": [None, True]},
    5: {"status": "leader", "term": 9},
}


def _cluster() -> ClusterState:
    """Five nodes; 2 is paused, 5 has been killed."""
    cluster = ClusterState(IDS)
    for node, state in STATES.items():
        cluster.nodes[node] = NodeState(node, {2: "paused", 5: "killed"}.get(node, "running"), 1, 0, state)  # type: ignore[arg-type]
    cluster.messages.update(Vote=3)
    return cluster


def _shown(text: str, cluster: ClusterState | None = None) -> str:
    return " ".join(each.text for each in parse_watch(text).read(cluster or _cluster()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("3.term", "5"),
        ("3.term - 1.term", "3"),
        ("1.term - 3.term", "-3"),
        ("(3.term - 1.term) * 2 + 1", "7"),
        ("3.term / 1.term", "2"),
        ("3.status", "leader"),
        ("2.word", "two words"),
        ("1.word", '""'),
        ("1.chosen", "true"),
        ("(1.chosen)", "true"),
        ("2.share", "0.25"),
        ("1.votes", "[3 term 2 index 7]"),
        ("3.votes", "[]"),
        ("4.votes", "[null true]"),
        ("1.votes + 1", "3"),
        ("1.votes[1].index", "7"),
        ("3.entry", "term 5 index 9"),
        ("3.entry.term", "5"),
        ("3.empty", "{}"),
        ("messages + live", "7"),
        ("2.group", "[2 1]"),
        ('3.status == "leader" and 1.term == 2', "true"),
        ("all.term == 5", "false"),
        ("any.term == 5", "true"),
        ("not any down", "false"),
    ],
)
def test_values_and_predicates(text: str, shown: str) -> None:
    """As ``lab guide predicates`` has them; arithmetic over a list counts its elements."""
    assert _shown(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "5.term",
        "5.term - 1.term",
        "1.term * 5.term",
        "4.term",
        "4.term + 1",
        "1.nothing",
        "1.votes[2]",
        "1.votes[1].nothing",
        "1.term.nothing",
        "1.status + 1",
        "coordinator.term",
        "7.term",
        "money",
        "1.term / 3.votes",
        "1.term / (3.term - 5)",
    ],
)
def test_what_is_absent_is_a_dash(text: str) -> None:
    """A node that is down, a value that is none or does not exist, and all arithmetic over it."""
    assert _shown(text) == "-"


def test_status_and_process_of_a_node_that_is_down_are_known() -> None:
    assert (_shown("5.status"), _shown("5.process")) == ("Down", "killed")


def test_all_shows_each_node() -> None:
    """Also those that are down; an expression about all is computed at each node by itself."""
    assert parse_watch("all.term").read(_cluster()) == (
        *(
            WatchReading("2", 1),
            WatchReading("2", 2),
            WatchReading("5", 3),
            WatchReading("-", 4),
            WatchReading("-", 5),
        ),
    )
    assert _shown("all.term - 1.term") == "0 0 3 - -"
    assert _shown("all.term * all.term") == "4 4 25 - -"
    assert _shown("all.term", ClusterState((1, 2))) == "- -"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("4.leads", WatchedValue),
        ("(4.leads)", WatchedValue),
        ("4.coordinator + 1", WatchedValue),
        ("groups", WatchedValue),
        ("all.coordinator", WatchedNodes),
        ("all.coordinator == 4", WatchedPredicate),
        ("4.leads or 5.leads", WatchedPredicate),
        ("not 4.leads", WatchedPredicate),
        ("2->3 cut", WatchedPredicate),
    ],
)
def test_an_attribute_alone_is_a_value(text: str, kind: type[Watch]) -> None:
    watch = parse_watch(text)
    assert type(watch) is kind
    watch.check(Scope(Bully, IDS))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: the line ends too soon; expected a value or a predicate (4.coordinator, all.status, "),
        ("foo", "column 1: 'foo' is not expected here; expected a value or a predicate ("),
        ("4.version -", 'column 12: the line ends too soon; expected a value (4, "a text", all.coordinator, '),
        ("4 norml", "column 3: 'norml' is not expected here (did you mean 'normal'?)"),
        ("4.version 5", "column 11: '5' is not expected here; expected a comparison"),
        ("1 + 2", "1 + 2 is constant; watch an attribute or a count: 4.coordinator, groups"),
        ("any.coordinator", "any.coordinator is not one value; watch all.coordinator, or a predicate: "),
        ("4 suspects 5 or 4 down", "4 suspects 5 depends on earlier records, and a watch on "),
        ("x" * 1001, "a command has at most 1000 characters; this has 1001"),
        ("4.coordinatr", "a node of bully has no attribute coordinatr; it has coordinator, "),
        ("9.coordinator", "there is no node 9; the nodes are 1 2 3 4 5"),
        ("4.status - 1", "status is not a number, so it cannot be used in arithmetic"),
        ("4.version / 0", "division by 0"),
        ("flying(NoSuch)", "unknown kind of message NoSuch; bully has "),
        ("money", "bully keeps no accounts, so it has no money; try 2pc: lab run 2pc"),
        ("all.coordinator == Normal", "coordinator is never Normal"),
    ],
)
def test_a_wrong_watch_names_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_watch(text, Bully).check(Scope(Bully, IDS))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["foo", "4.version -", ""])
def test_a_syntax_error_has_an_example(text: str) -> None:
    with pytest.raises(CommandError, match=r"For example: 4\.coordinator$"):
        parse_watch(text)


def test_a_quantity_of_the_protocol_can_be_watched() -> None:
    for text in ("money", "balance(savings) - 10", "locks + blocked"):
        parse_watch(text, TWO_PHASE).check(Scope(TWO_PHASE, IDS))


def test_a_term_that_fails_shows_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the user's own code, and may be wrong."""

    def fail(term: object, *arguments: object) -> None:
        raise CommandError("mine.py, line 3: ZeroDivisionError")

    monkeypatch.setattr("lab.script.values.evaluate", fail)
    monkeypatch.setattr("lab.script.values.brought_to", lambda cluster: vocabulary.brought_by(TWO_PHASE))
    assert _shown("money") == "failed: mine.py, line 3: ZeroDivisionError"


def test_odd_values_of_a_foreign_recording() -> None:
    """Control characters, numbers too long to be written, and values nested too deeply."""
    cluster = _cluster()
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    odd = {"text": "a\x1b[31mb", "many": 10**5000, "deep": deep, "long": "x" * 5000}
    cluster.nodes[1] = NodeState(1, "running", 1, 0, odd)
    assert _shown("1.text", cluster) == r"a\x1b[31mb"
    assert _shown("1.many", cluster) == "…"
    assert _shown("1.many * 1.many + 1", cluster) == "…"
    assert _shown("1.deep", cluster) == "…"
    assert len(_shown("1.long", cluster)) == 200


def test_a_number_out_of_range_is_a_dash() -> None:
    cluster = _cluster()
    cluster.nodes[1] = NodeState(1, "running", 1, 0, {"amount": Decimal("9e999999")})
    assert _shown("1.amount * 1.amount", cluster) == "-"


BOTH: tuple[type[Protocol], ...] = (Bully, TWO_PHASE)


@given(VALUES | PREDICATES)
def test_printing_and_parsing_is_the_identity(expression: v.Value | Predicate) -> None:
    """Of all that can be watched; what has no meaning in a run is refused, and nothing raises anything else."""
    with contextlib.suppress(CommandError):
        watch = watch_for(expression)
        assert parse_watch(str(watch)) == watch
        assert all(reading.text for reading in watch.read(_cluster()))
        assert watch.read(ClusterState(IDS))
        for protocol in BOTH:
            with contextlib.suppress(CommandError):
                watch.check(Scope(protocol, IDS))
