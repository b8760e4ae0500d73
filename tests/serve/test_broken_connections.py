"""The server's line to the zygote, and a session's line to the server: what is on them when something breaks."""

import asyncio
import gc
import os
import socket
import subprocess
import sys

import msgspec
import pytest

from lab.exercises.teacher import Announcement, Notice
from lab.serve.children import Children
from lab.serve.control_client import ControlClient
from lab.serve.control_protocol import ControlReply
from lab.serve.fork_protocol import ChildEnvironment, HostInfo
from lab.worlds.host.launch import HostFailedError

_ROOM = ChildEnvironment({}, "/", 1 << 30, 1 << 20, 0)


def test_who_gives_up_in_the_queue_of_forks_leaves_nothing_behind() -> None:
    """When the zygote ends there is nobody left who would have to hear of it."""
    unheard: list[dict[str, object]] = []

    async def ask() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        ours, its = socket.socketpair()
        gone = asyncio.Event()
        children = Children(ours, process, gone.set)
        its.sendall(b"\n")
        first = asyncio.create_task(children.fork(_ROOM, (nowhere,), HostInfo("live")))
        while not await asyncio.get_running_loop().run_in_executor(None, its.recv, 4096):
            pass
        second = asyncio.create_task(children.fork(_ROOM, (nowhere,), HostInfo("live")))
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


def test_a_server_that_speaks_nonsense_has_gone() -> None:
    """Nobody waits for its answer for ever."""
    ours, its = socket.socketpair()
    with ours, its:
        client = ControlClient(its)
        ours.sendall(b'{"type":"never heard of"}\n')
        with pytest.raises(HostFailedError, match="connect again"):
            client.running()


def test_what_came_before_somebody_listened_is_told_once() -> None:
    """Also where another screen listens after the first."""
    ours, its = socket.socketpair()
    heard: list[Notice] = []
    with ours, its:
        client = ControlClient(its)
        ours.sendall(
            b"".join(msgspec.json.encode(said) + b"\n" for said in (Announcement("early"), ControlReply()))
        )
        assert client.running() is None
        client.listen(heard.append)
        client.listen(heard.append)
        assert heard == [Announcement("early")]
