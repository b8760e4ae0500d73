"""What ``lab scale`` measures of a protocol: an election in one case or several, in growing clusters."""

from msgspec import Struct

from lab.protocols import Cost, Election
from lab.protocols.cost import Noticed
from lab.worlds.scaling import Measurement

__all__ = ["MOST_MESSAGES", "Case", "Row", "Scale"]

MOST_MESSAGES = 10_000
"""What takes more by its formula is not measured, but for the first case: that is what a plain run shows."""

_MANY = 1_000
"""With so many nodes it is plain which case is the best."""


class Row(Struct, frozen=True):
    """One measurement, and how long it took to make; None: it would have taken too long."""

    nodes: int
    measured: Measurement | None
    seconds: float


class Case(Struct, frozen=True):
    """One case, by its formula, with the formulas that are only shown beside it."""

    cost: Cost | None
    beside: list[Cost]
    rows: list[Row]

    @property
    def name(self) -> str:
        """In words."""
        return "" if self.cost is None else self.cost.case

    @property
    def noticed(self) -> Noticed:
        """How it is brought about."""
        return "by each" if self.cost is None or self.cost.noticed is None else self.cost.noticed

    @property
    def measured(self) -> list[Measurement]:
        """Without what was left out."""
        return [row.measured for row in self.rows if row.measured is not None]

    def messages(self, nodes: float) -> float:
        """By the formula, if there is one."""
        return 0 if self.cost is None else self.cost.messages(nodes)


class Scale(Struct, frozen=True):
    """What is measured of one protocol."""

    protocol: type[Election]
    cases: list[Case]

    @classmethod
    def of(cls, protocol: type[Election]) -> "Scale":
        """Nothing yet; where no formula is of a case to be measured, a plain run is to be."""
        cases: list[Case] = []
        for cost in protocol.costs:
            if cost.noticed is not None:
                cases.append(Case(cost, [], []))
            elif cases:
                cases[-1].beside.append(cost)
        return cls(protocol, cases or [Case(None, list(protocol.costs), [])])

    @property
    def name(self) -> str:
        """The protocol's."""
        return self.protocol.name

    @property
    def measured(self) -> list[Measurement]:
        """Of all cases."""
        return [each for case in self.cases for each in case.measured]

    def best(self) -> Case:
        """The case with the fewest messages."""
        return min(self.cases, key=lambda case: case.messages(_MANY))

    def worst(self) -> Case:
        """The case with the most."""
        return max(self.cases, key=lambda case: case.messages(_MANY))
