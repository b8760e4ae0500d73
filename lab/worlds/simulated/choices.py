"""What may happen next in a simulated run, for a person who wants to choose it."""

from msgspec import Struct

__all__ = ["Choice", "Deliver", "Fire"]


class Deliver(Struct, frozen=True, tag="deliver"):
    """The message ``(source, serial)``, due at that time, arrives at ``node``."""

    due_us: int
    node: int
    source: int
    serial: int
    kind: str


class Fire(Struct, frozen=True, tag="fire"):
    """The next timer of ``node``, due at that time, fires; it belongs to this procedure."""

    due_us: int
    node: int
    procedure: str


Choice = Deliver | Fire
