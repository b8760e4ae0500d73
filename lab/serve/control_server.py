"""The server's side of a session's control socket."""

import asyncio
import socket

import msgspec

from lab.exercises.teacher import Notice
from lab.serve.broadcast_hub import BroadcastHub
from lab.serve.cluster_pool import ClusterPool
from lab.serve.control_protocol import CastVote, ControlReply, ControlRequest, EndRun, GetRun, StartRun
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.host.line_buffer import GARBAGE, LONGEST_LINE

__all__ = ["serve_control"]

_decode = msgspec.json.Decoder(ControlRequest).decode


async def serve_control(control: socket.socket, student: str, clusters: ClusterPool, hub: BroadcastHub) -> None:
    """Handle the session's requests until it ends."""
    reader, writer = await asyncio.open_unix_connection(sock=control, limit=LONGEST_LINE)

    def send(message: ControlReply | Notice) -> None:
        writer.write(msgspec.json.encode(message) + b"\n")

    try:
        with hub.subscription(student, send):
            while line := await reader.readline():
                try:
                    request = _decode(line)
                    if isinstance(request, CastVote):
                        hub.vote(student, request.serial, request.choice)
                        reply = ControlReply()
                    else:
                        reply = await _reply_to(request, student, clusters)
                except GARBAGE:
                    reply = ControlReply(failure="the server does not understand this request", refused=True)
                send(reply)
                await writer.drain()
    except (ConnectionError, ValueError):
        pass  # the session has ended, or sends an endless line
    finally:
        writer.close()


async def _reply_to(request: StartRun | EndRun | GetRun, student: str, clusters: ClusterPool) -> ControlReply:
    if isinstance(request, StartRun):
        try:
            return ControlReply(ready=await clusters.start(student, request.config))
        except HostFailedError as error:
            return ControlReply(failure=str(error), refused=isinstance(error, HostRefusedError))
        except OSError as error:
            return ControlReply(failure=f"the server failed: {error}; tell your teacher")
    if isinstance(request, EndRun):
        return ControlReply(failure=await clusters.end(student))
    return ControlReply(run=clusters.running(student))
