"""What commit protocols go through to be compared: transactions one after the other, and a crash amid the votes.

The highest node coordinates: it may begin transactions under every protocol, for any election elects it.
"""

from collections.abc import Sequence

from lab.kernel import Timing
from lab.units import format_us

__all__ = ["load_until", "usual_course"]

_ELECTED_T, _LOAD_T, _CRASH_T, _BACK_T, _AGAIN_T = 10, 20, 15, 45, 55
_TRANSACTIONS = 40


def usual_course(nodes: Sequence[int], timing: Timing) -> tuple[str, ...]:
    """A script: the coordinator dies amid a load, as a vote arrives; it comes back, and so does the load."""
    highest = max(nodes)
    return (
        _load(nodes, timing, _ELECTED_T),
        f"{_at(timing, _CRASH_T)} on deliver Vote 1->{highest} kill {highest}",
        f"{_at(timing, _BACK_T)} restart {highest}",
        _load(nodes, timing, _AGAIN_T),
    )


def load_until(nodes: Sequence[int], timing: Timing, end_us: int) -> tuple[str, ...]:
    """The lines of a script that bring transactions all the time; the last begin before ``end_us``."""
    last_t = max(_ELECTED_T, end_us // timing.t_us)
    return tuple(_load(nodes, timing, t) for t in range(_ELECTED_T, last_t + 1, _LOAD_T))


def _load(nodes: Sequence[int], timing: Timing, t: int) -> str:
    """It lasts for 10 T."""
    rate = max(1, _TRANSACTIONS * 1_000_000 // (10 * timing.t_us))
    return f"{_at(timing, t)} tell {max(nodes)} transactions {_TRANSACTIONS} at {rate}/s"


def _at(timing: Timing, t: int) -> str:
    return f"at {format_us(t * timing.t_us)}"
