"""The errors of the kernel, by whose they are."""

__all__ = ["DriverError", "ProtocolError"]


class ProtocolError(Exception):
    """The protocol's author asked the kernel for something that it cannot mean. The node fails."""


class DriverError(Exception):
    """Whoever drives the node fed it something impossible, such as a timer that is not the next one due."""
