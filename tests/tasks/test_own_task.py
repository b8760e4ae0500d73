"""A user's own commit protocol has what the built-in ones have: pane lines and views of its own."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from lab.protocols import OWN_PROTOCOLS, Bully
from lab.tasks.extension import ExtensionError, extension_class
from lab.worlds.loading.targets import load_protocol
from tests.cli.invocation import Lab
from tests.tui.seen import Seen, replay

OWN = Path(__file__).with_name("own_commit.py")
TARGET = "own_commit.py:OwnCommit"


@pytest.fixture
def own(lab: Lab) -> str:
    """Return a recording of the protocol in the working directory, beside its file."""
    shutil.copy(OWN, lab.folder)
    done = lab("run", TARGET, "--nodes", "3", "--sim", "--headless", "--for", "2s", "--record", "own.jsonl")
    assert done.status == 0, done
    return str(lab.folder / "own.jsonl")


@pytest.fixture
def loaded(own: str) -> Iterator[None]:
    """Load the user's file in this process, as ``lab replay --protocol`` does."""
    before = dict(OWN_PROTOCOLS)
    load_protocol(str(Path(own).with_name(TARGET)))
    yield
    OWN_PROTOCOLS.clear()
    OWN_PROTOCOLS.update(before)


def test_its_view_is_printed(lab: Lab, own: str) -> None:
    """At the end, and at any time before."""
    done = lab("show", own, "--view", "promises", "--protocol", TARGET)
    assert done.status == 0, done
    assert done.out.splitlines()[1:] == [
        "# at 2s: who has promised to commit",
        *(f"node {node}: committed" for node in (1, 2, 3)),
    ]
    begun = lab("show", own, "--view", "promises", "--protocol", TARGET, "--at", "0s")
    assert begun.out.splitlines()[2:] == ["node 1: -", "node 2: -", "node 3: promised"]


def test_without_its_file_the_error_names_what_to_add(lab: Lab, own: str) -> None:
    """No code runs because a recording names it."""
    done = lab("show", own, "--view", "promises")
    assert done.status == 2
    assert "own-commit, is not built in: add --protocol own_commit.py:OwnCommit" in done.err


def test_an_unknown_view_is_refused(lab: Lab, own: str) -> None:
    done = lab("show", own, "--view", "bank", "--protocol", TARGET)
    assert done.status == 2
    assert "own-commit brings no view bank; its views: promises" in done.err


def test_the_bank_is_a_view_like_any_other(lab: Lab) -> None:
    """A built-in protocol brings its views and terms in the same way."""
    lab("run", "2pc", "--nodes", "3", "--sim", "--headless", "--for", "1s", "--record", "2pc.jsonl")
    done = lab("show", "2pc.jsonl", "--view", "bank")
    assert "no open transaction" in done.out
    assert "conserved" in done.out


@pytest.mark.usefixtures("loaded")
def test_the_interface_shows_its_lines_and_its_view(own: str) -> None:
    """In the panes; by its key, by its word, in the tabs and in the help."""

    async def test(seen: Seen) -> None:
        seen.player.seek(1)
        await seen.until(lambda: "no promise" in seen.text, "a pane before the question has arrived")
        await seen.press("end")
        await seen.until(lambda: seen.text.count("has committed") == 3, "the end of the run")
        assert " Z promises " in seen.text
        await seen.press("Z")
        await seen.until(lambda: "node 2: committed" in seen.text, "the view")
        assert "who has promised to commit" in seen.message
        await seen.press("Z")
        assert "back to the log" in seen.message
        await seen.press("?", *"promised")
        await seen.until(lambda: "show or hide who has promised to commit" in seen.text, "the help")

    replay(test, Path(own))


@pytest.mark.usefixtures("loaded")
def test_the_interface_knows_its_terms(own: str) -> None:
    """In a search for the instant at which a predicate becomes true."""

    async def test(seen: Seen) -> None:
        await seen.press(":", *"until promises == 3", "enter")
        await seen.until(lambda: "promises == 3" in seen.message, "the search")
        promised = [node.state.get("promised") for node in seen.player.cluster().nodes.values()]
        assert promised == [True] * 3

    replay(test, Path(own))


def test_the_interface_without_its_file_shows_the_run_alone(own: str) -> None:
    async def test(seen: Seen) -> None:
        assert "promises" not in seen.text
        assert "no promise" not in seen.text

    replay(test, Path(own))


def test_its_analysis_is_reported_and_counted(lab: Lab, own: str) -> None:
    """At the end of a run, as text and as JSON; while it lasts; and over the runs of a campaign."""
    words = (TARGET, "--nodes", "3", "--sim", "--for", "2s")
    done = lab("run", *words, "--headless")
    assert "  promises: 3 kept, 0 open\n" in done.out
    assert json.loads(lab("run", *words, "--headless", "--json").out)["figures"]["promises"] == {
        "kept": 3,
        "open": 0,
    }
    begun = lab("show", own, "--blocked", "--at", "0s", "--protocol", TARGET)
    assert begun.out.splitlines()[1:] == ["# at 0s: 1 wait", "3 waits for Commit"]
    checked = lab("check", TARGET, "--runs", "2", "--nodes", "3", "--workers", "1")
    assert re.search(r"^  \d+ promises: \d+ kept, \d+ not kept yet$", checked.out, re.MULTILINE), checked
    counted = json.loads(lab("check", TARGET, "--runs", "2", "--nodes", "3", "--workers", "1", "--json").out)
    assert counted["outcomes"]["noun"] == "promise"
    outcomes = counted["outcomes"]["outcomes"]
    assert f"  {sum(outcomes.values())} promises: {outcomes['kept']} kept" in checked.out


def test_its_table_is_exported(lab: Lab, own: str) -> None:
    """If its file is named; its name is the noun in the plural."""
    words = ("export", own, "--table", "promises", "--out", "-")
    assert "has no table 'promises'" in lab(*words).err
    done = lab(*words, "--protocol", TARGET)
    assert done.out.splitlines()[0] == "run,seed,protocol,node,kept"
    assert [line.split(",")[-1] for line in done.out.splitlines()[1:]] == ["true"] * 3


def test_an_error_in_its_analysis_is_reported(lab: Lab, own: str) -> None:
    """In place of its report; ``--blocked`` and campaigns end with it."""
    file = lab.folder / "own_commit.py"
    file.write_text(
        file.read_text()
        .replace("committed = sum(", "committed = [][1] + sum(")
        .replace("waiting = [", "waiting = 1 + [")
    )
    words = (TARGET, "--nodes", "3")
    done = lab("run", *words, "--sim", "--for", "2s", "--headless")
    error = f"CommitAnalysis.report, line {_line_of('committed = sum(')}: IndexError: list index out of range"
    assert f"  {error}\n" in done.out
    begun = lab("show", own, "--blocked", "--protocol", TARGET)
    assert "CommitAnalysis.blocked, line" in begun.refused()
    checked = lab("check", *words, "--runs", "2", "--workers", "2")
    assert checked.line().startswith("CommitAnalysis.count, line"), checked


def _line_of(code: str) -> int:
    """Return the line of the user's file with this code."""
    return next(number for number, line in enumerate(OWN.read_text().splitlines(), 1) if code in line)


SCENARIO = """title = "Everybody promises"
shows = "All promise, and the highest node commits."
source = "A protocol of our own"
protocol = "own_commit.py:OwnCommit"
nodes = "3"
worlds = ["simulated"]
for = "2s"
---
when any ready: mark "the first has promised"
then when promises == 3 and 1 ready: say "all have promised"
then expect all.ready == false within 1s
expect promises == 3 and not any ready
"""


def test_its_terms_are_words_of_scenarios(lab: Lab, own: str) -> None:
    """As a state, as an attribute and as a quantity."""
    (lab.folder / "own.scenario").write_text(SCENARIO)
    done = lab("run", "own.scenario", "--headless")
    assert done.status == 0, done
    assert "own, simulated, seed 1: passed" in done.out
    (lab.folder / "own.scenario").write_text(SCENARIO.replace("promises == 3 and not", "promises == 2 and not"))
    done = lab("run", "own.scenario", "--headless")
    assert done.status == 1
    assert "promises was 3" in done.out


def test_protocols_without_its_terms_refuse_them(lab: Lab, own: str) -> None:
    """In words like those about the terms of the bank."""
    done = lab("run", "2pc", "--sim", "--headless", "--for", "2s", "--do", "expect locks == promises")
    assert done.status == 2
    assert "'promises' is not expected here" in done.err
    done = lab("run", TARGET, "--sim", "--headless", "--for", "2s", "--do", "expect locks == 3")
    assert done.status == 2
    assert "own-commit keeps no accounts, so it has no locks" in done.err


def test_an_error_in_a_term_fails_the_expectation(lab: Lab, own: str) -> None:
    """One that would hold, too; with the line of the user's file."""
    file = lab.folder / "own_commit.py"
    file.write_text(file.read_text().replace("return sum(", "return [][1] + sum("))
    done = lab(
        *("run", TARGET, "--sim", "--headless", "--for", "2s"),
        *(
            "--do",
            "expect never promises == 7",
            "--do",
            "when promises == 2: kill 1",
            "--do",
            "expect promises == 3",
        ),
    )
    assert done.status == 1, done
    error = f"count_promises, line {_line_of('return sum(')}: IndexError: list index out of range"
    assert done.err.count(error) == 3, done.err


def test_an_error_in_it_is_shown_and_ends_nothing(lab: Lab, own: str) -> None:
    """In the view and in the panes; with the line of the user's file."""
    file = lab.folder / "own_commit.py"
    file.write_text(
        file.read_text()
        .replace("rows = []", "rows = [][1]")
        .replace('"committed"):\n            return', '"committed"):\n            return None +')
    )
    done = lab("show", own, "--view", "promises", "--protocol", TARGET)
    describing = _line_of('state.get("committed"):') + 1
    drawing = f"draw_promises, line {_line_of('rows = []')}: IndexError"
    assert f"{drawing}: list index out of range" in done.out

    async def test(seen: Seen) -> None:
        await seen.press("end", "Z")
        await seen.until(lambda: drawing in seen.text, "the view")
        await seen.until(lambda: f"describe_node, line {describing}: TypeError" in seen.text, "the panes")

    before = dict(OWN_PROTOCOLS)
    try:
        load_protocol(str(file.with_name(TARGET)))
        replay(test, Path(own))
    finally:
        OWN_PROTOCOLS.clear()
        OWN_PROTOCOLS.update(before)


class Misplaced(Bully):
    """A protocol whose extension is not where it says."""

    extension: ClassVar[str | type] = "no.such:Thing"


class Mistaken(Bully):
    """A protocol whose extension is none."""

    extension: ClassVar[str | type] = int


def test_what_is_no_extension_is_refused() -> None:
    """With the class that declares it."""
    with pytest.raises(ExtensionError, match=r"Misplaced\.extension is 'no\.such:Thing': No module named 'no'"):
        extension_class(Misplaced)
    with pytest.raises(ExtensionError, match=r"Mistaken\.extension is int: write a class of Extension"):
        extension_class(Mistaken)
