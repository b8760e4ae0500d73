"""What came of a run's script, and what was said to those who watch: as of any record, without reading the run."""

from bisect import bisect_right
from collections.abc import Sequence

from lab.journal.records import Captioned, Commanded, End, Expected, Record

__all__ = ["Deed", "ScriptLog"]

Deed = Commanded | Captioned | Expected
"""What is recorded of a line of a script."""


class ScriptLog:
    """Shown the records of a run in their order, it keeps the few that are of its script."""

    def __init__(self) -> None:
        self._captions: list[tuple[int, Captioned]] = []
        self._deeds: list[tuple[int, Deed]] = []
        self._end: int | None = None

    def add(self, number: int, record: Record | None) -> None:
        """Look at the record with that number."""
        if isinstance(record, Captioned) and not record.mark:
            self._captions.append((number, record))
        if isinstance(record, Deed) and record.line:
            self._deeds.append((number, record))
        if isinstance(record, End):
            self._end = number

    def captions(self, number: int, most: int) -> list[Captioned]:
        """The last things said by that record, so many at most."""
        place = bisect_right(self._captions, number, key=lambda said: said[0])
        return [caption for _, caption in self._captions[max(0, place - most) : place]]

    def deeds(self, number: int) -> Sequence[tuple[int, Deed]]:
        """What was done by that record of the lines of the script, each with the number of its own."""
        return self._deeds[: bisect_right(self._deeds, number, key=lambda deed: deed[0])]

    def is_over(self, number: int) -> bool:
        """Whether the run has ended by that record."""
        return self._end is not None and self._end <= number
