"""``lab verify`` and ``lab show``, on recordings that are whole, edited, truncated, damaged or invalid."""

import re
from pathlib import Path

import pytest

from tests.cli.invocation import ROOT, Lab
from tests.recording.samples import eventful_lines

NORMAL = b'"changed":{"status":"Normal"'


def _lines() -> list[bytes]:
    """Return the lines of a fresh run: the shipped recording may be from an older version of the protocol."""
    return [line + b"\n" for line in eventful_lines()]


@pytest.fixture
def whole(lab: Lab) -> Path:
    path = lab.folder / "whole.jsonl"
    path.write_bytes(b"".join(_lines()))
    return path


@pytest.fixture
def edited(lab: Lab) -> int:
    """Return ``edited.jsonl``, in which a node claims another status, and the number of that line, from 1."""
    lines = _lines()
    number = next(number for number, line in enumerate(lines) if NORMAL in line)
    lines[number] = lines[number].replace(NORMAL, NORMAL.replace(b"Normal", b"Election"))
    (lab.folder / "edited.jsonl").write_bytes(b"".join(lines))
    return number + 1


@pytest.fixture
def damaged(lab: Lab) -> int:
    """Return ``damaged.jsonl``, with an unreadable line in the middle, and its number."""
    lines = _lines()
    number = len(lines) // 2
    lines[number] = lines[number][:20] + b"\x00\x1b[2J" + lines[number][30:]
    (lab.folder / "damaged.jsonl").write_bytes(b"".join(lines))
    return number + 1


def test_parameters_and_remark_are_printed(lab: Lab) -> None:
    """A recording of a listing as published says so first."""
    (lab.folder / "hole.jsonl").write_bytes((ROOT / "recordings/holes/invitation-too-late.jsonl").read_bytes())
    remark = "beyond the promise: 3 refuses 1, whose Accept came too late, though every message was in time"
    head, second, *_ = lab("show", "hole.jsonl").out.splitlines()
    assert head == "# invitation, without=accept_longer, simulated, nodes 1-3, T 200 ms, seed 1"
    assert second == f"# {remark}"
    head, second, *_ = lab("verify", "hole.jsonl").out.splitlines()
    assert re.match(r"hole\.jsonl: as recorded; \d+ steps re-executed; without=accept_longer", head)
    assert second == f"  {remark}"


@pytest.mark.usefixtures("whole")
def test_verify_a_whole_recording(lab: Lab) -> None:
    """0, the number of re-executed steps, and a verdict for each promise."""
    done = lab("verify", "whole.jsonl")
    assert (done.status, done.err) == (0, "")
    first, *verdicts = done.out.splitlines()
    assert re.fullmatch(r"whole\.jsonl: as recorded; \d+ steps re-executed", first)
    assert [re.match(r"  (excused: )?(A[\d.]+) ", line)[2] for line in verdicts[:3]] == [  # type: ignore[index]
        "A1.1",
        "A1.2",
        "A2",
    ]


def test_verify_an_edited_recording(lab: Lab, edited: int) -> None:
    """1, with the line and both values."""
    done = lab("verify", "edited.jsonl")
    assert (done.status, done.err) == (1, "")
    first, *_ = done.out.splitlines()
    assert first.startswith(f"edited.jsonl:{edited}: step of node ")
    assert re.search(r'differs in changed: recorded \{"status":"Election".*re-executed \{"status":"Normal"', first)
    assert "\nedited.jsonl: NOT AS RECORDED (" in done.out


@pytest.mark.usefixtures("whole")
def test_verify_a_truncated_recording(lab: Lab) -> None:
    """The part written before the crash holds."""
    (lab.folder / "torn.jsonl").write_bytes(b"".join(_lines())[:-20])
    done = lab("verify", "torn.jsonl")
    assert (done.status, done.err) == (0, "")
    assert "; the last line is truncated, and was skipped\n" in done.out
    assert "\n  judged up to the last record: the recording is truncated\n" in done.out


def test_verify_a_damaged_recording(lab: Lab, damaged: int) -> None:
    """1 and the line, without its control characters."""
    done = lab("verify", "damaged.jsonl")
    assert done.status == 1
    assert f"damaged.jsonl:{damaged}: cannot be read: " in done.out
    assert "\x1b" not in done.out + done.err


@pytest.mark.usefixtures("whole", "edited")
def test_verify_several(lab: Lab) -> None:
    """All are verified; the status is that of the worst."""
    done = lab("verify", "edited.jsonl", "whole.jsonl")
    assert done.status == 1
    assert "\nwhole.jsonl: as recorded; " in done.out
    done = lab("verify", "missing.jsonl", "edited.jsonl", "whole.jsonl")
    assert done.status == 2
    assert done.line() == "missing.jsonl cannot be opened: No such file or directory"
    assert "\nwhole.jsonl: as recorded; " in done.out


@pytest.mark.usefixtures("whole")
def test_show(lab: Lab) -> None:
    """A header, the lines in the order of time, and what was hidden."""
    done = lab("show", "whole.jsonl")
    assert (done.status, done.err) == (0, "")
    head, *lines, foot = done.out.splitlines()
    assert head.startswith("# bully, simulated, nodes 1-4, T ")
    assert re.fullmatch(rf"# {len(lines)} lines; \d+ heartbeats hidden \(show them with --heartbeats\)", foot)
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)
    assert any("EnterElection" in line for line in lines)
    assert not any("AreYouNormal" in line for line in lines)
    assert "the run ended: " in lines[-1]


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize(
    ("words", "every"),
    [
        (("--node", "4"), r" 4( -> \d+ | +)|-> 4 "),
        (("--node", "n4"), r" 4( -> \d+ | +)|-> 4 "),
        (("--node", "4", "--node", "3"), r" [43]( -> \d+ | +)|-> [43] "),
        (("--kind", "enterelection"), r"\d -> \d +EnterElection"),
        (("--kind", "AreYouNormal"), r"\d -> \d +AreYouNormal"),
        (("--kind", "New", "--kind", "Set", "--node", "3"), r"(3 -> \d|\d -> 3) +(New|Set)"),
        (("--only", "status"), r" status: "),
        (("--only", "status", "--only", "command"), r" (status|command): "),
        (("--only", "message", "--heartbeats"), r"\d -> \d "),
    ],
    ids=" ".join,
)
def test_show_filtered(lab: Lab, words: tuple[str, ...], every: str) -> None:
    """Values of one filter are alternatives; all filters must match."""
    done = lab("show", "whole.jsonl", *words)
    assert (done.status, done.err) == (0, "")
    _, *lines, _ = done.out.splitlines()
    assert lines
    assert [line for line in lines if not re.search(every, line)] == []


@pytest.mark.usefixtures("whole")
def test_show_unknown_kinds(lab: Lab) -> None:
    """The error lists the kinds, and suggests one; a known kind does not hide an unknown one."""
    for words in (("--kind", "EnterElektion"), ("--kind", "EnterElection", "--kind", "EnterElektion")):
        output = lab.within("show", "whole.jsonl", *words).refused()
        assert output.startswith("--kind EnterElektion: the kinds of messages in this run are AreYouNormal, ")
        assert output.endswith("; did you mean EnterElection?")


def test_show_a_damaged_recording(lab: Lab, damaged: int) -> None:
    """The readable lines; 1, and the number of the damaged line."""
    done = lab("show", "damaged.jsonl")
    assert done.status == 1
    assert done.line().startswith(f"damaged.jsonl:{damaged}: unreadable: ")
    assert "the run ended: " in done.out
    assert "\x1b" not in done.out + done.err


@pytest.mark.usefixtures("whole")
def test_replay_needs_a_terminal(lab: Lab) -> None:
    """The error names a command that does not."""
    assert lab.within("replay", "whole.jsonl").refused() == (
        "the interface requires a terminal; without one: lab show whole.jsonl"
    )
