"""``lab branch``, ``lab branches`` and ``lab diff``."""

import os
import signal
from pathlib import Path

import pytest

from lab.places import KEPT_RECORDINGS
from lab.recording.reader import open_recording
from tests.cli.invocation import Called, Lab
from tests.recording.samples import eventful_lines, write_lines
from tests.waiting import WAIT_S, wait_for


@pytest.fixture
def parent(lab: Lab) -> Path:
    """Return ``run.jsonl``, a simulated run of four nodes for five seconds."""
    return write_lines(lab.folder / "run.jsonl", eventful_lines())


def _branch(lab: Lab, at: str, out: str, *words: str, file: str = "run.jsonl") -> Called:
    return lab("branch", file, "--at", at, "--headless", "--for", "2s", "--record", out, *words)


def test_a_branch_is_reported_like_a_run(lab: Lab, parent: Path) -> None:
    """It begins with the parent's bytes, can be verified, and ends at the given time after its beginning."""
    done = _branch(lab, "120", "out.jsonl", "--do", "after 100ms heal", "--do", "restart 4")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("bully, simulated, ")
    assert "messages; recorded in " + str(lab.folder / "out.jsonl") + "\n" in done.out
    assert "node 4  running  Normal under 4" in done.out
    lines = open_recording(lab.folder / "out.jsonl")
    origin = lines.header.parent
    assert origin is not None
    assert (origin.recording, origin.record) == ("run.jsonl", 120)
    last = lines.record(len(lines) - 1)
    assert last is not None
    assert getattr(last, "at_us", 0) == origin.at_us + 2_000_000
    assert [lines.raw(n) for n in range(1, 121)] == list(eventful_lines()[1:121])
    assert lab("verify", "out.jsonl").out.startswith("out.jsonl: as recorded; ")


def test_a_place_can_be_a_time(lab: Lab, parent: Path) -> None:
    """The branch begins at the last record that is not later."""
    _branch(lab, "2.5s", "out.jsonl")
    origin = open_recording(lab.folder / "out.jsonl").header.parent
    assert origin is not None
    lines = open_recording(parent)
    assert getattr(lines.record(origin.record), "at_us", 0) <= 2_500_000
    assert getattr(lines.record(origin.record + 1), "at_us", 0) > 2_500_000


def test_no_branch_beyond_the_end(lab: Lab, parent: Path) -> None:
    """The error says when the recording ends; its end itself is valid."""
    lines = open_recording(parent)
    end_us = getattr(lines.record(len(lines) - 1), "at_us", 0)
    output = f"--at 1m: run.jsonl ends at {end_us // 1000 / 1000:.3f} s"
    assert _branch(lab, "1m", "out.jsonl").refused() == output
    assert _branch(lab, f"{end_us}us", "out.jsonl").status == 0


def test_an_unknown_kind_of_message(lab: Lab, parent: Path) -> None:
    """The error lists the kinds, and suggests one."""
    line = "after 1s on send EnterElektion kill 4"
    for output in (
        _branch(lab, "100", "out.jsonl", "--do", line).refused(),
        lab.within("run", "bully", "--headless", "--for", "1s", "--do", line).refused(),
    ):
        assert output.startswith(f"--do {line!r}: unknown kind of message EnterElektion; bully has ")
        assert output.endswith("; did you mean EnterElection?")


def test_the_same_call_gives_the_same_bytes(lab: Lab, parent: Path) -> None:
    """In processes with different hash seeds; another seed gives other bytes."""
    for out, seed in (("a.jsonl", "3"), ("b.jsonl", "3"), ("c.jsonl", "4")):
        words = (
            "branch",
            "run.jsonl",
            "--at",
            "200",
            "--headless",
            "--for",
            "3s",
            "--record",
            out,
            "--seed",
            seed,
        )
        assert lab(*words, environment={"PYTHONHASHSEED": str(ord(out[0]))}).status == 0
    a, b, c = ((lab.folder / name).read_bytes() for name in ("a.jsonl", "b.jsonl", "c.jsonl"))
    assert a == b
    assert a.splitlines()[1:] != c.splitlines()[1:]


def test_failed_commands_of_the_parent_are_not_reported(lab: Lab, parent: Path) -> None:
    """Only those of the branch are."""
    first = _branch(
        lab, "300", "out.jsonl", "--do", "after 100ms kill all", "--do", "after 200ms kill coordinator"
    )
    assert (first.status, "nobody is coordinator" in first.err) == (1, True)
    again = _branch(lab, "4.5s", "again.jsonl", "--do", "after 10s heal", file="out.jsonl")
    assert (again.status, again.err) == (1, "lab: never due: after 10s heal\n")


def test_ctrl_c_completes_the_recording(lab: Lab, parent: Path) -> None:
    """It can be verified, and has the reason of its end."""
    out = lab.folder / "out.jsonl"
    process = lab.begin(
        "branch", "run.jsonl", "--at", "50", "--headless", "--for", "90000m", "--record", "out.jsonl"
    )
    try:
        wait_for(lambda: out.exists() and out.stat().st_size > 1_000_000, "it has gone on for a while")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert out.read_bytes().splitlines()[-1].endswith(b'"why":"signal SIGINT"}')
    assert lab("verify", str(out)).status == 0


def test_an_edited_recording_is_refused(lab: Lab, parent: Path) -> None:
    """The error names the record; nothing is written."""
    lines = list(eventful_lines())
    number = next(n for n, line in enumerate(lines) if b'"status":"Normal"' in line)
    lines[number] = lines[number].replace(b'"Normal"', b'"Election"')
    write_lines(parent, lines)
    output = _branch(lab, "200", "out.jsonl").refused()
    assert output.startswith(
        f"record {number} (line {number + 1}) does not hold, so branch before it: step of node "
    )
    assert not (lab.folder / "out.jsonl").exists()


# the tree


def test_the_tree_of_branches(lab: Lab, parent: Path) -> None:
    """With the record and time of each branch; the named file is marked, and so are missing ones."""
    _branch(lab, "200", "b.jsonl")
    _branch(lab, "100", "a.jsonl")
    _branch(lab, "210", "c.jsonl", file="b.jsonl")
    rows = lab("branches", "c.jsonl").out.splitlines()
    names = [row.lstrip("│└├─ ").split()[0] for row in rows[1:]]
    assert names == ["run.jsonl", "a.jsonl", "b.jsonl", "c.jsonl"]
    depths = [row.index(name) // 4 for row, name in zip(rows[1:], names, strict=True)]
    assert depths == [1, 2, 2, 3]
    assert "  from record 100, at " in rows[2]
    assert rows[4].endswith("nodes 1-4; its time limit was reached  <- this one")
    (lab.folder / "b.jsonl").unlink()
    assert "b.jsonl  no longer exists" in lab("branches", "c.jsonl").out


def test_the_tree_of_labs_own_recordings(lab: Lab) -> None:
    """The default is lab's data folder."""
    assert lab("branches").out == f"there are no recordings in {lab.recordings}\n"
    write_lines(lab.recordings / "mine.jsonl", eventful_lines())
    assert "mine.jsonl" in lab("branches").out


def test_parents_of_kept_branches_are_kept(lab: Lab) -> None:
    """The oldest beyond fifty are deleted, except for parents of kept branches and of the new one."""
    lab("branches")
    root = write_lines(lab.recordings / "root.jsonl", eventful_lines())
    _branch(lab, "100", str(lab.recordings / "twig.jsonl"), file=str(root))
    other = write_lines(lab.recordings / "other.jsonl", eventful_lines())
    for path in (root, other):
        os.utime(path, (1, 1))
    for number in range(KEPT_RECORDINGS):
        path = lab.recordings / f"new-{number}.jsonl"
        path.touch()
        os.utime(path, (1_000 + number, 1_000 + number))
    assert lab("branch", str(other), "--at", "10", "--headless", "--for", "1s").status == 0
    there = {path.name for path in lab.recordings.iterdir()}
    assert {"root.jsonl", "twig.jsonl", "other.jsonl"} <= there
    assert "new-0.jsonl" not in there


# diff


def test_diff_of_a_branch_and_its_parent(lab: Lab, parent: Path) -> None:
    """The headers, the lines before, the next record of each, and the differing fields."""
    _branch(lab, "101", "b.jsonl", "--seed", "9")
    done = lab("diff", "run.jsonl", "b.jsonl")
    assert done.status == 1
    output = done.out.splitlines()
    assert output[0] == "header, seed: A 5 · B 9"
    assert output[1].endswith(" records are equal")
    assert any(row.startswith("A  run.jsonl, record 1") for row in output)
    assert any(row.startswith("B  b.jsonl, record 1") for row in output)
    assert "differing fields:" in output
    assert any(row.startswith("    at_us: A ") for row in output)


def test_the_same_recording(lab: Lab, parent: Path) -> None:
    """Both end at the same record."""
    done = lab("diff", "run.jsonl", "run.jsonl")
    assert (done.status, done.err) == (0, "")
    assert done.out.endswith(" records are equal, and there are no others\n")


def test_diff_with_a_prefix(lab: Lab, parent: Path) -> None:
    """The output says which recording ends, with or without an end record."""
    write_lines(lab.folder / "cut.jsonl", eventful_lines()[:60])
    done = lab("diff", "cut.jsonl", "run.jsonl")
    assert (done.status, "A  cut.jsonl ends here\n" in done.out) == (1, True)
    assert "B  run.jsonl, record 60 (line 61):\n" in done.out
    write_lines(lab.folder / "ended.jsonl", [*eventful_lines()[:60], b'{"record":"end","at_us":9,"why":"enough"}'])
    done = lab("diff", "ended.jsonl", "run.jsonl")
    assert "A  ended.jsonl ends here, at 0.000009: enough\n" in done.out
    assert "differing fields:" not in done.out


def test_a_damaged_line(lab: Lab, parent: Path) -> None:
    """It is named with its error, counts as a difference, and the lines after it are compared."""
    lines = list(eventful_lines())
    for number, garbage in ((90, b"{}"), (94, b'{"record":"step\x1b[2J')):
        lines[number] = garbage
    write_lines(lab.folder / "damaged.jsonl", lines)
    done = lab("diff", "run.jsonl", "damaged.jsonl")
    assert done.status == 1
    first, second = done.err.splitlines()
    assert first == "lab: damaged.jsonl:91: unreadable: Object missing required field `record`"
    assert second.startswith("lab: damaged.jsonl:95: unreadable: ")
    assert "\x1b" not in done.err
    assert done.out.endswith(" records are equal, and there are no others\n")
    write_lines(lab.folder / "shorter.jsonl", lines[:119])
    done = lab("diff", "shorter.jsonl", "run.jsonl")
    assert (done.status, done.err.count("shorter.jsonl:91: ")) == (1, 1)
    assert "B  run.jsonl, record 119 (line 120):\n" in done.out


SIGNALLED = """
import os
import signal

from lab.protocols import Bully

if "SIGNALLED" in os.environ:
    os.kill(os.getpid(), signal.SIGTERM)


class Mine(Bully):
    pass
"""


def test_a_signal_before_there_is_a_recording(lab: Lab) -> None:
    """130 without any output, as for ``lab run``."""
    (lab.folder / "mine.py").write_text(SIGNALLED)
    assert lab("run", "mine.py", "--sim", "--headless", "--for", "1s", "--record", "run.jsonl").status == 0
    words = ("branch", "run.jsonl", "--at", "5", "--headless", "--for", "1s", "--protocol", "mine.py")
    assert lab(*words, environment={"SIGNALLED": "1"}) == Called(130, "", "")
    assert lab(*words).status == 0
