"""The history of a run's clients: what they called, and what they were answered, folded from the records.

An operation that was not answered in time, or whose client crashed, may have happened: it has no known outcome,
and the client goes on under a new name (``c4``, then ``c4.1``). One that only reads has simply failed. Errors are
those of Maelstrom's protocol: most say that the operation did not happen, and will not; the others, and all that
the protocol does not know, that nobody knows. An answer that is none to its request, such as ``banana`` to a read,
is malformed: that is a failure of the server, whatever the workload.

The last reads of clients, by which some workloads are judged, are due when the cluster has come to rest. So they
are no evidence if a fault is in force then, or has struck since the clients stopped, or if a service is down.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.histories.anomalies import MODELS, ConsistencyModel
from lab.histories.linearizability import MAX_STATES
from lab.histories.operations import (
    ERRORS,
    INDEFINITE,
    TIMEOUT,
    ErrorReply,
    History,
    HistoryBuilder,
    HistoryError,
    Operation,
    Outcome,
)
from lab.histories.results import ABOUT_LAST_READS, CheckResult, Finding
from lab.histories.sets import MOST_FINDINGS
from lab.histories.workloads import DEFAULT_MODEL, WORKLOADS
from lab.kernel import Fired, Message, Received, Step
from lab.protocols.clients import CLIENTS
from lab.protocols.maelstrom import body_of
from lab.protocols.workloads import WORKLOADS as OPERATIONS
from lab.protocols.workloads import may_have_happened, mistake_in, operation_of, result_of
from lab.recording.records import Fault, Header, Process, Record
from lab.units import format_count, format_us


class _Call(Struct, frozen=True):
    """An operation that waits for its answer: the ``serial`` of its request, when, its kind, name and value."""

    serial: int
    at_us: int
    kind: str
    f: str
    value: Any


class ClientSettings(Struct, frozen=True):
    """The parameters of clients that their history needs: see ``Client.Parameters``; none: no ``workload``."""

    workload: str = ""
    model: str = ""
    from_us: int = 0
    until_us: int | None = None
    final_us: int | None = None

    @classmethod
    def of(cls, header: Header) -> "ClientSettings":
        """Return those of a run's clients; a recording may hold anything."""
        parameters = next((role.parameters for role in header.roles if role.protocol in CLIENTS), {})
        try:
            return msgspec.convert(parameters, cls)
        except msgspec.ValidationError:
            return cls(str(parameters.get("workload", "")))

    @property
    def consistency_model(self) -> ConsistencyModel:
        """The model that transactions are judged by."""
        return next((each for each in MODELS if each == self.model), DEFAULT_MODEL)


class Completion(Struct, frozen=True):
    """The end of an operation that was answered. ``mistake``: why the answer is none; empty if it is one."""

    outcome: Outcome
    result: Any = None
    error: ErrorReply | None = None
    mistake: str = ""

    @classmethod
    def of(
        cls, workload: str, kind: str, f: str, value: Any, answer_kind: str, body: Mapping[str, Any]
    ) -> "Completion":
        """Return how an answer ends an operation of a workload, whose request has this ``kind``."""
        mistake = mistake_in(workload, kind, answer_kind, body)
        if mistake:
            return cls.unknown(f, mistake=mistake)
        if answer_kind != "Error":
            return cls("ok", result_of(workload, kind, value, body))
        text = body.get("text")
        error = ErrorReply(body["code"], "" if text is None else str(text))
        is_definite = error.code in ERRORS and error.code not in INDEFINITE
        return cls("fail", error=error) if is_definite else cls.unknown(f, error)

    @classmethod
    def unknown(cls, f: str, error: ErrorReply | None = None, mistake: str = "") -> "Completion":
        """Return the end of an operation of which nobody knows whether it happened; a read has failed."""
        return cls("info" if may_have_happened(f) else "fail", None, error, mistake)


class ClientHistory:
    """The operations of the clients in the records passed to ``observe``, in order.

    ``workload`` is what they do, empty if there are none; ``model`` the consistency model that transactions are
    judged by. ``messages`` counts those that all nodes sent. ``malformed``: the answers that are none.
    """

    def __init__(self, header: Header) -> None:
        clients = [role for role in header.roles if role.protocol in CLIENTS]
        self._settings = ClientSettings.of(header)
        self.workload, self.model = self._settings.workload, self._settings.consistency_model
        self.malformed: list[Finding] = []
        self._struck = ""
        self._in_force: dict[int, str] = {}
        self._paused: set[int] = set()
        self._services = {node for role in header.roles if role not in clients for node in role.nodes}
        self._down: set[int] = set()
        self.messages = 0
        self._names = {node: name for role in clients for node, name in role.nodes.items()}
        self._renamed = dict.fromkeys(self._names, 0)
        self._calls: dict[int, _Call] = {}
        self._replies: dict[tuple[int, int], Message] = {}
        self._builder = HistoryBuilder()

    @property
    def history(self) -> History:
        """The history so far."""
        return self._builder.history()

    @property
    def why_idle(self) -> str:
        """Why there is no operation; empty if there is one."""
        if self.history.operations:
            return ""
        begin = f"the clients begin {format_us(self._settings.from_us)} after the start"
        return f"no operation was called: {begin}, and stop before the end; let it run for longer"

    @property
    def why_unread(self) -> str:
        """Why there are no last reads, which the workload has; empty if there are some, or none is due."""
        known = OPERATIONS.get(self.workload)
        if known is None or known.final is None or self._settings.final_us is None:
            return ""
        made = any(each.is_final for each in self.history.operations)
        return "" if made else "no client made its last read"

    @property
    def why_unchanged(self) -> str:
        """Why what was read shows nothing; empty if something was changed, or no operation would."""
        updates = [each for each in self.history.operations if may_have_happened(each.f)]
        if not updates or any(each.outcome == "ok" for each in updates):
            return ""
        return f"no operation that changes something succeeded, of {len(updates):,}"

    @property
    def why_unsettled(self) -> str:
        """Why the last reads are no evidence; empty if they are, or there are none."""
        if self._struck:
            return self._struck
        left = [*self._in_force.values(), *(f"pause {node}" for node in sorted(self._paused))]
        left += (f"kill {node}" for node in sorted(self._down))
        return f"still in force at the last reads: {left[0]}" if left else ""

    def observe(self, record: Record | None) -> None:
        """Take in the next record; None stands for one that cannot be read."""
        if isinstance(record, Step):
            self.messages += len(record.sent)
            if record.node in self._names:
                self._client_step(record)
            else:
                for message in record.sent:
                    if message.reply_to and message.target in self._names:
                        self._replies[message.source, message.serial] = message
        elif isinstance(record, Process | Fault):
            if isinstance(record, Process) and record.node in self._calls and record.event in ("killed", "failed"):
                self._end_unknown(record.node, record.at_us)
            until_us, final_us = self._settings.until_us, self._settings.final_us
            if until_us is not None and final_us is not None and record.at_us <= final_us:
                self._observe_fault(record, until_us)

    def _observe_fault(self, record: Process | Fault, until_us: int) -> None:
        """Take in what happened to nodes and links before the last reads."""
        if isinstance(record, Fault):
            self._in_force.pop(record.id, None)
            if record.links and not record.lifted:
                self._in_force[record.id] = record.text
        else:
            (self._paused.add if record.event == "paused" else self._paused.discard)(record.node)
            if record.event == "started":
                self._down.discard(record.node)
            elif record.event in ("killed", "failed") and record.node in self._services:
                self._down.add(record.node)
        is_own = isinstance(record, Process) and record.event == "failed"
        if record.at_us > until_us and not is_own:
            self._struck = "a fault strikes while the cluster should come to rest"

    def _client_step(self, step: Step) -> None:
        given, call = step.input, self._calls.get(step.node)
        if isinstance(given, Received):
            answer = self._replies.pop((given.source, given.serial), None)
            if answer is not None and call is not None and answer.reply_to == call.serial:
                self._answered(step, call, answer)
        elif isinstance(given, Fired) and call is not None:  # while it waits, it has no other timer
            self._end_unknown(step.node, step.at_us, ErrorReply(TIMEOUT))
        for message in step.sent:
            body = body_of(message)
            operation = operation_of(message.kind, body)
            if operation is not None:
                if step.node in self._calls:  # no client of ours does that
                    self._end_unknown(step.node, step.at_us)
                self._calls[step.node] = _Call(message.serial, step.at_us, message.kind, *operation)
                final_us = self._settings.final_us
                is_final = final_us is not None and step.at_us >= final_us
                self._builder.invoke(self._name(step.node), *operation, step.at_us, is_final=is_final)

    def _answered(self, step: Step, call: _Call, answer: Message) -> None:
        found = Completion.of(self.workload, call.kind, call.f, call.value, answer.kind, body_of(answer))
        operation = self._end(step.node, found, step.at_us)
        if found.mistake:
            text = f"{operation.process} {operation.f} was answered {found.mistake}"
            self.malformed.append(Finding("malformed", text, (operation,)))

    def _end_unknown(self, node: int, at_us: int, error: ErrorReply | None = None) -> None:
        self._end(node, Completion.unknown(self._calls[node].f, error), at_us)

    def _end(self, node: int, found: Completion, at_us: int) -> Operation:
        call, name = self._calls.pop(node), self._name(node)
        operation = self._builder.complete(name, found.outcome, found.result, max(at_us, call.at_us), found.error)
        self._renamed[node] += found.outcome == "info"
        return operation

    def _name(self, node: int) -> str:
        renamed = self._renamed[node]
        return f"{self._names[node]}.{renamed}" if renamed else self._names[node]


def check_clients(
    clients: ClientHistory, model: ConsistencyModel | None = None, max_states: int = MAX_STATES
) -> CheckResult | None:
    """Return the verdict on what the clients were answered; None if there are none.

    Transactions are judged by the ``model``, by default that of the run; ``max_states`` as in ``Workload.check``.

    An answer that is none of the workload, such as a text where a list is due, is a failure, too. What is wrong in
    any case is one also if the last reads are no evidence.
    """
    if clients.workload not in WORKLOADS:
        return None
    if clients.malformed:
        evidence = f"{format_count(len(clients.malformed), 'answer')} malformed"
        return CheckResult(clients.workload, "fails", evidence, tuple(clients.malformed[:MOST_FINDINGS]))
    try:
        result = WORKLOADS[clients.workload].check(clients.history, model or clients.model, max_states)
    except HistoryError as error:
        return CheckResult(
            clients.workload, "fails", "an answer is malformed", (Finding("malformed", str(error)),)
        )
    why = clients.why_idle or clients.why_unsettled or clients.why_unread
    if result.word == "holds":
        why = why or clients.why_unchanged
    if not why:
        return result
    certain = tuple(each for each in result.findings if each.kind not in ABOUT_LAST_READS)
    if certain:
        return replace(result, evidence=f"the last reads are no evidence: {why}", findings=certain)
    return CheckResult(result.checker, "not judged", why)
