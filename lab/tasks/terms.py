"""Words that a protocol brings to predicates: attributes of its nodes, and quantities of the whole cluster."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from lab.recording.snapshot import NodeState


def _no_objection(argument: str, nodes: Sequence[int], parameters: Mapping[str, Any]) -> str:
    return ""


class NodeTerm(Struct, frozen=True):
    """An attribute of a node, ``4.votes``; if its type is bool, it is a state of the node too: ``4 blocked``.

    ``evaluate`` returns the value, given a node that is up. ``type`` is its type, as the annotation of a field:
    int, bool, Decimal (dollars and cents), a tuple, a Literal or an Enum of words; or one of these ``| None``.
    """

    name: str
    help: str
    evaluate: Callable[[NodeState], Any]
    type: Any = Any


class ClusterTerm(Struct, frozen=True):
    """A quantity of the cluster, ``locks``; or a function with an ``argument``: ``balance(savings)``.

    ``evaluate`` is called with the cluster, and with the argument if there is one. It returns None if the quantity
    is unknown; no comparison but ``== none`` holds then. ``type`` is that of a ``NodeTerm``. ``argument`` says
    what the argument is. ``objection`` gets the argument, the nodes and the parameters of a run, and returns an
    error message if that run has none such.
    """

    name: str
    help: str
    evaluate: Callable[..., Any]
    type: Any = int
    argument: str = ""
    objection: Callable[[str, Sequence[int], Mapping[str, Any]], str] = _no_objection
