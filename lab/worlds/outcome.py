"""The outcome of an executed command."""

from msgspec import Struct

from lab.kernel import CommandInput

__all__ = ["CommandOutcome", "format_ids"]


class CommandOutcome(Struct, frozen=True):
    """The outcome of a command: whether anything changed, and a description. ``refused``: it was invalid.

    ``command_inputs`` are to be delivered to these nodes. ``affected``: the nodes whose processes were changed.
    """

    changed: bool
    text: str
    refused: bool = False
    command_inputs: dict[int, CommandInput] = {}
    affected: tuple[int, ...] = ()


def format_ids(nodes: tuple[int, ...]) -> str:
    """Return node ids as a command names them."""
    return " ".join(map(str, nodes))
