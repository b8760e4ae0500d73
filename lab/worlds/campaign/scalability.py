"""Measure the cost of an election as the cluster grows: messages and virtual time, in simulation.

A cluster of n nodes starts and runs until all are Normal. The coordinator crashes at a random moment of the second
T after that (drawn from the seed). Counted are the messages, without heartbeats, until all others are Normal under
the next coordinator and no message of the election is in flight any more. There are no link faults, and messages
take no time. So all nodes heard from the coordinator equally late, and each detects the crash by its own timeout,
unless ``DETECTION`` arranges otherwise, for the best and the worst case of any protocol. The virtual time, up to
all Normal, is the sum of timeouts.

The nodes start from the highest down. Each asks all higher ones, about n² messages, as at any start of a bully
cluster; but none finds only lower nodes up, and makes itself their coordinator for a moment. For the next case
only the crashed coordinator restarts. No record is kept: a thousand nodes make over two million.
"""

import time
from collections.abc import Callable, Sequence
from random import Random

from msgspec import Struct, field
from msgspec.structs import replace

from lab.analysis.elections import ElectionLog
from lab.kernel import Message, Step, Timing
from lab.network import Hold, links_among
from lab.protocols import Algorithm, Cost, Election
from lab.protocols.cost import Detection
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.units import format_us
from lab.worlds.loading.config import simulation_header
from lab.worlds.simulated.simulation import Simulation

# Which nodes detect the crash. A paused node detects nothing. A message to it makes it resume, and is handled
# before the timers that expired during the pause, so no message is late. A held message does not spread the news
# of the election. Heartbeats are left alone.

_HOLD = 1
"""The number of the only rule."""


class DetectedByEach:
    """Let every node detect the crash by its own timeout. Create it right after the crash."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        """``kinds`` are the messages other than heartbeats."""

    @property
    def over(self) -> bool:
        """True if no node is kept from detecting the crash any more."""
        return True

    def on_sent(self, message: Message) -> None:
        """Note a message, other than a heartbeat, that a node has sent."""

    def advance(self, agreed: bool) -> bool:
        """Do what is due; return whether anything was. ``agreed``: all running nodes agree."""
        return False


class DetectedInTurn(DetectedByEach):
    """Pause all but the highest; resume the next when the others agree, or when a message is sent to it."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        self._simulation = simulation
        self._paused = sorted(simulation.incarnations)[:-1]
        self._contacted: list[int] = []
        for node in self._paused:
            simulation.pause(node)

    @property
    def over(self) -> bool:
        return not self._paused

    def on_sent(self, message: Message) -> None:
        self._contacted.append(message.target)

    def advance(self, agreed: bool) -> bool:
        contacted, self._contacted = self._contacted, []
        if agreed and not contacted:
            contacted = self._paused[-1:]
        resumed = [node for node in contacted if self._simulation.resume(node)]
        self._paused = [node for node in self._paused if node not in resumed]
        return bool(resumed)


class DetectedAtOnce(DetectedByEach):
    """Hold all messages until every node has sent one."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        self._simulation = simulation
        self._not_sent = set(simulation.incarnations)
        everybody = frozenset(simulation.ids)
        simulation.network.add_rule(_HOLD, Hold(links=links_among(everybody, everybody), kinds=kinds))

    @property
    def over(self) -> bool:
        return not self._simulation.network.rules

    def on_sent(self, message: Message) -> None:
        self._not_sent.discard(message.source)

    def advance(self, agreed: bool) -> bool:
        if self.over or self._not_sent:
            return False
        self._simulation.network.remove_rule(_HOLD, self._simulation.now_us)
        return True


DETECTION: dict[Detection, Callable[[Simulation, frozenset[str]], DetectedByEach]] = {
    "by each": DetectedByEach,
    "in turn": DetectedInTurn,
    "at once": DetectedAtOnce,
}

# the measurement

_EVENTS_PER_REPORT = 10_000


class NoAgreementError(Exception):
    """The nodes did not agree on a coordinator; the text says why, or how long they had."""


class Measurement(Struct, frozen=True):
    """The cost of one election among ``nodes`` nodes. ``kinds``: the number of messages by kind."""

    nodes: int
    detection: Detection = field(name="noticed")
    coordinator: int
    messages: int
    virtual_us: int
    kinds: dict[str, int]


class _CountingLog:
    """A log that keeps no records: only the state after the last one, and the elections so far."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.cluster = ClusterState.of(header)
        self.elections = ElectionLog(self.cluster)
        self.detection: DetectedByEach | None = None

    @property
    def kinds(self) -> dict[str, int]:
        """The messages so far, by kind, without heartbeats."""
        heartbeats = self.header.protocol.heartbeats
        return {kind: count for kind, count in self.cluster.messages.items() if kind not in heartbeats}

    def append(self, record: Record) -> None:
        if isinstance(record, Step) and record.failed:
            raise NoAgreementError(f"node {record.node} failed: {record.failed.strip().splitlines()[-1]}")
        self.cluster.apply(record)
        self.elections.observe(record)
        if self.detection is not None and isinstance(record, Step):
            for message in record.sent:
                if message.kind not in self.header.protocol.heartbeats:
                    self.detection.on_sent(message)


ReportMessages = Callable[[int, float], None]
"""Called with a number of messages, and the share of the work that is done."""


class ScalabilityTrial:
    """A cluster that loses its coordinator again and again. Raises NoAgreementError.

    ``progress`` is called now and then with the number of messages so far, those of the start included, and with
    the share of the work that is done: the start, and ``cases`` measurements.
    """

    def __init__(
        self,
        protocol: type[Algorithm],
        nodes: int,
        timing: Timing,
        seed: int,
        progress: ReportMessages = lambda messages, share: None,
        cases: int = 1,
    ) -> None:
        ids = tuple(range(1, nodes + 1))
        header = simulation_header(protocol, ids, timing, {}, seed)
        self._nodes, self._t_us, self._progress = nodes, timing.t_us, progress
        self._parts, self._parts_done = 1 + cases, 0.0
        self._rng = Random(f"{seed}/scale/{nodes}")
        self._kinds = frozenset(protocol.payloads) - frozenset(header.protocol.heartbeats)
        self._patience_us = header.protocol.settles_within_us
        self._log = _CountingLog(header)
        self._simulation = Simulation(protocol, self._log)
        for started, node in enumerate(reversed(ids), 1):
            self._simulation.restart(node)
            self._simulation.run_to(0)
            self._parts_done = started / nodes
            self._report_progress()

    def measure(self, detection: Detection = "by each") -> Measurement:
        """Restart the nodes that are down, crash the coordinator, and measure the election."""
        simulation, log = self._simulation, self._log
        for node in simulation.ids:
            simulation.restart(node)
        coordinator = self._run_until_agreement("at the start")
        simulation.run_to(simulation.now_us + self._t_us + self._rng.randrange(self._t_us))

        before = log.kinds
        killed_us = simulation.now_us
        simulation.kill(coordinator)
        log.detection = DETECTION[detection](simulation, self._kinds)
        successor = self._run_until_agreement(f"after the crash of {coordinator}")
        took_us = simulation.now_us - killed_us
        log.detection = None
        self._run_until_quiet()
        grown = {kind: count - before.get(kind, 0) for kind, count in log.kinds.items()}
        kinds = {kind: count for kind, count in grown.items() if count > 0}
        self._parts_done += 1
        return Measurement(self._nodes, detection, successor, sum(kinds.values()), took_us, kinds)

    def _run_until_agreement(self, when: str) -> int:
        """Run until all nodes that are up agree on a coordinator; return it."""
        simulation, log = self._simulation, self._log
        end_us = simulation.now_us + self._patience_us
        events = 0
        while True:
            coordinator = log.elections.coordinator
            if log.detection is not None and log.detection.advance(coordinator is not None):
                end_us = simulation.now_us + self._patience_us
            elif coordinator is not None and (log.detection is None or log.detection.over):
                return coordinator
            elif simulation.now_us > end_us or not simulation.step():
                count, within = len(simulation.incarnations), format_us(self._patience_us)
                raise NoAgreementError(f"{when} {count} nodes did not agree within {within}")
            events += 1
            if events % _EVENTS_PER_REPORT == 0:
                self._report_progress()

    def _run_until_quiet(self) -> None:
        """Run until no new messages are sent for T, the longest wait for an answer."""
        counted = -1
        while counted != (counted := sum(self._log.kinds.values())):
            self._simulation.run_to(self._simulation.now_us + self._t_us)

    def _report_progress(self) -> None:
        self._progress(sum(self._log.cluster.messages.values()), self._parts_done / self._parts)


# a study: elections in one or several cases, in growing clusters

MOST_MESSAGES = 10_000
"""Cases above this limit, by their formula, are skipped; except for the first, which a plain run shows."""

_MANY = 1_000
"""A cluster size at which the order of the cases is clear."""


class ScaleRow(Struct, frozen=True):
    """A measurement, and how long it took. ``measured`` is None if it was skipped."""

    nodes: int
    measured: Measurement | None
    seconds: float


class ScaleCase(Struct, frozen=True):
    """A case with its formula, and formulas that are only shown next to it."""

    cost: Cost | None
    other_costs: list[Cost]
    rows: list[ScaleRow]

    @property
    def name(self) -> str:
        return "" if self.cost is None else self.cost.case

    @property
    def detection(self) -> Detection:
        """The way in which the nodes detect the crash; by default, each by itself."""
        return "by each" if self.cost is None or self.cost.detection is None else self.cost.detection

    @property
    def measured(self) -> list[Measurement]:
        """The measurements that were not skipped."""
        return [row.measured for row in self.rows if row.measured is not None]

    def messages(self, nodes: float) -> float:
        """Return the number of messages by the formula; 0 without a formula."""
        return 0 if self.cost is None else self.cost.messages(nodes)


class MeasuredCase(Struct, frozen=True):
    """A case, the value of its formula, and what was measured; None: there is no formula, the case was skipped."""

    case: str
    formula: float | None
    measured: Measurement | None


class ClusterMeasurement(Struct, frozen=True):
    """What was measured of a protocol in one cluster.

    ``failed`` says why the nodes did not agree; then the protocol is measured in no larger cluster, and of these
    there are no ``cases``.
    """

    nodes: int
    cases: tuple[MeasuredCase, ...] = ()
    failed: str = ""


class ScaleCampaign(Struct, frozen=True, tag_field="of", tag="scale"):
    """A study of several protocols: each is measured in the smallest cluster, then each in the next.

    ``bases`` are headers of the protocols, of whatever number of nodes. A run is one protocol in one cluster.
    """

    targets: tuple[str, ...]
    bases: tuple[Header, ...]
    sizes: tuple[int, ...]
    seed: int

    @property
    def runs(self) -> int:
        return len(self.sizes) * len(self.targets)

    @property
    def parts(self) -> int:
        """One: a larger cluster is measured only if the nodes agreed in the smaller ones."""
        return 1

    def runs_of(self, part: int) -> range:
        """Return the numbers of all runs, from 1."""
        return range(1, self.runs + 1)

    def place_of(self, run: int) -> tuple[int, int]:
        """Return the number of nodes of a run, and the place of its protocol."""
        size, place = divmod(run - 1, len(self.targets))
        return self.sizes[size], place

    def with_protocols(self, targets: Sequence[str], bases: Sequence[Header]) -> "ScaleCampaign":
        """Return the same study of these protocols."""
        return replace(self, targets=tuple(targets), bases=tuple(bases))

    def facts(self) -> dict[str, str]:
        """Return what distinguishes it from another study, in words."""
        return {
            "the seed": str(self.seed),
            "the numbers of nodes": ",".join(map(str, self.sizes)),
            "T": format_us(self.bases[0].timing.t_us),
        }


class ScaleStudy(Struct, frozen=True):
    """The measurements of one protocol."""

    protocol: type[Election]
    cases: list[ScaleCase]

    @classmethod
    def of(cls, protocol: type[Election]) -> "ScaleStudy":
        """Return an empty study: one case per measurable formula, or a single plain one."""
        cases: list[ScaleCase] = []
        for cost in protocol.costs:
            if cost.detection is not None:
                cases.append(ScaleCase(cost, [], []))
            elif cases:
                cases[-1].other_costs.append(cost)
        return cls(protocol, cases or [ScaleCase(None, list(protocol.costs), [])])

    def measure(
        self, nodes: int, timing: Timing, seed: int, progress: ReportMessages
    ) -> tuple["ClusterMeasurement", list[int]]:
        """Measure all cases in one cluster, as starting it takes as long as a measurement.

        Return what was measured, and how long each case took, in microseconds. Nothing is added to the study.
        """
        began_s = time.monotonic()
        measured: list[MeasuredCase] = []
        took_us: list[int] = []
        try:
            trial = ScalabilityTrial(self.protocol, nodes, timing, seed, progress, len(self.cases))
            for place, case in enumerate(self.cases):
                is_measured = place == 0 or case.messages(nodes) <= MOST_MESSAGES
                found = trial.measure(case.detection) if is_measured else None
                formula = None if case.cost is None else float(case.messages(nodes))
                measured.append(MeasuredCase(case.name, formula, found))
                ended_s = time.monotonic()
                took_us.append(round((ended_s - began_s) * 1e6))
                began_s = ended_s
        except NoAgreementError as error:
            return ClusterMeasurement(nodes, tuple(measured), str(error)), took_us
        return ClusterMeasurement(nodes, tuple(measured)), took_us

    def add(self, found: "ClusterMeasurement", took_us: Sequence[int]) -> None:
        """Add what was measured in a cluster."""
        for case, each, us in zip(self.cases, found.cases, took_us, strict=False):
            case.rows.append(ScaleRow(found.nodes, each.measured, us / 1e6))

    @property
    def name(self) -> str:
        return self.protocol.name

    @property
    def measured(self) -> list[Measurement]:
        """The measurements of all cases."""
        return [each for case in self.cases for each in case.measured]

    def best(self) -> ScaleCase:
        """Return the case with the fewest messages."""
        return min(self.cases, key=lambda case: case.messages(_MANY))

    def worst(self) -> ScaleCase:
        """Return the case with the most messages."""
        return max(self.cases, key=lambda case: case.messages(_MANY))
