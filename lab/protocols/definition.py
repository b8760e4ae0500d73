"""The Definition: the task being performed and its state (rule M2)."""

from msgspec import Struct

from lab.kernel import Payload

__all__ = ["Definition", "Formed", "Group", "Survey"]


class Group(Struct, frozen=True):
    """The identifier of a group: the node that formed it, and that node's counter (rule I1)."""

    id: int = 0
    counter: int = 0

    def __str__(self) -> str:
        return f"{self.id}.{self.counter}"


class Formed(Struct, frozen=True, omit_defaults=True):
    """How a group came to be: under whom, of which members, from which groups (rule I10)."""

    group: Group
    coordinator: int
    members: tuple[int, ...]
    of: tuple[Group, ...] = ()


class Survey(Struct, frozen=True, omit_defaults=True):
    """The field and how far it is surveyed (rules F1-F3): all in the order of the regions.

    ``number`` counts surveys of the whole field. ``surveyors`` has the member that each region is given to,
    ``done`` who surveyed it, this time; 0: nobody yet. ``readings`` are pairs of a node and how many
    it made in all, as far as is known, and ``duplicates`` how many of them were of regions surveyed already.
    """

    number: int = 1
    surveyors: tuple[int, ...] = ()
    done: tuple[int, ...] = ()
    readings: tuple[tuple[int, int], ...] = ()
    duplicates: int = 0


class Definition(Payload, frozen=True, omit_defaults=True):
    """The task being performed and its state (S(i).d): who does it, under whom, and how new that is.

    Of two definitions the one with the higher ``version`` is the newer. Version 0 is no task at all. ``history``
    is how the group came to be, the oldest first; ``survey`` is the task where that is the field of sensors.
    """

    version: int = 0
    coordinator: int | None = None
    members: tuple[int, ...] = ()
    history: tuple[Formed, ...] = ()
    survey: Survey | None = None
