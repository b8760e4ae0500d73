"""The user's layout of the interface, saved between runs in a settings file."""

import contextlib
import os
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

__all__ = ["LayoutSettings", "read_layout_settings", "write_layout_settings"]

_Percent = Annotated[int, Meta(ge=5, le=90)]


class LayoutSettings(Struct):
    """The settings. ``view`` is the view that was shown last, ``full`` whether it fills the screen.

    ``nodes`` is the height of the nodes in percent (None: automatic). ``log`` is the width of the log in percent
    beside a view. ``theme`` is empty for the default theme.
    """

    view: str = "log"
    full: bool = False
    nodes: _Percent | None = None
    log: _Percent = 50
    heartbeats: bool = False
    theme: str = ""
    tour_offered: bool = False


def read_layout_settings(file: Path) -> LayoutSettings:
    """Read the settings; return the defaults if the file is missing or damaged."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=LayoutSettings)
    except (OSError, msgspec.DecodeError):
        return LayoutSettings()


def write_layout_settings(file: Path, layout: LayoutSettings) -> None:
    """Write the settings atomically; do nothing if the file cannot be written."""
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.write_bytes(msgspec.json.format(msgspec.json.encode(layout), indent=2) + b"\n")
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
