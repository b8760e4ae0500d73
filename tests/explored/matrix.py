"""The matrix of departures: a protocol explored as it is, in each other reading, and without each of its repairs.

A *gap* is what fails in every reading when its repair is left out; that the repairs suffice is the row of zeros.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from msgspec import Struct

from lab.kernel import CommandInput
from lab.protocols import Algorithm
from lab.units import format_count
from lab.worlds.explored.explorer import Explorer
from lab.worlds.loading.config import simulation_header
from tests.explored.toys import TIMING

__all__ = [
    "MOST_STATES",
    "Bounds",
    "Row",
    "Violation",
    "all_departures",
    "explored",
    "format_matrix",
    "settings_of",
    "single_departures",
]

MOST_STATES = 40_000


class Violation(NamedTuple):
    """The number of states that violate an assertion, the fewest moves to one, the assumptions broken there."""

    states: int
    moves: int
    broken: tuple[int | str, ...]

    def __str__(self) -> str:
        excuse = f" (assumption {', '.join(map(str, self.broken))} broken)" if self.broken else ""
        return f"in {self.states:,}, after {self.moves}{excuse}"


class Row(Struct, frozen=True):
    """An exploration of a protocol with these parameters: its states, and the violated assertions."""

    protocol: str
    parameters: dict[str, Any]
    states: int
    is_complete: bool
    violated: dict[str, Violation]

    @property
    def settings(self) -> str:
        return settings_of(self.parameters)


def settings_of(parameters: dict[str, Any]) -> str:
    """Return the parameters as ``--set`` has them."""
    return " ".join(
        f"{name}={','.join(value) if name == 'without' else value}" for name, value in parameters.items()
    )


def single_departures(protocol: type[Algorithm]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of each: none, each reading that is no default, each repair left out."""
    yield {}
    for reading in protocol.readings:
        yield from ({reading.parameter: value.name} for value in reading.values[1:])
    yield from ({"without": (repair.name,)} for repair in protocol.repairs())


def all_departures(protocol: type[Algorithm]) -> Iterator[dict[str, Any]]:
    """Yield all readings, each with all repairs, and without each one of them."""
    readings = [[(each.parameter, value.name) for value in each.values] for each in protocol.readings]
    for chosen in product(*readings):
        yield dict(chosen)
        for repair in protocol.repairs():
            yield {**dict(chosen), "without": (repair.name,)}


class Bounds(Struct, frozen=True):
    """The bounds of an exploration; ``settled``: it begins with all nodes Normal, and not with their start."""

    nodes: int
    kills: int
    restarts: int
    settled: bool
    cuts: int = 0

    def __str__(self) -> str:
        begin = "all nodes Normal" if self.settled else "their start"
        faults = f"{format_count(self.kills, 'kill')}, {format_count(self.restarts, 'restart')}"
        cuts = f", {format_count(self.cuts, 'cut')}" if self.cuts else ""
        return f"{self.nodes} nodes, from {begin}, {faults}{cuts}, timeouts prompt"


def explored(
    protocol: type[Algorithm],
    parameters: dict[str, Any],
    bounds: Bounds,
    most: int = MOST_STATES,
    commands: tuple[tuple[int, CommandInput], ...] = (),
) -> Row:
    """Explore with messages that take no time, up to so many states."""
    header = simulation_header(protocol, tuple(range(1, bounds.nodes + 1)), TIMING, parameters)
    faults = (bounds.kills, bounds.restarts, bounds.settled, bounds.cuts)
    explorer = Explorer(protocol, header, "prompt", *faults, commands)
    tally = explorer.run(most)
    violated = {
        name: Violation(tally.violated[name], explorer.count_moves_to(name), explorer.broken[name])
        for name in explorer.violated
    }
    return Row(protocol.name, parameters, tally.states, not tally.stopped_by, violated)


def format_matrix(rows: list[Row]) -> str:
    """Format the rows as a table, with the names of protocols if there are several."""
    lines = []
    has_names = len({row.protocol for row in rows}) > 1
    for row in rows:
        label = f"{row.protocol} {row.settings}" if has_names else row.settings or "as it is"
        states = f"{row.states:,}" if row.is_complete else f"stopped at {row.states:,}"
        found = "; ".join(f"{name} {violation}" for name, violation in row.violated.items())
        lines.append(f"{label:<42}{states:>18}  {found or '-'}".rstrip())
    return "\n".join(lines)
