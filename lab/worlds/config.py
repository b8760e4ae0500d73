"""What a run is to be: everything the host needs to know, as one struct that goes to it as JSON."""

from typing import Any

from msgspec import Struct

from lab.journal.records import Link
from lab.kernel import Timing

__all__ = ["Ready", "Refused", "RunConfig"]


class RunConfig(Struct, frozen=True):
    """A run. ``commands`` are lines of the command language; ``for_us`` None: until somebody ends it."""

    run: str
    protocol: str
    nodes: tuple[int, ...]
    timing: Timing
    parameters: dict[str, Any]
    link: Link
    seed: int
    recording: str
    commands: tuple[str, ...] = ()
    for_us: int | None = None


class Ready(Struct, frozen=True, tag="ready"):
    """The host's first line to whoever started it: it serves its feed on this socket."""

    socket: str
    pid: int


class Refused(Struct, frozen=True, tag="refused"):
    """The host's first line where it cannot run; the text is for the user."""

    text: str
