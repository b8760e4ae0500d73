"""What is known of a cluster after some record: its nodes, the messages on their way, the faults in force."""

from typing import Any, Literal

from msgspec import Struct, field

from lab.kernel import Wait

__all__ = ["ActiveFault", "InFlightMessage", "NodeState", "ProcessState", "Snapshot", "group_in"]

ProcessState = Literal["absent", "running", "paused", "killed", "failed"]


def group_in(state: dict[str, Any]) -> tuple[int, int] | None:
    """The group in a state vector, (the node that formed it, that node's counter); None where it has none."""
    group = state.get("group")
    if not (isinstance(group, list) and len(group) == 2):
        return None
    node, counter = group
    return (node, counter) if isinstance(node, int) and isinstance(counter, int) and counter > 0 else None


class NodeState(Struct, frozen=True, omit_defaults=True):
    """One node as of some record. ``process`` is what its process does, ``state`` what the protocol declared.

    The properties read what rule M2 has in every state vector, whatever a foreign recording has there.
    """

    id: int
    process: ProcessState = "absent"
    incarnation: int = field(default=0, name="life")
    pid: int = 0
    state: dict[str, Any] = {}
    waits: tuple[Wait, ...] = ()
    step_us: int = 0
    traceback: str = ""

    @property
    def status(self) -> str:
        """Its Status; Down where it has none."""
        status = self.state.get("status")
        return status if isinstance(status, str) else "Down"

    @property
    def coordinator(self) -> int | None:
        """Its Coordinator."""
        coordinator = self.state.get("coordinator")
        return coordinator if isinstance(coordinator, int) else None

    @property
    def up(self) -> tuple[int, ...]:
        """The members that it believes to be in its group."""
        up = self.state.get("up")
        return tuple(node for node in up if isinstance(node, int)) if isinstance(up, list) else ()

    @property
    def definition_version(self) -> int:
        """The version of its Definition; 0 where it has none."""
        definition = self.state.get("definition")
        version = definition.get("version") if isinstance(definition, dict) else None
        return version if isinstance(version, int) else 0

    @property
    def group(self) -> tuple[int, int] | None:
        """The identifier of its group; None where it has none."""
        return group_in(self.state)

    @property
    def leads(self) -> bool:
        """Whether it is Normal, and its own coordinator."""
        return self.status == "Normal" and self.coordinator == self.id


class InFlightMessage(Struct, frozen=True, omit_defaults=True, gc=False):
    """A message on its way. ``copies``: how often it may still arrive."""

    source: int
    serial: int
    target: int
    kind: str
    sent_us: int
    copies: int = 1
    held: bool = False


class ActiveFault(Struct, frozen=True, omit_defaults=True):
    """A fault in force. ``messages`` counts those it touched; ``struck`` the nodes seen struck."""

    id: int
    kind: str
    text: str
    since_us: int
    nodes: tuple[int, ...] = ()
    breaks: tuple[int, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    messages: int = 0
    struck: int = 0

    @property
    def touched(self) -> int:
        """What it acted on: nodes for a fault of nodes, messages for one of links. 0: inert."""
        return self.struck if self.nodes else self.messages


class Snapshot(Struct, frozen=True):
    """The state of the whole cluster after one record. ``lines``: how many lines the log has by then."""

    record: int
    at_us: int
    nodes: tuple[NodeState, ...]
    in_flight: tuple[InFlightMessage, ...] = field(name="flights")
    faults: tuple[ActiveFault, ...]
    messages: dict[str, int]
    lines: int
