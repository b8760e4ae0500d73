"""Random input: it is refused with a message, or it runs. Nothing else is ever raised."""

import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.kernel import Protocol
from lab.protocols import PROTOCOLS, Bully
from lab.script.parse import parse, read_script
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.scope import CommandError, Scope
from lab.script.statements import Statement
from lab.script.verbs import VERBS
from lab.script.vocabulary import described_counts, described_states
from tests.harness import Rig
from tests.profile import amount
from tests.script.strategies import scripted

IDS = (1, 2, 3, 4, 5)
PIECES = [
    *" ".join(
        [*VERBS, *described_states(), *described_counts(), *EXPECTATIONS.values(), *TRIGGERS.values()]
    ).split(),
    *(
        "then",
        "and",
        "or",
        "not",
        "(",
        ")",
        "==",
        "!=",
        "<",
        "<=",
        "->",
        "<->",
        "|",
        "±",
        ":",
        ",",
        ".",
        "#",
        "#2",
    ),
    *('"', "{}", '{"a":1}', "0", "1", "9", "99999999999", "30%", "2s", "1.5", "true", "any", "all.x", "Accept"),
    *("4.coordinator", "AreYouUp", "\n", "\t", "\x00", "\x1b", "²", "٣", "é", "\ud800"),
]


def _refused(act: Callable[[], Any]) -> str:
    """Return the message if the text is refused, else an empty text."""
    try:
        act()
    except CommandError as error:
        return str(error)
    return ""


def _check(text: str, protocol: type[Protocol] | None) -> None:
    for line in (parse(text, protocol), *read_script(text, protocol)):
        line.check(Scope(protocol or Bully, IDS))


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join)))
@settings(max_examples=amount(quick=30, soak=3_000))
def test_random_text(text: str) -> None:
    """As a line, and as a script."""
    for protocol in (None, Bully, PROTOCOLS["token"]):
        assert _refused(partial(_check, text, protocol)).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "when " + "(" * 400 + "all normal" + ")" * 400 + ": kill 5",
        "when " + "not " * 240 + "all normal: kill 5",
        "when " + "1+" * 480 + "1 == 2: kill 5",
        "when " + "not (" * 90 + "4 up" + ")" * 90 + ": kill 5",
        "when " + "(4 up and " * 70 + "4 up" + ")" * 70 + ": kill 5",
        "when " + "4 up and " * 100 + "4 up: kill 5",
        "when " + "4 up: when " * 80 + "4 up: kill 5",
        "inject 1->3 NewState " + "{" * 900,
        'inject 1->3 NewState {"definition":' + "[" * 480 + "]" * 480 + "}",
        "expect " + "9" * 900 + " == 1",
        "expect 4." + "x" * 900 + " == 1",
        "expect " + "999999999*" * 90 + "9 == 1",
    ],
)
def test_deep_and_long_lines(text: str) -> None:
    """They are refused, or evaluated in a run, far from the recursion limit."""
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack(0)) + 500)
        assert _refused(partial(_error_of, text)).isprintable()
    finally:
        sys.setrecursionlimit(limit)


def _error_of(text: str) -> None:
    """Return the error message; empty if there is none."""
    line = parse(text)
    line.check(Scope(Bully, (3, 4, 5)))
    assert parse(str(line)).command == line.command
    rig = Rig((3, 4, 5)).started()
    rig.director.add(line)


@given(st.lists(scripted(), min_size=1, max_size=8), st.integers(0, 9))
@settings(max_examples=amount(quick=15, soak=300))
def test_random_scripts_run(lines: list[Statement], seed: int) -> None:
    """Some commands are refused at run time, and nothing is raised; each expectation is decided at most once."""
    text = "\n".join(map(str, lines))
    rig = Rig(IDS, seed=seed, jitter_us=3_000)
    rig.director.add_script(read_script(text))
    rig.started()
    for _ in range(800):
        if rig.now_us > 2_000_000 or not rig.step():
            break
    rig.finish()
    assert not rig.director.needs_records
    assert rig.director.next_due_us is None
