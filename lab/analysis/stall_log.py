"""The scheduling stalls of a run, added up: how much of a delay they explain."""

from bisect import bisect_right

from lab.recording.records import Stall


class StallLog:
    """The recorded stalls of the host and of the nodes, each process by itself. Times are in microseconds."""

    def __init__(self) -> None:
        self._stalls: dict[int | None, _Stalls] = {}

    def add(self, stall: Stall) -> None:
        """Add the next recorded stall."""
        self._stalls.setdefault(stall.node, _Stalls()).add(stall)

    def since(self, us: int, *processes: int | None) -> int:
        """Return for how long at least one of these has not been scheduled since ``us``; None is the host.

        It is the most of any one of them: where a delay is excused, no moment of it may count twice.
        """
        if not self._stalls:
            return 0
        return max(self._stalls[each].since(us) if each in self._stalls else 0 for each in processes)


class _Stalls:
    """The stalls of one process: their ends, and how long it had been stalled by then."""

    def __init__(self) -> None:
        self._stalls: list[Stall] = []
        self._ends_us: list[int] = []
        self._totals_us = [0]

    def add(self, stall: Stall) -> None:
        self._stalls.append(stall)
        self._ends_us.append(stall.at_us)
        self._totals_us.append(self._totals_us[-1] + stall.lasted_us)

    def since(self, us: int) -> int:
        place = bisect_right(self._ends_us, us)
        if place == len(self._stalls):
            return 0
        before_us = max(0, us - self._stalls[place].began_us)
        return self._totals_us[-1] - self._totals_us[place] - before_us
