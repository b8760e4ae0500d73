"""A node's process: feeds one kernel node from a socket and the real clock.

After a pause it drains its socket first, and then lets timers fire: a message that arrived while it stood
still comes before a timeout that expired then. It ends when its connection to the host does.
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

import msgspec

from lab.kernel import CommandInput, Message, Node, Protocol, Started, Step, Timing
from lab.worlds.host.lines import LineBuffer
from lab.worlds.live.safe_storage import SafeStorage
from lab.worlds.live.wire import TOLD_PREFIX, Fork, Hello, Start
from lab.worlds.watchdog import watch_steps

__all__ = ["run_and_leave", "serve"]

_encode = msgspec.json.Encoder().encode
_decode_message = msgspec.json.Decoder(Message).decode
_decode_told = msgspec.json.Decoder(CommandInput).decode
_decode_start = msgspec.json.Decoder(Start).decode


def serve(
    order: Fork, protocol: type[Protocol], ids: tuple[int, ...], timing: Timing, parameters: msgspec.Struct
) -> None:
    """Run the node until its connection ends. Returns where the host has gone."""
    watch_steps()
    gc.disable()  # until it has started: to look for garbage in a long log takes longer than to read it
    with contextlib.suppress(ConnectionError):
        connection = socket.socket()
        connection.connect(("127.0.0.1", order.port))  # create_connection would load the IDNA codec: 4 ms
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(_encode(Hello(order.node, order.incarnation, order.token)) + b"\n")
        node = Node(protocol, order.node, ids, timing, parameters)
        _Process(node, connection, order).run()


class _Process:
    def __init__(self, node: Node, connection: socket.socket, order: Fork) -> None:
        self._node = node
        self._connection = connection
        self._origin_ns = order.origin_ns
        self._storage = SafeStorage(Path(order.safe), order.node)
        self._buffer = LineBuffer()
        self._lines: list[bytes] = []
        self._out: list[bytes] = []

    def run(self) -> None:
        while not self._lines:
            if not self._receive(None):
                return
        start = _decode_start(self._lines.pop(0))
        self._take(self._node.step(Started(self._storage.values, start.incarnation, start.serial), self._now_us()))
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
                self._take(self._node.step(timer[1], self._now_us()))
        self._send()

    def _receive(self, most: int | None) -> bool:
        data = self._connection.recv(most or 4096)
        self._lines += self._buffer.feed(data)
        return bool(data)

    def _handle_lines(self) -> None:
        for line in self._lines:
            if not self._node.halted:
                given = _decode_told(line) if line.startswith(TOLD_PREFIX) else _decode_message(line)
                self._take(self._node.step(given, self._now_us()))
        self._lines.clear()

    def _take(self, step: Step) -> None:
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


def run_and_leave(run: Callable[[], None]) -> None:
    """Run, and end this process without the clean-up of the one that it was forked from."""
    status = 1
    try:
        run()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
