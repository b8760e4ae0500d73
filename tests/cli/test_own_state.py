"""The state of a user's own protocol: in predicates, in the panes, and in the log."""

import re
import shutil
from pathlib import Path

import pytest

from lab.protocols import OWN_PROTOCOLS
from lab.worlds.loading.targets import load_protocol
from tests.cli.invocation import Lab
from tests.tui.seen import Seen, replay

RAFT = Path(__file__).parents[2] / "lab" / "guide" / "build" / "raft.py"
OWN = """
from enum import Enum
from msgspec import Struct
from lab.kernel import Displayed, Safe
from lab.protocols import Algorithm

class Role(Enum):
    LEADER = "leader"
    OTHER = "other"

class Entry(Struct, frozen=True):
    term: int
    word: str

class Own(Algorithm):
    role: Displayed[Role] = Role.OTHER
    term: Displayed[Safe[int]] = 0
    votes: tuple[int, ...] = (7, 8)
    entry: Entry = Entry(0, "")
    chosen: bool = False
    word: str = ""
    def started(self):
        self.role = Role.LEADER if self.id == 3 else Role.OTHER
        self.term, self.chosen, self.word = self.id, self.id == 3, "two words"
        self.entry = Entry(4, "four")
"""


@pytest.fixture
def own(lab: Lab) -> Lab:
    (lab.folder / "own.py").write_text(OWN)
    return lab


@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        ("any.role == leader", True),
        ("1.role == leader", False),
        ('3.role == "leader"', True),
        ("3.votes[0] == 7", True),
        ("3.votes[1] == 7", False),
        ("3.votes[9] == none", True),
        ("3.votes == 2", True),
        ("2.entry.term == 4", True),
        ('2.entry.word == "four"', True),
        ("2.entry.none == none", True),
        ('1.word == "two words"', True),
        ("3.chosen and not 2.chosen", True),
        ("all.chosen", False),
        ("any.chosen and (3.chosen or 2.chosen)", True),
        ("3.term - 1.term == 2", True),
        ("3.leads", False),
    ],
)
def test_a_predicate(own: Lab, predicate: str, holds: bool) -> None:
    """It is met or not, in a run and in its report."""
    done = own(
        *("run", "own.py", "--nodes", "3", "--sim", "--headless", "--for", "1s"),
        *("--do", f"at 500ms expect {predicate}"),
    )
    assert done.status == (0 if holds else 1), done


@pytest.mark.parametrize(
    ("predicate", "error"),
    [
        ("any.role == boss", "'boss:' is not expected here"),
        ('any.role == "boss"', 'role is never "boss"; expected leader, other'),
        ("3.term", "term is a number, and not true or false; compare it: 3.term == …"),
        ("3.trem == 1", "a node of own has no attribute trem"),
        ('3.chosen == "yes"', 'chosen is never "yes"; expected true, false'),
    ],
)
def test_a_mistake(own: Lab, predicate: str, error: str) -> None:
    done = own("run", "own.py", "--sim", "--headless", "--for", "1s", "--do", f"when {predicate}: kill 1")
    assert error in done.refused()


def test_watches(own: Lab) -> None:
    """With the user's file, all of the state is known; without it, what needs no declaration."""
    own(*("run", "own.py", "--nodes", "3", "--sim", "--headless", "--for", "1s", "--record", "own.jsonl"))
    show = ("show", "own.jsonl", "--only", "end", "--watch")
    loaded = ("--protocol", "own.py")
    for text, value in (
        ("any.role == leader", "true"),
        ("all.role", "1:other 2:other 3:leader"),
        ("3.term * 2 - 1.term", "5"),
        ("3.votes", "[7 8]"),
        ("2.entry", "term 4 word four"),
        ("3.votes[1] + 2.entry.term", "12"),
    ):
        _, heading, line, _ = own(*show, text, *loaded).out.splitlines()
        assert heading == f"#     time  {text}"
        assert re.match(rf"  1\.000000  {re.escape(value)}  ", line), line
    assert " 1:other 2:other 3:leader " in own(*show, "all.role").out
    assert (
        own(*show, "3.trem", *loaded).refused().startswith("--watch '3.trem': a node of own has no attribute trem")
    )
    assert "1.000000  -  " in own(*show, "3.trem").out


def test_raft_s_state_in_a_scenario(lab: Lab) -> None:
    """By its enum's words, its numbers, and what the built-in table lists."""
    shutil.copy(RAFT, lab.folder)
    (lab.folder / "terms.scenario").write_text(
        'title = "Terms"\nprotocol = "raft.py:Raft"\nnodes = 3\nfor = "20s"\nworlds = ["simulated"]\n---\n'
        "when any.role == leader: kill coordinator\n"
        "then expect any.role == candidate within 5s\n"
        "after 8s: expect any.leads and any.term >= 2\n"
        "expect one_leader_per_term\n"
    )
    done = lab("run", "terms.scenario", "--headless")
    assert done.status == 0, done


def test_displayed_fields(own: Lab) -> None:
    """The log has each change of them, and the pane their values, if the user's file is loaded."""
    own(*("run", "own.py", "--nodes", "3", "--sim", "--headless", "--for", "1s", "--record", "own.jsonl"))
    shown = own("show", "own.jsonl", "--only", "note").out
    assert re.search(r"3 .*role leader, term 3$", shown, re.MULTILINE)
    assert re.search(r"1 .*role other, term 1$", shown, re.MULTILINE)
    assert "votes" not in shown
    assert own("verify", "own.jsonl", "--protocol", "own.py").status == 0
    before = dict(OWN_PROTOCOLS)
    load_protocol(str(own.folder / "own.py"))
    panes: list[str] = []

    async def watch(seen: Seen) -> None:
        await seen.press("end")
        panes.append(seen.text)

    try:
        replay(watch, own.folder / "own.jsonl")
    finally:
        OWN_PROTOCOLS.clear()
        OWN_PROTOCOLS.update(before)
    assert "role leader, term 3" in panes[0]
