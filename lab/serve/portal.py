"""The session's side of its control socket: its cluster, which the server owns, and what the teacher says."""

import queue
import socket
import threading
from collections.abc import Callable

import msgspec

from lab.exercises.teacher import Notice
from lab.serve.asking import Answer, End, Heard, Question, Start, Vote, WhichRun
from lab.worlds.config import Ready, RunConfig
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.host.lines import GARBAGE, LineBuffer
from lab.worlds.runs import RunInfo

__all__ = ["Portal"]

_decode = msgspec.json.Decoder(Heard).decode


class Portal:
    """Each method waits for the server's answer; several threads may ask. One thread of its own reads."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._alone = threading.Lock()
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._has_ended = False
        self._hear: Callable[[Notice], object] | None = None
        self._unheard: list[Notice] = []
        self._hearing = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

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
        return self._ask(WhichRun()).run

    def vote(self, serial: int, choice: int) -> None:
        """Answer what the teacher asked under this number. HostFailedError where the server has gone."""
        self._ask(Vote(serial, choice))

    def listen(self, hear: Callable[[Notice], object]) -> None:
        """From now on ``hear`` is given what the teacher says, in another thread; also what came before."""
        with self._hearing:
            self._hear = hear
            for notice in self._unheard:
                hear(notice)
            self._unheard.clear()

    def _ask(self, question: Question) -> Answer:
        with self._alone:
            try:
                self._control.sendall(msgspec.json.encode(question) + b"\n")
                answer = None if self._has_ended else self._answers.get()
            except OSError:
                answer = None
        if answer is None:
            raise HostFailedError("the server has ended; connect again in a while")
        return answer

    def _read(self) -> None:
        buffer = LineBuffer()
        try:
            while data := self._control.recv(65536):
                for line in buffer.feed(data):
                    self._take(_decode(line))
        except (OSError, *GARBAGE):
            pass
        self._has_ended = True
        self._answers.put(None)

    def _take(self, heard: Answer | Notice) -> None:
        if isinstance(heard, Answer):
            self._answers.put(heard)
            return
        with self._hearing:
            if self._hear is None:
                self._unheard.append(heard)
            else:
                self._hear(heard)
