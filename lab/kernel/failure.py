"""The traceback of a failed node, in a form that is the same on every machine."""

import traceback

__all__ = ["describe"]


def describe(error: BaseException) -> str:
    """The error with the lines that led to it: no folders, no frames of the kernel's."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/lab/kernel/" not in frame.filename.replace("\\", "/")
    ]
    lines = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames
    ]
    return "\n".join([*lines, f"{type(error).__name__}: {error}"])
