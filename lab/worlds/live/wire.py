"""What goes over the sockets between a node process and its host: JSON, a line each.

A node says ``Hello``, the host answers ``Start``; from then on the node sends ``Step`` and the host sends
``Message`` and ``CommandInput``. Between host and warm parent go ``Fork``, ``Signal``, and ``Forked``, ``Seen`` the
other way.
"""

from typing import Literal

from msgspec import Struct

__all__ = ["TOLD_PREFIX", "Fork", "Forked", "Hello", "Seen", "Signal", "Start"]

TOLD_PREFIX = b'{"type":"told"'
"""How the line of a ``CommandInput`` begins, and no message's."""


class Hello(Struct, frozen=True):
    """A node process reports for duty; the token was given to it at its fork."""

    node: int
    incarnation: int
    token: str


class Start(Struct, frozen=True):
    """The host lets the node begin; see ``kernel.Started``."""

    incarnation: int
    serial: int


class Fork(Struct, frozen=True, tag="fork"):
    """Host to warm parent: fork a process for this node."""

    node: int
    incarnation: int
    port: int
    token: str
    origin_ns: int
    safe: str


class Signal(Struct, frozen=True, tag="signal"):
    """Host to warm parent: send the signal to this child, if it is there still."""

    pid: int
    number: int


class Forked(Struct, frozen=True, tag="forked"):
    """Warm parent to host: the process is there."""

    node: int
    incarnation: int
    pid: int


class Seen(Struct, frozen=True, tag="seen"):
    """Warm parent to host: the operating system reports this of a child."""

    pid: int
    what: Literal["ended", "stopped", "continued"]
