"""A schedule: a cluster, and timed commands. It is a script that a person can read and run again."""

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
        """Return the line of the command language."""
        on = f" on {self.on}" if self.on else ""
        return f"at {format_us(self.at_us)}{on} {self.command}"

    def named_nodes(self) -> set[int]:
        """Return the nodes that the command or its trigger names."""
        return {int(match[0]) for match in _NUMBER.finditer(f"{self.on} {self.command}")}

    def without(self, node: int) -> "ScheduledFault | None":
        """Return it without that node; None if nothing is left."""
        if node not in self.named_nodes():
            return self
        if not self.command.startswith("partition"):
            return None
        sides = [
            " ".join(word for word in side.split() if word != str(node))
            for side in self.command.removeprefix("partition").split("|")
        ]
        return replace(self, command=f"partition {' | '.join(sides)}") if all(sides) else None


class Schedule(Struct, frozen=True):
    """The nodes, links and faults of one run, which ends at ``end_us``; ``seed`` determines the links' draws."""

    seed: int
    nodes: tuple[int, ...]
    link: Link
    faults: tuple[ScheduledFault, ...]
    end_us: int

    @property
    def last_us(self) -> int:
        """When the last fault is due, as far as that is known in advance."""
        return max((fault.at_us for fault in self.faults), default=0)

    def without_node(self, node: int) -> "Schedule":
        left = (fault.without(node) for fault in self.faults)
        nodes = tuple(each for each in self.nodes if each != node)
        return replace(self, nodes=nodes, faults=tuple(fault for fault in left if fault is not None))
