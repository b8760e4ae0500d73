"""The default load for comparing commit protocols: transactions in succession, and a crash during a vote.

The highest node coordinates: it may begin transactions under every protocol, because any election elects it. It
crashes in a transaction with a majority of participants left without it; otherwise no protocol could continue.
That transaction is short: over slow links, participants would time out of a longer one before there are votes.
"""

from collections.abc import Sequence

from lab.kernel import Timing
from lab.units import format_us

__all__ = ["default_script", "transaction_load"]

_ELECTED_T, _LOAD_T, _CRASH_T, _SUCCESSOR_T, _RESTART_T, _AGAIN_T = 10, 20, 30, 15, 15, 10
_TRANSACTIONS = 40


def default_script(nodes: Sequence[int], timing: Timing) -> tuple[str, ...]:
    """Return a script: the coordinator crashes as a vote arrives, its successor gets a load, and it restarts."""
    *_, heir, highest = sorted(nodes)
    return (
        f"{_at(timing, _ELECTED_T)} {_load(highest, timing)}",
        f"{_at(timing, _CRASH_T)} tell {highest} transfer 100 savings checking",
        f"then on send Vote {min(nodes)}->{highest} kill {highest}",
        f"{_after(timing, _SUCCESSOR_T)} {_load(heir, timing)}",
        f"{_after(timing, _RESTART_T)} restart {highest}",
        f"{_after(timing, _AGAIN_T)} {_load(highest, timing)}",
    )


def transaction_load(nodes: Sequence[int], timing: Timing, end_us: int) -> tuple[str, ...]:
    """Return the lines of a script with a continuous load; the last transactions begin before ``end_us``."""
    last_t = max(_ELECTED_T, end_us // timing.t_us)
    load = _load(max(nodes), timing)
    return tuple(f"{_at(timing, t)} {load}" for t in range(_ELECTED_T, last_t + 1, _LOAD_T))


def _load(node: int, timing: Timing) -> str:
    """Return a command whose transactions last for 10 T."""
    rate = max(1, _TRANSACTIONS * 1_000_000 // (10 * timing.t_us))
    return f"tell {node} transactions {_TRANSACTIONS} at {rate}/s"


def _at(timing: Timing, t: int) -> str:
    return f"at {format_us(t * timing.t_us)}"


def _after(timing: Timing, t: int) -> str:
    return f"after {format_us(t * timing.t_us)}"
