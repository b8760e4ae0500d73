"""The errors of the kernel, one type per culprit, and the traceback of a node that failed by one."""

import traceback

__all__ = ["DriverError", "ProtocolError", "format_traceback"]


class ProtocolError(Exception):
    """The protocol misused the kernel. The node fails."""


class DriverError(Exception):
    """The driver fed the node an impossible input, such as a timer that is not the next one due."""


_HIDDEN = ("/lab/kernel/", "/lab/worlds/watchdog.py")


def format_traceback(error: BaseException) -> str:
    """Format an error with its traceback, without folders and without frames of the kernel or the watchdog."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(own in frame.filename.replace("\\", "/") for own in _HIDDEN)
    ]
    lines = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames
    ]
    return "\n".join([*lines, f"{type(error).__name__}: {error}"])
