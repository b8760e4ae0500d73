"""Messages on the sockets between the host and its processes: JSON, one line each.

A node sends ``Hello``, the host replies with ``Start``; after that the node sends ``Step``, and the host sends
``Message`` and ``CommandInput``. The host sends ``Fork`` and ``Signal`` to the fork server, which sends ``Forked``
and ``ProcessChange``.
"""

from typing import Literal

from msgspec import Struct

COMMAND_PREFIX = b'{"type":"told"'
"""The line of a ``CommandInput`` begins so, and that of a message never does."""


class Hello(Struct, frozen=True):
    """From a node process: it is ready. ``token`` was given to it at its fork."""

    node: int
    incarnation: int
    token: str


class Start(Struct, frozen=True):
    """From the host: the node begins; see ``kernel.Started``."""

    incarnation: int
    serial: int


class Fork(Struct, frozen=True, tag="fork"):
    """To the fork server: fork a process for this node."""

    node: int
    incarnation: int
    port: int
    token: str
    origin_ns: int
    storage: str


class Signal(Struct, frozen=True, tag="signal"):
    """To the fork server: send the signal to this child, if it still exists."""

    pid: int
    number: int


class Forked(Struct, frozen=True, tag="forked"):
    """From the fork server: the process exists."""

    node: int
    incarnation: int
    pid: int


class ProcessChange(Struct, frozen=True, tag="seen"):
    """From the fork server: the operating system reports this change of a child."""

    pid: int
    what: Literal["ended", "stopped", "continued"]
