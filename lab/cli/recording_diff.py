"""``lab diff``: find the first difference between two recordings, and print the lines around it."""

from contextlib import closing
from pathlib import Path

import msgspec

from lab.analysis.delivery import LogPage
from lab.cli.progress import count_progress
from lab.cli.recording_report import format_log_line, open_or_exit, report_damage
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED
from lab.recording.log_lines import count_lines
from lab.recording.reader import RecordStore
from lab.recording.record_fields import decode_fields, differing_fields
from lab.recording.records import End
from lab.replay.divergence import find_divergence, header_differences
from lab.text import sanitize

__all__ = ["diff"]

_CONTEXT = 5
_FARTHEST = 1_000
_LONGEST = 300


def diff(one: Path, other: Path) -> int:
    """Print the first difference and return the exit status."""
    with closing(open_or_exit(one)) as a, closing(open_or_exit(other)) as b:
        differences = header_differences(a.header, b.header)
        for name, here, there in differences:
            print(f"header, {name}: A {sanitize(here)} · B {sanitize(there)}")
        with count_progress(min(len(a), len(b))) as progress:
            divergence = find_divergence(a, b, progress)
        damaged = report_damage(one, a) | report_damage(other, b)
        print(
            f"{divergence.same} records are equal" + ("" if divergence.diverges else ", and there are no others")
        )
        if divergence.diverges:
            _print_rows(a, *_before(a, divergence.one))
            _print_side("A", one, a, divergence.one)
            _print_side("B", other, b, divergence.other)
            if divergence.one is not None and divergence.other is not None:
                _print_differing_fields(a.raw(divergence.one), b.raw(divergence.other))
    return EXIT_NOT_AS_EXPECTED if differences or divergence.diverges or damaged else 0


def _before(store: RecordStore, number: int | None) -> tuple[int, int]:
    """Return the range of the records that hold the last log lines before that record."""
    end = start = len(store) if number is None else number
    count = 0
    while start > 1 and count < _CONTEXT and end - start < _FARTHEST:
        start -= 1
        record = store.record(start)
        count += 0 if record is None else count_lines(record)
    return start, end


def _print_side(name: str, path: Path, store: RecordStore, number: int | None) -> None:
    if number is None:
        print(f"{name}  {path} ends here")
        return
    record = store.record(number)
    if isinstance(record, End):
        print(f"{name}  {path} ends here, at {record.at_us / 1e6:.6f}: {sanitize(record.why)}")
        return
    print(f"{name}  {path}, record {number} (line {number + 1}):")
    print(f"    {sanitize(store.raw(number).decode('utf-8', 'replace'), _LONGEST)}")
    if number in store.damage:
        print(f"    unreadable: {sanitize(store.damage[number])}")
    end, count = number, 0
    while end < len(store) and count < _CONTEXT and end - number < _FARTHEST:
        following = store.record(end)
        count += 0 if following is None else count_lines(following)
        end += 1
    _print_rows(store, number, end)


def _print_rows(store: RecordStore, start: int, end: int) -> None:
    """Print the log lines of these records; the delivery of their messages is as known at ``end``."""
    page = LogPage(start, end)
    for record in store.records(start, end):
        page.feed(record)
    for line in page.lines:
        print(f"    {format_log_line(line, page, end)}")


def _print_differing_fields(here: bytes, there: bytes) -> None:
    try:
        one, other = decode_fields(here), decode_fields(there)
    except (msgspec.DecodeError, RecursionError):
        return  # an unreadable line has no fields
    if one["record"] == other["record"]:
        print("differing fields:")
        for name, left, right in differing_fields(one, other):
            print(f"    {name}: A {sanitize(left)} · B {sanitize(right)}")
