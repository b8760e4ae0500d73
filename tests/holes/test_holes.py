"""Every hole of a listing: the shipped recording shows it record by record, and the repaired protocol closes it.

``pytest tests/holes --rewrite`` writes the recordings.
"""

from contextlib import closing
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from lab.properties.judge import Judge
from lab.protocols import Algorithm, Bully, BullyTanenbaum, InvitationElection, Ring
from lab.recording.reader import open_recording
from lab.recording.records import End, Header
from lab.recording.writer import Writer
from lab.replay.divergence import find_divergence
from lab.script.parse import parse
from lab.worlds.simulated.simulation import Simulation
from tests.holes.cases import HOLES, Hole

RECORDINGS = Path(__file__).parents[2] / "recordings" / "holes"
MOST_BYTES = 200_000


def _record(hole: Hole, path: Path, header: Header) -> None:
    writer = Writer(path, header)
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
def test_the_hole_is_open(hole: Hole, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The run equals the recording, and the assertion fails in it under the assumptions of the case."""
    shipped = RECORDINGS / f"{hole.name}.jsonl"
    if request.config.getoption("--rewrite"):
        _record(hole, shipped, hole.header(is_open=True))
    _record(hole, tmp_path / "run.jsonl", hole.header(is_open=True))
    with closing(open_recording(tmp_path / "run.jsonl")) as one, closing(open_recording(shipped)) as other:
        assert not find_divergence(one, other).diverges, "pytest tests/holes --rewrite"
    assert shipped.stat().st_size < MOST_BYTES
    assert (hole.assertion, hole.broken) in _found(shipped, hole)


@pytest.mark.parametrize("hole", HOLES, ids=lambda hole: hole.name)
def test_the_repaired_protocol_closes_the_hole(hole: Hole, tmp_path: Path) -> None:
    """With the same schedule the assertion holds, and nothing else fails."""
    _record(hole, tmp_path / "run.jsonl", hole.header(is_open=False))
    found = _found(tmp_path / "run.jsonl", hole)
    assert (hole.assertion, hole.broken) not in found
    assert not [assertion for assertion, broken in found if not broken]


def test_every_recording_has_its_case() -> None:
    """The names of the cases are unique."""
    names = [hole.name for hole in HOLES]
    assert sorted(names) == sorted({path.stem for path in RECORDINGS.iterdir()})


REPAIRED = [hole for hole in HOLES if "without" in hole.opened_by]


@pytest.mark.parametrize("hole", REPAIRED, ids=lambda hole: hole.name)
def test_its_repair_alone_closes_it(hole: Hole, tmp_path: Path) -> None:
    """Those that build on it can be left out."""
    names = [repair.name for repair in hole.protocol.repairs()]
    (own,) = hole.opened_by["without"]
    later = names[names.index(own) + 1 :]
    _record(hole, tmp_path / "run.jsonl", hole.header(is_open=False, without=later))
    assert not [assertion for assertion, broken in _found(tmp_path / "run.jsonl", hole) if not broken]


@pytest.mark.parametrize("hole", HOLES, ids=lambda hole: hole.name)
def test_the_protocol_names_its_recording(hole: Hole) -> None:
    """A repair or a reading has the recording that shows what it is for."""
    protocol = hole.protocol
    if "without" in hole.opened_by:
        (own,) = hole.opened_by["without"]
        assert hole.name in next(each.recordings for each in protocol.repairs() if each.name == own)
    else:
        ((parameter, value),) = hole.opened_by.items()
        reading = next(each for each in protocol.readings if each.parameter == parameter)
        assert hole.name == next(each.recording for each in reading.values if each.name == value)


@pytest.mark.parametrize("protocol", [Bully, BullyTanenbaum, Ring, InvitationElection])
def test_every_departure_is_shown(protocol: type[Algorithm]) -> None:
    """Each repair, and each other value of a reading that fails by itself, has a recording of its own."""
    named = [name for each in protocol.repairs() for name in each.recordings]
    named += [value.recording for each in protocol.readings for value in each.values if value.recording]
    assert sorted(named) == sorted(hole.name for hole in HOLES if hole.protocol is protocol)
    fields = {field.name: field for field in msgspec.structs.fields(protocol.Parameters)}
    assert get_args(get_args(fields["without"].type)[0]) == (*(each.name for each in protocol.repairs()), "all")
    for reading in protocol.readings:
        field = fields[reading.parameter]
        assert get_args(field.type) == tuple(value.name for value in reading.values)
        assert field.default == reading.values[0].name


RING_GAPS = [hole for hole in HOLES if hole.protocol is Ring and not hole.broken and "two-rings" not in hole.name]


@pytest.mark.parametrize("hole", RING_GAPS, ids=lambda hole: hole.name)
def test_a_gap_of_the_ring_is_open_in_the_other_reading(hole: Hole, tmp_path: Path) -> None:
    """The same schedule shows it; the gaps of the other protocols are explored in all readings."""
    other = replace(hole, opened_by={**hole.opened_by, "back_at": "listed"})
    _record(other, tmp_path / "run.jsonl", other.header(is_open=True))
    assert (hole.assertion, hole.broken) in _found(tmp_path / "run.jsonl", other)
