"""The connection between the host and a node process: its messages, and the host's end.

A node sends ``Hello``, the host replies with ``Start``; after that the node sends ``Step``, and the host sends
``Message`` and ``CommandInput``.
"""

import socket

from msgspec import Struct

from lab.kernel import CommandInput, Message
from lab.worlds.processes.json_lines import Channel

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


class Connection(Channel):
    """A connected node process.

    ``delivered`` are the messages written to it that no step has consumed yet, ``commands`` the protocol commands.
    Both are lost when it dies. ``paused`` is set as soon as the node is paused, even before its process is seen
    to have stopped. From then on until the node resumes, lines from the process wait in ``backlog``, and messages
    of the step that the pause interrupted wait in ``unsent``.
    """

    def __init__(self, peer: socket.socket, hello: Hello) -> None:
        super().__init__(peer)
        self.node = hello.node
        self.incarnation = hello.incarnation
        self.pid = 0
        self.delivered: dict[tuple[int, int], list[Message]] = {}
        self.commands: list[CommandInput] = []
        self.paused = False
        self.backlog: list[bytes] = []
        self.unsent: list[Message] = []
        self.writing = False

    def consumed(self, source: int, serial: int) -> Message | None:
        """Remove and return the message that a step took in; None if it was never delivered."""
        copies = self.delivered.get((source, serial))
        if copies is None:
            return None
        message = copies.pop()
        if not copies:
            del self.delivered[source, serial]
        return message
