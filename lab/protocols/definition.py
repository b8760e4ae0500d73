"""The Definition: the task being performed and its state (rule M2)."""

from lab.kernel import Payload
from lab.protocols.history import Formed
from lab.protocols.survey import Operation, Survey

__all__ = ["Definition"]


class Definition(Payload, frozen=True, omit_defaults=True):
    """The task being performed and its state (S(i).d): who does it, under whom, and how new that is.

    Of two definitions the one with the higher ``version`` is the newer. Version 0 is no task at all. ``history``
    is how the group came to be, the oldest first. Where the task is the field of sensors, ``regions`` has for each
    region the member that is to survey it, ``survey`` is what the group knew when it was formed, and ``published``
    the newest edition of it.
    """

    version: int = 0
    coordinator: int | None = None
    members: tuple[int, ...] = ()
    history: tuple[Formed, ...] = ()
    regions: tuple[int, ...] = ()
    survey: Survey = Survey()
    published: Operation = Operation()
