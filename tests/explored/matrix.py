"""The matrix of departures: a protocol explored as it is, in each other reading, and without each of its repairs.

A *gap* is what fails in every reading when its repair is left out; that the repairs suffice is the row of zeros.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

from msgspec import Struct

from lab.protocols import Algorithm
from lab.units import format_count
from lab.worlds.explored.explorer import Explorer
from lab.worlds.loading.config import simulation_header
from tests.explored.toys import TIMING

__all__ = ["MOST_STATES", "Bounds", "Row", "all_departures", "explored", "format_matrix", "single_departures"]

MOST_STATES = 30_000


class Row(Struct, frozen=True):
    """An exploration with these parameters: its states, and for each violated assertion (states, fewest moves)."""

    parameters: dict[str, Any]
    states: int
    is_complete: bool
    violated: dict[str, tuple[int, int]]

    @property
    def settings(self) -> str:
        """The parameters as ``--set`` has them."""
        texts = (
            f"{name}={','.join(value) if name == 'without' else value}" for name, value in self.parameters.items()
        )
        return " ".join(texts) or "as it is"


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

    def __str__(self) -> str:
        begin = "all nodes Normal" if self.settled else "their start"
        faults = f"{format_count(self.kills, 'kill')}, {format_count(self.restarts, 'restart')}"
        return f"{self.nodes} nodes, from {begin}, {faults}, timeouts prompt"


def explored(
    protocol: type[Algorithm], parameters: dict[str, Any], bounds: Bounds, most: int = MOST_STATES
) -> Row:
    """Explore with messages that take no time, up to so many states."""
    header = simulation_header(protocol, tuple(range(1, bounds.nodes + 1)), TIMING, parameters)
    explorer = Explorer(protocol, header, "prompt", bounds.kills, bounds.restarts, bounds.settled)
    tally = explorer.run(most)
    violated = {name: (tally.violated[name], explorer.count_moves_to(name)) for name in explorer.violated}
    return Row(parameters, tally.states, not tally.stopped_by, violated)


def format_matrix(rows: list[Row]) -> str:
    """Format the rows as a table."""
    lines = []
    for row in rows:
        states = f"{row.states:,}" if row.is_complete else f"stopped at {row.states:,}"
        found = "; ".join(f"{name} in {count:,}, after {moves}" for name, (count, moves) in row.violated.items())
        lines.append(f"{row.settings:<42}{states:>18}  {found or '-'}".rstrip())
    return "\n".join(lines)
