"""The rules of ShiViz for logs, and where it draws arrows; written from its parser, independently of our exporter.

A file's first line is a regular expression, its second the separator of runs (empty: one run), the rest the log.
ShiViz applies the expression repeatedly, from where it last matched.
"""

import json
import re

from msgspec import Struct

__all__ = ["Event", "NotTakenError", "arrows_in", "events_in"]

_NO_LINE_END = "[^\\n\\r\u2028\u2029]"
_Place = tuple[str, int]


class NotTakenError(AssertionError):
    """ShiViz would refuse the file, or misread it."""


class Event(Struct):
    """An event: its text, its host, and its clock."""

    text: str
    host: str
    clock: dict[str, int]

    @property
    def place(self) -> _Place:
        """The identity of the event: its host and its own clock entry."""
        return self.host, self.clock[self.host]


def events_in(file: str) -> list[Event]:
    """Return the events of a file that obeys every rule. Raises NotTakenError."""
    expression, separator, log = file.split("\n", 2)
    _must("\r" not in file, "a line ends in CRLF")
    _must(not separator.strip(), "the second line is not empty")
    events = _read(expression, log)
    _must(bool(events), "there are no events")
    _must(2 * len(events) == len(log.strip().split("\n")), "lines are left over, or taken for something else")
    own: dict[str, list[int]] = {}
    for event in events:
        _must(bool(event.text.strip()), "an event has no text")
        own.setdefault(event.host, []).append(event.clock[event.host])
    for host, entries in own.items():
        _must(entries == list(range(1, len(entries) + 1)), f"{host} counts {entries}")
    for event in events:
        for host, entry in event.clock.items():
            _must(host in own, f"{event.place} knows of {host}, which is nowhere")
            _must(1 <= entry <= len(own[host]), f"{event.place} knows of event {entry} of {host}")
    _check_clocks(events)
    return events


def arrows_in(events: list[Event]) -> set[tuple[_Place, _Place]]:
    """Return the arrows that ShiViz draws: where an entry grows, unless another arrow implies it."""
    at = {event.place: event for event in events}
    known: dict[str, dict[str, int]] = {}
    arrows = set()
    for event in events:
        before = known.get(event.host, {})
        grown = [
            (host, entry)
            for host, entry in event.clock.items()
            if host != event.host and entry > before.get(host, 0)
        ]
        through = {(host, entry) for place in grown for host, entry in at[place].clock.items() if host != place[0]}
        arrows |= {(place, event.place) for place in grown if place not in through}
        known[event.host] = event.clock
    return arrows


def _read(expression: str, log: str) -> list[Event]:
    pattern = re.compile(expression.replace("(?<", "(?P<").replace(".*", f"{_NO_LINE_END}*"), re.MULTILINE)
    events = []
    for match in pattern.finditer(log.strip()):
        try:
            clock = json.loads(match["clock"])
        except ValueError as error:
            raise NotTakenError(f"{match['clock']} is no JSON: {error}") from None
        _must(match["host"] in clock, f"{match['host']} is not in its own clock {clock}")
        events.append(Event(match["event"], match["host"], clock))
    return events


def _check_clocks(events: list[Event]) -> None:
    """Check that clocks include those of the events they name, never decrease, and know nothing of the future."""
    at = {event.place: event for event in events}
    known: dict[str, dict[str, int]] = {}
    for event in events:
        result = [known.get(event.host, {}), *(at[place].clock for place in event.clock.items())]
        for clock in result:
            for host, entry in clock.items():
                _must(event.clock.get(host, 0) >= entry, f"{event.place} should know of {entry} of {host}")
        for place in event.clock.items():
            back = at[place].clock.get(event.host, 0)
            _must(place == event.place or back < event.place[1], f"{place} and {event.place} know of each other")
        known[event.host] = event.clock


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NotTakenError(otherwise)
