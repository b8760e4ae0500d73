"""Groups, and how they came to be: a directed acyclic graph that every group carries along (rules I1, I10)."""

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["Formed", "Group", "history_of"]

_MOST_REMEMBERED = 100
"""So many groups a history has, those from which the newest was formed most lately."""


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
    """The history of a new group, from those that its members know: each group after those it was formed from."""
    past = {formed.group: formed for history in known for formed in history}
    of = dict.fromkeys(history[-1].group for history in known if history)
    kept = set(_nearest(tuple(of), past))
    remembered = (formed for formed in past.values() if formed.group in kept)
    return (*remembered, Formed(group, coordinator, members, tuple(of)))


def _nearest(groups: tuple[Group, ...], past: dict[Group, Formed]) -> list[Group]:
    """These groups, those that they were formed from, and so on, until there are as many as are remembered."""
    found = [group for group in groups if group in past]
    for group in found:
        found += [parent for parent in past[group].of if parent in past and parent not in found]
        if len(found) >= _MOST_REMEMBERED - 1:
            break
    return found[: _MOST_REMEMBERED - 1]
