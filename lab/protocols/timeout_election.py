"""The base of timeout-based elections: the interval of checks, and the timeout for silent nodes."""

from functools import cached_property

from msgspec import Struct

from lab.kernel import Timing
from lab.protocols.election import Election

__all__ = ["TimeoutElection"]


class TimeoutElection(Election):
    """An election with a check interval and a timeout, in microseconds."""

    class Parameters(Struct, frozen=True):
        """A time of 0 is derived from T."""

        check_every_us: int = 0
        """Interval between a coordinator's checks; 0: T."""
        coordinator_timeout_us: int = 0
        """Silence after which a node is presumed failed; 0: 3·T."""

        def check_us(self, timing: Timing) -> int:
            return self.check_every_us or timing.t_us

        def timeout_us(self, timing: Timing) -> int:
            return self.coordinator_timeout_us or 3 * timing.t_us

    @cached_property
    def check_us(self) -> int:
        """The interval between a coordinator's checks."""
        return int(self.parameters.check_us(self.timing))

    @cached_property
    def timeout_us(self) -> int:
        """The silence after which a node is presumed failed."""
        return int(self.parameters.timeout_us(self.timing))
