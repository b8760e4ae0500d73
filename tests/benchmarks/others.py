"""The traffic of a quiet bully cluster, written in simpy and in trio, each in its own idiom.

A coordinator asks each of the other nodes every ``EVERY_S``, and waits for all replies, at most ``WITHIN_S``.
Every message takes ``LATENCY_S``. Both count messages delivered. A message is a tuple; with ``recorded`` each
delivery is written as a line of JSON, the minimum of a recording.
"""

import itertools
from collections.abc import Generator
from typing import IO, Any

import msgspec
import simpy
import trio
import trio.testing

__all__ = ["EVERY_S", "LATENCY_S", "NODES", "WITHIN_S", "simpy_messages", "trio_messages"]

NODES = 5
EVERY_S = 0.2
LATENCY_S = 0.02
WITHIN_S = 0.2
_encode = msgspec.json.Encoder().encode


def simpy_messages(until_s: float, recorded: IO[bytes] | None = None) -> int:
    """Run for this much virtual time; return the number of messages delivered."""
    env = simpy.Environment()
    inboxes = [simpy.Store(env) for _ in range(NODES)]
    waiting: dict[int, simpy.Event] = {}
    serials = itertools.count()
    delivered = 0

    def travel(target: int, message: tuple[int, int, bool]) -> Generator[Any, Any, None]:
        yield env.timeout(LATENCY_S)
        yield inboxes[target].put(message)

    def node(own: int) -> Generator[Any, Any, None]:
        nonlocal delivered
        while True:
            source, serial, asks = yield inboxes[own].get()
            delivered += 1
            if recorded is not None:
                recorded.write(_encode((env.now, own, source, serial, asks)) + b"\n")
            if asks:
                env.process(travel(source, (own, serial, False)))
            elif serial in waiting:
                waiting.pop(serial).succeed()

    def coordinator() -> Generator[Any, Any, None]:
        while True:
            replies = []
            for peer in range(1, NODES):
                serial = next(serials)
                replies.append(waiting.setdefault(serial, env.event()))
                env.process(travel(peer, (0, serial, True)))
            yield env.all_of(replies) | env.timeout(WITHIN_S)
            yield env.timeout(EVERY_S)

    for each in range(NODES):
        env.process(node(each))
    env.process(coordinator())
    env.run(until=until_s)
    return delivered


def trio_messages(until_s: float) -> int:
    """Do the same on trio's MockClock, which jumps to the next deadline when all tasks wait."""
    delivered = 0

    async def main() -> None:
        channels = [trio.open_memory_channel[tuple[int, int, bool]](1000) for _ in range(NODES)]
        waiting: dict[int, trio.Event] = {}
        serials = itertools.count()

        async def travel(target: int, message: tuple[int, int, bool]) -> None:
            await trio.sleep(LATENCY_S)
            await channels[target][0].send(message)

        async def node(own: int, nursery: trio.Nursery) -> None:
            nonlocal delivered
            async for source, serial, asks in channels[own][1]:
                delivered += 1
                if asks:
                    nursery.start_soon(travel, source, (own, serial, False))
                elif serial in waiting:
                    waiting.pop(serial).set()

        async def coordinator(nursery: trio.Nursery) -> None:
            while True:
                replies = []
                for peer in range(1, NODES):
                    serial = next(serials)
                    replies.append(waiting.setdefault(serial, trio.Event()))
                    nursery.start_soon(travel, peer, (0, serial, True))
                with trio.move_on_after(WITHIN_S):
                    for answer in replies:
                        await answer.wait()
                await trio.sleep(EVERY_S)

        with trio.move_on_after(until_s):
            async with trio.open_nursery() as nursery:
                for each in range(NODES):
                    nursery.start_soon(node, each, nursery)
                nursery.start_soon(coordinator, nursery)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return delivered
