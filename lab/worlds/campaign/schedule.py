"""A schedule: a cluster, and the lines that strike it. It is a script that a person can read and run again."""

import re

from msgspec import Struct
from msgspec.structs import replace

from lab.recording.records import Link
from lab.units import format_us

__all__ = ["Schedule", "ScheduledFault"]

_NUMBER = re.compile(r"\d+(?![\d.]*(us|µs|ms|s|min|m|%))")


class ScheduledFault(Struct, frozen=True):
    """One command, at that time or, with ``on``, at the first such message after it."""

    at_us: int
    on: str
    command: str

    def __str__(self) -> str:
        """The line of the command language."""
        on = f" on {self.on}" if self.on else ""
        return f"at {format_us(self.at_us)}{on} {self.command}"

    def names(self) -> set[int]:
        """The nodes that the command or its trigger names."""
        return {int(match[0]) for match in _NUMBER.finditer(f"{self.on} {self.command}")}

    def without(self, node: int) -> "ScheduledFault | None":
        """The same where that node does not exist; None where nothing is left of it."""
        if node not in self.names():
            return self
        if not self.command.startswith("partition"):
            return None
        sides = [
            " ".join(word for word in side.split() if word != str(node))
            for side in self.command.removeprefix("partition").split("|")
        ]
        return replace(self, command=f"partition {' | '.join(sides)}") if all(sides) else None


class Schedule(Struct, frozen=True):
    """Nodes, links and strikes of one run, which ends at ``end_us``; ``seed`` draws what the links do."""

    seed: int
    nodes: tuple[int, ...]
    link: Link
    strikes: tuple[ScheduledFault, ...]
    end_us: int

    @property
    def last_us(self) -> int:
        """When the last strike is due, as far as that is known beforehand."""
        return max((strike.at_us for strike in self.strikes), default=0)

    def without_node(self, node: int) -> "Schedule":
        """The same without that node."""
        left = (strike.without(node) for strike in self.strikes)
        nodes = tuple(each for each in self.nodes if each != node)
        return replace(self, nodes=nodes, strikes=tuple(strike for strike in left if strike is not None))
