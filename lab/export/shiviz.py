"""A log with vector clocks, for ShiViz, which shows causality without time.

The first line is the regular expression with which ShiViz parses the rest. The second could separate runs, and is
empty. An event has two lines: the text, then node and clock. A node's own entry counts the events in the file, so
windows and hidden heartbeats leave no gaps; a message sent before the window adds no knowledge. ShiViz draws an
arrow where an entry of another node grows. So a message overtaken by a later one of the same sender has no arrow;
its serial number is in the text.
"""

from collections.abc import Iterable, Iterator
from typing import TextIO

from lab.export.activities import Activity, activities_in
from lab.export.excerpt import Excerpt, ExportError
from lab.recording.records import encode
from lab.units import format_us

__all__ = ["write_shiviz"]

_PARSER = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
_Clock = dict[int, int]


def write_shiviz(excerpt: Excerpt, out: TextIO) -> None:
    """Write the log. Raises ExportError if it would be empty, which ShiViz does not accept."""
    activities = activities_in(excerpt)
    if not activities:
        raise ExportError(
            f"no events from {format_us(excerpt.from_us)} until {format_us(excerpt.until_us)}: "
            "choose a longer window with --from and --until, or add --heartbeats"
        )
    out.write(f"{_PARSER}\n\n")
    for activity, clock in _with_clocks(activities):
        # the leading time and blank keep ShiViz from parsing a line of a word and a brace as a clock
        out.write(f"{activity.at_us / 1e6:.6f} s: {'; '.join(activity.descriptions)}\n")
        encoded_clock = encode({_host(node): clock[node] for node in sorted(clock)}).decode()
        out.write(f"{_host(activity.node)} {encoded_clock}\n")


def _host(node: int) -> str:
    return f"node{node}"


def _with_clocks(activities: Iterable[Activity]) -> Iterator[tuple[Activity, _Clock]]:
    """Yield each activity with the number of events of every node that it may know of, itself included."""
    clocks: dict[int, _Clock] = {}
    stamps: dict[tuple[int, int], _Clock] = {}
    for activity in activities:
        clock = clocks.setdefault(activity.node, {})
        clock[activity.node] = clock.get(activity.node, 0) + 1
        received = {} if activity.received is None else stamps.get(activity.received.line.message, {})
        for node, events in received.items():
            clock[node] = max(clock.get(node, 0), events)
        stamp = dict(clock)
        stamps.update((edge.line.message, stamp) for edge in activity.sent)
        yield activity, clock
