"""The text about where two recordings diverge."""

import msgspec

from lab.recording.record_fields import decode_fields, differing_fields
from lab.replay.divergence import Comparison, header_differences
from lab.text import sanitize
from lab.tui.run.cursor import Cursor

__all__ = ["describe_differences", "describe_divergence"]

_MOST_FIELDS = 3
_LONGEST = 40


def describe_divergence(comparison: Comparison, here: Cursor, is_done: bool) -> tuple[str, bool]:
    """Return (relation of the two recordings at the cursor, whether they have diverged by then)."""
    if here.hides_future and comparison.counterpart(here.record) is not None:
        return "identical up to here", False
    divergence = comparison.so_far()
    if not is_done and comparison.divergence is None:
        return f"identical so far, to record {comparison.same}", False
    if not divergence.diverges:
        return "identical to the end", False
    if divergence.one is None:
        return "identical as far as this one goes; the other one continues", False
    at_us = getattr(comparison.one.record(divergence.one), "at_us", 0)
    if here.record < divergence.one:
        ahead = f"in {(at_us - here.now_us) / 1e6:.3f} s, at record {divergence.one}"
        return f"identical up to here; they diverge {ahead}: Enter goes there", False
    return f"diverged {(here.now_us - at_us) / 1e6:.3f} s ago, at record {divergence.one}: Enter goes there", True


def describe_differences(comparison: Comparison) -> list[str]:
    """Return the first difference of records, and the differences of headers, one line each."""
    one, other = comparison.one, comparison.other
    divergence, lines = comparison.so_far(), []
    if divergence.one is not None and divergence.other is not None:
        lines.append(f"first difference: {_fields(one.raw(divergence.one), other.raw(divergence.other))}")
    elif divergence.one is not None:
        lines.append("the other one ends there")
    heads = [_format_difference(*each) for each in header_differences(one.header, other.header)]
    return [*lines, f"the runs differ in {_join(heads)}"] if heads else lines


def _fields(here: bytes, there: bytes) -> str:
    try:
        ours, theirs = decode_fields(here), decode_fields(there)
    except (msgspec.DecodeError, RecursionError):
        return "one cannot be read"
    if ours.get("record") != theirs.get("record"):
        return _format_difference("record", str(ours.get("record")), str(theirs.get("record")))
    return _join([_format_difference(*each) for each in differing_fields(ours, theirs)])


def _format_difference(name: str, here: str, there: str) -> str:
    return f"{name} (here {sanitize(here, _LONGEST)}, there {sanitize(there, _LONGEST)})"


def _join(lines: list[str]) -> str:
    more = f" and {len(lines) - _MOST_FIELDS} more" if len(lines) > _MOST_FIELDS else ""
    return ", ".join(lines[:_MOST_FIELDS]) + more
