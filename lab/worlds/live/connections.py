"""The connections of the host to its nodes, each with an incarnation of its node.

A node process makes the steps of its node, and sends them. A program knows nothing of steps: the host makes those
of its node, from the lines that it is given and those that it writes.
"""

import socket
from collections import deque

import msgspec

from lab.kernel import CommandInput, Message, Node, Received, Started, Step, Wrote
from lab.protocols import Program
from lab.worlds.json_lines import GARBAGE, Channel, LineBuffer, TooLongError
from lab.worlds.live.wire import Hello, Start
from lab.worlds.world import Incarnation

_encode = msgspec.json.Encoder().encode
_decode_step = msgspec.json.Decoder(Step).decode


class NotAStepError(Exception):
    """A node process sent something that is not a valid step of its node."""


class TooMuchError(Exception):
    """A confined program wrote more than it may; the text says what it did."""


class Connection(Channel, Incarnation):
    """A connected node process, and with it an incarnation of its node.

    It is ``paused`` as soon as its node is, even before its process is seen to have stopped. From then on until
    the node resumes, lines from the process wait in ``backlog``.
    """

    def __init__(self, peer: socket.socket, hello: Hello) -> None:
        Channel.__init__(self, peer)
        Incarnation.__init__(self, hello.node, hello.incarnation)
        self.backlog: list[bytes] = []
        self.writing = False
        # what has been written to the process, and no step has taken in yet
        self._messages: dict[tuple[int, int], list[Message]] = {}
        self._commands: list[CommandInput] = []

    def begin(self, start: Start) -> None:
        """Queue the node's start."""
        self.put(_encode(start))

    def give(self, node_input: Message | CommandInput) -> bool:
        """Queue an input, which the process takes in when it runs; return False if too much waits already."""
        if not self.put(_encode(node_input)):
            return False
        if isinstance(node_input, Message):
            self._messages.setdefault((node_input.source, node_input.serial), []).append(node_input)
        else:
            self._commands.append(node_input)
        return True

    def read_step(self, line: bytes) -> tuple[Step, Message | None]:
        """Return (the step, the message that it took in). Raises NotAStepError for an impossible one."""
        try:
            step = _decode_step(line)
        except GARBAGE as error:
            raise NotAStepError(str(error)) from None
        if step.node != self.id or step.incarnation != self.number:
            raise NotAStepError(f"a step of node {step.node}, incarnation {step.incarnation}")
        if isinstance(step.input, CommandInput) and (not self._commands or self._commands.pop(0) != step.input):
            raise NotAStepError(f"command {step.input.command}, which it was not given")
        if not isinstance(step.input, Received):
            return step, None
        key = (step.input.source, step.input.serial)
        copies = self._messages.get(key)
        if not copies:
            raise NotAStepError(f"message {key[1]} of node {key[0]}, which was not delivered to it")
        message = copies.pop()
        if not copies:
            del self._messages[key]
        return step, message

    def remove_waiting(self) -> list[Message]:
        waiting = [message for copies in self._messages.values() for message in copies]
        self._messages.clear()
        return waiting


class ProgramLog(Channel):
    """The standard error of a program: the log of the incarnation ``number`` of its node ``id``."""

    def __init__(self, peer: socket.socket, hello: Hello) -> None:
        super().__init__(peer)
        self.id = hello.node
        self.number = hello.incarnation

    def receive(self) -> list[bytes]:
        """Read once, and return the lines that are complete now; too long a line is left out."""
        try:
            return super().receive()
        except TooLongError:
            self._buffer = LineBuffer()
            return [b"(a line of more than a megabyte)"]


class ProgramConnection(Connection):
    """The standard input and output of a program.

    ``node`` stands for the program. Its inputs wait in ``inputs`` while it is in a step or paused. It may write
    at most ``most_lines``, log and messages together.
    """

    def __init__(self, peer: socket.socket, hello: Hello, node: Node, most_lines: float) -> None:
        super().__init__(peer, hello)
        self.node = node
        self.inputs: deque[Started | Message | CommandInput | Wrote] = deque()
        self.in_step = False
        self._most_lines = most_lines
        self._line_count = 0

    @property
    def has_written(self) -> bool:
        """True if the program has written a line."""
        return self._line_count > 0

    @property
    def answered_init(self) -> bool:
        """True if the program has answered ``init``."""
        program = self.node.protocol
        assert isinstance(program, Program)
        return program.answered_init

    @property
    def init_error(self) -> str:
        """The error that the program answered ``init`` with; empty if it did not."""
        program = self.node.protocol
        assert isinstance(program, Program)
        return program.init_error

    def begin(self, start: Start) -> None:
        self.inputs.appendleft(Started({}, start.incarnation, start.serial))

    def give(self, node_input: Message | CommandInput) -> bool:
        if self.is_full:
            return False
        self.inputs.append(node_input)
        return True

    def take_line(self, line: bytes, is_log: bool = False) -> None:
        """Take in a line that the program wrote. Raises TooMuchError."""
        self._line_count += 1
        if self._line_count > self._most_lines:
            raise TooMuchError(f"wrote more than {self._most_lines:,} lines")
        self.inputs.append(Wrote(line.decode("utf-8", "replace"), is_log))

    def step(self, given: Started | Message | CommandInput | Wrote, now_us: int) -> Step:
        """Make the step of the node; queue the lines that the program is to read."""
        program = self.node.protocol
        assert isinstance(program, Program)
        step = self.node.step(given, now_us)
        for text in program.take_lines():
            self.put(text.encode())
        return step

    def remove_waiting(self) -> list[Message]:
        waiting = [each for each in self.inputs if isinstance(each, Message)]
        self.inputs.clear()
        return waiting
