"""Messages on a session's control socket: JSON lines, one reply per request.

The teacher's notices arrive between the replies.
"""

from msgspec import Struct

from lab.exercises.teacher import Notice
from lab.worlds.config import HostReady, RunConfig
from lab.worlds.runs import RunInfo

__all__ = ["CastVote", "ControlReply", "ControlRequest", "EndRun", "GetRun", "ServerMessage", "StartRun"]


class StartRun(Struct, frozen=True, tag="start"):
    """Start this run as the student's cluster."""

    config: RunConfig


class EndRun(Struct, frozen=True, tag="end"):
    """End the student's cluster, if there is one."""


class GetRun(Struct, frozen=True, tag="which run"):
    """Describe the student's cluster."""


class CastVote(Struct, frozen=True, tag="vote"):
    """Vote for an option, counted from 0, of the question with this serial."""

    serial: int
    choice: int


ControlRequest = StartRun | EndRun | GetRun | CastVote


class ControlReply(Struct, frozen=True, tag="answer"):
    """A reply; ``failure`` is for the student; ``refused``: the run is not allowed at all."""

    ready: HostReady | None = None
    run: RunInfo | None = None
    failure: str = ""
    refused: bool = False


ServerMessage = ControlReply | Notice
"""Messages from the server to a session."""
