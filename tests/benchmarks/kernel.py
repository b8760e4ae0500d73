"""The kernel fed directly: steps a second, without network, sockets, records or clocks."""

import gc
import time
from collections import deque
from pathlib import Path
from typing import ClassVar

from lab.kernel import Message, Node, Payload, Protocol, Request, Started, Timing, on, procedure
from lab.protocols import Bully
from tests.benchmarks.figures import Figure, median

__all__ = ["measure"]

TIMING = Timing(10_000, 10_000)


class Echo(Payload, frozen=True):
    pass


class Call(Request[Echo], frozen=True):
    pass


class Caller(Protocol):
    """Two nodes of it ask each other forever."""

    name: ClassVar[str] = "caller"
    calls: int = 0

    def started(self) -> None:
        self.begin(self.calling)

    @procedure
    async def calling(self) -> None:
        while True:
            await self.ask(self.peers[0], Call(), within=1_000_000)

    @on(Call)
    def call(self, sender: int, message: Call) -> Echo:
        self.calls += 1
        return Echo()


def measure(folder: Path, quick: bool) -> list[Figure]:
    count = 2_000 if quick else 100_000
    asking = median([_steps_per_s(Caller, count) for _ in range(1 if quick else 3)])
    bully = median([_steps_per_s(Bully, count) for _ in range(1 if quick else 3)])
    return [
        Figure("kernel, two nodes that ask each other", asking, "steps/s", 100_000, "more"),
        Figure("kernel, two nodes of bully, timers included", bully, "steps/s", 100_000, "more"),
    ]


def _steps_per_s(protocol: type[Protocol], count: int) -> float:
    nodes = {node: Node(protocol, node, (1, 2), TIMING) for node in (1, 2)}
    messages: deque[Message] = deque()
    for node in nodes.values():
        messages.extend(node.step(Started({}, 1, 1), 0).sent)
    now_us = steps = 0
    gc.collect()
    gc.freeze()
    began = time.perf_counter()
    while steps < count:
        steps += 1
        if messages:
            message = messages.popleft()
            messages.extend(nodes[message.target].step(message, now_us).sent)
        else:
            due = [(timer[0], node) for node in nodes if (timer := nodes[node].next_timer()) is not None]
            now_us, first = min(due)
            timer = nodes[first].next_timer()
            assert timer is not None
            messages.extend(nodes[first].step(timer[1], now_us).sent)
    took_s = time.perf_counter() - began
    return count / took_s
