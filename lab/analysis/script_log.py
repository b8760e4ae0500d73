"""Collect the results of the lines of a run's script, and its captions.

The report, the interface, and the trial of a recorded script all use it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Commanded, End, Expected, Fault, Record

_How = Literal["said", "marked", "done", "met", "no effect", "refused", "not met", "inert"]


class LineResult(Struct, frozen=True, gc=False):
    """The result of a script line, as the word ``how``; ``record`` is the number of the record that shows it.

    ``why`` is the detail in that record.
    """

    line: int
    record: int
    at_us: int
    how: _How
    why: str = ""

    @property
    def succeeded(self) -> bool:
        """True if the line had its intended effect."""
        return self.how in ("said", "marked", "done", "met")


class LoggedCommand(Struct, frozen=True, gc=False):
    """A command that was given by hand, or at the start of the run, and its result."""

    text: str
    result: LineResult


def line_result(number: int, record: Record | None) -> LineResult | None:
    """Return the result of a line that the record shows, or None if it belongs to no line."""
    if not isinstance(record, Captioned | Commanded | Expected) or not record.line:
        return None
    return LineResult(record.line, number, record.at_us, *_how_and_why(record))


def _how_and_why(record: Captioned | Commanded | Expected) -> tuple[_How, str]:
    if isinstance(record, Captioned):
        return "marked" if record.mark else "said", ""
    if isinstance(record, Expected):
        return "met" if record.met else "not met", record.why
    if record.refused:
        return "refused", record.outcome
    return "done" if record.changed else "no effect", record.outcome


def given_command(number: int, record: Record | None) -> LoggedCommand | None:
    """Return the command given by hand whose result the record shows, or None."""
    if not isinstance(record, Captioned | Commanded | Expected) or record.line:
        return None
    text = f'{"mark" if record.mark else "say"} "{record.text}"' if isinstance(record, Captioned) else record.text
    return LoggedCommand(text, LineResult(0, number, record.at_us, *_how_and_why(record)))


def inert_results(records: Iterable[tuple[int, Record | None]], cluster: ClusterState) -> list[LineResult]:
    """Return a result for each line none of whose faults touched anything, at the first of its faults.

    ``records`` come with their numbers; ``cluster`` is the state after them.
    """
    touched = {view.id for view in (*cluster.lifted, *cluster.faults.values()) if view.touched}
    faults = [(number, each) for number, each in records if isinstance(each, Fault) and each.line]
    touching = {fault.line for _, fault in faults if fault.id in touched}
    inert: dict[int, LineResult] = {}
    for number, fault in faults:
        if fault.line not in touching:
            inert.setdefault(fault.line, LineResult(fault.line, number, fault.at_us, "inert"))
    return list(inert.values())


class ScriptLog:
    """The results and captions of a script as of any record; call ``add`` with the records in order."""

    def __init__(self) -> None:
        self._captions: list[tuple[int, Captioned]] = []
        self._results: list[LineResult] = []
        self._given: list[LoggedCommand] = []
        self._end: int | None = None

    def add(self, number: int, record: Record | None) -> None:
        """Add the record with that number."""
        if isinstance(record, Captioned) and not record.mark:
            self._captions.append((number, record))
        result = line_result(number, record)
        if result is not None:
            self._results.append(result)
        elif (given := given_command(number, record)) is not None:
            self._given.append(given)
        if isinstance(record, End):
            self._end = number

    def captions(self, number: int, most: int) -> list[Captioned]:
        """Return the last captions up to that record, at most ``most``."""
        place = bisect_right(self._captions, number, key=lambda numbered: numbered[0])
        return [caption for _, caption in self._captions[max(0, place - most) : place]]

    def results(self, number: int) -> Sequence[LineResult]:
        """Return the results of script lines up to that record."""
        return self._results[: bisect_right(self._results, number, key=lambda result: result.record)]

    def given(self, number: int) -> Sequence[LoggedCommand]:
        """Return the commands given by hand that were executed up to that record."""
        return self._given[: bisect_right(self._given, number, key=lambda given: given.result.record)]

    @property
    def has_given(self) -> bool:
        """True if a command given by hand was executed."""
        return bool(self._given)

    def is_over(self, number: int) -> bool:
        """Return whether the run has ended at that record."""
        return self._end is not None and self._end <= number
