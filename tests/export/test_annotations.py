"""Annotations: a fault with a command appears once; a fault without a command appears too."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.analysis.spacetime import FaultInterval
from lab.export.annotations import annotations_in
from lab.export.excerpt import Excerpt
from lab.recording.reader import open_recording
from lab.recording.snapshot import ActiveFault
from tests.export.windows import RECORDINGS, eventful_recording, excerpt_in
from tests.harness import Rig
from tests.recording.samples import write_lines

NEAR = ("at 500ms lose all 10%", "at 510ms kill 3")


def _faults(excerpt: Excerpt) -> list[str]:
    return [each.text for each in annotations_in(excerpt) if each.kind == "fault"]


def _commands(excerpt: Excerpt) -> list[str]:
    return [each.text for each in annotations_in(excerpt) if each.kind == "command"]


def _run(folder: Path, without: bytes) -> Excerpt:
    """Return a run with two faults 10 ms apart, without the record of the command with that text."""
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
def test_a_fault_without_a_command_is_annotated_even_near_a_command(
    tmp_path: Path, without: bytes, faults: list[str], command: str
) -> None:
    """Only the command recorded next, before any step, belongs to a fault."""
    excerpt = _run(tmp_path, without)
    assert _faults(excerpt) == faults
    assert [text.partition(" · ")[0] for text in _commands(excerpt)] == [command]


def test_a_commanded_fault_is_annotated_only_by_its_command(tmp_path: Path) -> None:
    """In a run with all kinds of records, and in a script with consecutive commands."""
    script = open_recording(RECORDINGS / "scenarios" / "partition-in-two.jsonl")
    for lines in (eventful_recording(tmp_path), script):
        excerpt = excerpt_in(lines)
        texts = {fault_interval.fault.text for fault_interval in excerpt.fault_intervals}
        assert texts
        assert texts.isdisjoint(_faults(excerpt))
        assert len(_commands(excerpt)) == sum(line.what == "command" for line in excerpt.events)


def test_a_fault_without_text_is_annotated_by_its_kind(tmp_path: Path) -> None:
    """Such a fault records only that it is in force."""
    excerpt = _run(tmp_path, b"lose all 10%")
    for fault_interval in excerpt.fault_intervals:
        fault_interval.fault = _wordless(fault_interval)
    assert _faults(excerpt) == ["lose"]


def _wordless(fault_interval: FaultInterval) -> ActiveFault:
    return replace(fault_interval.fault, text="")
