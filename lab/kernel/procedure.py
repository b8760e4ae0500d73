"""One running procedure: its coroutine, and what that waits for."""

from collections.abc import Coroutine, Hashable
from typing import Any

from lab.kernel.payload import Payload
from lab.kernel.step import Wait
from lab.kernel.traps import Ask, Trap, Until

__all__ = ["Running", "name_of"]


def name_of(method: str, about: Hashable | None) -> str:
    """What the procedure is called in records: by its method, and by what it is about."""
    return method if about is None else f"{method} {about}"


class Running:
    """The one running instance of a procedure, or the one ``about`` something; ``name`` tells it from all others.

    ``successor`` is set when it began itself anew, which happens once it has returned; ``ended`` when it was
    stopped, so that what had been made ready for it is not run.
    """

    __slots__ = (
        "_peers",
        "_wait",
        "_what",
        "about",
        "answers",
        "coroutine",
        "ended",
        "enough",
        "method",
        "name",
        "requests",
        "since_us",
        "successor",
        "timer",
        "until_us",
        "waits_for",
    )

    def __init__(self, method: str, about: Hashable | None, coroutine: Coroutine[Any, Any, None]) -> None:
        self.method = method
        self.about = about
        self.name = name_of(method, about)
        self.coroutine = coroutine
        self.successor = False
        self.ended = False
        self.answers: dict[int, Payload] = {}
        self.enough = 0
        self.waits_no_more()

    def waits_no_more(self) -> None:
        """Clear what it waited for; the answers stay, for they are about to be handed over."""
        self.waits_for: Trap | None = None
        self.requests: list[int] = []
        self.timer: int | None = None
        self.since_us = 0
        self.until_us: int | None = None
        self._what = ""
        self._peers: tuple[int, ...] = ()
        self._wait: Wait | None = None

    def ask(self, wanted: Ask) -> None:
        """Begin to collect answers."""
        self.answers = {}
        self.enough = wanted.enough

    def take_answer(self, source: int, answer: Payload) -> bool:
        """Keep an answer; whether there are enough now."""
        self.answers[source] = answer
        self._peers = tuple([peer for peer in self._peers if peer != source])
        self._wait = None
        return len(self.answers) >= self.enough

    def wait_for(self, wanted: Trap, since_us: int, until_us: int | None, timer: int | None) -> None:
        """Note what it waits for, from when to when."""
        self.waits_for = wanted
        self.since_us = since_us
        self.until_us = until_us
        self.timer = timer
        if isinstance(wanted, Ask):
            self._what, self._peers = f"{type(wanted.request).__name__} answers", wanted.peers
        else:
            self._what = wanted.what

    def ordered_answers(self) -> dict[int, Payload]:
        """The answers that came, in the order in which the peers were asked."""
        assert isinstance(self.waits_for, Ask)
        return {peer: self.answers[peer] for peer in self.waits_for.peers if peer in self.answers}

    def condition_holds(self) -> bool:
        """Whether it waits for a condition that holds now."""
        return isinstance(self.waits_for, Until) and self.waits_for.condition()

    def wait(self) -> Wait:
        """Where and for what it waits, for the record of the step."""
        if self._wait is None:  # a node that waits for a thousand others takes many steps meanwhile
            line = self.coroutine.cr_frame.f_lineno  # type: ignore[attr-defined]
            self._wait = Wait(self.name, line, self._what, self.since_us, self.until_us, self._peers)
        return self._wait
