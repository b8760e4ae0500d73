"""``lab scenario from``: the file that it writes, and its error messages."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.protocols import Bully
from lab.scenario.file import read_scenario
from tests.cli.conftest import home  # noqa: F401 - a short path, for sockets
from tests.cli.invocation import SHIPPED, Lab
from tests.harness import simulated_header
from tests.scenario.recorded_runs import session


@pytest.fixture
def lab(tmp_path: Path, home: Path) -> Iterator[Lab]:  # noqa: F811 - that one
    """The command, called in ``tmp_path``."""
    command = Lab(tmp_path, home)
    yield command
    assert command.left() == []


def test_from_a_recording_to_a_file_that_passes(lab: Lab) -> None:
    """It prints how to run it; ``lab scenario check`` passes it."""
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


def test_any_file_name(lab: Lab) -> None:
    """Bytes that are not text, or would colour the terminal, are escaped."""
    name = os.fsdecode(b"a\xff\x1b[31m.jsonl")
    shutil.copy(SHIPPED, lab.folder / name)
    done = lab("scenario", "from", name, "-o", "b\x1b.scenario")
    assert (done.status, done.out, done.err) == (0, "b\\x1b.scenario: run it with: lab run b\\x1b.scenario\n", "")
    assert read_scenario(lab.folder / "b\x1b.scenario").source.endswith(r"a\xdcff\x1b[31m.jsonl")


def test_without_a_file_it_is_printed(lab: Lab) -> None:
    """And shrunk, if requested."""
    done = lab("scenario", "from", str(SHIPPED), "--shrink")
    assert (done.status, done.err) == (0, "")
    script = done.out.partition("\n---\n")[2].splitlines()
    assert [line.partition("  ")[0] for line in script[:2]] == ["when all normal:", "then when all normal:"]
    assert [line.split(":", 1)[1].split("#")[0].strip() for line in script[:4]] == [
        "kill 5",
        "restart 5",
        "pause coordinator",
        "resume 5",
    ]
    assert 'nodes = "4,5"' in done.out


def test_notes(lab: Lab) -> None:
    """On stderr, and as comments in the file: left-out commands, and a missing end."""
    session(lab.folder / "run.jsonl", [(1_000, "resume 3"), (1_500, "kill 5")])
    lines = (lab.folder / "run.jsonl").read_bytes().splitlines(keepends=True)
    (lab.folder / "run.jsonl").write_bytes(b"".join(lines[:-1]))
    done = lab("scenario", "from", "run.jsonl")
    assert done.status == 0
    notes = done.err.splitlines()
    assert notes[0] == "lab: left out, without effect: resume 3"
    assert notes[1].startswith("lab: the recording has no end: its run was interrupted or is in progress")
    assert "# left out, without effect: resume 3\n" in done.out


def test_mistakes(lab: Lab) -> None:
    """One line each: what was got, what was expected, what to do."""
    (lab.folder / "there.scenario").write_text("mine")
    many = simulated_header(Bully, tuple(range(1, 66)))
    session(lab.folder / "many.jsonl", [], header=many, end_ms=1)
    (lab.folder / "notes.txt").write_text("kill 5\n")
    for words, message in [
        (("no.jsonl",), "no.jsonl cannot be opened: No such file or directory"),
        (("notes.txt",), "notes.txt is not a recording"),
        ((str(SHIPPED), "-o", "x.txt"), "name a file that ends in .scenario: -o x.scenario"),
        ((str(SHIPPED), "-o", "no/x.scenario"), "does not exist"),
        ((str(SHIPPED), "-o", "there.scenario"), "there.scenario exists; name another file"),
        ((str(SHIPPED), "--title", "x" * 101), "--title has 101 characters; write one line of at most 100"),
        ((str(SHIPPED), "--title", " "), "--title has 1 characters; write one line of at most 100"),
        (("many.jsonl", "-o", "many.scenario"), "many.jsonl has 65 nodes, a scenario at most 64"),
        ((str(SHIPPED), "--protocol", "mine.py:Mine"), "cannot be re-executed: there is no file mine.py"),
    ]:
        assert message in lab("scenario", "from", *words).refused()
    assert (lab.folder / "there.scenario").read_text() == "mine"
