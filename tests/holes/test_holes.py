"""Every hole of a listing: the shipped recording shows it byte for byte, and the repaired protocol closes it.

``pytest tests/holes --rewrite`` writes the recordings.
"""

from pathlib import Path

import pytest

from lab.properties.judge import Judge
from lab.recording.reader import open_recording
from lab.recording.records import End
from lab.recording.writer import Writer
from lab.script.parse import parse
from lab.worlds.simulated.simulation import Simulation
from tests.holes.cases import HOLES, Hole

RECORDINGS = Path(__file__).parents[2] / "recordings" / "holes"
MOST_BYTES = 200_000


def _record(hole: Hole, path: Path, as_printed: bool) -> None:
    writer = Writer(path, hole.header(as_printed))
    simulation = Simulation(hole.protocol, writer)
    for line in hole.script:
        simulation.director.add(parse(line))
    simulation.start()
    simulation.run_to(hole.end_us)
    writer.append(End(simulation.now_us, "its time limit was reached"))
    writer.close()


def _found(path: Path, hole: Hole) -> set[tuple[str, tuple[int | str, ...]]]:
    """Return the violated assertions, each with its broken assumptions; the sign of no assertion is ""."""
    lines = open_recording(path)
    judge = Judge(lines.header)
    records = [record for record in lines.records() if record is not None]
    for record in records:
        judge.observe(record)
    lines.close()
    signs = {("", ())} if hole.sign is not None and hole.sign(records) else set()
    return signs | {
        (each.assertion, tuple(broken.assumption for broken in each.broken)) for each in judge.violations
    }


@pytest.mark.parametrize("hole", HOLES, ids=lambda hole: hole.name)
def test_as_printed_the_hole_is_open(hole: Hole, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The run equals the recording, and the assertion fails in it under the assumptions of the case."""
    shipped = RECORDINGS / f"{hole.name}.jsonl"
    if request.config.getoption("--rewrite"):
        _record(hole, shipped, as_printed=True)
    _record(hole, tmp_path / "run.jsonl", as_printed=True)
    assert (tmp_path / "run.jsonl").read_bytes() == shipped.read_bytes(), "pytest tests/holes --rewrite"
    assert shipped.stat().st_size < MOST_BYTES
    assert (hole.assertion, hole.broken) in _found(shipped, hole)


@pytest.mark.parametrize("hole", HOLES, ids=lambda hole: hole.name)
def test_the_repaired_protocol_closes_the_hole(hole: Hole, tmp_path: Path) -> None:
    """With the same schedule the assertion holds, and nothing else fails."""
    _record(hole, tmp_path / "run.jsonl", as_printed=False)
    found = _found(tmp_path / "run.jsonl", hole)
    assert (hole.assertion, hole.broken) not in found
    assert not [assertion for assertion, broken in found if not broken]


def test_every_recording_has_its_case() -> None:
    """The names of the cases are unique."""
    names = [hole.name for hole in HOLES]
    assert sorted(names) == sorted({path.stem for path in RECORDINGS.iterdir()})


@pytest.mark.parametrize("hole", HOLES, ids=lambda hole: hole.name)
def test_the_protocol_names_its_recording(hole: Hole) -> None:
    """A reader of the protocol's file finds the recording that shows the hole."""
    is_named = f"{hole.name}.jsonl" in hole.header(as_printed=True).protocol.source
    assert is_named, f"{hole.header(as_printed=True).protocol.file} does not name {hole.name}.jsonl"
