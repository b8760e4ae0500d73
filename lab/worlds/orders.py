"""What a client of the feed may say, and what it is told beside the records."""

from typing import Literal

from msgspec import Struct

__all__ = ["REPLY_PREFIX", "Attach", "Order", "Reply"]

REPLY_PREFIX = b'{"record":"reply"'
"""How the line of a ``Reply`` begins, and no record's."""


class Attach(Struct, frozen=True):
    """A client's first line. ``start``: from the first record, from the last keyframe, or only what is new."""

    role: Literal["driver", "viewer"]
    start: Literal["first", "keyframe", "end"] = "first"


class Order(Struct, frozen=True):
    """A driver's command; the reply has the same id. ``end`` ends the run."""

    id: int
    command: str = ""
    end: bool = False


class Reply(Struct, frozen=True, tag="reply", tag_field="record"):
    """The answer to an ``Order``, among the records but never in the recording. Not ``ok``: refused."""

    id: int
    ok: bool
    changed: bool
    text: str
