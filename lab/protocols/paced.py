"""An election by timeouts: how often it looks whether all is well, and how long silence may last."""

from functools import cached_property

from msgspec import Struct

from lab.kernel import Timing
from lab.protocols.election import Election

__all__ = ["PacedElection"]


class PacedElection(Election):
    """The two times of such an election, in microseconds."""

    class Parameters(Struct, frozen=True):
        """A time of 0 is derived from T."""

        check_every_us: int = 0
        """How often a coordinator checks whether all is well; 0: T."""
        coordinator_timeout_us: int = 0
        """How long a node may be silent before it is missed; 0: 3·T."""

        def check_us(self, timing: Timing) -> int:
            """How often a coordinator checks."""
            return self.check_every_us or timing.t_us

        def timeout_us(self, timing: Timing) -> int:
            """How long a node may be silent."""
            return self.coordinator_timeout_us or 3 * timing.t_us

    @cached_property
    def check_us(self) -> int:
        """How often a coordinator checks."""
        return int(self.parameters.check_us(self.timing))

    @cached_property
    def timeout_us(self) -> int:
        """How long a node may be silent."""
        return int(self.parameters.timeout_us(self.timing))
