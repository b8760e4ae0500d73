"""Making moves come true: real nodes, real messages, and the records of it, as any other world writes them.

A found path is told in canonical numbers; this does it again from the first start, so what comes out is a
recording like every other, that can be shown, stepped through, re-executed and judged.

Where the model of time breaks an assumption, a fault that says so is in force from the beginning, and a message
that it touched is recorded as delayed: under ``ordered`` one that is not there after Tm, under ``any`` one that
is on its way when its sender or its receiver has waited for so long that its timer fires. Under ``any`` every
node has its own clock, and a step its time by that; what is not a step is dated by the clock furthest on.
"""

from collections import deque
from typing import Any

import msgspec
from msgspec import Struct

from lab.journal import End, Fault, Header, Log, Process, Routed
from lab.kernel import Fired, Message, Node, Protocol, Started
from lab.worlds.explored.moves import Move, Timeouts

__all__ = ["Performance"]

_BREAKS: dict[Timeouts, tuple[int, ...]] = {"synchronous": (), "ordered": (8,), "any": (8, 9)}


class _Flying(Struct):
    message: Message
    sent_us: int
    delayed: bool = False


class Performance:
    """Does moves, and appends their records to ``log``. ``restarts`` is how many there may be."""

    def __init__(
        self, protocol: type[Protocol], header: Header, log: Log, timeouts: Timeouts, restarts: int
    ) -> None:
        self._protocol = protocol
        self._header = header
        self._log = log
        self._timeouts = timeouts
        self._restarts = restarts
        self._parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        self._ids = header.nodes
        self._nodes: dict[int, Node] = {}
        self._lives = dict.fromkeys(self._ids, 0)
        self._serials = dict.fromkeys(self._ids, 1)
        self._stores: dict[int, dict[str, Any]] = {node: {} for node in self._ids}
        self._clocks_us = dict.fromkeys(self._ids, 0)
        self._links: dict[tuple[int, int], deque[_Flying]] = {}
        self._faults = 0
        breaks = _BREAKS[timeouts]
        if breaks:
            links = tuple((source, target) for source in self._ids for target in self._ids if source != target)
            self._fault("delay", f"timeouts {timeouts}", links=links, breaks=breaks)
        for node in self._ids:
            self._start(node, None)

    @property
    def now_us(self) -> int:
        """The clock furthest on."""
        return max(self._clocks_us.values())

    def make(self, move: Move) -> None:
        """Let this happen."""
        node, source = self._ids[move.node], self._ids[move.source]
        if move.what == "wait":
            for each in self._ids:
                self._clocks_us[each] += move.us
            self._delayed()
        elif move.what == "kill":
            self._kill(node)
        elif move.what == "restart":
            self._restarts -= 1
            self._clocks_us[node] = self.now_us
            self._start(node, move.sent)
        elif move.what == "fire":
            due = self._nodes[node].next_timer()
            assert due is not None
            self._clocks_us[node] = max(self._clocks_us[node], due[0])
            self._delayed(node)
            self._feed(node, due[1], move.sent)
        else:
            message = self._links[source, node].popleft().message
            if node in self._nodes:
                self._feed(node, message, move.sent)
            else:
                self._drop(message, "down")
        if not self._restarts:
            self._bury()

    def end(self, why: str) -> None:
        """The last record."""
        self._log.append(End(self.now_us, why))

    def _start(self, node: int, sent: int | None) -> None:
        self._lives[node] += 1
        life = self._lives[node]
        self._nodes[node] = Node(self._protocol, node, self._ids, self._header.timing, self._parameters)
        self._log.append(Process(self.now_us, node, "started", life))
        self._feed(node, Started(dict(self._stores[node]), life, self._serials[node]), sent)

    def _feed(self, node: int, given: Started | Message | Fired, sent: int | None) -> None:
        """One step; of its messages only the first ``sent`` go out before a kill, unless that is None."""
        step = self._nodes[node].step(given, self._clocks_us[node])
        self._log.append(step)
        self._stores[node].update(step.stored)
        if step.sent:
            self._serials[node] = step.sent[-1].serial + 1
        for message in step.sent[:sent]:
            link = self._links.setdefault((node, message.target), deque())
            link.append(_Flying(message, self._clocks_us[node]))
        if sent is not None:
            self._kill(node)
            for message in step.sent[sent:]:
                self._drop(message, "unsent")
        elif step.failed:
            del self._nodes[node]
            self._log.append(Process(self.now_us, node, "failed", self._lives[node]))

    def _kill(self, node: int) -> None:
        del self._nodes[node]
        self._fault("kill", f"kill {node}", nodes=(node,))
        self._log.append(Process(self.now_us, node, "killed", self._lives[node]))

    def _fault(
        self,
        kind: str,
        text: str,
        nodes: tuple[int, ...] = (),
        links: tuple[tuple[int, int], ...] = (),
        breaks: tuple[int, ...] = (),
    ) -> None:
        self._faults += 1
        self._log.append(Fault(self.now_us, self._faults, kind, text, nodes, breaks, links))

    def _drop(self, message: Message, why: str) -> None:
        self._log.append(Routed(self.now_us, message.source, message.serial, "dropped", why))

    def _bury(self) -> None:
        """What is on its way to a node that cannot come up again is lost."""
        for (_, target), link in self._links.items():
            while link and target not in self._nodes:
                self._drop(link.popleft().message, "down")

    def _delayed(self, fires: int | None = None) -> None:
        """Record the messages that the model of time touches now: that ``fires`` did not wait for, or are late."""
        if not _BREAKS[self._timeouts]:
            return
        for ends, link in self._links.items():
            for each in link:
                late = self.now_us - each.sent_us > self._header.timing.tm_us
                missed = self._timeouts == "any" and fires in ends
                if not each.delayed and (missed or (late and self._timeouts == "ordered")):
                    each.delayed = True
                    message = each.message
                    self._log.append(Routed(self.now_us, message.source, message.serial, "delayed", by=(1,)))
