"""The base of timeout-based elections: the interval of checks, and the timeout for silent nodes."""

from functools import cached_property
from typing import Any

from msgspec import Struct

from lab.kernel import Timing
from lab.protocols.election import Election
from lab.units import format_us

__all__ = ["TimeoutElection"]


class TimeoutElection(Election):
    """An election with a check interval and a timeout, in microseconds."""

    class Parameters(Struct, frozen=True):
        """A time of 0 is derived from T."""

        check_every_us: int = 0
        """Interval between a coordinator's checks; 0: T."""
        coordinator_timeout_us: int = 0
        """Silence after which a node is presumed failed, at least T; 0: 3·T."""

        def check_us(self, timing: Timing) -> int:
            return self.check_every_us or timing.t_us

        def timeout_us(self, timing: Timing) -> int:
            return self.coordinator_timeout_us or 3 * timing.t_us

    @classmethod
    def parameter_refusal(cls, timing: Timing, parameters: Any) -> str:
        """Refuse a timeout within which a node that is up may not have been heard: an answer takes up to T."""
        timeout_us = parameters.coordinator_timeout_us
        if timeout_us == 0 or timeout_us >= timing.t_us:
            return ""
        return (
            f"coordinator_timeout={format_us(timeout_us)} is less than T, {format_us(timing.t_us)}, which an "
            "answer may take, so that a coordinator that is up would be presumed failed; choose a longer one, or "
            "a shorter T"
        )

    @cached_property
    def check_us(self) -> int:
        """The interval between a coordinator's checks."""
        return int(self.parameters.check_us(self.timing))

    @cached_property
    def timeout_us(self) -> int:
        """The silence after which a node is presumed failed."""
        return int(self.parameters.timeout_us(self.timing))
