"""One life of a node in a simulation: the node, and what waits for it."""

from msgspec import Struct

from lab.kernel import CommandInput, Fired, Message, Node

__all__ = ["Life"]


class Life(Struct):
    """``due_us`` and ``fired`` are its next timer, unless it stands still. ``stepping``: a step is under way.

    ``alarm_us`` is the earliest alarm that is set for it, which is no later than ``due_us``.
    """

    node: Node
    number: int
    inbox: list[Message | CommandInput] = []
    unsent: list[Message] = []
    paused_at_us: int | None = None
    stepping: bool = False
    due_us: int | None = None
    fired: Fired | None = None
    alarm_us: int | None = None
