"""Messages between server and fork server: JSON lines, with file descriptors beside a request to fork."""

from msgspec import Struct


class ChildEnvironment(Struct, frozen=True):
    """A child's environment variables, its folder, and its resource limits."""

    environment: dict[str, str]
    folder: str
    memory_bytes: int
    file_bytes: int
    nice: int


class SessionInfo(Struct, frozen=True, tag="session"):
    """A session; it gets (terminal, control socket).

    ``home`` is the student's folder; ``first`` is the exercise to begin with, if any.
    """

    student: str
    home: str
    first: str = ""


class HostInfo(Struct, frozen=True, tag="host"):
    """A host of this world; it gets (standard input, output, error)."""

    world: str


class ProgressInfo(Struct, frozen=True, tag="note"):
    """Store the progress of an attempt in the student's folder; it gets (standard input, output, error)."""

    student: str
    recording: str


Work = SessionInfo | HostInfo | ProgressInfo
"""The work of a child."""


class ForkChild(Struct, frozen=True, tag="fork"):
    """To the fork server: fork a child, with the descriptors beside this message."""

    serial: int
    environment: ChildEnvironment
    work: Work


class SignalChild(Struct, frozen=True, tag="kill"):
    """To the fork server: send this signal to the child and its group."""

    pid: int
    number: int


class ChildForked(Struct, frozen=True, tag="forked"):
    """From the fork server: the request with this serial has this child."""

    serial: int
    pid: int


class ForkFailed(Struct, frozen=True, tag="not forked"):
    """From the fork server: the system cannot create another process."""

    serial: int
    text: str


class ChildEnded(Struct, frozen=True, tag="ended"):
    """From the fork server: the child has ended with this status, negative for a signal."""

    pid: int
    status: int
