"""``lab scenario from``: the file that it writes, and what it says of a mistake."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.scenario.file import read_scenario
from tests.cli.calling import SHIPPED, Lab
from tests.cli.conftest import home  # noqa: F401 - a short path, for sockets


@pytest.fixture
def lab(tmp_path: Path, home: Path) -> Iterator[Lab]:  # noqa: F811 - that one
    """The command, called in ``tmp_path``."""
    command = Lab(tmp_path, home)
    yield command
    assert command.left() == []


def test_from_a_recording_to_a_file_that_passes(lab: Lab) -> None:
    """It says how to run it; ``lab scenario check`` passes it."""
    done = lab("scenario", "from", str(SHIPPED), "-o", "two.scenario", "--title", "Two at once")
    assert (done.status, done.out, done.err) == (0, "two.scenario: run it with: lab run two.scenario\n", "")
    scenario = read_scenario(lab.folder / "two.scenario")
    assert scenario.title == "Two at once"
    assert [line.source for line in scenario.lines][:2] == [
        "when all normal: kill 5",
        "then when all normal: restart 5",
    ]
    checked = lab("scenario", "check", "two.scenario", "--sim")
    assert checked.status == 0, checked


def test_without_a_file_it_is_printed(lab: Lab) -> None:
    """And shrunk, where that is asked for."""
    done = lab("scenario", "from", str(SHIPPED), "--shrink")
    assert (done.status, done.err) == (0, "")
    script = done.out.partition("\n---\n")[2].splitlines()
    assert [line.partition("  ")[0] for line in script[:2]] == ["when all normal:", "then when all normal:"]
    assert "pause coordinator" in script[0]
    assert "resume 5" in script[1]
    assert 'nodes = "4,5"' in done.out


def test_mistakes(lab: Lab) -> None:
    """One line each: what was got, what was expected, what to do."""
    (lab.folder / "there.scenario").write_text("mine")
    (lab.folder / "notes.txt").write_text("kill 5\n")
    for words, said in [
        (("no.jsonl",), "no.jsonl cannot be opened: No such file or directory"),
        (("notes.txt",), "notes.txt is not a recording"),
        ((str(SHIPPED), "-o", "x.txt"), "a scenario's file ends in .scenario: -o x.scenario"),
        ((str(SHIPPED), "-o", "no/x.scenario"), "there is no folder"),
        ((str(SHIPPED), "-o", "there.scenario"), "there.scenario exists; it is left alone, so name another file"),
        ((str(SHIPPED), "--title", "x" * 101), "--title has 101 characters; write one line of at most 100"),
        ((str(SHIPPED), "--protocol", "mine.py:Mine"), "cannot be run again: there is no file mine.py"),
    ]:
        assert said in lab("scenario", "from", *words).refused()
    assert (lab.folder / "there.scenario").read_text() == "mine"
