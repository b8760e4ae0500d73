"""The frame rate: ten frames per second, and fewer on a shared machine that cannot keep up."""

import time
from collections.abc import Callable

_OWN_S = 0.1
_SERVED_S = (0.25, 1.0)
"""The shortest and longest period on a server. Four frames a second still show time passing."""
_LATE_S = 0.05
_SLOWER, _FASTER = 1.5, 0.95


class FrameRate:
    """The adaptive frame rate; ``period_s`` is the time from one frame to the next.

    On a shared machine (``is_served``), a late frame means overload. Each session then slows down by itself, and
    together they settle at a rate at which frames are on time.
    """

    def __init__(self, is_served: bool) -> None:
        self._is_served = is_served
        self.period_s = _SERVED_S[0] if is_served else _OWN_S

    def on_frame_drawn(self, late_s: float) -> None:
        """Adapt the period to how late the last frame was drawn."""
        if self._is_served:
            least_s, most_s = _SERVED_S
            factor = _SLOWER if late_s > _LATE_S else _FASTER
            self.period_s = min(max(self.period_s * factor, least_s), most_s)


class FrameTimer:
    """Calls ``draw`` once per frame; ``later(delay_s, callback)`` schedules a call."""

    def __init__(
        self, draw: Callable[[], None], later: Callable[[float, Callable[[], None]], object], is_served: bool
    ) -> None:
        self._draw = draw
        self._later = later
        self._rate = FrameRate(is_served)

    def schedule_next(self) -> None:
        """Schedule the next frame, and all after it."""
        self._due_s = time.monotonic() + self._rate.period_s
        self._later(self._rate.period_s, self._next)

    def _next(self) -> None:
        self._rate.on_frame_drawn(time.monotonic() - self._due_s)
        self._draw()
        self.schedule_next()
