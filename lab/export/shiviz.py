"""A log with vector clocks, for ShiViz: who could know of what, without any time.

The first line is the regular expression by which ShiViz reads the rest, the second would be what parts one run
from the next. An event is two lines, the second its node and clock. A node's own entry counts the events that are
in the file, so that there is no hole where a window cuts or heartbeats are left out; a message that was sent
before the window tells nothing. ShiViz draws an arrow where an entry of another node grows: a message that a later
one of the same sender has overtaken gets none, and is found by its number in the text.
"""

from collections.abc import Iterable, Iterator
from typing import TextIO

from lab.export.doings import Doing, doings_of
from lab.export.excerpt import Excerpt, ExportError
from lab.recording.records import encode
from lab.units import format_us

__all__ = ["write_shiviz"]

_PARSER = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
_Clock = dict[int, int]


def write_shiviz(excerpt: Excerpt, out: TextIO) -> None:
    """Write the log. ExportError where it would be empty, which ShiViz does not take."""
    doings = doings_of(excerpt)
    if not doings:
        raise ExportError(
            f"no node did anything from {format_us(excerpt.from_us)} until {format_us(excerpt.until_us)}, "
            "and ShiViz needs an event: choose a longer time with --from and --until, or add --heartbeats"
        )
    out.write(f"{_PARSER}\n\n")
    for doing, clock in _clocked(doings):
        # the time comes first, and with a blank after it: ShiViz takes a line of a word and a brace for a clock
        out.write(f"{doing.at_us / 1e6:.6f} s: {'; '.join(doing.said)}\n")
        clock_said = encode({_host(node): clock[node] for node in sorted(clock)}).decode()
        out.write(f"{_host(doing.node)} {clock_said}\n")


def _host(node: int) -> str:
    return f"node{node}"


def _clocked(doings: Iterable[Doing]) -> Iterator[tuple[Doing, _Clock]]:
    """Each with the number of events of every node that it may know of, itself among them."""
    clocks: dict[int, _Clock] = {}
    stamps: dict[tuple[int, int], _Clock] = {}
    for doing in doings:
        clock = clocks.setdefault(doing.node, {})
        clock[doing.node] = clock.get(doing.node, 0) + 1
        told = {} if doing.got is None else stamps.get(doing.got.line.message, {})
        for node, events in told.items():
            clock[node] = max(clock.get(node, 0), events)
        stamp = dict(clock)
        stamps.update((arrow.line.message, stamp) for arrow in doing.sent)
        yield doing, clock
