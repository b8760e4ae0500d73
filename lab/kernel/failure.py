"""The traceback of a failed node, in a form that is the same on every machine."""

import traceback

__all__ = ["describe"]

_NOT_TOLD = ("/lab/kernel/", "/lab/worlds/watchdog.py")


def describe(error: BaseException) -> str:
    """The error with the lines that led to it: no folders, no frames of the kernel's or the watchdog's."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(own in frame.filename.replace("\\", "/") for own in _NOT_TOLD)
    ]
    lines = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames
    ]
    return "\n".join([*lines, f"{type(error).__name__}: {error}"])
