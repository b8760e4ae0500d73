"""Suspicions: what a node gives up when a timer fires, which is right or wrong.

In an asynchronous system nobody can tell a crashed node from a slow one, so a failure detector makes mistakes
(Chandra and Toueg, 1996). In the model of time ``budget`` it makes a bounded number of them. A timeout is *wrong*
if what its node waits for may still come:

* A request: the peer is up, and the request or the reply is in flight. It is right if the peer handled the request
  and sent no reply.
* Silence, the wait of a periodic procedure whose instant depends on when a peer was heard: the peer is up, and no
  cut has stopped a message. The peer's clock may be slow, so it is not given up only because nothing of it is in
  flight.
* A condition (``until``) with a time limit: it names no peer, so there is somebody to suspect once a node was
  killed or a cut has stopped a message; before that, the timeout is wrong.

Sleeping, and waiting for the next round, give up nothing: such timers are never wrong. Neither is any timer if
nothing else can happen in the whole cluster: then nothing can come.
"""

from typing import Any, NamedTuple

from lab.kernel import Node
from lab.kernel.fingerprint import open_requests
from lab.kernel.traps import Ask, Until
from lab.protocols.clients import Client


class Suspicion(NamedTuple):
    """Whatever a node gives up when its next timer fires.

    ``requests`` are those that wait for a reply, as (peer, name), with the names of ``request_names``; ``silent``
    the peers that were not heard for too long; ``anybody``: a condition did not become true.
    """

    requests: tuple[tuple[int, int], ...] = ()
    silent: tuple[int, ...] = ()
    anybody: bool = False


NOBODY_SUSPECTED = Suspicion()


class SuspectingNode(Node):
    """A node that can be asked what its next timer gives up."""

    def __init__(self, *arguments: Any) -> None:
        self._heard_of: set[int] = set()
        super().__init__(*arguments)

    def heard_us(self, peer: int) -> int:
        self._heard_of.add(peer)
        return super().heard_us(peer)

    def request_names(self) -> dict[int, int]:
        """Return the serial of each open request with its name, a number.

        The names of a client's are never used again: a server may keep a request, and answer it late.
        """
        if isinstance(self.protocol, Client):
            return dict.fromkeys(open_requests(self), self.protocol.number)
        return open_requests(self)

    def suspicion(self) -> Suspicion:
        """Return what the next timer gives up."""
        due = self.next_timer()
        if due is None:
            return NOBODY_SUSPECTED
        running = self._running.get(due[1].procedure)
        if running is None:
            return Suspicion(silent=self._silent_before(due[1].procedure))
        trap = running.waits_for
        if isinstance(trap, Ask):
            names = self.request_names()
            asked = zip(trap.peers, running.requests, strict=True)
            return Suspicion(requests=tuple((peer, names[serial]) for peer, serial in asked if serial in names))
        return Suspicion(anybody=isinstance(trap, Until))

    def _silent_before(self, procedure: str) -> tuple[int, ...]:
        """Return the peers on whose silence the start of the periodic procedure depends."""
        self._heard_of = set()
        for layer in self._layers:
            for start, instant in layer.periodic:
                if start.procedure == procedure:
                    instant(layer.protocol)
        return tuple(sorted(self._heard_of - {self.id}))
