"""Global states, and the moves from one to the next, as the search tells them.

A global state is a tuple of numbers: the local state of each node, the queue of each link (by its source, then by
its target), and at the end how many commands, kills, restarts and cuts are left, the cut in force, and what was
claimed.
"""

from typing import Literal, NamedTuple

__all__ = [
    "BREAKS",
    "CLAIMED",
    "CUT",
    "CUTS",
    "KILLS",
    "RESTARTS",
    "TOLD",
    "Move",
    "State",
    "Timeouts",
    "left",
    "links_of",
]

State = tuple[int, ...]
TOLD, KILLS, RESTARTS, CUTS, CUT, CLAIMED = -6, -5, -4, -3, -2, -1

Timeouts = Literal["synchronous", "prompt", "ordered", "any"]
"""The model of time; ``lab.worlds.explored.moves`` says what each means."""

BREAKS: dict[Timeouts, tuple[int, ...]] = {"synchronous": (), "prompt": (), "ordered": (8,), "any": (8, 9)}
"""The assumptions that do not hold in it."""


class Move(NamedTuple):
    """What happens. ``node`` is whom it happens to, ``source`` where a message comes from, ``us`` the time that
    passes. ``commands`` strike right before it; ``during`` are those that strike within the step, each when so
    many of its messages have gone out.
    """

    what: Literal["fire", "deliver", "restart", "wait", "strike"]
    node: int = 0
    source: int = 0
    us: int = 0
    commands: tuple[str, ...] = ()
    during: tuple[tuple[int, str], ...] = ()

    def struck(self, sent: int, *commands: str) -> "Move":
        """The same, and these strike when so many messages have gone out."""
        what, node, source, us, before, during = self
        return Move(what, node, source, us, before, (*during, *((sent, command) for command in commands)))


def links_of(state: State, count: int) -> State:
    """The queues of the links among so many nodes."""
    return state[count : count + count * count]


def left(state: State, kills: int, restarts: int, cuts: int, told: int = 0) -> State:
    """The state with so many of them left; ``told`` are commands."""
    return (*state[:TOLD], told, kills, restarts, cuts, *state[CUT:])
