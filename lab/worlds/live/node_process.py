"""A node's process: feeds one kernel node from a socket, the real clock and its stable storage.

After a pause it reads its socket first and fires timers then: a message that arrived during the pause comes before
a timeout that expired during it. The process ends when its connection to the host does.

Stable storage (rule M3) holds the old values or the new ones after a crash at any instant. It is a log with one
line for each write: one write and one sync, however much is stored. A line torn by a crash was never reported as
written, and is cut off.
"""

import contextlib
import gc
import os
import select
import socket
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import CommandInput, Message, Node, Protocol, Started, Step, Timing
from lab.worlds.host.line_buffer import LineBuffer
from lab.worlds.live.wire import COMMAND_PREFIX, Fork, Hello, Start
from lab.worlds.watchdog import watch_steps

_encode = msgspec.json.Encoder().encode
_decode_message = msgspec.json.Decoder(Message).decode
_decode_command = msgspec.json.Decoder(CommandInput).decode
_decode_start = msgspec.json.Decoder(Start).decode


def run_node(
    request: Fork, protocol: type[Protocol], ids: tuple[int, ...], timing: Timing, parameters: msgspec.Struct
) -> None:
    """Run the node until it halts or the host's connection ends."""
    watch_steps()
    gc.disable()  # until it has started: collecting garbage in a long log would take longer than reading it
    with contextlib.suppress(ConnectionError):
        connection = socket.socket()
        connection.connect(("127.0.0.1", request.port))  # create_connection would load the IDNA codec: 4 ms
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(_encode(Hello(request.node, request.incarnation, request.token)) + b"\n")
        node = Node(protocol, request.node, ids, timing, parameters)
        _Process(node, connection, request).run()


class _Process:
    def __init__(self, node: Node, connection: socket.socket, request: Fork) -> None:
        self._node = node
        self._connection = connection
        self._origin_ns = request.origin_ns
        self._storage = StableStorage(Path(request.storage), request.node)
        self._buffer = LineBuffer()
        self._lines: list[bytes] = []
        self._out: list[bytes] = []

    def run(self) -> None:
        while not self._lines:
            if not self._receive(None):
                return
        start = _decode_start(self._lines.pop(0))
        self._on_step(
            self._node.step(Started(self._storage.values, start.incarnation, start.serial), self._now_us())
        )
        gc.freeze()
        gc.enable()
        while not self._node.halted:
            self._handle_lines()
            self._send()
            timer = self._node.next_timer()
            wait_s = None if timer is None else max(0.0, (timer[0] - self._now_us()) / 1e6)
            readable, _, _ = select.select([self._connection], [], [], wait_s)
            if readable:
                if not self._receive(65536):
                    return
            elif timer is not None and timer[0] <= self._now_us():
                self._on_step(self._node.step(timer[1], self._now_us()))
        self._send()

    def _receive(self, most: int | None) -> bool:
        data = self._connection.recv(most or 4096)
        self._lines += self._buffer.feed(data)
        return bool(data)

    def _handle_lines(self) -> None:
        for line in self._lines:
            if not self._node.halted:
                node_input = _decode_command(line) if line.startswith(COMMAND_PREFIX) else _decode_message(line)
                self._on_step(self._node.step(node_input, self._now_us()))
        self._lines.clear()

    def _on_step(self, step: Step) -> None:
        if step.stores:
            self._storage.write(step.stored, step.logged)  # on disk before the step's messages leave
        self._out.append(_encode(step))

    def _send(self) -> None:
        if self._out:
            self._out.append(b"")
            self._connection.sendall(b"\n".join(self._out))
            self._out.clear()

    def _now_us(self) -> int:
        return (time.monotonic_ns() - self._origin_ns) // 1000


def run_and_exit(run: Callable[[], None]) -> None:
    """Call ``run`` and end this forked process without its parent's clean-up handlers."""
    status = 1
    try:
        run()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


# stable storage


_NOTHING: dict[str, list[Any]] = {}


class _Write(Struct, omit_defaults=True):
    stored: dict[str, Any] = {}
    logged: dict[str, list[Any]] = {}


class StableStorage:
    """The stable storage of one node. ``values`` are the contents when it was opened.

    Raises OSError, msgspec.DecodeError.
    """

    def __init__(self, folder: Path, node: int) -> None:
        path = _file(folder, node)
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if is_new:
            _sync(folder)
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(self._file, len(whole))
        self.values: dict[str, Any] = {}
        for write in msgspec.json.Decoder(_Write).decode_lines(whole):
            self.values |= write.stored
            for name, entries in write.logged.items():
                self.values.setdefault(name, []).extend(entries)

    def write(self, stored: dict[str, Any], logged: dict[str, list[Any]] = _NOTHING) -> None:
        """Replace values and append to logs, atomically; on return, it is on disk."""
        data = memoryview(msgspec.json.encode(_Write(stored, logged)) + b"\n")
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)


def wipe(folder: Path, node: int) -> bool:
    """Empty a node's stable storage; return False if it held nothing."""
    path = _file(folder, node)
    if not path.exists() or not path.stat().st_size:
        return False
    path.unlink()
    return True


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _file(folder: Path, node: int) -> Path:
    return folder / f"{node}.jsonl"
