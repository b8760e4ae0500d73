"""What a client of the feed may say, and what it is told beside the records."""

from typing import Literal

from msgspec import Struct

from lab.worlds.simulated.choices import Choice

__all__ = ["ASIDES", "CLOCK_PREFIX", "REPLY_PREFIX", "Attach", "Clock", "Order", "Reply"]

REPLY_PREFIX = b'{"record":"reply"'
CLOCK_PREFIX = b'{"record":"clock"'
ASIDES = (REPLY_PREFIX, CLOCK_PREFIX)
"""How the lines of a ``Reply`` and of a ``Clock`` begin, and no record's."""


class Attach(Struct, frozen=True):
    """A client's first line. ``start``: from the first record, from the last keyframe, or only what is new."""

    role: Literal["driver", "viewer"]
    start: Literal["first", "keyframe", "end"] = "first"


class Order(Struct, frozen=True):
    """A driver's command; the reply has the same id. ``end`` ends the run, ``choices`` asks what may happen.

    ``withdraw``: the command is one that was given before, and waits for a predicate; it is to wait no longer.
    """

    id: int
    command: str = ""
    end: bool = False
    choices: bool = False
    withdraw: bool = False


class Reply(Struct, frozen=True, omit_defaults=True, tag="reply", tag_field="record"):
    """The answer to an ``Order``, among the records but never in the recording. Not ``ok``: refused."""

    id: int
    ok: bool
    changed: bool
    text: str
    choices: tuple[Choice, ...] = ()


class Clock(Struct, frozen=True, tag="clock", tag_field="record"):
    """How virtual time goes, in a simulated run: it stands at ``at_us``, or goes on since then.

    ``real_us`` is that instant by the machine's monotonic clock, ``factor`` virtual over real time; None: as
    fast as it can be computed, so that only the last record tells the time. ``note`` says why it stands, where
    nobody just asked for that.
    """

    at_us: int
    real_us: int
    frozen: bool
    factor: float | None
    note: str = ""
