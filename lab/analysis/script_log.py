"""What came of each line of a run's script, in a word, and what was said to those who watch.

Whoever tells of a script has it from here: the report, the interface, and who tries the script of a recording.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Commanded, End, Expected, Fault, Record

__all__ = ["Deed", "ScriptLog", "deed_of", "inert_deeds"]

_How = Literal["said", "marked", "done", "met", "no effect", "refused", "not met", "inert"]


class Deed(Struct, frozen=True, gc=False):
    """What came of a line, by its number, in the word ``how``; ``record`` is the number of the one that shows it.

    ``why``: what that one says more of it.
    """

    line: int
    record: int
    at_us: int
    how: _How
    why: str = ""

    @property
    def is_well(self) -> bool:
        """Whether it is as it was meant to be."""
        return self.how in ("said", "marked", "done", "met")


def deed_of(number: int, record: Record | None) -> Deed | None:
    """What came of a line by the record with that number; None where it is of no line."""
    if not isinstance(record, Captioned | Commanded | Expected) or not record.line:
        return None
    return Deed(record.line, number, record.at_us, *_how_and_why(record))


def _how_and_why(record: Captioned | Commanded | Expected) -> tuple[_How, str]:
    if isinstance(record, Captioned):
        return "marked" if record.mark else "said", ""
    if isinstance(record, Expected):
        return "met" if record.met else "not met", record.why
    if record.refused:
        return "refused", record.outcome
    return "done" if record.changed else "no effect", record.outcome


def inert_deeds(records: Iterable[tuple[int, Record | None]], cluster: ClusterState) -> list[Deed]:
    """The lines whose faults touched nothing, all of a line together, each at the first of its faults.

    ``records`` come with their numbers; ``cluster`` is what they have come to.
    """
    touched = {view.id for view in (*cluster.lifted, *cluster.faults.values()) if view.touched}
    faults = [(number, each) for number, each in records if isinstance(each, Fault) and each.line]
    touching = {fault.line for _, fault in faults if fault.id in touched}
    inert: dict[int, Deed] = {}
    for number, fault in faults:
        if fault.line not in touching:
            inert.setdefault(fault.line, Deed(fault.line, number, fault.at_us, "inert"))
    return list(inert.values())


class ScriptLog:
    """Shown the records of a run in their order, it tells of its script as of any of them."""

    def __init__(self) -> None:
        self._captions: list[tuple[int, Captioned]] = []
        self._deeds: list[Deed] = []
        self._end: int | None = None

    def add(self, number: int, record: Record | None) -> None:
        """Look at the record with that number."""
        if isinstance(record, Captioned) and not record.mark:
            self._captions.append((number, record))
        deed = deed_of(number, record)
        if deed is not None:
            self._deeds.append(deed)
        if isinstance(record, End):
            self._end = number

    def captions(self, number: int, most: int) -> list[Captioned]:
        """The last things said by that record, so many at most."""
        place = bisect_right(self._captions, number, key=lambda said: said[0])
        return [caption for _, caption in self._captions[max(0, place - most) : place]]

    def deeds(self, number: int) -> Sequence[Deed]:
        """What has come of the lines of the script by that record."""
        return self._deeds[: bisect_right(self._deeds, number, key=lambda deed: deed.record)]

    def is_over(self, number: int) -> bool:
        """Whether the run has ended by that record."""
        return self._end is not None and self._end <= number
