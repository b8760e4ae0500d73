"""Where two recordings part, in words, for who looks at both."""

import msgspec

from lab.recording.record_fields import differing_fields, plain
from lab.replay.divergence import Comparison, header_differences
from lab.text import sanitize
from lab.tui.run.cursor import Cursor

__all__ = ["difference_said", "parting_said"]

_MOST_FIELDS = 3
_LONGEST = 40


def parting_said(comparison: Comparison, here: Cursor, is_done: bool) -> tuple[str, bool]:
    """(how the two are to each other as of that moment, whether they are parted by then)."""
    if here.hides_future and comparison.beside(here.record) is not None:
        return "the same up to here", False
    parting = comparison.so_far()
    if not is_done and comparison.parting is None:
        return f"the same so far, to record {comparison.same}", False
    if not parting.parts:
        return "the same, to the end", False
    if parting.one is None:
        return "the same as far as this one goes; the other one goes on", False
    at_us = getattr(comparison.one.record(parting.one), "at_us", 0)
    if here.record < parting.one:
        ahead = f"in {(at_us - here.now_us) / 1e6:.3f} s, at record {parting.one}"
        return f"the same up to here; they part {ahead}: Enter goes there", False
    return f"parted for {(here.now_us - at_us) / 1e6:.3f} s, since record {parting.one}: Enter goes there", True


def difference_said(comparison: Comparison) -> list[str]:
    """What differs where they part, and in their headers; a line each, and none where nothing does."""
    one, other = comparison.one, comparison.other
    parting, said = comparison.so_far(), []
    if parting.one is not None and parting.other is not None:
        said.append(f"the first to differ: {_fields(one.raw(parting.one), other.raw(parting.other))}")
    elif parting.one is not None:
        said.append("the other one ends there")
    heads = [_said(*each) for each in header_differences(one.header, other.header)]
    return [*said, f"the runs differ in {_listed(heads)}"] if heads else said


def _fields(here: bytes, there: bytes) -> str:
    try:
        ours, theirs = plain(here), plain(there)
    except (msgspec.DecodeError, RecursionError):
        return "one cannot be read"
    if ours.get("record") != theirs.get("record"):
        return _said("what they tell", str(ours.get("record")), str(theirs.get("record")))
    return _listed([_said(*each) for each in differing_fields(ours, theirs)])


def _said(name: str, here: str, there: str) -> str:
    return f"{name} (here {sanitize(here, _LONGEST)}, there {sanitize(there, _LONGEST)})"


def _listed(said: list[str]) -> str:
    more = f" and {len(said) - _MOST_FIELDS} more" if len(said) > _MOST_FIELDS else ""
    return ", ".join(said[:_MOST_FIELDS]) + more
