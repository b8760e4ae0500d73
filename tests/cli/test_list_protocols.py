"""``lab list protocols``: each protocol as it describes itself, within the width of the screen."""

import inspect
import json
import sys

import pytest
from msgspec import Struct

from lab.kernel import Protocol
from lab.properties.assertions import ASSERTIONS
from lab.protocols import PROTOCOLS, TASKS, Algorithm, Bully, stacked
from lab.protocols.field import Field
from lab.protocols.parameters import describe_parameters, parameters_summary
from tests.cli.invocation import Lab

NARROW = {"COLUMNS": "80"}


def test_every_protocol_is_described(lab: Lab) -> None:
    """Sorted by name; nothing is wider than the screen."""
    done = lab("list", "protocols", environment=NARROW)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    begun = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert begun == [*sorted((*PROTOCOLS, *TASKS)), "Details"]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "Details of one: lab list protocols NAME"


def test_a_long_name_has_its_own_line(lab: Lab) -> None:
    """The text follows below it, in the usual column."""
    lines = lab("list", "protocols", "bully-tanenbaum", environment=NARROW).out.splitlines()
    assert lines[:2] == ["bully-tanenbaum", "              Tanenbaum's bully: the highest node that is up leads."]


def test_one_protocol_in_detail(lab: Lab) -> None:
    """Purpose, promises, assumptions, parameters and commands; then the theory."""
    done = lab("list", "protocols", "token", environment=NARROW)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:14] == [
        "token         Mutual exclusion by a token with path compression: only the holder",
        "              may enter the critical section.",
        "  promises    K1      at most one node holds the token, in every consistent",
        "                      state",
        "              K2      every request for the token is served as long as no node",
        "                      fails",
        "              idle    no node that is Idle takes itself for the last in the",
        "                      queue, or has a next one",
        f"              leaves  {ASSERTIONS['leaves'].statement}",
        "  assumes     K1      stable storage is permanent and atomic (4)",
        "              K2      no node has failed or been paused since the run began, and",
        "                      no assumption 1 to 9 was ever broken (no_failure_yet)",
        "              idle    nothing",
        "              leaves  all nine assumptions",
    ]
    assert "  commands    request [NODES]  Enter the critical section as soon as possible." in lines
    assert "  messages    PassToken, RequestToken" in lines
    assert "This contrasts with an election. There all nodes must learn who leads; here it" in lines
    assert "    PassToken      from a node that leaves its critical section to the next in the queue" in lines


def test_costs_and_assumptions_of_an_election(lab: Lab) -> None:
    """Formulas with cases and sources; promises are grouped by their assumptions."""
    text = lab("list", "protocols", "bully", environment=NARROW).out
    assert "  assumes     A1.1, A1.2, A2, highest, B10, spreads  all nine assumptions\n" in text
    first = Bully.costs[0]
    assert f"  costs       {first.formula}  {first.case}\n" in text
    assert f"  derived     {first.formula}  {first.source[:30]}" in text


def test_assumptions_of_another_reading(lab: Lab) -> None:
    """What 3pc promises relies on more, if it commits with everyone alive; e3pc has no such reading."""
    text = " ".join(lab("list", "protocols", "3pc", environment=NARROW).out.split())
    assert "A6, A7, A8, quorum, solvent, nonblocking stable storage is permanent and atomic (4) commits" in text
    assert "(no_failure_yet) A6, A8 with commit_after =ev" in text
    assert "(4); messages arrive within Tm (8); nodes answer within Tp (9) nonblocking with" in text
    assert "quorum with commit_after =everyone_alive: not promised" in text
    assert "commit_after" not in lab("list", "protocols", "e3pc", environment=NARROW).out
    (three,) = json.loads(lab("list", "protocols", "3pc", "--json").out)["protocols"]
    promises = {each["id"]: each for each in three["promises"]}
    assert promises["A6"]["assumptions"] == [4]
    assert promises["A6"]["assumptions_if"] == {"commit_after=everyone_alive": [4, 8, 9]}
    assert promises["A7"]["assumptions_if"] == promises["quorum"]["assumptions_if"] == {}
    assert promises["quorum"]["not_if"] == ["commit_after=everyone_alive"]


def test_the_text_line_by_line(lab: Lab) -> None:
    """Each line of code with its number and the words that it carries out, or with its reason."""
    done = lab("list", "protocols", "bully", "--text", environment=NARROW)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Chow & Johnson 1997, Distributed Operating Systems and Algorithms, section 10.2"
    begin = lines.index("listing 10.19: _check_due_us, check B3")
    source = inspect.getsource(sys.modules[Bully.__module__]).splitlines()
    number = source.index("        silent = self.up - replies.keys()") + 1
    at = lines.index(f"{number:>5}  silent = self.up - replies.keys()")
    assert begin < at
    assert lines[at - 1 : at + 4] == [
        "            “wait until j sends (AYN_answer; status), timeout=T”",
        lines[at],
        "            the prose: “or that a processor in the group has failed” (B3)",
        f"{number + 1:>5}  strangers = replies.keys() - self.up",
        "            “or j ∉ Up”",
    ]
    assert "    -  version: the version of the Definition (B10)" in lines[lines.index("not in the text") :]
    ring = lab("list", "protocols", "ring", "--text", environment=NARROW).out
    assert "    -  “When both have gone around again, both will be removed”: it follows" in ring


def test_costs_of_a_commit(lab: Lab) -> None:
    """Messages and forced writes, and how they are counted; 3pc also has those of its election."""
    two = json.loads(lab("list", "protocols", "2pc", "--json").out)["protocols"][0]["costs"]
    three = json.loads(lab("list", "protocols", "3pc", "--json").out)["protocols"][0]["costs"]
    assert [each["formula"] for each in two] == ["3n", "2n + 4"]
    assert [each["formula"] for each in three[:3]] == ["5n", "3n + 5", Bully.costs[0].formula]
    assert [each["source"] for each in two] == [
        "Prepare, Vote and Commit, of each",
        "prepared and committed, of each; begin and ended too, of the coordinator",
    ]


def test_a_users_protocol(lab: Lab) -> None:
    """The descriptions of parameters are read from its file."""
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
        "mine          Nobody leads.",
        "  parameters  patience=1.5s  How long it waits.",
        "              loud=false",
        "",
        "How it works.",
    ]


def test_json(lab: Lab) -> None:
    """One object with the same contents."""
    (token,) = json.loads(lab("list", "protocols", "token", "--json").out)["protocols"]
    assert [each["id"] for each in token["promises"]] == ["K1", "K2", "idle", "leaves"]
    assert token["promises"][:2] == [
        {
            "id": "K1",
            "statement": ASSERTIONS["K1"].statement,
            "assumptions": [4],
            "assumptions_if": {},
            "not_if": [],
        },
        {
            "id": "K2",
            "statement": ASSERTIONS["K2"].statement,
            "assumptions": ["no_failure_yet"],
            "assumptions_if": {},
            "not_if": [],
        },
    ]
    assert [each["name"] for each in token["parameters"]] == ["hold", "want_every", "by_itself"]
    assert token["parameters"][2]["default"] == "null"
    assert set(token["commands"]) == {"request"}
    every = json.loads(lab("list", "protocols", "--json").out)["protocols"]
    assert [each["name"] for each in every] == sorted((*PROTOCOLS, *TASKS))


def test_mistakes(lab: Lab) -> None:
    """One line each."""
    assert (
        lab.within("list", "protocol").refused()
        == "lab list protocol: write runs or protocols; did you mean protocols?"
    )
    unknown = lab.within("list", "protocols", "bulli").refused()
    assert unknown.startswith("unknown protocol 'bulli'; known: 2pc, 3pc, bully,")
    assert unknown.endswith("; did you mean bully?")
    assert lab.within("list", "protocols", "token", "--text").refused() == (
        "the text of token is not there line by line; it is of bully, bully-tanenbaum, invitation, ring"
    )
    one = "lab list protocols NAME --text takes the name of one protocol, and no --json"
    assert lab.within("list", "protocols", "--text").refused() == one
    assert lab.within("list", "protocols", "bully", "--text", "--json").refused() == one
    output = "lab list runs takes no --text; write lab list protocols NAME --text"
    assert lab.within("list", "--text").refused() == output
    output = "lab list runs takes no name; leave out first"
    assert lab.within("list", "runs", "first").refused() == output


def test_runs_are_listed_by_default(lab: Lab) -> None:
    """``lab list runs`` is ``lab list``, which names the protocols and points to the details."""
    done = lab("list", "runs")
    assert done == lab("list")
    assert done.out.startswith("no active runs\nprotocols:\n")
    assert done.out.endswith("details: lab list protocols\n")


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


def test_inherited_parameters_are_described() -> None:
    """In the order of declaration, each with its description."""
    result = [(each.name, each.field, each.default, each.description) for each in describe_parameters(_Younger)]
    assert result == [
        ("one", "one_us", 2_000, "The first."),
        ("two", "two", "x", ""),
        ("three", "three", True, "The third."),
    ]
    assert parameters_summary(_Younger) == "In all. And more."


def test_parameters_of_both_layers_are_described() -> None:
    """Even if the class is made at run time, and has no source."""
    stack = stacked(Field, Bully)
    assert {each.name for each in describe_parameters(stack)} >= {"election", "check_every", "coordinator_timeout"}
    assert parameters_summary(Bully) in parameters_summary(stack)


def test_a_repeated_description_is_printed_once() -> None:
    """Both classes describe a time of 0."""
    assert parameters_summary(Bully) == "A time of 0 is derived from T."


@pytest.mark.parametrize("protocol", [*PROTOCOLS.values(), Field])
def test_all_parameters_are_described(protocol: type[Algorithm]) -> None:
    """In every built-in protocol."""
    assert all(each.description for each in describe_parameters(protocol))
