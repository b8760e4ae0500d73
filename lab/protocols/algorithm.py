"""What every algorithm here says of itself: what it promises, what that takes, and what it costs."""

from typing import Any, ClassVar

from lab.kernel import Protocol, Timing
from lab.protocols.cost import Cost

__all__ = ["Algorithm"]


class Algorithm(Protocol):
    """A protocol that can be run, judged and compared by its name."""

    promises: ClassVar[tuple[str, ...]] = ()
    """The assertions that hold while the assumptions do."""

    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {}
    """The numbers of the assumptions that a promise needs, where it does not need all nine."""

    chosen: ClassVar[dict[str, str]] = {}
    """The parameters that tell this class from others of its name: what a task runs above."""

    kept_busy_by: ClassVar[tuple[str, ...]] = ()
    """Commands that a campaign gives to its nodes, so that there is something to strike at."""

    costs: ClassVar[tuple[Cost, ...]] = ()
    """What an election costs by the formula, in one case or several."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any, nodes: int) -> int:
        """How long after the last fault all is in order again among so many nodes (A2, A4)."""
        return 30 * timing.t_us
