"""The history of clients that call given operations, as a property of all that has happened in an exploration.

Its memory is the history so far, so that states with different histories are told apart. The history is judged
whenever an operation is answered; what was wrong once stays so.
"""

from typing import Any

import msgspec

from lab.analysis.client_history import error_of, outcome_of
from lab.histories.operations import HistoryBuilder, HistoryError, Outcome
from lab.histories.workloads import WORKLOADS
from lab.properties.assertions import ASSERTIONS
from lab.properties.declarations import Counterexample, Memory, OverHistory
from lab.properties.declarations import Outcome as Judged
from lab.properties.states import LocalState
from lab.protocols.clients import CALLING, Call, GivenClient
from lab.protocols.workloads import may_have_happened, operation_of, result_of
from lab.recording.records import Header

_EVENTS = "events"
_decode = msgspec.json.Decoder(tuple[str, dict[str, Any]]).decode


class GivenCalls:
    """The operations that the clients of a run are given, by client."""

    def __init__(self, workload: str, calls: dict[int, tuple[Call, ...]], names: dict[int, str]) -> None:
        self._workload = workload
        self._calls = calls
        self._names = names

    @classmethod
    def of(cls, header: Header) -> "GivenCalls | None":
        """Return those of a run; None if its clients are given none. Raises msgspec.ValidationError."""
        for role in header.roles:
            if role.protocol == GivenClient.name:
                settings = msgspec.convert(role.parameters, GivenClient.Parameters)
                return cls(settings.workload, dict(zip(settings.clients, settings.calls, strict=True)), role.nodes)
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
            found = WORKLOADS[self._workload].check(builder.history())
        except HistoryError as error:
            return f"an answer is malformed: {error}"
        return str(found.findings[0]) if found.word == "fails" else ""

    def _complete(self, builder: HistoryBuilder, name: str, call: Call, answer: str) -> Outcome:
        f, value = operation_of(call.kind, call.body) or ("", None)
        kind, body = _decode(answer) if answer else ("", {})
        error = error_of(body) if kind == "Error" else None
        outcome: Outcome = outcome_of(error) if answer else "info"
        if outcome == "info" and not may_have_happened(f):
            outcome = "fail"
        result = result_of(call.kind, value, body) if outcome == "ok" else None
        builder.complete(name, outcome, result, error=error)
        return outcome
