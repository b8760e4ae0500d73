"""Remarks: what was commanded is told once, and faults that nobody commanded are told too."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.analysis.spacetime import FaultInterval
from lab.export.excerpt import Excerpt
from lab.export.words import remarks_of
from lab.recording.reader import open_recording
from lab.recording.snapshot import ActiveFault
from tests.export.cutting import RECORDINGS, eventful_recording, excerpt_in
from tests.harness import Rig
from tests.recording.samples import write_lines

NEAR = ("at 500ms lose all 10%", "at 510ms kill 3")


def _faults(excerpt: Excerpt) -> list[str]:
    return [each.text for each in remarks_of(excerpt) if each.kind == "fault"]


def _commands(excerpt: Excerpt) -> list[str]:
    return [each.text for each in remarks_of(excerpt) if each.kind == "command"]


def _run(folder: Path, without: bytes) -> Excerpt:
    """Two faults 10 ms from each other, but not the record of the command with that text."""
    rig = Rig((1, 2, 3))
    rig.do(*NEAR)
    lines = rig.started().run(600_000).write(folder / "run.jsonl").read_bytes().splitlines()
    left = [line for line in lines if not (line.startswith(b'{"record":"command"') and without in line)]
    assert len(left) < len(lines)
    return excerpt_in(open_recording(write_lines(folder / "less.jsonl", left)))


@pytest.mark.parametrize(
    ("without", "faults", "command"),
    [(b"lose all 10%", ["lose all 10%"], NEAR[1]), (b"kill 3", ["kill 3"], NEAR[0])],
)
def test_a_fault_that_nobody_commanded_is_told_though_a_command_is_near(
    tmp_path: Path, without: bytes, faults: list[str], command: str
) -> None:
    """Time does not tell whose it is: the record of its command is that which follows it before any step."""
    excerpt = _run(tmp_path, without)
    assert _faults(excerpt) == faults
    assert [text.partition(" · ")[0] for text in _commands(excerpt)] == [command]


def test_a_fault_that_was_commanded_is_told_by_its_command_alone(tmp_path: Path) -> None:
    """In the run with a little of everything, and in one with a script whose lines follow each other."""
    script = open_recording(RECORDINGS / "scenarios" / "partition-in-two.jsonl")
    for lines in (eventful_recording(tmp_path), script):
        excerpt = excerpt_in(lines)
        texts = {strike.fault.text for strike in excerpt.strikes}
        assert texts
        assert texts.isdisjoint(_faults(excerpt))
        assert len(_commands(excerpt)) == sum(line.what == "command" for line in excerpt.events)


def test_a_fault_without_words_is_told_by_its_kind(tmp_path: Path) -> None:
    """As one is that says no more than that it is in force."""
    excerpt = _run(tmp_path, b"lose all 10%")
    for strike in excerpt.strikes:
        strike.fault = _wordless(strike)
    assert _faults(excerpt) == ["lose"]


def _wordless(strike: FaultInterval) -> ActiveFault:
    return replace(strike.fault, text="")
