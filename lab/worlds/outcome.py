"""The outcome of an executed command."""

from msgspec import Struct

from lab.kernel import CommandInput

__all__ = ["CommandOutcome", "format_ids"]


class CommandOutcome(Struct, frozen=True):
    """The outcome of a command: whether anything changed, and a description. ``refused``: it was invalid.

    ``command_inputs`` maps nodes to the inputs still to be delivered to them. ``affected``: the nodes whose
    processes have changed.
    """

    changed: bool
    text: str
    refused: bool = False
    command_inputs: dict[int, CommandInput] = {}
    affected: tuple[int, ...] = ()


def format_ids(nodes: tuple[int, ...]) -> str:
    """Return node ids as a command line lists them, with blanks between them."""
    return " ".join(map(str, nodes))
