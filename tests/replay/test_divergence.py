"""Where two recordings part: the first record that differs, whatever it is that differs in it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from lab.kernel import Timing
from lab.recording import digest_chain as chain
from lab.recording.reader import FileRecords, RecordStore, open_recording
from lab.recording.records import Header, ProtocolInfo
from lab.replay.divergence import Parting, header_differences, parting_of
from tests.recording.samples import eventful, eventful_lines, write_lines

KEYFRAME = b'{"record":"keyframe"'


def _lines(path: Path, lines: Sequence[bytes]) -> RecordStore:
    return FileRecords(write_lines(path, lines))


def _parting(tmp_path: Path, one: Sequence[bytes], other: Sequence[bytes]) -> Parting:
    return parting_of(_lines(tmp_path / "a.jsonl", one), _lines(tmp_path / "b.jsonl", other))


def _plain_lines() -> list[bytes]:
    """Those that say what happened."""
    return [line for line in eventful_lines() if not line.startswith(KEYFRAME)]


def test_the_same(tmp_path: Path) -> None:
    """Nothing parts them, and all records but the header and the keyframes are counted."""
    found = _parting(tmp_path, eventful_lines(), eventful_lines())
    assert (found, found.parts) == (Parting(len(_plain_lines()) - 1, None, None), False)


@pytest.mark.parametrize("at", [1, 7, 100, 300])
def test_the_first_record_that_differs(tmp_path: Path, at: int) -> None:
    """By its number in each; later ones do not matter."""
    lines = _plain_lines()
    other = list(lines)
    other[at] = other[at].replace(b'"at_us":', b'"at_us":9')
    other[at + 3] = b'{"record":"end","at_us":1,"why":"?"}'
    found = _parting(tmp_path, lines, other)
    assert (found, found.parts) == (Parting(at - 1, at, at), True)


def test_one_is_the_beginning_of_the_other(tmp_path: Path) -> None:
    """The other has a next record, and this one has none."""
    lines = _plain_lines()
    assert _parting(tmp_path, lines[:50], lines) == Parting(49, None, 50)
    assert _parting(tmp_path, lines, lines[:50]) == Parting(49, 50, None)


def test_keyframes_are_passed_over(tmp_path: Path) -> None:
    """However many there are: they only say again what the others say. The numbers are those of the files."""
    with patch.object(chain, "KEYFRAME_EVERY", 60):
        seldom = eventful().write(tmp_path / "c.jsonl").read_bytes().splitlines()
    assert len(seldom) < len(eventful_lines())
    assert not _parting(tmp_path, eventful_lines(), seldom).parts
    number = next(n for n, line in enumerate(seldom) if n > 200 and not line.startswith(KEYFRAME))
    changed = [*seldom[:number], b'{"record":"end","at_us":1,"why":"?"}', *seldom[number + 1 :]]
    found = _parting(tmp_path, eventful_lines(), changed)
    assert found.other == number
    assert found.one is not None
    assert found.one > number
    assert eventful_lines()[found.one] == seldom[number]


def test_unknown_lines_are_compared_as_they_stand(tmp_path: Path) -> None:
    """Two lines that are the same are, even where nobody can read them."""
    lines = _plain_lines()
    strange = [*lines[:20], b"{garbage", b'{"record":"weather"}', *lines[20:]]
    assert not _parting(tmp_path, strange, strange).parts
    assert _parting(tmp_path, lines, [*lines[:20], b'{"record":"weather"}', *lines[20:]]) == Parting(19, 20, 20)


@pytest.mark.parametrize("garbage", [b"{}", b"[]", b"{garbage", b"", b"\xff"])
def test_damaged_lines_are_passed_over(tmp_path: Path, garbage: bytes) -> None:
    """With the record that has their place in the other recording; they are known by then."""
    lines = _plain_lines()
    changed = [*lines[:20], garbage, *lines[21:]]
    one, other = _lines(tmp_path / "a.jsonl", lines), _lines(tmp_path / "b.jsonl", changed)
    assert parting_of(one, other) == Parting(len(lines) - 2, None, None)
    assert (list(one.damage), list(other.damage)) == ([], [20])
    assert _parting(tmp_path, changed, lines[:30]) == Parting(28, 30, None)


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    """It is as if the recording ended before it."""
    lines = _plain_lines()
    (tmp_path / "torn.jsonl").write_bytes(b"\n".join(lines[:30])[:-4])
    found = parting_of(open_recording(tmp_path / "torn.jsonl"), _lines(tmp_path / "b.jsonl", lines))
    assert found == Parting(28, None, 29)


def test_it_tells_how_far_it_has_come(tmp_path: Path) -> None:
    """From the first on."""
    told: list[int] = []
    lines = _lines(tmp_path / "a.jsonl", eventful_lines())
    parting_of(lines, lines, told.append)
    assert told == [0]


def _header(edit: Callable[[dict[str, Any]], object] = lambda header: None) -> Header:
    told = msgspec.json.decode(eventful_lines()[0])
    edit(told)
    return msgspec.convert(told, Header)


def test_headers_that_tell_of_the_same_run_elsewhere_do_not_differ() -> None:
    """Which run it was, when it began, with which version, and from where it branched."""

    def edit(header: dict[str, Any]) -> None:
        parent = {"recording": "x.jsonl", "run": "x", "record": 5, "at_us": 9}
        header.update(run="other", began="2024", program="9.9", parent=parent)

    assert header_differences(_header(), _header(edit)) == []


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda header: header.update(seed=6), ("seed", "5", "6")),
        (lambda header: header.update(world="live"), ("world", '"simulated"', '"live"')),
        (lambda header: header.update(nodes=[1, 2]), ("nodes", "[1,2,3,4]", "[1,2]")),
        (lambda header: header["protocol"].update(name="ring"), ("protocol", '"bully"', '"ring"')),
        (lambda header: header["protocol"].update(parameters={"a": 1}), ("parameters", None, '{"a":1}')),
        (lambda header: header["timing"].update(tm_us=1), ("timing", None, '{"tm_us":1,"tp_us":20000}')),
        (lambda header: header["link"].update(jitter_us=0), ("link", None, '{"latency_us":10000,"jitter_us":0}')),
    ],
)
def test_headers_that_differ(edit: Callable[[dict[str, Any]], object], told: tuple[str, str | None, str]) -> None:
    """What makes another run of it, with both values."""
    ((name, one, other),) = header_differences(_header(), _header(edit))
    assert (name, other) == (told[0], told[2])
    assert told[1] in (None, one)


def test_sources_that_differ() -> None:
    """Not the whole text, but the first line that is another."""

    def edit(source: str) -> Header:
        info = ProtocolInfo("x", {}, "x.py", source)
        return Header(1, "", "", "", "live", info, (1,), Timing(1, 1), _header().link, 1)

    name = "the protocol's source, first in line 2"
    assert header_differences(edit("a\n  b\nc"), edit("a\n  d\n")) == [(name, "b", "d")]
    assert header_differences(edit("a"), edit("a\nb")) == [(name, "", "b")]
