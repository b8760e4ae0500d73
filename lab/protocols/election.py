"""What every election protocol has in common: the state vector of rule M2, and the task it is done for."""

from enum import Enum
from typing import Any, ClassVar

from lab.kernel import Payload, Protocol, Timing
from lab.protocols.cost import Cost

__all__ = ["Definition", "Election", "Status"]


class Status(Enum):
    """The sources' S(i).s."""

    DOWN = "Down"
    ELECTION = "Election"
    REORGANIZATION = "Reorganization"
    NORMAL = "Normal"


class Definition(Payload, frozen=True):
    """The task being performed and its state (S(i).d): who does it, under whom, and how new that is.

    Of two definitions the one with the higher ``version`` is the newer. Version 0 is no task at all.
    """

    version: int = 0
    coordinator: int | None = None
    members: tuple[int, ...] = ()


class Election(Protocol):
    """The state vector of rule M2. ``processing`` says whether the node performs its task (rule M7)."""

    promises: ClassVar[tuple[str, ...]] = ()
    """The assertions that hold while the assumptions do."""

    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {}
    """The numbers of the assumptions that a promise needs, where it does not need all nine."""

    costs: ClassVar[tuple[Cost, ...]] = ()
    """What an election costs by the formula; of several cases, the first is the one that a plain run shows."""

    status: Status = Status.DOWN
    coordinator: int | None = None
    definition: Definition = Definition()
    up: frozenset[int] = frozenset()
    processing: bool = False

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any) -> int:
        """How long after the last fault all nodes have agreed on a coordinator (A2)."""
        return 30 * timing.t_us

    def stop_processing(self) -> None:
        """Stop performing the task: whoever is not Normal performs none (rule M7)."""
        self.processing = False

    def resume_processing(self) -> None:
        """Perform the task as the Definition has it."""
        self.processing = True

    @property
    def higher(self) -> tuple[int, ...]:
        """The nodes that outrank this one (rule M1)."""
        return tuple(peer for peer in self.peers if peer > self.id)

    @property
    def lower(self) -> tuple[int, ...]:
        """The nodes that this one outranks."""
        return tuple(peer for peer in self.peers if peer < self.id)
