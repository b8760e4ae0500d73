"""Re-execution: recorded inputs, fed to fresh nodes, must give the recorded steps.

This is what a recording can be trusted by. It fails where the recording was edited or the protocol's code
has changed since. Only the installed protocol is run, never code out of the recording.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import DriverError, Input, Message, Node, Protocol, Received, Started, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import NotARecordingError, RecordStore
from lab.recording.record_fields import differing_fields, plain
from lab.recording.records import Header, Injected, Keyframe, Process, Record, Routed, encode

__all__ = ["Difference", "Reexecution", "Report", "reexecute"]


class Difference(Struct, frozen=True):
    """The record with this number is not what re-execution gives."""

    record: int
    text: str


class Report(Struct):
    """What re-execution found. ``steps`` were executed; ``source_differs``: the protocol's file changed."""

    steps: int
    differences: list[Difference]
    source_differs: bool
    unknown: int
    torn: bool

    @property
    def holds(self) -> bool:
        """Whether the recording is what its inputs give."""
        return not self.differences


def reexecute(
    lines: RecordStore,
    protocol: type[Protocol],
    source: str,
    most: int = 20,
    progress: Callable[[int], None] = lambda done: None,
    watch: Callable[[Record | None], object] = lambda record: None,
) -> Report:
    """Re-execute a recording with the installed ``protocol``, whose source text is ``source``.

    Where the source differs from the recorded one, the source lines at which procedures wait are not compared.
    Stops after ``most`` differences. ``progress`` is told the number of records done, every thousand; ``watch``
    is shown every record that is looked at.
    NotARecordingError where the header's parameters are not the protocol's.
    """
    source_differs = source != lines.header.protocol.source
    run = Reexecution(lines.header, protocol, source_differs)
    report = Report(0, [], source_differs, 0, lines.torn)
    for number, record in enumerate(lines.records()):
        if number % 1000 == 0:
            progress(number)
        watch(record)
        if number in lines.damage:
            run.check(number, None)
            found: str | None = f"cannot be read: {lines.damage[number]}"
        else:
            found = run.check(number, record)
        if found is not None:
            report.differences.append(Difference(number, found))
            if len(report.differences) >= most:
                break
    report.steps = run.steps
    report.unknown = len(lines.unknown)
    return report


class Reexecution:
    """Re-executes a run, record by record; what there is then is what there was after that record.

    ``nodes`` are the last lives that began, ``lives`` their numbers, ``stores`` what safe storage holds,
    ``serials`` the next of each node, ``messages`` those on their way with how often they may still arrive.
    With ``source_differs`` the source lines at which procedures wait are not compared. NotARecordingError.
    """

    def __init__(self, header: Header, protocol: type[Protocol], source_differs: bool) -> None:
        self.steps = 0
        self.nodes: dict[int, Node] = {}
        self.lives: dict[int, int] = {}
        self.stores: dict[int, dict[str, Any]] = {node: {} for node in header.nodes}
        self.serials: dict[int, int] = dict.fromkeys(header.nodes, 1)
        self.messages: dict[tuple[int, int], tuple[Message, int]] = {}
        self.cluster = ClusterState.of(header)
        self._source_differs = source_differs
        self._header = header
        self._protocol = protocol
        try:
            self._parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        except msgspec.ValidationError as error:
            raise NotARecordingError(
                f"the parameters in the header are not those of {protocol.name}: {error}"
            ) from None

    def check(self, number: int, record: Record | None) -> str | None:
        """What is wrong with the next record, or None."""
        found = None
        if isinstance(record, Step):
            found = self._step(record)
        elif isinstance(record, Routed):
            found = self._routed(record)
        elif isinstance(record, Injected):
            found = self._injected(record.message)
        elif isinstance(record, Process) and record.event == "wiped":
            self.stores[record.node] = {}
        elif isinstance(record, Keyframe) and encode(record.snapshot) != encode(self.cluster.snapshot()):
            found = "the keyframe is not what the records before it add up to"
        elif isinstance(record, Header) and number > 0:
            found = "a second header"
        self.cluster.apply(record)
        return found

    def _injected(self, message: Message) -> str | None:
        key = (message.source, message.serial)
        if message.serial >= 0 or key in self.messages:
            return f"message {message.serial} of {message.source}, which was forged, is another's"
        self.messages[key] = (message, 1)
        return None

    def _routed(self, routed: Routed) -> str | None:
        key = (routed.source, routed.serial)
        if key not in self.messages:
            return f"message {routed.serial} of {routed.source}, which is not on its way, was {routed.fate}"
        if routed.fate == "duplicated":
            message, copies = self.messages[key]
            self.messages[key] = (message, copies + 1)
        elif routed.fate == "dropped":
            self._take(*key)
        return None

    def _take(self, source: int, serial: int) -> Message | None:
        message, copies = self.messages.pop((source, serial), (None, 0))
        if message is not None and copies > 1:
            self.messages[source, serial] = (message, copies - 1)
        return message

    def _step(self, recorded: Step) -> str | None:
        if recorded.node not in self.serials:
            return f"a step of node {recorded.node}, which the header does not name"
        given: Input
        if isinstance(recorded.input, Received):
            message = self._take(recorded.input.source, recorded.input.serial)
            if message is None or message.target != recorded.node:
                return f"node {recorded.node} received message {recorded.input.serial} of " + (
                    f"{recorded.input.source}, which is not on its way to it"
                )
            given = message
        else:
            given = recorded.input
        if isinstance(given, Started):
            wrong = self._new_life(recorded.node, given)
            if wrong:
                return wrong
        node = self.nodes.get(recorded.node)
        if node is None:
            return f"node {recorded.node} made a step before it was started"
        return self._compare(node, given, recorded)

    def _new_life(self, node: int, given: Started) -> str | None:
        incarnation = self.cluster.nodes[
            node
        ].incarnation  # of its process; some lives end before their first step
        if (
            given.incarnation != incarnation
            or incarnation <= self.lives.get(node, 0)
            or given.serial != self.serials[node]
        ):
            return (
                f"node {node} started life {given.incarnation} with serial {given.serial}; "
                f"its process is in life {incarnation}, and has serial {self.serials[node]}"
            )
        self.lives[node] = incarnation
        self.stores[node] = dict(given.stored)
        self.nodes[node] = Node(self._protocol, node, self._header.nodes, self._header.timing, self._parameters)
        return None

    def _compare(self, node: Node, given: Input, recorded: Step) -> str | None:
        self.steps += 1
        for message in recorded.sent:
            self.messages[message.source, message.serial] = (message, 1)
            self.serials[recorded.node] = message.serial + 1
        self.stores[recorded.node] = recorded.kept(self.stores[recorded.node])
        try:
            executed = node.step(given, recorded.at_us)
        except DriverError as error:
            return f"its input cannot be: {error}"
        if self._source_differs:
            recorded, executed = _without_lines(recorded), _without_lines(executed)
        was, now = encode(recorded), encode(executed)
        if was == now:
            return None
        return _describe(plain(was), plain(now))


def _without_lines(step: Step) -> Step:
    return replace(step, waits=tuple(replace(wait, line=0) for wait in step.waits))


def _describe(was: dict[str, Any], now: dict[str, Any]) -> str:
    parts = [f"{name}: recorded {one}, re-executed {other}" for name, one, other in differing_fields(was, now)]
    return f"step of node {was.get('node')} differs in {'; '.join(parts)}"
