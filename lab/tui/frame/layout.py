"""How the user has arranged the interface, kept between runs in a file of the user's settings."""

import contextlib
import os
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

__all__ = ["Layout", "read_layout", "write_layout"]

_Percent = Annotated[int, Meta(ge=5, le=90)]


class Layout(Struct):
    """``view`` is the view that was chosen last, ``full`` whether it has the screen for itself.

    ``nodes`` is how many percent of the height the nodes have, None: as suits; ``log`` how many of the width the
    log has beside a view. ``theme`` is empty where none was chosen.
    """

    view: str = "log"
    full: bool = False
    nodes: _Percent | None = None
    log: _Percent = 50
    heartbeats: bool = False
    theme: str = ""
    tour_offered: bool = False


def read_layout(file: Path) -> Layout:
    """What was kept there; where there is nothing, or it is damaged, as at the very first time."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Layout)
    except (OSError, msgspec.DecodeError):
        return Layout()


def write_layout(file: Path, layout: Layout) -> None:
    """Keep it there, whole or not at all; where nothing can be written, nothing is kept."""
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.write_bytes(msgspec.json.format(msgspec.json.encode(layout), indent=2) + b"\n")
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
