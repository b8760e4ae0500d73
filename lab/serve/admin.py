"""The teacher's way to the server that runs: a socket that only its user can open, JSON lines, an answer to each.

What an order begins that holds for a while is over when its connection closes.
"""

import asyncio
import os
from contextlib import ExitStack
from pathlib import Path

import msgspec

from lab.exercises.teacher import OfficeError
from lab.serve.admin_words import (
    ADMIN_SOCKET,
    AdminOrder,
    AdminReply,
    AskClass,
    BeginLecture,
    CloseVote,
    ReportClass,
    TakeKeys,
    TellClass,
    TellTally,
)
from lab.serve.house import House
from lab.serve.roll import Roll
from lab.worlds.host.lines import LONGEST_LINE

__all__ = ["serve_admin"]

_decode_order = msgspec.json.Decoder(AdminOrder).decode


async def serve_admin(sockets: Path, house: House) -> asyncio.Server:
    """Listen, until the server that this returns is closed."""

    roll = Roll(house)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with ExitStack() as held:
            try:
                while line := await reader.readline():
                    writer.write(msgspec.json.encode(_answered(house, roll, line, held)) + b"\n")
                    await writer.drain()
            except (ConnectionError, ValueError):
                pass  # it left, or sends a line without end
            finally:
                writer.close()

    path = sockets / ADMIN_SOCKET
    server = await asyncio.start_unix_server(answer, path, limit=LONGEST_LINE)
    os.chmod(path, 0o600)
    return server


def _answered(house: House, roll: Roll, line: bytes, held: ExitStack) -> AdminReply:
    try:
        return _obeyed(house, roll, _decode_order(line), held)
    except OfficeError as error:
        return AdminReply(str(error))
    except msgspec.DecodeError:
        return AdminReply("the server is of another version, and does not understand this; start it anew")
    except OSError as error:
        return AdminReply(f"the server cannot do that now: {error}")


def _obeyed(house: House, roll: Roll, order: AdminOrder, held: ExitStack) -> AdminReply:
    desk, reply = house.desk, AdminReply()
    match order:
        case ReportClass():
            reply = AdminReply(report=roll.report())
        case TellClass():
            reply = AdminReply(told=desk.tell(order.students, order.text))
        case TakeKeys():
            run = house.clusters.running(order.student)
            held.enter_context(desk.keys_of(order.student, "" if run is None else run.recording))
        case BeginLecture():
            held.enter_context(desk.lecture_on(order.socket, order.title))
        case AskClass():
            desk.ask(order.text, order.choices)
        case TellTally():
            reply = AdminReply(tally=desk.tally())
        case CloseVote():
            reply = AdminReply(tally=desk.close_vote())
    return reply
