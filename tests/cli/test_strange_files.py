"""Files that are none: every command that reads one refuses it at once, with the reason."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.invocation import SHIPPED, Lab

PIPE = "a pipe, not a regular file"


@pytest.mark.parametrize(
    "words",
    [
        ("show", "x.jsonl"),
        ("verify", "x.jsonl"),
        ("history", "x.jsonl"),
        ("export", "x.jsonl", "--to", "text"),
        ("diff", str(SHIPPED), "x.jsonl"),
        ("branch", "x.jsonl", "--at", "5", "--headless", "--for", "1s"),
        ("branches", "x.jsonl"),
        ("replay", "x.jsonl"),
        ("scenario", "from", "x.jsonl"),
        ("scenario", "check", "x.scenario"),
        ("scenario", "show", "./x.scenario"),
        ("run", "x.scenario", "--sim", "--headless"),
        ("run", "bully", "--sim", "--headless", "--for", "1s", "--script", "x.script"),
        ("check", "bully", "--runs", "1", "--corpus", "corpus"),
        ("serve", "--class", "x.class", "--data", "data"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_pipe_is_not_waited_for(lab: Lab, words: tuple[str, ...]) -> None:
    """Nobody writes to it."""
    (lab.folder / "corpus").mkdir()
    for name in ("x.jsonl", "x.scenario", "x.script", "x.class", "corpus/1.schedule.json"):
        os.mkfifo(lab.folder / name)
    assert PIPE in lab(*words).refused()


def test_a_pipe_among_the_submissions(lab: Lab) -> None:
    """It is refused with its reason, as is a link; the others are graded."""
    handed_in = lab.folder / "handed-in"
    (handed_in / "ben").mkdir(parents=True)
    os.mkfifo(handed_in / "ben" / "x.jsonl")
    shutil.copy(SHIPPED, handed_in / "run.jsonl")
    (handed_in / "anna.jsonl").symlink_to("run.jsonl")
    (handed_in / "cara.jsonl").symlink_to("/etc/passwd")
    (handed_in / "folder.jsonl").mkdir()
    done = lab("exercise", "grade", "handed-in")
    refused = {Path(line.split()[0]).name: line for line in done.out.splitlines() if "not graded" in line}
    assert (done.status, done.err) == (1, "")
    assert PIPE in refused["x.jsonl"]
    assert "a symbolic link, not a file itself" in refused["anna.jsonl"]
    assert "a symbolic link, not a file itself" in refused["cara.jsonl"]
    assert "Is a directory" in refused["folder.jsonl"]
    assert "it is not an attempt at an exercise" in refused["run.jsonl"]
    named = lab("exercise", "grade", "handed-in/anna.jsonl")
    assert "it is not an attempt at an exercise" in named.out, "a link that the teacher names is followed"
