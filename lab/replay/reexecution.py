"""Re-execution: recorded inputs, fed to new nodes, must give the recorded steps.

Re-execution makes a recording trustworthy. It fails if the recording was edited or the code of the protocol has
changed since. Only the installed protocol runs, never code out of the recording.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import DriverError, Input, Message, Node, Protocol, Received, Started, Step
from lab.kernel.storage import AlteredStorage, DamagedStorageError, WriteLog
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import NotARecordingError, RecordStore
from lab.recording.records import (
    Header,
    Injected,
    Keyframe,
    Process,
    Record,
    Routed,
    Stall,
    decode_fields,
    differing_fields,
    encode,
)
from lab.recording.snapshot import Snapshot, difference_between
from lab.recording.step_fold import StepFold
from lab.recording.writer import Chain
from lab.replay.roster import Roster, has_other_sources

_STORAGE_FAULTS: dict[str, Callable[[WriteLog, Process], AlteredStorage | None]] = {
    "unwritten": lambda storage, record: storage.unwrite(record.lost),
    "torn": lambda storage, record: storage.tear(),
    "flipped": lambda storage, record: storage.flip_bit(record.write, record.bit),
}


class Difference(Struct, frozen=True):
    """A record that differs from the re-execution."""

    record: int
    text: str


class ReexecutionReport(Struct):
    """The result of a re-execution of ``steps`` steps. ``source_differs``: the protocol's source has changed."""

    steps: int
    differences: list[Difference]
    source_differs: bool
    unknown: int
    torn: bool

    @property
    def holds(self) -> bool:
        """True if the recording equals the re-execution of its inputs."""
        return not self.differences


def reexecute(
    store: RecordStore,
    protocol: type[Protocol],
    source: str,
    most: int = 20,
    progress: Callable[[int], None] = lambda done: None,
    watch: Callable[[Record | None], object] = lambda record: None,
) -> ReexecutionReport:
    """Re-execute a recording with the installed ``protocol``, whose source text is ``source``.

    If the source differs from the recorded one, the source lines at which procedures wait are not compared. The
    digests in the recording of an exercise show edits of what re-execution takes as given: inputs and commands.
    Re-execution stops after ``most`` differences. ``progress`` is called with the number of records done, every
    thousand; ``watch`` is called with every record. Raises NotARecordingError if the parameters in the header are
    not those of the protocol.
    """
    source_differs = has_other_sources(store.header, source)
    run, chain = Reexecution(store.header, protocol, source_differs), Chain(store.header)
    report = ReexecutionReport(0, [], source_differs, 0, store.torn)
    for number, record in enumerate(store.records()):
        if number % 1000 == 0:
            progress(number)
        watch(record)
        if number in store.damage:
            run.check(number, None)
            found: str | None = f"cannot be read: {store.damage[number]}"
        else:
            found = run.check(number, record) or chain.mismatch(record)
        if store.header.exercise is not None:
            chain.add(store.raw(number) + b"\n")
        if found:
            report.differences.append(Difference(number, found))
            if len(report.differences) >= most:
                break
    report.steps = run.steps
    report.unknown = len(store.unknown)
    return report


class Reexecution:
    """Re-execute a run, record by record; the attributes are the state after the last record.

    By node, ``nodes`` holds the last incarnation, ``incarnations`` its number, ``stores`` its stable storage, and
    ``serials`` the next serial. ``messages`` maps those in flight to (message, copies that can still arrive). The
    source lines at which procedures wait are not compared with ``source_differs``, nor of clients and services,
    whose source is not recorded. Raises NotARecordingError.
    """

    def __init__(self, header: Header, protocol: type[Protocol], source_differs: bool) -> None:
        self.steps = 0
        self.nodes: dict[int, Node] = {}
        self.incarnations: dict[int, int] = {}
        self.stores = {node: WriteLog() for node in header.all_nodes}
        self.serials: dict[int, int] = dict.fromkeys(header.all_nodes, 1)
        self.messages: dict[tuple[int, int], tuple[Message, int]] = {}
        self.cluster = ClusterState.of(header)
        self._steps = StepFold()
        self._base: Snapshot | None = None
        self._is_base_lost = False
        self._source_differs = source_differs
        self._others = frozenset(header.names)
        try:
            self._roster = Roster.of(header, protocol)
        except msgspec.ValidationError as error:
            raise NotARecordingError(
                f"the parameters in the header are not those of {protocol.name}: {error}"
            ) from None

    def check(self, number: int, record: Record | None) -> str | None:
        """Apply the next record; return how it differs from the re-execution, or None."""
        found = None
        if record is None:
            self._base, self._is_base_lost = None, True  # it may have been a keyframe
        elif isinstance(record, Step):
            found = self._step(record)
        elif isinstance(record, Routed):
            found = self._routed(record)
        elif isinstance(record, Injected):
            found = self._injected(record.message)
        elif isinstance(record, Process):
            found = self._process(record)
        elif isinstance(record, Keyframe):
            found = self._keyframe(record)
        elif isinstance(record, Stall) and record.node is not None and record.node not in self.stores:
            found = f"a stall of node {record.node}, which is not in the header"
        elif isinstance(record, Header) and number > 0:
            found = "a second header"
        self.cluster.apply(record)
        return found

    def _keyframe(self, record: Keyframe) -> str | None:
        now = self.cluster.snapshot()
        if record.snapshot is not None:
            self._base, self._is_base_lost = now, False
            is_same = encode(record.snapshot) == encode(now)
        elif self._base is not None:
            is_same = encode(record.difference) == encode(difference_between(self._base, now))
        else:
            is_same = self._is_base_lost
        return None if is_same else "the keyframe differs from the state after the records before it"

    def _process(self, record: Process) -> str | None:
        """Do to stable storage what was done to it; return how that differs from the record, or None."""
        storage = self.stores.get(record.node)
        if storage is None:
            return f"an event of node {record.node}, which is not in the header"
        if record.event == "wiped":
            self.stores[record.node] = WriteLog()
        elif record.event == "failed" and record.why and not record.has_erred:
            return self._damage_differs(record, storage)
        elif record.event in _STORAGE_FAULTS:
            altered = _STORAGE_FAULTS[record.event](storage, record)
            done = None if altered is None else (altered.lost, altered.left, altered.write)
            if done != (record.lost, record.left, record.write):
                return f"the stable storage of node {record.node} was {record.event}, but re-execution differs"
        return None

    def _damage_differs(self, record: Process, storage: WriteLog) -> str | None:
        try:
            storage.open()
        except DamagedStorageError as error:
            found = error.describe(record.node)
        else:
            found = "its stable storage is whole"
        if found == record.why:
            return None
        return f"node {record.node} did not start: recorded {record.why}, re-executed {found}"

    def _injected(self, message: Message) -> str | None:
        key = (message.source, message.serial)
        if message.serial >= 0 or key in self.messages:
            return f"the forged message {message.serial} of {message.source} has the serial of another message"
        self.messages[key] = (message, 1)
        return None

    def _routed(self, routed: Routed) -> str | None:
        key = (routed.source, routed.serial)
        if key not in self.messages:
            return f"message {routed.serial} of {routed.source}, which is not in flight, was {routed.fate}"
        if routed.fate == "duplicated":
            message, copies = self.messages[key]
            self.messages[key] = (message, copies + 1)
        elif routed.fate == "dropped":
            self._remove_copy(*key)
        return None

    def _remove_copy(self, source: int, serial: int) -> Message | None:
        message, copies = self.messages.pop((source, serial), (None, 0))
        if message is not None and copies > 1:
            self.messages[source, serial] = (message, copies - 1)
        return message

    def _step(self, recorded: Step) -> str | None:
        if recorded.node not in self.serials:
            return f"a step of node {recorded.node}, which is not in the header"
        given: Input
        if isinstance(recorded.input, Received):
            message = self._remove_copy(recorded.input.source, recorded.input.serial)
            if message is None or message.target != recorded.node:
                return f"node {recorded.node} received message {recorded.input.serial} of " + (
                    f"{recorded.input.source}, which is not in flight to it"
                )
            given = message
        else:
            given = recorded.input
        if isinstance(given, Started):
            problem = self._start_incarnation(recorded.node, given)
            if problem:
                return problem
        node = self.nodes.get(recorded.node)
        if node is None:
            return f"node {recorded.node} made a step before it was started"
        return self._compare(node, given, recorded)

    def _start_incarnation(self, node: int, given: Started) -> str | None:
        incarnation = self.cluster.view_of(node).incarnation  # some processes end before their first step
        if (
            given.incarnation != incarnation
            or incarnation <= self.incarnations.get(node, 0)
            or given.serial != self.serials[node]
        ):
            return (
                f"node {node} started incarnation {given.incarnation} with serial {given.serial}; "
                f"its process is in incarnation {incarnation}, and has serial {self.serials[node]}"
            )
        self.incarnations[node] = incarnation
        problem = self._open_storage(node, given.stored)
        if problem:
            return problem
        self.nodes[node] = self._roster.new_kernel_node(node)
        return None

    def _open_storage(self, node: int, stored: dict[str, Any]) -> str | None:
        """Return how the contents of stable storage differ from those recorded, or None.

        Old recordings may lack the last write of a process that was killed; contents that a fault altered must
        follow from the records.
        """
        storage = self.stores[node]
        try:
            is_same = encode(storage.open()) == encode(stored)
        except DamagedStorageError as error:
            return f"node {node} started although {error.describe(node)}"
        if not is_same and storage.was_altered:
            return f"node {node} started with other contents of stable storage than its writes and faults leave"
        if not is_same:
            self.stores[node] = WriteLog(stored)
        return None

    def _compare(self, node: Node, given: Input, recorded: Step) -> str | None:
        self.steps += 1
        for message in recorded.sent:
            self.messages[message.source, message.serial] = (message, 1)
            self.serials[recorded.node] = message.serial + 1
        if recorded.stores:
            self.stores[recorded.node].append(recorded)
        try:
            executed = node.step(given, recorded.at_us, recorded.draws)
        except DriverError as error:
            return f"its input is impossible: {error}"
        before = self._steps.state_before(recorded)
        if self._steps.is_same(recorded, executed, node.waits()):
            return None
        was, now = recorded.whole(before, self._steps.waits(node.id)), executed.whole(before, node.waits())
        if self._source_differs or recorded.node in self._others:
            was, now = _without_lines(was), _without_lines(now)
        return (
            None
            if encode(was) == encode(now)
            else _describe(decode_fields(encode(was)), decode_fields(encode(now)))
        )


def _without_lines(whole: Step) -> Step:
    return replace(whole, began=tuple(replace(wait, line=0) for wait in whole.began))


def _describe(was: dict[str, Any], now: dict[str, Any]) -> str:
    for step in (was, now):
        step["waits"] = step.pop("began", None)
    parts = [f"{name}: recorded {one}, re-executed {other}" for name, one, other in differing_fields(was, now)]
    return f"step of node {was.get('node')} differs in {'; '.join(parts)}"
