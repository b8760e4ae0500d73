"""The pace of virtual time, which the host keeps and a client follows between two messages from it."""

_WHOLE = 1_000_000


class Pace:
    """Virtual time runs ``factor`` times as fast as real time; None: as fast as possible.

    ``since`` is one instant in both: (virtual, real). Call ``start`` when the factor changes. The factor is
    rounded to a millionth, so that the arithmetic is exact: after ``wait_us``, ``reached_us`` is at least the
    instant waited for.
    """

    def __init__(self, factor: float | None) -> None:
        self.factor = factor
        self.since = (0, 0)

    def start(self, virtual_us: int, real_us: int) -> None:
        """Continue from here: this virtual instant is at that real instant."""
        self.since = (virtual_us, real_us)

    def reached_us(self, real_us: int) -> int | None:
        """Return how far virtual time may have got by then; None: there is no bound."""
        if self.factor is None:
            return None
        virtual_us, since_us = self.since
        return virtual_us + (real_us - since_us) * round(self.factor * _WHOLE) // _WHOLE

    def wait_us(self, virtual_us: int, real_us: int) -> int:
        """Return how long to wait, in real time, until that virtual instant."""
        if self.factor is None:
            return 0
        reached_us, since_us = self.since
        ahead_us = -((reached_us - virtual_us) * _WHOLE // round(self.factor * _WHOLE))
        return max(0, since_us + ahead_us - real_us)
