"""What an election is for: a task that the members of a group perform under their coordinator."""

from collections.abc import Sequence
from typing import Any, ClassVar

from lab.kernel import Timing
from lab.protocols.algorithm import Algorithm
from lab.protocols.definition import Definition

__all__ = ["Task"]


class Task(Algorithm):
    """A layer above an election, which tells it when to stop, how the work is divided now, and when to go on."""

    usual_election: ClassVar[str] = "invitation"
    """The election that it runs above, where none is set."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any, nodes: int) -> int:
        """How much longer than the election it takes until all is in order again."""
        return 0

    def stop_processing(self) -> None:
        """Stop at once: the node is Normal no longer (rule M7)."""

    def resume_processing(self, definition: Definition) -> None:
        """The node is Normal: perform its part of this."""

    def report(self, definition: Definition) -> Definition:
        """The Definition that the node took last, with what it has done of it since."""
        return definition

    def divide(self, new: Definition, reports: Sequence[Definition]) -> Definition:
        """``new`` with the work in it: all that the members report, the newest last, divided among them anew."""
        return new
