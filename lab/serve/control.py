"""The server's side of a session's control socket: what the session asks, and what the server does about it."""

import asyncio
import socket

import msgspec

from lab.exercises.teacher import Notice
from lab.serve.asking import Answer, End, Question, Start, Vote, WhichRun
from lab.serve.clusters import ClusterPool
from lab.serve.desk import Desk
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.host.lines import GARBAGE, LONGEST_LINE

__all__ = ["serve_control"]

_decode = msgspec.json.Decoder(Question).decode


async def serve_control(control: socket.socket, student: str, clusters: ClusterPool, desk: Desk) -> None:
    """Answer until the session has gone."""
    reader, writer = await asyncio.open_unix_connection(sock=control, limit=LONGEST_LINE)

    def say(said: Answer | Notice) -> None:
        writer.write(msgspec.json.encode(said) + b"\n")

    try:
        with desk.heard_by(student, say):
            while line := await reader.readline():
                try:
                    question = _decode(line)
                    if isinstance(question, Vote):
                        desk.vote(student, question.serial, question.choice)
                        answer = Answer()
                    else:
                        answer = await _answer(question, student, clusters)
                except GARBAGE:
                    answer = Answer(failure="the server does not understand this", refused=True)
                say(answer)
                await writer.drain()
    except (ConnectionError, ValueError):
        pass  # it has gone, or sends a line without end
    finally:
        writer.close()


async def _answer(question: Start | End | WhichRun, student: str, clusters: ClusterPool) -> Answer:
    if isinstance(question, Start):
        try:
            return Answer(ready=await clusters.start(student, question.config))
        except HostFailedError as error:
            return Answer(failure=str(error), refused=isinstance(error, HostRefusedError))
        except OSError as error:
            return Answer(failure=f"this machine cannot do it now: {error}; tell your teacher")
    if isinstance(question, End):
        return Answer(failure=await clusters.end(student))
    return Answer(run=clusters.running(student))
