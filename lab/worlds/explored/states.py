"""Global states, and the moves between them.

A global state is a tuple of numbers: the local state of each node, the queue of each link (by its source, then by
its target), the numbers of commands, kills, restarts and cuts left, the cut in force, and the set of claims made.
"""

from typing import Literal, NamedTuple

__all__ = [
    "BREAKS",
    "CLAIM_SET",
    "COMMANDS",
    "CUT",
    "CUTS",
    "KILLS",
    "RESTARTS",
    "Move",
    "State",
    "Timeouts",
    "links_of",
    "with_budget",
]

State = tuple[int, ...]
COMMANDS, KILLS, RESTARTS, CUTS, CUT, CLAIM_SET = -6, -5, -4, -3, -2, -1

Timeouts = Literal["synchronous", "prompt", "ordered", "any"]
"""The model of time; see ``lab.worlds.explored.moves``."""

BREAKS: dict[Timeouts, tuple[int, ...]] = {"synchronous": (), "prompt": (), "ordered": (8,), "any": (8, 9)}
"""The assumptions that each model breaks."""


class Move(NamedTuple):
    """A move. ``node`` is the node that it happens to, ``source`` the sender, ``us`` the time that passes.

    ``commands`` are executed right before it; ``during`` are those executed within the step, each after this many
    of its messages were sent.
    """

    what: Literal["fire", "deliver", "restart", "wait", "strike"]
    node: int = 0
    source: int = 0
    us: int = 0
    commands: tuple[str, ...] = ()
    during: tuple[tuple[int, str], ...] = ()

    def with_fault(self, sent: int, *commands: str) -> "Move":
        """Return the move with these commands added after ``sent`` of its messages."""
        what, node, source, us, before, during = self
        return Move(what, node, source, us, before, (*during, *((sent, command) for command in commands)))


def links_of(state: State, count: int) -> State:
    """Return the queues of the links among ``count`` nodes."""
    return state[count : count + count * count]


def with_budget(state: State, kills: int, restarts: int, cuts: int, commands: int = 0) -> State:
    """Return the state with these numbers of kills, restarts, cuts and commands left."""
    return (*state[:COMMANDS], commands, kills, restarts, cuts, *state[CUT:])
