"""The history of clients as one more assertion, named after their workload: of a run, and in an exploration.

No broken assumption excuses it: a client relies on what it was answered, whatever has happened inside the cluster.

In an exploration, in which clients call given operations, it is a property of all that has happened. Its memory is
the history so far, so that states with different histories are told apart. The history is judged whenever an
operation is answered; what was wrong once stays so.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from lab.analysis.client_history import ClientHistory, ClientSettings, Completion, check_clients
from lab.histories.anomalies import ConsistencyModel
from lab.histories.operations import History, HistoryBuilder, HistoryError, Operation, Outcome
from lab.histories.results import CheckResult
from lab.histories.workloads import WORKLOADS
from lab.kernel import Step
from lab.properties.assertions import ASSERTIONS
from lab.properties.declarations import Counterexample, Memory, OverHistory
from lab.properties.declarations import Outcome as Judged
from lab.properties.states import LocalState
from lab.properties.verdicts import Evidence, Violation, WitnessState
from lab.protocols.clients import CALLING, Call, GivenClient
from lab.protocols.workloads import operation_of
from lab.recording.records import Header, Record, header_in


class OperationCounts(Struct, frozen=True, omit_defaults=True):
    """The numbers of the clients' operations: all that were called, and those of each outcome.

    ``ok`` happened, ``failed`` did not, and of the ``unknown`` nobody knows.
    """

    called: int = 0
    ok: int = 0
    failed: int = 0
    unknown: int = 0

    @classmethod
    def of(cls, history: History) -> "OperationCounts":
        """Return the counts of a history."""
        return cls(len(history.operations), *(history.count(each) for each in ("ok", "fail", "info")))

    def __add__(self, other: "OperationCounts") -> "OperationCounts":
        return OperationCounts(
            self.called + other.called,
            self.ok + other.ok,
            self.failed + other.failed,
            self.unknown + other.unknown,
        )

    @property
    def availability(self) -> float | None:
        """The share of operations that succeeded; None if none was called."""
        return self.ok / self.called if self.called else None


class HistoryViolation(Violation, frozen=True):
    """A history that no correct system gives its clients."""

    @property
    def intact(self) -> str:
        """Nothing that a client relies on can break."""
        return "whatever the faults"

    def __str__(self) -> str:
        return f"{self.assertion} fails: {self.text}"


class HistoryVerdict(Struct, frozen=True):
    """The verdict on the history of a run's clients. ``violation`` is None unless it is wrong.

    ``evidence``: what was judged; its ``since`` is None if that is nothing, or the search was given up.
    """

    assertion: str
    violation: HistoryViolation | None
    evidence: Evidence
    operations: OperationCounts


def workload_of(header: Header) -> str:
    """Return the workload of the run's clients; empty without clients."""
    return ClientSettings.of(header).workload


def promises_of(header: Header) -> tuple[str, ...]:
    """Return the assertions by which a run is judged: those that its protocol promises, and its workload."""
    workload = workload_of(header)
    return (*header.protocol.promises, workload) if workload else header.protocol.promises


def describe_workload(name: str) -> str:
    """Return in a few words how the history of a workload is judged; empty if there is no such workload."""
    return WORKLOADS[name].does if name in WORKLOADS else ""


def judge_history(records: Sequence[Record | None]) -> HistoryVerdict | None:
    """Return the verdict on the history of a run, whose header comes first; None if it has no clients.

    None in place of a record: it could not be read.
    """
    header = header_in(records)
    if not workload_of(header):
        return None
    clients = ClientHistory(header)
    for record in records:
        clients.observe(record)
    result, history = check_clients(clients), clients.history
    if result is None:
        return None
    is_judged = result.word in ("holds", "fails")
    counts = OperationCounts.of(history)
    judged = result.statistics.get("judged", counts.called)
    evidence = Evidence(result.evidence, 0, judged, "operation") if is_judged else Evidence(result.evidence)
    violation = _violation(clients.workload, result, header, records) if result.word == "fails" else None
    return HistoryVerdict(clients.workload, violation, evidence, counts)


def _violation(
    workload: str, result: CheckResult, header: Header, records: Sequence[Record | None]
) -> HistoryViolation:
    """Return the violation: at the end of the last operation that shows it, or at the end of the run."""
    first = result.findings[0]
    ended = [each for each in first.operations if each.completed_at_us is not None]
    last = max(ended, key=_completed_at_us, default=None)
    number, step = len(records) - 1, None
    if last is not None:
        number, step = _completion(last, header, records)
    at_us = max((getattr(record, "at_us", 0) for record in records[: number + 1]), default=0)
    states = () if step is None else (WitnessState(step.node, number, at_us, f"inconsistent: {last}"),)
    return HistoryViolation(workload, number, at_us, states, {}, (), str(first))


def _completion(operation: Operation, header: Header, records: Sequence[Record | None]) -> tuple[int, Step | None]:
    """Return the record at which an operation was over, and the step if it is one of its client."""
    name = operation.process.partition(".")[0]
    client = next((node for node, each in header.names.items() if each == name), None)
    at_us = _completed_at_us(operation)
    for number, record in enumerate(records):
        if isinstance(record, Step) and record.node == client and record.at_us >= at_us:
            return number, record
    return len(records) - 1, None


def _completed_at_us(operation: Operation) -> int:
    return operation.completed_at_us or 0


_EVENTS = "events"
_decode = msgspec.json.Decoder(tuple[str, dict[str, Any]]).decode


class GivenCalls:
    """The operations that the clients of a run are given, by client."""

    def __init__(
        self, workload: str, model: ConsistencyModel, calls: dict[int, tuple[Call, ...]], names: dict[int, str]
    ) -> None:
        self._workload = workload
        self._model = model
        self._calls = calls
        self._names = names

    @classmethod
    def of(cls, header: Header) -> "GivenCalls | None":
        """Return those of a run; None if its clients are given none. Raises msgspec.ValidationError."""
        for role in header.roles:
            if role.protocol == GivenClient.name:
                settings = msgspec.convert(role.parameters, GivenClient.Parameters)
                model = ClientSettings.of(header).consistency_model
                calls = dict(zip(settings.clients, settings.calls, strict=True))
                return cls(settings.workload, model, calls, role.nodes)
        return None

    @property
    def clients(self) -> frozenset[int]:
        return frozenset(self._calls)

    def may_call(self, client: int, state: dict[str, Any]) -> bool:
        """Return whether a client in this state has an operation left, and waits for no answer."""
        return bool(state["status"] != CALLING and state["number"] < len(self._calls[client]))

    def as_property(self) -> OverHistory:
        """Return the property, named after the workload. It relies on no assumption."""
        known = ASSERTIONS[self._workload]
        return OverHistory(
            known.id,
            known.statement,
            self._judge,
            short=known.short,
            relies_on=known.relies_on,
            noun="operation",
            done="answered",
        )

    def _judge(self, memory: Memory, before: LocalState, after: LocalState) -> Judged:
        """Judge the history once an operation is answered.

        An event is a client, and the answer it got; empty: none in time, None: it calls.
        """
        was_calling, is_calling = (each.state.get("status") == CALLING for each in (before, after))
        if was_calling == is_calling:
            return None
        event = (after.id, None if is_calling else after.state["outcome"])
        events = memory[_EVENTS] = (*memory.get(_EVENTS, ()), event)
        if not event[1]:
            return None
        why = self._mistake_in(events)
        return Counterexample(why) if why else True

    def _mistake_in(self, events: tuple[tuple[int, str | None], ...]) -> str:
        """Return why no correct system gives its clients this history; empty if one may."""
        builder, called, renamed = HistoryBuilder(), dict.fromkeys(self._calls, 0), dict.fromkeys(self._calls, 0)
        try:
            for client, answer in events:
                name = f"{self._names[client]}.{renamed[client]}"
                if answer is None:
                    call = self._calls[client][called[client]]
                    called[client] += 1
                    operation = operation_of(call.kind, call.body)
                    assert operation is not None
                    builder.invoke(name, *operation)
                else:
                    outcome = self._complete(builder, name, self._calls[client][called[client] - 1], answer)
                    renamed[client] += outcome == "info"
            found = WORKLOADS[self._workload].check(builder.history(), self._model)
        except HistoryError as error:
            return f"an answer is malformed: {error}"
        return str(found.findings[0]) if found.word == "fails" else ""

    def _complete(self, builder: HistoryBuilder, name: str, call: Call, answer: str) -> Outcome:
        f, value = operation_of(call.kind, call.body) or ("", None)
        if answer:
            found = Completion.of(self._workload, call.kind, f, value, *_decode(answer))
        else:
            found = Completion.unknown(f)
        if found.mistake:
            raise HistoryError(f"{f} was answered {found.mistake}")
        builder.complete(name, found.outcome, found.result, error=found.error)
        return found.outcome
