"""Reading recordings that are complete, cut off, damaged, newer, or no recordings; from a file and from a feed."""

import os
import re
from pathlib import Path
from unittest.mock import patch

import pytest

from lab.recording import writer as chain
from lab.recording.reader import FeedRecords, FileRecords, NotARecordingError, open_recording
from lab.recording.records import FORMAT, End, decode
from tests.recording.samples import eventful, eventful_lines, write_lines


def test_a_complete_recording(tmp_path: Path) -> None:
    """All its records; nothing torn, damaged or unknown."""
    lines = open_recording(write_lines(tmp_path / "run.jsonl", eventful_lines()))
    assert len(lines) == len(eventful_lines())
    assert [record is not None for record in lines.records()] == [True] * len(lines)
    assert (lines.torn, lines.damage, lines.unknown) == (False, {}, set())
    assert isinstance(lines.record(len(lines) - 1), End)
    assert lines.header == lines.record(0)
    lines.close()


def test_keyframes_are_at_most_a_fifth_of_a_recording(tmp_path: Path) -> None:
    """Keyframes of many nodes are large, and come less often."""
    path = tmp_path / "run.jsonl"
    with patch.object(chain, "KEYFRAME_EVERY", 1):
        eventful().write(path)
    sizes = [len(line) for line in path.read_bytes().splitlines() if line.startswith(b'{"record":"keyframe"')]
    assert len(sizes) >= 10
    assert sum(sizes) <= path.stat().st_size / 5 + max(sizes)


def test_a_crash_at_any_byte_costs_at_most_the_last_line(tmp_path: Path) -> None:
    """The recording is cut at every byte of its last two records."""
    path = write_lines(tmp_path / "run.jsonl", eventful_lines())
    data = path.read_bytes()
    count = len(eventful_lines())
    last = data.rindex(b"\n", 0, len(data) - 1) + 1
    before = data.rindex(b"\n", 0, last - 1) + 1
    for size in range(len(data), before - 1, -1):
        os.truncate(path, size)
        lines = open_recording(path)
        whole = count - 2 + (size >= last - 1) + (size >= len(data) - 1)
        assert len(lines) == whole, size
        last_whole = [(bytes(lines.raw(number)), lines.record(number)) for number in range(whole - 3, whole)]
        assert last_whole == [(line, decode(line)) for line in eventful_lines()[whole - 3 : whole]]
        assert lines.torn == (size not in (before, last - 1, last, len(data) - 1, len(data))), size
        assert not lines.damage
        lines.close()


def test_a_header_alone_is_a_recording(tmp_path: Path) -> None:
    """With its newline or without."""
    for data in (eventful_lines()[0] + b"\n", eventful_lines()[0]):
        path = tmp_path / "run.jsonl"
        path.write_bytes(data)
        assert len(open_recording(path)) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"record":"step","at_us":1', "truncated"),
        (b"\x00\xff not json", "malformed"),
        (b'{"record":"end","at_us":"soon","why":"x"}', r"Expected `int`, got `str` - at `\$.at_us`"),
        (b'{"record":"end","at_us":1,"why":"\xff"}', "utf-8"),
        (b'{"record":"end","at_us":1,"why":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "Expected `str`|recursion"),
        (b'{"record":"header","x":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "recursion"),
        (b"", "truncated"),
    ],
)
def test_a_damaged_line_is_reported_with_its_number(tmp_path: Path, line: bytes, reason: str) -> None:
    """All other lines are readable."""
    kept = eventful_lines()
    lines = open_recording(write_lines(tmp_path / "run.jsonl", [*kept[:50], line, *kept[51:]]))
    records = list(lines.records())
    assert [number for number, record in enumerate(records) if record is None] == [50]
    assert list(lines.damage) == [50]
    assert re.search(reason, lines.damage[50])
    assert lines.unknown == set()
    assert records[51] == decode(kept[51])


def test_unknown_kinds_are_skipped_and_counted(tmp_path: Path) -> None:
    """A newer version may write records that this one does not know: they are not damage."""
    kept = eventful_lines()
    news = [b'{"record":"verdict","at_us":5,"holds":true}', b'{"record":"weather"}']
    lines = open_recording(write_lines(tmp_path / "run.jsonl", [*kept[:9], *news, *kept[9:]]))
    assert len([record for record in lines.records() if record is None]) == 2
    assert lines.unknown == {9, 10}
    assert lines.damage == {}
    lines.record(9)
    assert len(lines.unknown) == 2, "looking twice counts once"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty, not a recording"),
        (b"hello\nworld\n", "is not a recording: it has no header line"),
        (b"\x7fELF\x02\x01\x00\xff\xfe" * 99, "is not a recording: it has no header line"),
        (b'{"record":"end","at_us":1,"why":"x"}\n', "is not a recording: it has no header line"),
        (b"{:process 0, :type :invoke, :f :read}\n", "looks like a history.*check it with: lab consistency"),
        (b"[#jepsen.history.Op{:index 0}\n", "looks like a history.*check it with: lab consistency"),
        (b'{"type":"invoke","process":"c1","f":"read"}\n', "looks like a history.*check it with: lab consistency"),
        (b"[" * 100_000, "is not a recording: it has no header line"),
        (b'{"record":"header","format":1,"program":"\xff', "is not a recording: it has no header line"),
        (b'{"record":"header","format":3,"mood":"new"}\n', "has format 3.*a newer version of lab can read it"),
        (b'{"record":"header","format":0}\n', "has format 0.*it is too old"),
        (
            eventful_lines()[0].replace(b'"format":2', b'"format":9', 1),
            "has format 9; this version reads formats 1 to 2",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    """The text names the file, the problem and, where possible, the remedy."""
    path = tmp_path / "thing.jsonl"
    path.write_bytes(data)
    with pytest.raises(NotARecordingError, match=f"(?s)thing.jsonl.* ?{reason}|thing.jsonl {reason}"):
        open_recording(path)


def test_a_newer_format_is_explained(tmp_path: Path) -> None:
    """Also if the header cannot be decoded."""
    assert FORMAT == 2
    whole = eventful_lines()[0].replace(b'"format":2', b'"format":9', 1)
    for line in (whole, b'{"record":"header","format":9}'):
        with pytest.raises(NotARecordingError, match="a newer version of lab can read it"):
            open_recording(write_lines(tmp_path / "run.jsonl", [line]))


def test_unopenable_files_are_refused(tmp_path: Path) -> None:
    """A missing file, and a folder."""
    with pytest.raises(NotARecordingError, match=r"none.jsonl cannot be opened: No such file"):
        open_recording(tmp_path / "none.jsonl")
    with pytest.raises(NotARecordingError, match="cannot be opened: Is a directory"):
        open_recording(tmp_path)


def test_lines_from_a_feed_are_the_lines_of_the_file(tmp_path: Path) -> None:
    """FeedRecords grows by a line at a time, and then equals FileRecords of the same recording."""
    kept = [*eventful_lines()[:9], b'{"record":"weather"}', b"garbage", *eventful_lines()[9:]]
    recorded = FileRecords(write_lines(tmp_path / "run.jsonl", kept))
    spooled = FeedRecords(kept[0])
    for number, line in enumerate(kept[1:], 1):
        spooled.append(line)
        assert len(spooled) == number + 1
        assert bytes(spooled.raw(number)) == line
    assert spooled.header == recorded.header
    assert list(spooled.records()) == list(recorded.records())
    assert (spooled.damage, spooled.unknown) == (recorded.damage, recorded.unknown)
    assert (spooled.keyframes, spooled.lines_at) == (recorded.keyframes, recorded.lines_at)
    assert list(spooled.offsets) == list(recorded.offsets)
    spooled.close()
    recorded.close()


def test_a_number_past_the_end_is_an_error(tmp_path: Path) -> None:
    """IndexError, as with a list."""
    lines = open_recording(write_lines(tmp_path / "run.jsonl", eventful_lines()))
    with pytest.raises(IndexError):
        lines.raw(len(lines))
