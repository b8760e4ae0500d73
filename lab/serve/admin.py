"""The teacher's way to the server that runs: a socket that only its user can open, a JSON line each way."""

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.serve.folder import DataFolder
from lab.serve.house import House
from lab.serve.presence import Attendance

__all__ = ["NotRunningError", "Status", "ask_status", "serve_admin"]

_SOCKET = "admin.sock"
_WITHIN_S = 5.0


class NotRunningError(Exception):
    """There is no server; the text is for the user."""


class Status(Struct, frozen=True):
    """Who is on."""

    port: int
    sessions: list[Attendance]
    clusters: int


def _status(house: House) -> Status:
    return Status(house.port, house.attendance(), house.clusters.count)


_ADMIN_WORDS: dict[str, Callable[[House], Struct]] = {"status": _status}


async def serve_admin(sockets: Path, house: House) -> asyncio.Server:
    """Listen, until the server that this returns is closed."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            word = (await asyncio.wait_for(reader.readline(), _WITHIN_S)).decode("utf-8", "replace").strip()
            if word in _ADMIN_WORDS:
                writer.write(msgspec.json.encode(_ADMIN_WORDS[word](house)) + b"\n")
                await writer.drain()
        except (ConnectionError, TimeoutError, ValueError):
            pass  # it left, or says nothing
        finally:
            writer.close()

    path = sockets / _SOCKET
    server = await asyncio.start_unix_server(answer, path)
    os.chmod(path, 0o600)
    return server


def ask_status(folder: DataFolder) -> Status:
    """Ask the server of this folder who is on. NotRunningError."""
    running = folder.found()
    if running is not None:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
                asking.settimeout(_WITHIN_S)
                asking.connect(str(Path(running.sockets) / _SOCKET))
                asking.sendall(b"status\n")
                with asking.makefile("rb") as answers:
                    return msgspec.json.decode(answers.readline(), type=Status)
        except (OSError, msgspec.DecodeError):
            pass
    raise NotRunningError(f"no server runs on {folder.path}; start one with: lab serve")
