"""What an election costs as the cluster grows: messages and virtual time, measured in simulation.

A cluster of n nodes comes up and is left until all are Normal. Then the coordinator crashes, at a seeded moment
of the second T after that, and what is sent until all others are Normal under the next one is counted, but for
heartbeats. Nothing strikes the links, and messages take no time: every node has heard the coordinator as late as
every other, so all of them notice, each by its own timeout. The virtual time is what the timeouts add up to.

The nodes are brought up from the highest down. Everybody asks everybody above, which are about n² messages however
a cluster of the bully's begins; but nobody finds only lower ones about, and makes itself their coordinator for a
moment. No record is kept: of a thousand nodes there are over two million.
"""

from collections.abc import Callable
from random import Random

from msgspec import Struct

from lab.journal import Cluster, ElectionLog, Header, Link, Record
from lab.kernel import Step, Timing
from lab.protocols import Algorithm
from lab.units import format_us
from lab.worlds.config import RunConfig, header_of
from lab.worlds.simulated.simulation import Simulation

__all__ = ["Measurement", "NeverSettledError", "measure"]

_EVENTS_BETWEEN_TELLING = 10_000


class NeverSettledError(Exception):
    """The nodes did not come to agree on a coordinator; the text says why, or how long they were given."""


class Measurement(Struct, frozen=True):
    """One election among ``nodes`` nodes, and what it took. ``kinds`` are the messages by kind."""

    nodes: int
    coordinator: int
    messages: int
    virtual_us: int
    kinds: dict[str, int]


class _Tally:
    """A log that keeps no record: only the state after the last one, and the elections so far."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.cluster = Cluster.of(header)
        self.elections = ElectionLog()

    def append(self, record: Record) -> None:
        if isinstance(record, Step) and record.failed:
            raise NeverSettledError(f"node {record.node} failed: {record.failed.strip().splitlines()[-1]}")
        self.cluster.apply(record)
        self.elections.observe(record, self.cluster)


def measure(
    protocol: type[Algorithm],
    nodes: int,
    timing: Timing,
    seed: int,
    tell: Callable[[int], None] = lambda messages: None,
) -> Measurement:
    """The election after the crash of the coordinator of so many nodes. NeverSettledError.

    ``tell`` is shown the number of messages now and then, those of the start among them.
    """
    ids = tuple(range(1, nodes + 1))
    config = RunConfig("scale", protocol.name, ids, timing, {}, Link(), seed, "", world="simulated")
    header = header_of(config, protocol)
    tally = _Tally(header)
    simulation = Simulation(protocol, header, tally)
    patience_us = header.protocol.settles_within_us
    for node in reversed(ids):
        simulation.restart(node)
        simulation.run_to(0)
        tell(_sent(tally))
    coordinator = _settle(simulation, tally, patience_us, tell, "at the start")
    phase_us = Random(f"{seed}/scale/{nodes}").randrange(timing.t_us)
    simulation.run_to(simulation.now_us + timing.t_us + phase_us)

    before = dict(tally.cluster.messages)
    killed_us = simulation.now_us
    simulation.kill(coordinator)
    successor = _settle(simulation, tally, patience_us, tell, f"after the crash of {coordinator}")
    kinds = {
        kind: count - before.get(kind, 0)
        for kind, count in tally.cluster.messages.items()
        if kind not in header.protocol.heartbeats and count > before.get(kind, 0)
    }
    return Measurement(nodes, successor, sum(kinds.values()), simulation.now_us - killed_us, kinds)


def _settle(
    simulation: Simulation, tally: _Tally, patience_us: int, tell: Callable[[int], None], when: str
) -> int:
    """Let time pass until all nodes that are up agree on a coordinator; who that is."""
    end_us = simulation.now_us + patience_us
    events = 0
    while tally.elections.coordinator is None:
        if simulation.now_us > end_us or not simulation.step():
            raise NeverSettledError(
                f"{when} {len(simulation.lives)} nodes did not agree within {format_us(patience_us)}"
            )
        events += 1
        if events % _EVENTS_BETWEEN_TELLING == 0:
            tell(_sent(tally))
    return tally.elections.coordinator


def _sent(tally: _Tally) -> int:
    return sum(tally.cluster.messages.values())
