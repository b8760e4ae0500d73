"""The divergence of two recordings: the first record that differs, in any field."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from lab.kernel import Timing
from lab.recording import writer as chain
from lab.recording.reader import FileRecords, RecordStore, open_recording
from lab.recording.records import Header, ProtocolInfo
from lab.replay.divergence import Divergence, find_divergence, header_differences
from tests.recording.samples import eventful, eventful_lines, write_lines

KEYFRAME = b'{"record":"keyframe"'


def _lines(path: Path, lines: Sequence[bytes]) -> RecordStore:
    return FileRecords(write_lines(path, lines))


def _divergence(tmp_path: Path, one: Sequence[bytes], other: Sequence[bytes]) -> Divergence:
    return find_divergence(_lines(tmp_path / "a.jsonl", one), _lines(tmp_path / "b.jsonl", other))


def _plain_lines() -> list[bytes]:
    """Return the lines other than keyframes."""
    return [line for line in eventful_lines() if not line.startswith(KEYFRAME)]


def test_equal_recordings(tmp_path: Path) -> None:
    """All records except the header and the keyframes are counted."""
    found = _divergence(tmp_path, eventful_lines(), eventful_lines())
    assert (found, found.diverges) == (Divergence(len(_plain_lines()) - 1, None, None), False)


@pytest.mark.parametrize("at", [1, 7, 100, 300])
def test_the_first_record_that_differs(tmp_path: Path, at: int) -> None:
    """By its number in each; later differences do not matter."""
    lines = _plain_lines()
    other = list(lines)
    other[at] = other[at].replace(b'"at_us":', b'"at_us":9')
    other[at + 3] = b'{"record":"end","at_us":1,"why":"?"}'
    found = _divergence(tmp_path, lines, other)
    assert (found, found.diverges) == (Divergence(at - 1, at, at), True)


def test_one_is_a_prefix_of_the_other(tmp_path: Path) -> None:
    """The other has a next record, this one has none."""
    lines = _plain_lines()
    assert _divergence(tmp_path, lines[:50], lines) == Divergence(49, None, 50)
    assert _divergence(tmp_path, lines, lines[:50]) == Divergence(49, 50, None)


def test_keyframes_are_skipped(tmp_path: Path) -> None:
    """With any number of them. The record numbers are those of the files."""
    with patch.object(chain, "KEYFRAME_EVERY", 150):
        seldom = eventful().write(tmp_path / "c.jsonl").read_bytes().splitlines()
    assert len(seldom) < len(eventful_lines())
    assert not _divergence(tmp_path, eventful_lines(), seldom).diverges
    number = next(n for n, line in enumerate(seldom) if n > 200 and not line.startswith(KEYFRAME))
    changed = [*seldom[:number], b'{"record":"end","at_us":1,"why":"?"}', *seldom[number + 1 :]]
    found = _divergence(tmp_path, eventful_lines(), changed)
    assert found.other == number
    assert found.one is not None
    assert found.one > number
    assert eventful_lines()[found.one] == seldom[number]


def test_unknown_lines_are_compared_as_bytes(tmp_path: Path) -> None:
    lines = _plain_lines()
    strange = [*lines[:20], b"{garbage", b'{"record":"weather"}', *lines[20:]]
    assert not _divergence(tmp_path, strange, strange).diverges
    assert _divergence(tmp_path, lines, [*lines[:20], b'{"record":"weather"}', *lines[20:]]) == Divergence(
        19, 20, 20
    )


@pytest.mark.parametrize("garbage", [b"{}", b"[]", b"{garbage", b"", b"\xff"])
def test_damaged_lines_are_skipped(tmp_path: Path, garbage: bytes) -> None:
    """Together with the record in their place in the other recording; they are listed as damage."""
    lines = _plain_lines()
    changed = [*lines[:20], garbage, *lines[21:]]
    one, other = _lines(tmp_path / "a.jsonl", lines), _lines(tmp_path / "b.jsonl", changed)
    assert find_divergence(one, other) == Divergence(len(lines) - 2, None, None)
    assert (list(one.damage), list(other.damage)) == ([], [20])
    assert _divergence(tmp_path, changed, lines[:30]) == Divergence(28, 30, None)


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    """As if the recording ended before it."""
    lines = _plain_lines()
    (tmp_path / "torn.jsonl").write_bytes(b"\n".join(lines[:30])[:-4])
    found = find_divergence(open_recording(tmp_path / "torn.jsonl"), _lines(tmp_path / "b.jsonl", lines))
    assert found == Divergence(28, None, 29)


def test_progress_is_reported(tmp_path: Path) -> None:
    """From the start."""
    progress: list[int] = []
    lines = _lines(tmp_path / "a.jsonl", eventful_lines())
    find_divergence(lines, lines, progress.append)
    assert progress == [0]


def _header(edit: Callable[[dict[str, Any]], object] = lambda header: None) -> Header:
    fields = msgspec.json.decode(eventful_lines()[0])
    edit(fields)
    return msgspec.convert(fields, Header)


def test_headers_of_the_same_run_elsewhere_do_not_differ() -> None:
    """Run id, start time, version and parent do not count."""

    def edit(header: dict[str, Any]) -> None:
        parent = {"recording": "x.jsonl", "run": "x", "record": 5, "at_us": 9}
        header.update(run="other", began="2024", program="9.9", parent=parent)

    assert header_differences(_header(), _header(edit)) == []


@pytest.mark.parametrize(
    ("edit", "difference"),
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
def test_headers_that_differ(
    edit: Callable[[dict[str, Any]], object], difference: tuple[str, str | None, str]
) -> None:
    """Everything that makes another run, with both values."""
    ((name, one, other),) = header_differences(_header(), _header(edit))
    assert (name, other) == (difference[0], difference[2])
    assert difference[1] in (None, one)


def test_sources_that_differ() -> None:
    """The first line that differs is named."""

    def edit(source: str) -> Header:
        info = ProtocolInfo("x", {}, "x.py", source)
        return Header(1, "", "", "", "live", info, (1,), Timing(1, 1), _header().link, 1)

    name = "the protocol's source, first in line 2"
    assert header_differences(edit("a\n  b\nc"), edit("a\n  d\n")) == [(name, "b", "d")]
    assert header_differences(edit("a"), edit("a\nb")) == [(name, "", "b")]
