"""How virtual time goes by: how far it may have gone at an instant of real time, which the caller knows."""

__all__ = ["Pace"]

_WHOLE = 1_000_000


class Pace:
    """Virtual time goes ``factor`` times as fast as real time; None: as fast as it can be computed.

    ``since`` is an instant in both: (virtual, real). Whoever changes the factor says since when it holds. A
    factor counts to a millionth, so that all is exact: after ``wait_us`` it has come as far as was waited for.
    """

    def __init__(self, factor: float | None) -> None:
        self.factor = factor
        self.since = (0, 0)

    def start(self, virtual_us: int, real_us: int) -> None:
        """From here on: at that real instant it was so late in virtual time."""
        self.since = (virtual_us, real_us)

    def reached_us(self, real_us: int) -> int | None:
        """How far virtual time may have gone by then; None: there is no bound."""
        if self.factor is None:
            return None
        virtual_us, since_us = self.since
        return virtual_us + (real_us - since_us) * round(self.factor * _WHOLE) // _WHOLE

    def wait_us(self, virtual_us: int, real_us: int) -> int:
        """How long it is, in real time, until that virtual instant."""
        if self.factor is None:
            return 0
        reached_us, since_us = self.since
        ahead_us = -((reached_us - virtual_us) * _WHOLE // round(self.factor * _WHOLE))
        return max(0, since_us + ahead_us - real_us)
