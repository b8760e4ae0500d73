"""The session's side of its control socket: the student's cluster, which the server owns and keeps."""

import socket
import threading

import msgspec

from lab.serve.asking import Answer, End, Question, Running, Start
from lab.worlds.config import Ready, RunConfig
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.host.lines import LineBuffer
from lab.worlds.runs import RunInfo

__all__ = ["Portal"]

_decode = msgspec.json.Decoder(Answer).decode


class Portal:
    """Each method waits for the server's answer; several threads may ask."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._buffer = LineBuffer()
        self._alone = threading.Lock()

    def start(self, config: RunConfig) -> Ready:
        """Start a run, and wait until its host serves its feed; one that went on ends. HostFailedError."""
        answer = self._ask(Start(config))
        if answer.ready is None:
            raise (HostRefusedError if answer.refused else HostFailedError)(answer.failure)
        return answer.ready

    def end(self) -> str:
        """End the run, if one goes on, and wait for that; why it had failed, if it had."""
        return self._ask(End()).failure

    def running(self) -> RunInfo | None:
        """The run that goes on, perhaps since an earlier connection."""
        return self._ask(Running()).run

    def _ask(self, question: Question) -> Answer:
        with self._alone:
            try:
                self._control.sendall(msgspec.json.encode(question) + b"\n")
                line = self._line()
            except OSError:
                line = b""
        if not line:
            raise HostFailedError("the server has ended; connect again in a while")
        return _decode(line)

    def _line(self) -> bytes:
        while data := self._control.recv(65536):
            if lines := self._buffer.feed(data):
                return lines[0]
        return b""
