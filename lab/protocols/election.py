"""What every election protocol has in common: the state vector of rule M2, and the task it is done for."""

from collections.abc import Iterable
from enum import Enum
from functools import cached_property

from msgspec.structs import replace

from lab.protocols.algorithm import Algorithm
from lab.protocols.definition import Definition
from lab.protocols.task import Task

__all__ = ["Election", "Status"]


class Status(Enum):
    """The sources' S(i).s."""

    DOWN = "Down"
    ELECTION = "Election"
    REORGANIZATION = "Reorganization"
    NORMAL = "Normal"


class Election(Algorithm):
    """The state vector of rule M2. ``processing`` says whether the node performs its task (rule M7)."""

    status: Status = Status.DOWN
    coordinator: int | None = None
    definition: Definition = Definition()
    up: frozenset[int] = frozenset()
    processing: bool = False

    @cached_property
    def t_us(self) -> int:
        """T: the bound of a request with its answer, in microseconds."""
        return self.timing.t_us

    @property
    def leads(self) -> bool:
        """Whether it is Normal, and its own coordinator."""
        return self.status is Status.NORMAL and self.coordinator == self.id

    @property
    def _task(self) -> Task | None:
        return self.above if isinstance(self.above, Task) else None

    def stop_processing(self) -> None:
        """Stop performing the task: whoever is not Normal performs none (rule M7)."""
        self.processing = False
        if self._task is not None:
            self._task.stop_processing()

    def resume_processing(self) -> None:
        """Perform the task as the Definition has it."""
        self.processing = True
        if self._task is not None:
            self._task.resume_processing(self.definition)

    def report(self) -> Definition:
        """The last Definition that this node took, with what the node has done of it since (rule B10)."""
        return self.definition if self._task is None else self._task.report(self.definition)

    def define(self, version: int, members: Iterable[int], reports: Iterable[Definition]) -> Definition:
        """The Definition of a new group under this node; it goes on from what the members report (B10, F2)."""
        known = sorted(reports, key=lambda report: report.version)
        new = replace(known[-1], version=version, coordinator=self.id, members=tuple(members))
        return new if self._task is None else self._task.divide(new, known)

    @property
    def higher(self) -> tuple[int, ...]:
        """The nodes that outrank this one (rule M1)."""
        return tuple(peer for peer in self.peers if peer > self.id)

    @property
    def lower(self) -> tuple[int, ...]:
        """The nodes that this one outranks."""
        return tuple(peer for peer in self.peers if peer < self.id)
