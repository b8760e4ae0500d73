"""What the server and the zygote say to each other: JSON lines, and file descriptors beside an order to fork."""

from msgspec import Struct

__all__ = ["Ended", "Fork", "Forked", "HostInfo", "Kill", "NotForked", "NoteInfo", "Room", "SessionInfo", "Work"]


class Room(Struct, frozen=True):
    """What a child lives in: all of its environment, its folder, and its bounds."""

    environment: dict[str, str]
    folder: str
    memory_bytes: int
    file_bytes: int
    nice: int


class SessionInfo(Struct, frozen=True, tag="session"):
    """A session, which gets (terminal, control socket): whose it is.

    ``home`` is the student's folder; ``first`` the exercise it begins with, if any.
    """

    student: str
    home: str
    first: str = ""


class HostInfo(Struct, frozen=True, tag="host"):
    """A host of this world, which gets (standard input, output, error)."""

    world: str


class NoteInfo(Struct, frozen=True, tag="note"):
    """Who notes in the student's folder, where it lives, what an attempt came to; gets the same."""

    student: str
    recording: str


Work = SessionInfo | HostInfo | NoteInfo
"""What a child is for."""


class Fork(Struct, frozen=True, tag="fork"):
    """To the zygote: fork a child, with descriptors beside this."""

    serial: int
    room: Room
    work: Work


class Kill(Struct, frozen=True, tag="kill"):
    """To the zygote: send this signal to the child and all of its group."""

    pid: int
    number: int


class Forked(Struct, frozen=True, tag="forked"):
    """From the zygote: the order of this serial has this child."""

    serial: int
    pid: int


class NotForked(Struct, frozen=True, tag="not forked"):
    """From the zygote: the system has no room for another process."""

    serial: int
    text: str


class Ended(Struct, frozen=True, tag="ended"):
    """From the zygote: the child has ended with this status, negative for a signal."""

    pid: int
    status: int
