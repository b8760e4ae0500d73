"""Groups, and how they came to be: a directed acyclic graph that every group carries along (rules I1, I10)."""

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["Formed", "Group", "history_of"]

_MOST_REMEMBERED = 100
"""So many groups a history goes back."""


class Group(Struct, frozen=True, array_like=True):
    """The identifier of a group: the node that formed it, and that node's counter."""

    id: int = 0
    counter: int = 0

    def __str__(self) -> str:
        return f"{self.id}.{self.counter}"


class Formed(Struct, frozen=True, omit_defaults=True):
    """A group as it was formed: under whom, with which members, and ``of`` which groups they came."""

    group: Group
    coordinator: int
    members: tuple[int, ...]
    of: tuple[Group, ...] = ()


def history_of(
    group: Group, coordinator: int, members: tuple[int, ...], known: Sequence[tuple[Formed, ...]]
) -> tuple[Formed, ...]:
    """The history of a new group, from those that its members know: the oldest first, their own group's last."""
    past = dict.fromkeys(formed for history in known for formed in history)
    of = dict.fromkeys(history[-1].group for history in known if history)
    return (*past, Formed(group, coordinator, members, tuple(of)))[-_MOST_REMEMBERED:]
