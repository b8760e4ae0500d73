"""``lab diff``: where two recordings part, with what was before it and what comes after it in each."""

from contextlib import closing
from pathlib import Path

import msgspec

from lab.analysis.delivery import LogPage
from lab.cli.errors import EXIT_NOT_AS_EXPECTED
from lab.cli.progress import counted
from lab.cli.reading import log_row, opened, tell_damage
from lab.recording.log_lines import count_lines
from lab.recording.reader import RecordStore
from lab.recording.record_fields import differing_fields, plain
from lab.recording.records import End
from lab.replay.divergence import header_differences, parting_of
from lab.text import sanitize

__all__ = ["diff"]

_CONTEXT = 5
_FARTHEST = 1_000
_LONGEST = 300


def diff(one: Path, other: Path) -> int:
    """Print where they part; the exit status."""
    with closing(opened(one)) as a, closing(opened(other)) as b:
        differences = header_differences(a.header, b.header)
        for name, here, there in differences:
            print(f"header, {name}: A {sanitize(here)} · B {sanitize(there)}")
        with counted(min(len(a), len(b))) as progress:
            parting = parting_of(a, b, progress)
        damaged = tell_damage(one, a) | tell_damage(other, b)
        print(f"{parting.same} records are the same" + ("" if parting.parts else ", and there are no more"))
        if parting.parts:
            _print_rows(a, *_before(a, parting.one))
            _print_side("A", one, a, parting.one)
            _print_side("B", other, b, parting.other)
            if parting.one is not None and parting.other is not None:
                _print_fields(a.raw(parting.one), b.raw(parting.other))
    return EXIT_NOT_AS_EXPECTED if differences or parting.parts or damaged else 0


def _before(lines: RecordStore, number: int | None) -> tuple[int, int]:
    """The records, from and to, of the last lines of the log before that record."""
    end = start = len(lines) if number is None else number
    count = 0
    while start > 1 and count < _CONTEXT and end - start < _FARTHEST:
        start -= 1
        record = lines.record(start)
        count += 0 if record is None else count_lines(record)
    return start, end


def _print_side(name: str, path: Path, lines: RecordStore, number: int | None) -> None:
    if number is None:
        print(f"{name}  {path} ends here")
        return
    record = lines.record(number)
    if isinstance(record, End):
        print(f"{name}  {path} ends here, at {record.at_us / 1e6:.6f}: {sanitize(record.why)}")
        return
    print(f"{name}  {path}, record {number} (line {number + 1}):")
    print(f"    {sanitize(lines.raw(number).decode('utf-8', 'replace'), _LONGEST)}")
    if number in lines.damage:
        print(f"    which cannot be read: {sanitize(lines.damage[number])}")
    end, count = number, 0
    while end < len(lines) and count < _CONTEXT and end - number < _FARTHEST:
        following = lines.record(end)
        count += 0 if following is None else count_lines(following)
        end += 1
    _print_rows(lines, number, end)


def _print_rows(lines: RecordStore, start: int, end: int) -> None:
    """The log's lines of these records, with the fates of their messages as known by then."""
    page = LogPage(start, end)
    for record in lines.records(start, end):
        page.feed(record)
    for line in page.lines:
        print(f"    {log_row(line, page, end)}")


def _print_fields(here: bytes, there: bytes) -> None:
    try:
        one, other = plain(here), plain(there)
    except (msgspec.DecodeError, RecursionError):
        return  # a line that cannot be read has no fields
    if one["record"] == other["record"]:
        print("they differ in")
        for name, left, right in differing_fields(one, other):
            print(f"    {name}: A {sanitize(left)} · B {sanitize(right)}")
