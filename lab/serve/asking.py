"""What a session and the server say over the control socket: JSON lines, a question and its answer."""

from msgspec import Struct

from lab.worlds.config import Ready, RunConfig
from lab.worlds.runs import RunInfo

__all__ = ["Answer", "End", "Question", "Running", "Start"]


class Start(Struct, frozen=True, tag="start"):
    """Start this run as the student's cluster."""

    config: RunConfig


class End(Struct, frozen=True, tag="end"):
    """End the student's cluster, if there is one."""


class Running(Struct, frozen=True, tag="running"):
    """Which is the student's cluster?"""


Question = Start | End | Running


class Answer(Struct, frozen=True):
    """``failure`` is for the student where it could not be done; ``refused``: it cannot be run at all."""

    ready: Ready | None = None
    run: RunInfo | None = None
    failure: str = ""
    refused: bool = False
