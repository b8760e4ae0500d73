"""What an election costs as the cluster grows: messages and virtual time, measured in simulation.

A cluster of n nodes comes up and is left until all are Normal. Then the coordinator crashes, at a seeded moment
of the second T after that, and what is sent until all others are Normal under the next one, and nothing of the
election goes round any more, is counted, but for heartbeats. Nothing strikes the links, and messages take no time:
every node has heard the coordinator as late as every other, so all of them notice, each by its own timeout, unless
it is arranged otherwise (``noticing``). The virtual time, to all Normal, is what the timeouts add up to.

The nodes are brought up from the highest down. Everybody asks everybody above, which are about n² messages however
a cluster of the bully's begins; but nobody finds only lower ones about, and makes itself their coordinator for a
moment. So for the next case only the coordinator is brought up again. No record is kept: of a thousand nodes there
are over two million.
"""

from collections.abc import Callable
from random import Random

from msgspec import Struct

from lab.analysis.elections import ElectionLog
from lab.kernel import Step, Timing
from lab.protocols import Algorithm
from lab.protocols.cost import Noticed
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Link, Record
from lab.units import format_us
from lab.worlds.config import RunConfig, header_of
from lab.worlds.noticing import NOTICING, ByEach
from lab.worlds.simulated.simulation import Simulation

__all__ = ["Measurement", "NeverSettledError", "Trial"]

_EVENTS_BETWEEN_TELLING = 10_000


class NeverSettledError(Exception):
    """The nodes did not come to agree on a coordinator; the text says why, or how long they were given."""


class Measurement(Struct, frozen=True):
    """One election among ``nodes`` nodes, and what it took. ``kinds`` are the messages by kind."""

    nodes: int
    noticed: Noticed
    coordinator: int
    messages: int
    virtual_us: int
    kinds: dict[str, int]


class _Tally:
    """A log that keeps no record: only the state after the last one, and the elections so far."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.cluster = ClusterState.of(header)
        self.elections = ElectionLog()
        self.noticing: ByEach | None = None

    @property
    def kinds(self) -> dict[str, int]:
        """The messages so far, by kind, without heartbeats."""
        heartbeats = self.header.protocol.heartbeats
        return {kind: count for kind, count in self.cluster.messages.items() if kind not in heartbeats}

    def append(self, record: Record) -> None:
        if isinstance(record, Step) and record.failed:
            raise NeverSettledError(f"node {record.node} failed: {record.failed.strip().splitlines()[-1]}")
        self.cluster.apply(record)
        self.elections.observe(record, self.cluster)
        if self.noticing is not None and isinstance(record, Step):
            for message in record.sent:
                if message.kind not in self.header.protocol.heartbeats:
                    self.noticing.sent(message)


class Trial:
    """A cluster of so many nodes, that loses its coordinator again and again. NeverSettledError.

    ``tell`` is shown the number of messages now and then, those of the start among them.
    """

    def __init__(
        self,
        protocol: type[Algorithm],
        nodes: int,
        timing: Timing,
        seed: int,
        tell: Callable[[int], None] = lambda messages: None,
    ) -> None:
        ids = tuple(range(1, nodes + 1))
        config = RunConfig("scale", protocol.name, ids, timing, {}, Link(), seed, "", world="simulated")
        header = header_of(config, protocol)
        self._nodes, self._t_us, self._tell = nodes, timing.t_us, tell
        self._chance = Random(f"{seed}/scale/{nodes}")
        self._kinds = frozenset(protocol.payloads) - frozenset(header.protocol.heartbeats)
        self._patience_us = header.protocol.settles_within_us
        self._tally = _Tally(header)
        self._simulation = Simulation(protocol, header, self._tally)
        for node in reversed(ids):
            self._simulation.restart(node)
            self._simulation.run_to(0)
            self._tell_messages()

    def measure(self, noticed: Noticed = "by each") -> Measurement:
        """The election after the crash of the coordinator, noticed so. Who crashed before comes up first."""
        simulation, tally = self._simulation, self._tally
        for node in simulation.ids:
            simulation.restart(node)
        coordinator = self._settle("at the start")
        simulation.run_to(simulation.now_us + self._t_us + self._chance.randrange(self._t_us))

        before = tally.kinds
        killed_us = simulation.now_us
        simulation.kill(coordinator)
        tally.noticing = NOTICING[noticed](simulation, self._kinds)
        successor = self._settle(f"after the crash of {coordinator}")
        took_us = simulation.now_us - killed_us
        tally.noticing = None
        self._run_until_quiet()
        grown = {kind: count - before.get(kind, 0) for kind, count in tally.kinds.items()}
        kinds = {kind: count for kind, count in grown.items() if count > 0}
        return Measurement(self._nodes, noticed, successor, sum(kinds.values()), took_us, kinds)

    def _settle(self, when: str) -> int:
        """Let time pass until all nodes that are up agree on a coordinator; who that is."""
        simulation, tally = self._simulation, self._tally
        end_us = simulation.now_us + self._patience_us
        events = 0
        while True:
            coordinator = tally.elections.coordinator
            if tally.noticing is not None and tally.noticing.go_on(coordinator is not None):
                end_us = simulation.now_us + self._patience_us
            elif coordinator is not None and (tally.noticing is None or tally.noticing.over):
                return coordinator
            elif simulation.now_us > end_us or not simulation.step():
                raise NeverSettledError(
                    f"{when} {len(simulation.lives)} nodes did not agree within {format_us(self._patience_us)}"
                )
            events += 1
            if events % _EVENTS_BETWEEN_TELLING == 0:
                self._tell_messages()

    def _run_until_quiet(self) -> None:
        """What still goes round comes to its end: nobody waits for an answer longer than T."""
        counted = -1
        while counted != (counted := sum(self._tally.kinds.values())):
            self._simulation.run_to(self._simulation.now_us + self._t_us)

    def _tell_messages(self) -> None:
        self._tell(sum(self._tally.cluster.messages.values()))
