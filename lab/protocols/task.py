"""The task above an election, which the members of a group perform under their coordinator."""

from collections.abc import Sequence
from typing import Any, ClassVar

from lab.kernel import Timing
from lab.protocols.algorithm import Algorithm
from lab.protocols.definition import Definition

__all__ = ["Task"]


class Task(Algorithm):
    """A layer above an election. The election stops it, has the work divided anew, and resumes it."""

    usual_election: ClassVar[str] = "invitation"
    """The election below the task by default."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any, nodes: int) -> int:
        """Return the time that the task needs to settle after the election has."""
        return 0

    def stop_processing(self) -> None:
        """Stop at once: the node is no longer Normal (rule M7)."""

    def resume_processing(self, definition: Definition) -> None:
        """Perform this node's part of the Definition: the node is Normal."""

    def report(self, definition: Definition) -> Definition:
        """Return the node's last Definition, updated with the node's own results since."""
        return definition

    def divide(self, new: Definition, reports: Sequence[Definition]) -> Definition:
        """Return ``new`` with the work of all reports divided among its members; the newest report is last."""
        return new
