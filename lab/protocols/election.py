"""The base of all elections: the state vector of rule M2, and the connection to a task above."""

from collections.abc import Iterable
from enum import Enum
from functools import cached_property

from msgspec.structs import replace

from lab.protocols.algorithm import Algorithm
from lab.protocols.definition import Definition
from lab.protocols.task import Task

__all__ = ["Election", "Status"]


class Status(Enum):
    """The status of a node: the papers' S(i).s."""

    DOWN = "Down"
    ELECTION = "Election"
    REORGANIZATION = "Reorganization"
    NORMAL = "Normal"


class Election(Algorithm):
    """An election with the state vector of rule M2. ``processing``: the node performs its task (rule M7)."""

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
        """True if the node is Normal and its own coordinator."""
        return self.status is Status.NORMAL and self.coordinator == self.id

    @property
    def _task(self) -> Task | None:
        return self.upper_layer if isinstance(self.upper_layer, Task) else None

    def stop_processing(self) -> None:
        """Stop performing the task; only Normal nodes perform it (rule M7)."""
        self.processing = False
        if self._task is not None:
            self._task.stop_processing()

    def resume_processing(self) -> None:
        """Perform the task of the Definition."""
        self.processing = True
        if self._task is not None:
            self._task.resume_processing(self.definition)

    def report(self) -> Definition:
        """Return this node's last Definition, updated with its own results since (rule B10)."""
        return self.definition if self._task is None else self._task.report(self.definition)

    def define(self, version: int, members: Iterable[int], reports: Iterable[Definition]) -> Definition:
        """Return the Definition of a new group under this node, continuing from the reports (B10, F2)."""
        known = sorted(reports, key=lambda report: report.version)
        new = replace(known[-1], version=version, coordinator=self.id, members=tuple(members))
        return new if self._task is None else self._task.divide(new, known)

    @property
    def higher(self) -> tuple[int, ...]:
        """The nodes with a higher priority than this one (rule M1)."""
        return tuple(peer for peer in self.peers if peer > self.id)

    @property
    def lower(self) -> tuple[int, ...]:
        """The nodes with a lower priority than this one (rule M1)."""
        return tuple(peer for peer in self.peers if peer < self.id)
