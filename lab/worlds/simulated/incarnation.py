"""One incarnation of a simulated node: the node, and the inputs that wait for it."""

from msgspec import Struct

from lab.kernel import CommandInput, Fired, Message, Node

__all__ = ["Incarnation"]


class Incarnation(Struct):
    """One incarnation of a simulated node.

    ``due_us`` is the time of its next timer, None while it has none or is paused; ``fired`` is the input that the
    timer will give it. ``stepping``: it is in a step. ``queued_us`` is its earliest entry in the timer queue, no
    later than ``due_us``.
    """

    node: Node
    number: int
    inbox: list[Message | CommandInput] = []
    unsent: list[Message] = []
    paused_at_us: int | None = None
    stepping: bool = False
    due_us: int | None = None
    fired: Fired | None = None
    queued_us: int | None = None
