"""The layers of a node's protocol stack, each with its procedures."""

from collections.abc import Callable
from typing import Any

from lab.kernel.protocol import Protocol
from lab.kernel.step import Fired

__all__ = ["Layer", "layers_of"]


class Layer:
    """One protocol of a node's stack. ``periodic``: the starts of its periodic procedures, and their instants."""

    def __init__(self, protocol: Protocol, procedures: dict[str, Callable[[Any], int | None] | None]) -> None:
        self.protocol = protocol
        self.procedures = frozenset(procedures)
        self.periodic = tuple((Fired(name), due) for name, due in procedures.items() if due is not None)


def layers_of(stack: Protocol) -> tuple[Layer, ...]:
    """Return the layers of a node, the lowest first."""
    procedures: dict[Protocol, dict[str, Any]] = {protocol: {} for protocol in stack.layers}
    for name, due in stack.procedures.items():
        procedures[stack.layer_of(name)][name] = due
    return tuple(Layer(protocol, own) for protocol, own in procedures.items())
