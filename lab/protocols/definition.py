"""The Definition: the task being performed and its state (rule M2)."""

from lab.kernel import Payload
from lab.protocols.history import FormedGroup
from lab.protocols.survey import PublishOperation, Survey

__all__ = ["Definition"]


class Definition(Payload, frozen=True, omit_defaults=True):
    """The task being performed and its state (S(i).d): its members, their coordinator, and a version.

    The definition with the higher ``version`` is the newer one. Version 0 is no task. ``history`` holds the groups
    from which this one was formed, the oldest first. For the field of sensors, ``regions`` holds the member
    assigned to each region, ``survey`` the knowledge of the group when it was formed, and ``published`` the newest
    edition.
    """

    version: int = 0
    coordinator: int | None = None
    members: tuple[int, ...] = ()
    history: tuple[FormedGroup, ...] = ()
    regions: tuple[int, ...] = ()
    survey: Survey = Survey()
    published: PublishOperation = PublishOperation()
