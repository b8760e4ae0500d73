"""What came of a command that was carried out."""

from msgspec import Struct

from lab.kernel import CommandInput

__all__ = ["Outcome", "ids_of"]


class Outcome(Struct, frozen=True):
    """What came of a command: whether anything changed, and what, in words. ``refused``: it could not be.

    ``told``: what these nodes are to be given. ``struck``: the nodes whose processes were.
    """

    changed: bool
    text: str
    refused: bool = False
    told: dict[int, CommandInput] = {}
    struck: tuple[int, ...] = ()


def ids_of(nodes: tuple[int, ...]) -> str:
    """Nodes in words, as a command names them."""
    return " ".join(map(str, nodes))
