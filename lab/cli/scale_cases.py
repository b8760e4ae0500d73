"""The measurements of ``lab scale``: elections in one or several cases, in growing clusters."""

from msgspec import Struct

from lab.protocols import Cost, Election
from lab.protocols.cost import Detection
from lab.worlds.scalability import Measurement

__all__ = ["MOST_MESSAGES", "ScaleCase", "ScaleRow", "ScaleStudy"]

MOST_MESSAGES = 10_000
"""Cases above this limit, by their formula, are skipped; except for the first, which a plain run shows."""

_MANY = 1_000
"""A cluster size at which the order of the cases is clear."""


class ScaleRow(Struct, frozen=True):
    """A measurement, and how long it took. ``measured`` is None if it was skipped."""

    nodes: int
    measured: Measurement | None
    seconds: float


class ScaleCase(Struct, frozen=True):
    """A case with its formula, and formulas that are only shown next to it."""

    cost: Cost | None
    other_costs: list[Cost]
    rows: list[ScaleRow]

    @property
    def name(self) -> str:
        return "" if self.cost is None else self.cost.case

    @property
    def detection(self) -> Detection:
        """The way in which the nodes detect the crash; by default, each by itself."""
        return "by each" if self.cost is None or self.cost.detection is None else self.cost.detection

    @property
    def measured(self) -> list[Measurement]:
        """The measurements that were not skipped."""
        return [row.measured for row in self.rows if row.measured is not None]

    def messages(self, nodes: float) -> float:
        """Return the number of messages by the formula; 0 without a formula."""
        return 0 if self.cost is None else self.cost.messages(nodes)


class ScaleStudy(Struct, frozen=True):
    """The measurements of one protocol."""

    protocol: type[Election]
    cases: list[ScaleCase]

    @classmethod
    def of(cls, protocol: type[Election]) -> "ScaleStudy":
        """Return an empty study: one case per measurable formula, or a single plain one."""
        cases: list[ScaleCase] = []
        for cost in protocol.costs:
            if cost.detection is not None:
                cases.append(ScaleCase(cost, [], []))
            elif cases:
                cases[-1].other_costs.append(cost)
        return cls(protocol, cases or [ScaleCase(None, list(protocol.costs), [])])

    @property
    def name(self) -> str:
        return self.protocol.name

    @property
    def measured(self) -> list[Measurement]:
        """The measurements of all cases."""
        return [each for case in self.cases for each in case.measured]

    def best(self) -> ScaleCase:
        """Return the case with the fewest messages."""
        return min(self.cases, key=lambda case: case.messages(_MANY))

    def worst(self) -> ScaleCase:
        """Return the case with the most messages."""
        return max(self.cases, key=lambda case: case.messages(_MANY))
