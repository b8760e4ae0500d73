"""``lab list protocols``: each protocol as it describes itself, in a screen's width."""

import json

import pytest
from msgspec import Struct

from lab.kernel import Protocol
from lab.properties import ASSERTIONS
from lab.protocols import PROTOCOLS, TASKS, Algorithm, Bully, stacked
from lab.protocols.field import Field
from lab.protocols.parameters import parameters_told, together_told
from tests.cli.calling import Lab

NARROW = {"COLUMNS": "80"}


def test_every_protocol_is_described(lab: Lab) -> None:
    """By name, in the order of the names; nothing is wider than the screen."""
    done = lab("list", "protocols", environment=NARROW)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    begun = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert begun == [*sorted((*PROTOCOLS, *TASKS)), "more"]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "more about one: lab list protocols NAME"


def test_a_long_name_stands_by_itself(lab: Lab) -> None:
    """What is said of the protocol is below it, in the column where it always is."""
    lines = lab("list", "protocols", "bully-tanenbaum", environment=NARROW).out.splitlines()
    assert lines[:2] == ["bully-tanenbaum", "             Tanenbaum's bully: the highest node that is up leads."]


def test_what_is_said_of_one(lab: Lab) -> None:
    """What it does, promises, takes for granted, and lets users set and command; behind it all the theory."""
    done = lab("list", "protocols", "token", environment=NARROW)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:5] == [
        "token        The token by path compression: its holder alone may be inside.",
        f"  promises   K1  {ASSERTIONS['K1'].statement}",
        "  assumes    K1  safe storage is safe (4)",
        "  to set     hold=0s         How long a node stays inside; 0: T.",
        "             want_every=0s   How often the lowest node wants to enter, others",
    ]
    assert "  commands   request [NODES]  Want to enter the critical section, now." in lines
    assert "  messages   PassToken, RequestToken" in lines
    assert "It is the contrast to an election. There all nodes must come to know who leads;" in lines
    assert "    PassToken      from a node that leaves its critical section to the next in line" in lines


def test_costs_and_assumptions_of_an_election(lab: Lab) -> None:
    """The formulas with their cases, and where they are from; promises of the same assumptions are together."""
    text = lab("list", "protocols", "bully", environment=NARROW).out
    assert "  assumes    A1.1, A1.2, A2  all nine assumptions\n" in text
    first = Bully.costs[0]
    assert f"  costs      {first.formula}  {first.case}\n" in text
    assert f"  counted    {first.formula}  {first.source[:30]}" in text


def test_costs_of_a_commit(lab: Lab) -> None:
    """Messages and forced writes, and what makes them up; 3pc has those of its election beside them."""
    two = json.loads(lab("list", "protocols", "2pc", "--json").out)["protocols"][0]["costs"]
    three = json.loads(lab("list", "protocols", "3pc", "--json").out)["protocols"][0]["costs"]
    assert [each["formula"] for each in two] == ["3n", "2n + 4"]
    assert [each["formula"] for each in three[:3]] == ["5n", "3n + 5", Bully.costs[0].formula]
    assert [each["source"] for each in two] == [
        "Prepare, Vote and Commit, of each",
        "prepared and committed, of each; begin and ended too, of the coordinator",
    ]


def test_a_protocol_of_ones_own(lab: Lab) -> None:
    """What its author wrote below a parameter is read out of the file."""
    lab.folder.joinpath("mine.py").write_text(
        '"""How it works."""\n'
        "from msgspec import Struct\n"
        "from lab.protocols import Election\n"
        "class Mine(Election):\n"
        '    """Nobody leads."""\n'
        "    class Parameters(Struct, frozen=True):\n"
        "        patience_us: int = 1_500_000\n"
        '        """How long\n        it waits."""\n'
        "        loud: bool = False\n"
    )
    done = lab("list", "protocols", "mine.py", environment=NARROW)
    assert done.out.splitlines() == [
        "mine         Nobody leads.",
        "  to set     patience=1.5s  How long it waits.",
        "             loud=false",
        "",
        "How it works.",
    ]


def test_as_json(lab: Lab) -> None:
    """The same as one object."""
    (token,) = json.loads(lab("list", "protocols", "token", "--json").out)["protocols"]
    assert token["promises"] == [{"id": "K1", "statement": ASSERTIONS["K1"].statement, "assumptions": [4]}]
    assert [each["name"] for each in token["parameters"]] == ["hold", "want_every", "by_itself"]
    assert token["parameters"][2]["default"] == "null"
    assert set(token["commands"]) == {"request"}
    every = json.loads(lab("list", "protocols", "--json").out)["protocols"]
    assert [each["name"] for each in every] == sorted((*PROTOCOLS, *TASKS))


def test_what_cannot_be_listed(lab: Lab) -> None:
    """One line each."""
    assert (
        lab("list", "protocol").refused() == "lab list protocol: write runs or protocols; did you mean protocols?"
    )
    unknown = lab("list", "protocols", "bulli").refused()
    assert unknown.startswith("there is no protocol 'bulli'; there is: 2pc, 3pc, bully,")
    said = "lab list runs first: nothing more is said of a run; leave out first"
    assert lab("list", "runs", "first").refused() == said


def test_runs_are_what_is_listed_if_nothing_is_said(lab: Lab) -> None:
    """``lab list runs`` is ``lab list``, which names the protocols and says where there is more."""
    done = lab("list", "runs")
    assert done == lab("list")
    assert done.out.startswith("no run is going on\nprotocols:\n")
    assert done.out.endswith("more about them: lab list protocols\n")


class _Older(Protocol):
    """Has parameters of its own."""

    class Parameters(Struct, frozen=True):
        """In all."""

        one_us: int = 2_000
        """The first."""

        two: str = "x"


class _Younger(_Older):
    """Adds one."""

    class Parameters(_Older.Parameters, frozen=True):
        """And more."""

        three: bool = True
        """The third."""


def test_parameters_of_a_base_are_told_too() -> None:
    """In the order of declaration, each with what stands below it."""
    told = [(each.name, each.field, each.default, each.says) for each in parameters_told(_Younger)]
    assert told == [
        ("one", "one_us", 2_000, "The first."),
        ("two", "two", "x", ""),
        ("three", "three", True, "The third."),
    ]
    assert together_told(_Younger) == "In all. And more."


def test_parameters_of_both_layers_are_told() -> None:
    """Also where the class is made at run time, and has no source."""
    stack = stacked(Field, Bully)
    assert {each.name for each in parameters_told(stack)} >= {"election", "check_every", "coordinator_timeout"}
    assert together_told(Bully) in together_told(stack)


def test_what_a_class_repeats_of_its_base_is_told_once() -> None:
    """Both say what a time of 0 is."""
    assert together_told(Bully) == "A time of 0 is derived from T."


@pytest.mark.parametrize("protocol", [*PROTOCOLS.values(), Field])
def test_all_parameters_are_explained(protocol: type[Algorithm]) -> None:
    """None is left without a word."""
    assert all(each.says for each in parameters_told(protocol))
