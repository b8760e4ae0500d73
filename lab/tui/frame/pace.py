"""How often a screen is drawn: ten times a second, and less where a machine draws for many and cannot keep up."""

import time
from collections.abc import Callable

__all__ = ["Frames", "Pace"]

_OWN_S = 0.1
_SERVED_S = (0.25, 1.0)
"""From and to: at four a second time is seen to pass, and a key is answered at once in any case."""
_LATE_S = 0.05
_SLOWER, _FASTER = 1.5, 0.95


class Pace:
    """``period_s`` is the time from one frame to the next.

    ``is_served``: on a machine that many share. It is too much for it when what was to be drawn was drawn late; so
    each makes way by itself, and all of them together come to rest where frames are in time.
    """

    def __init__(self, is_served: bool) -> None:
        self._is_served = is_served
        self.period_s = _SERVED_S[0] if is_served else _OWN_S

    def woke(self, late_s: float) -> None:
        """The last frame was drawn so much later than it should have been."""
        if self._is_served:
            least_s, most_s = _SERVED_S
            factor = _SLOWER if late_s > _LATE_S else _FASTER
            self.period_s = min(max(self.period_s * factor, least_s), most_s)


class Frames:
    """``draw`` is called again and again; ``later`` calls something in so many seconds."""

    def __init__(
        self, draw: Callable[[], None], later: Callable[[float, Callable[[], None]], object], is_served: bool
    ) -> None:
        self._draw = draw
        self._later = later
        self._pace = Pace(is_served)

    def go_on(self) -> None:
        """Draw after a while, and so on."""
        self._due_s = time.monotonic() + self._pace.period_s
        self._later(self._pace.period_s, self._next)

    def _next(self) -> None:
        self._pace.woke(time.monotonic() - self._due_s)
        self._draw()
        self.go_on()
