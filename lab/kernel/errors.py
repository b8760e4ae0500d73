"""The errors of the kernel, one type per culprit."""

__all__ = ["DriverError", "ProtocolError"]


class ProtocolError(Exception):
    """The protocol misused the kernel. The node fails."""


class DriverError(Exception):
    """The driver fed the node an impossible input, such as a timer that is not the next one due."""
