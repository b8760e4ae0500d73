"""What a session and the server say over the control socket: JSON lines, a question and its answer.

What the teacher says comes between the answers.
"""

from msgspec import Struct

from lab.exercises.teacher import Notice
from lab.worlds.config import Ready, RunConfig
from lab.worlds.runs import RunInfo

__all__ = ["Answer", "End", "Heard", "Question", "Start", "Vote", "WhichRun"]


class Start(Struct, frozen=True, tag="start"):
    """Start this run as the student's cluster."""

    config: RunConfig


class End(Struct, frozen=True, tag="end"):
    """End the student's cluster, if there is one."""


class WhichRun(Struct, frozen=True, tag="which run"):
    """Which is the student's cluster?"""


class Vote(Struct, frozen=True, tag="vote"):
    """The student's choice, from 0, of what the teacher asked under this number."""

    serial: int
    choice: int


Question = Start | End | WhichRun | Vote


class Answer(Struct, frozen=True, tag="answer"):
    """``failure`` is for the student where it could not be done; ``refused``: it cannot be run at all."""

    ready: Ready | None = None
    run: RunInfo | None = None
    failure: str = ""
    refused: bool = False


Heard = Answer | Notice
"""What a session hears."""
