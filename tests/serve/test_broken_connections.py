"""Broken connections between server and fork server, and between session and server."""

import asyncio
import gc
import os
import socket
import subprocess
import sys

import msgspec
import pytest

from lab.exercises.teacher import Announcement, Notice
from lab.serve.children import ChildEnvironment, Children, HostWork
from lab.serve.session_control import ControlClient, ControlReply
from lab.worlds.fork_server import Ready
from lab.worlds.json_lines import to_line
from lab.worlds.launch import HostFailedError

_ROOM = ChildEnvironment({}, "/", 1 << 30, 1 << 20, 0)


def test_a_cancelled_fork_leaves_nothing_behind() -> None:
    """When the fork server ends, no unretrieved exception is left."""
    unheard: list[dict[str, object]] = []

    async def ask() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        ours, its = socket.socketpair()
        gone = asyncio.Event()
        children = Children(ours, process, gone.set)
        its.sendall(to_line(Ready()))
        first = asyncio.create_task(children.fork(_ROOM, (nowhere,), HostWork()))
        while not await asyncio.get_running_loop().run_in_executor(None, its.recv, 4096):
            pass
        second = asyncio.create_task(children.fork(_ROOM, (nowhere,), HostWork()))
        await asyncio.sleep(0)
        second.cancel()
        its.close()
        await gone.wait()
        with pytest.raises(ConnectionResetError):
            await first
        await children.close()

    nowhere = os.open(os.devnull, os.O_RDWR)
    process = subprocess.Popen([sys.executable, "-c", ""])
    asyncio.run(ask())
    os.close(nowhere)
    gc.collect()
    assert not unheard


def test_an_invalid_reply_means_that_the_server_has_gone() -> None:
    """No call waits forever."""
    ours, its = socket.socketpair()
    with ours, its:
        client = ControlClient(its)
        ours.sendall(b'{"type":"never heard of"}\n')
        with pytest.raises(HostFailedError, match="connect again"):
            client.running()


def test_early_notices_are_delivered_once() -> None:
    """Even if a second listener follows the first."""
    ours, its = socket.socketpair()
    heard: list[Notice] = []
    with ours, its:
        client = ControlClient(its)
        ours.sendall(
            b"".join(msgspec.json.encode(message) + b"\n" for message in (Announcement("early"), ControlReply()))
        )
        assert client.running() is None
        client.listen(heard.append)
        client.listen(heard.append)
        assert heard == [Announcement("early")]
