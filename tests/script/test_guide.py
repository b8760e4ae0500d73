"""The pages of the guide on the language: their tables are those of the code, and their examples can be parsed."""

import re

from lab.guide.contents import find_page
from lab.kernel import Protocol
from lab.protocols import Bully, TwoPhaseCommit
from lab.script.parse import read_script, read_watch
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.scope import Scope
from lab.script.statements import CAUSES
from lab.script.values import ATTRIBUTES
from lab.script.vocabulary import COUNTS, described_counts, described_states
from lab.tasks.bank.bank_extension import NODE_TERMS

PREDICATES, _, WATCHES = find_page("predicates").text.partition("## Watches")
GUIDE = "\n".join(
    (
        find_page("scenarios").text,
        find_page("commands").text.partition("## Triggers")[2],
        PREDICATES,
    )
)
ROWS = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", GUIDE, re.MULTILINE))


def _check(script: str, protocol: type[Protocol] = Bully) -> None:
    for line in read_script(script):
        line.check(Scope(protocol, (1, 2, 3, 4, 5)))


def test_every_trigger_is_there() -> None:
    """By the example that errors show."""
    assert set(TRIGGERS.values()) <= ROWS.keys()


def test_every_state_and_count_is_there() -> None:
    """In the words that the code has for them."""
    assert {f"4 {state}": text for state, text in described_states().items()}.items() <= ROWS.items()
    assert described_counts().items() <= ROWS.items()


def test_every_attribute_that_all_nodes_have_is_there() -> None:
    """And no other."""
    assert {f"4.{name}" for name in ATTRIBUTES} == {row for row in ROWS if row.startswith("4.")}


def test_what_a_bank_has_is_there() -> None:
    """Its commands, by their examples, and what its nodes have."""
    assert {f"3.{term.name}" for term in NODE_TERMS} <= ROWS.keys()
    assert {own.example for own in TwoPhaseCommit.commands.values()} <= ROWS.keys()
    _check(GUIDE.partition("the end of a good day: `")[2].partition("`")[0], TwoPhaseCommit)


def test_every_expectation_is_there() -> None:
    """And every fault that a violation may be under."""
    kinds = [example.split()[:2] for example in EXPECTATIONS.values()]
    assert all(any(row.split()[:2] == kind for row in ROWS) for kind in kinds)
    listed = GUIDE.partition("What `under` may name: ")[2].partition(".\n")[0]
    assert re.findall(r"`([\w-]+)`", listed) == list(CAUSES)


def test_what_is_in_the_tables_can_be_typed() -> None:
    """Each row, as what it is."""
    for row in ROWS:
        if row.startswith("expect"):
            _check(row)
        elif row in TRIGGERS.values():
            _check(f"{row}: kill 5")
        elif row in described_counts():
            _check(f"when {row} == 1: kill 5", Bully if row in COUNTS else TwoPhaseCommit)
        elif row == "4 blocked":
            _check(f"when {row}: kill 5", TwoPhaseCommit)
        elif row.startswith(("3.", "balance")):
            _check(f"when {row} == {row}: kill 5", TwoPhaseCommit)
        elif row in [own.example for own in TwoPhaseCommit.commands.values()]:
            _check(row, TwoPhaseCommit)
        elif row.startswith("4."):
            _check(f"when {row} == {row}: kill 5")
        else:
            _check(f"when {row}: kill 5")


def test_the_examples_can_be_read() -> None:
    """The file and the script."""
    scripts = [
        text.rpartition("---\n")[2] for text in re.findall(r"```(?:script|scenario)\n(.*?)```", GUIDE, re.DOTALL)
    ]
    assert len(scripts) == 2
    for script in scripts:
        _check(script)
    _check(GUIDE.partition("one after the other: `")[2].partition("`")[0])
    _check(f"when {GUIDE.partition('parentheses: `')[2].partition('`')[0]}: kill 1")


def test_the_watches_can_be_read() -> None:
    """In the table, and in the page about the screen."""
    expressions = re.findall(r"^\| `([^`]+)` \|", WATCHES, re.MULTILINE)
    assert len(expressions) > 5
    expressions += re.findall(r"`([^`]+)`", find_page("screen").text.partition("below the nodes: ")[2])[:4]
    for text in expressions:
        assert str(read_watch(text, Scope(Bully, (1, 2, 3, 4, 5)))) == text
