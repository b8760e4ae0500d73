"""The server's admin socket, which only its user can open: JSON lines, one reply per request.

What a request holds (a lecture, control of a cluster) ends with its connection.
"""

import asyncio
import os
from contextlib import ExitStack
from pathlib import Path

import msgspec

from lab.exercises.teacher import ServerAdminError
from lab.serve.admin_protocol import (
    ADMIN_SOCKET,
    AdminReply,
    AdminRequest,
    AskQuestion,
    BeginLecture,
    CloseVote,
    GetReport,
    GetTally,
    NotifyStudents,
    TakeControl,
)
from lab.serve.class_list import ClassList
from lab.serve.server_context import ServerContext
from lab.worlds.host.line_buffer import LONGEST_LINE

__all__ = ["serve_admin"]

_decode_order = msgspec.json.Decoder(AdminRequest).decode


async def serve_admin(sockets: Path, context: ServerContext) -> asyncio.Server:
    """Listen until the returned server is closed."""
    class_list = ClassList(context)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with ExitStack() as held:
            try:
                while line := await reader.readline():
                    writer.write(msgspec.json.encode(_reply_to(context, class_list, line, held)) + b"\n")
                    await writer.drain()
            except (ConnectionError, ValueError):
                pass  # the client has gone, or sends an endless line
            finally:
                writer.close()

    path = sockets / ADMIN_SOCKET
    server = await asyncio.start_unix_server(answer, path, limit=LONGEST_LINE)
    os.chmod(path, 0o600)
    return server


def _reply_to(context: ServerContext, class_list: ClassList, line: bytes, held: ExitStack) -> AdminReply:
    try:
        return _handle_request(context, class_list, _decode_order(line), held)
    except ServerAdminError as error:
        return AdminReply(str(error))
    except msgspec.DecodeError:
        return AdminReply("the server runs another version and does not understand this request; restart it")
    except OSError as error:
        return AdminReply(f"the server cannot do that now: {error}")


def _handle_request(
    context: ServerContext, class_list: ClassList, request: AdminRequest, held: ExitStack
) -> AdminReply:
    hub, reply = context.hub, AdminReply()
    match request:
        case GetReport():
            reply = AdminReply(report=class_list.report())
        case NotifyStudents():
            reply = AdminReply(notified=hub.notify(request.students, request.text))
        case TakeControl():
            run = context.clusters.running(request.student)
            held.enter_context(hub.control_of(request.student, "" if run is None else run.recording))
        case BeginLecture():
            held.enter_context(hub.lecture_on(request.socket, request.title))
        case AskQuestion():
            hub.ask(request.text, request.options)
        case GetTally():
            reply = AdminReply(tally=hub.tally())
        case CloseVote():
            reply = AdminReply(tally=hub.close_vote())
    return reply
