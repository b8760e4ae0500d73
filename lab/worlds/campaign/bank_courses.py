"""What commit protocols go through to be compared: transactions one after the other, and a crash amid the votes.

The highest node coordinates: it may begin transactions under every protocol, for any election elects it. It dies
in a transaction of which, without it, a majority is left: where there is none no protocol could go on. And in a
short one: over slow links the participants lose patience with a longer one before there are votes.
"""

from collections.abc import Sequence

from lab.kernel import Timing
from lab.units import format_us

__all__ = ["load_until", "usual_course"]

_ELECTED_T, _LOAD_T, _STRUCK_T, _HEIR_T, _BACK_T, _AGAIN_T = 10, 20, 30, 15, 15, 10
_TRANSACTIONS = 40


def usual_course(nodes: Sequence[int], timing: Timing) -> tuple[str, ...]:
    """A script: the coordinator dies as a vote is on its way to it; the next one has a load; it comes back."""
    *_, heir, highest = sorted(nodes)
    return (
        f"{_at(timing, _ELECTED_T)} {_load(highest, timing)}",
        f"{_at(timing, _STRUCK_T)} tell {highest} transfer 100 savings checking",
        f"then on send Vote {min(nodes)}->{highest} kill {highest}",
        f"{_after(timing, _HEIR_T)} {_load(heir, timing)}",
        f"{_after(timing, _BACK_T)} restart {highest}",
        f"{_after(timing, _AGAIN_T)} {_load(highest, timing)}",
    )


def load_until(nodes: Sequence[int], timing: Timing, end_us: int) -> tuple[str, ...]:
    """The lines of a script that bring transactions all the time; the last begin before ``end_us``."""
    last_t = max(_ELECTED_T, end_us // timing.t_us)
    load = _load(max(nodes), timing)
    return tuple(f"{_at(timing, t)} {load}" for t in range(_ELECTED_T, last_t + 1, _LOAD_T))


def _load(node: int, timing: Timing) -> str:
    """It lasts for 10 T."""
    rate = max(1, _TRANSACTIONS * 1_000_000 // (10 * timing.t_us))
    return f"tell {node} transactions {_TRANSACTIONS} at {rate}/s"


def _at(timing: Timing, t: int) -> str:
    return f"at {format_us(t * timing.t_us)}"


def _after(timing: Timing, t: int) -> str:
    return f"after {format_us(t * timing.t_us)}"
