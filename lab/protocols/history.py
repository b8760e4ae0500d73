"""Groups and their history: a directed acyclic graph that each Definition carries (rules I1, I10)."""

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["FormedGroup", "Group", "extend_history"]

_MOST_REMEMBERED = 100
"""The size limit of a history; it keeps the closest ancestors of the newest group."""


class Group(Struct, frozen=True, array_like=True):
    """The identifier of a group: the node that formed it and that node's counter."""

    id: int = 0
    counter: int = 0

    def __str__(self) -> str:
        return f"{self.id}.{self.counter}"


class FormedGroup(Struct, frozen=True, omit_defaults=True):
    """A group as it was formed: its coordinator, its members, and the groups that they came from (``of``)."""

    group: Group
    coordinator: int
    members: tuple[int, ...]
    of: tuple[Group, ...] = ()


def extend_history(
    group: Group, coordinator: int, members: tuple[int, ...], known: Sequence[tuple[FormedGroup, ...]]
) -> tuple[FormedGroup, ...]:
    """Return the history of a new group from those of its members, in topological order: parents first."""
    past = {formed.group: formed for history in known for formed in history}
    of = dict.fromkeys(history[-1].group for history in known if history)
    kept = set(_most_recent(tuple(of), past))
    remembered = (formed for formed in past.values() if formed.group in kept)
    return (*remembered, FormedGroup(group, coordinator, members, tuple(of)))


def _most_recent(groups: tuple[Group, ...], past: dict[Group, FormedGroup]) -> list[Group]:
    """Return these groups and their ancestors, breadth first, up to the size limit."""
    found = [group for group in groups if group in past]
    for group in found:
        found += [parent for parent in past[group].of if parent in past and parent not in found]
        if len(found) >= _MOST_REMEMBERED - 1:
            break
    return found[: _MOST_REMEMBERED - 1]
