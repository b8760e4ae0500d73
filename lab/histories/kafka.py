"""Workload of append-only logs: kafka. Messages are sent to a key, get an offset, and are polled in order.

As Maelstrom has it, an operation is a list of micro-operations: ``["send", key, message]`` returns ``["send", key,
[offset, message]]``, and ``["poll"]`` returns ``["poll", {key: [[offset, message], …]}]``. A client polls each key
from where its last poll ended, until an ``assign`` (or ``subscribe``) places it anew. Offsets may have gaps. What
can go wrong:

- **inconsistent offset**: two messages at one offset of a key; **duplicate**: a message at two offsets;
- **lost write**: a message was acknowledged at an offset, the key was polled up to there or further, it never was;
- **nonmonotonic poll**: a client is given an offset not above its last one of the key, within a poll or from one
  to the next; **poll skip**: above it, but past a message that exists; **nonmonotonic send**: a client's next
  message to a key gets no higher offset;
- **aborted read** and **garbage read**: a polled message the send of which failed, or that nobody sent.

A message above all that was polled is *not seen yet*: there is no promise when a poll must return it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from lab.histories.operations import History, HistoryError, Operation
from lab.histories.results import CheckResult, Finding, Word
from lab.histories.values import format_value, format_values, freeze
from lab.units import format_count

MOST_FINDINGS = 20
"""The most findings of one kind; the statistics count all."""
_PLACING = ("assign", "subscribe")


class _Sent(NamedTuple):
    """A message with its offset, None if it is not known, and its operation."""

    key: Hashable
    offset: int | None
    message: Hashable
    operation: Operation


class _Polled(NamedTuple):
    """The messages of a key that one poll returned, in its order: (offset, message)."""

    key: Hashable
    pairs: list[tuple[int, Hashable]]
    operation: Operation


def check_kafka(history: History) -> CheckResult:
    """Return whether the logs keep all messages, each at one offset, and polls go through them in order.

    Raises HistoryError if an operation is not of the form above.
    """
    sent = [each for operation in history.operations for each in _sends(operation)]
    polled = [each for operation in history.operations for each in _polls(operation)]
    offsets = _known_offsets(sent, polled)
    findings = [
        *_wrong_offsets(sent, polled),
        *_wrong_messages(sent, polled),
        *_lost(sent, polled),
        *_wrong_sends(sent),
        *_wrong_polls(history, offsets),
    ]
    counts: dict[str, int] = {}
    kept = []
    for finding in findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
        if counts[finding.kind] <= MOST_FINDINGS:
            kept.append(finding)
    seen = {(key, message) for key, pairs, _ in polled for _, message in pairs}
    acknowledged = [each for each in sent if each.operation.outcome == "ok"]
    unseen = sum((each.key, each.message) not in seen for each in acknowledged) - counts.get("lost write", 0)
    messages = sum(len(each.pairs) for each in polled)
    word: Word = "fails" if findings else "holds"
    evidence = (
        f"{format_count(len(acknowledged), 'message')} acknowledged, {messages:,} polled on "
        f"{format_count(len(offsets), 'key')}" + (f"; {unseen:,} not seen yet" if unseen else "")
    )
    if not findings and not messages:
        word = "not judged"
        evidence = "no message was polled"
    elif not findings and history.lacks_final("poll"):
        word = "not judged"
        evidence = "no last poll succeeded"
    statistics = {
        "sent": len(sent),
        "acknowledged": len(acknowledged),
        "polls": len({each.operation.index for each in polled}),
        "polled": messages,
        "not seen yet": unseen,
        **counts,
    }
    return CheckResult("kafka", word, evidence, tuple(kept), statistics)


def _steps(operation: Operation) -> Iterator[tuple[Any, Any]]:
    """Yield each micro-operation as called and, if that is known, as done."""
    if operation.f not in ("send", "poll", "txn"):
        return
    called, done = operation.value, operation.result if operation.outcome == "ok" else None
    if not isinstance(called, list | tuple) or not all(isinstance(each, list | tuple) and each for each in called):
        raise _wrong_form(operation, called)
    if operation.outcome == "ok" and (not isinstance(done, list | tuple) or len(done) != len(called)):
        raise _wrong_form(operation, done)
    for one, other in zip(called, done or [None] * len(called), strict=True):
        if other is not None and (not isinstance(other, list | tuple) or list(other[:1]) != [one[0]]):
            raise _wrong_form(operation, other)
        yield one, other


def _wrong_form(operation: Operation, got: Any) -> HistoryError:
    form = 'a list of ["send" key message] and ["poll"], with [offset message] and {key [[offset message]]} done'
    has = f"{operation.f} of client {operation.process} has {format_value(got)}"
    return HistoryError(f"event {operation.index}: {has}: expected {form}")


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and type(value[0]) is int


def _sends(operation: Operation) -> Iterator[_Sent]:
    for called, done in _steps(operation):
        if called[0] == "send":
            if len(called) != 3:
                raise _wrong_form(operation, called)
            _, key, message = called
            offset = None
            if done is not None:
                if len(done) != 3 or not _is_pair(done[2]):
                    raise _wrong_form(operation, done)
                offset = done[2][0]
            yield _Sent(freeze(key), offset, freeze(message), operation)


def _polls(operation: Operation) -> Iterator[_Polled]:
    for called, done in _steps(operation):
        if called[0] == "poll" and done is not None:
            if len(done) != 2 or not isinstance(done[1], Mapping):
                raise _wrong_form(operation, done)
            for key, pairs in done[1].items():
                if not isinstance(pairs, list | tuple) or not all(map(_is_pair, pairs)):
                    raise _wrong_form(operation, done)
                yield _Polled(freeze(key), [(offset, freeze(message)) for offset, message in pairs], operation)


def _known_offsets(sent: list[_Sent], polled: list[_Polled]) -> dict[Hashable, list[int]]:
    """Return the offsets of each key at which a message is known to be, in order."""
    known: dict[Hashable, set[int]] = {}
    for each in sent:
        if each.offset is not None:
            known.setdefault(each.key, set()).add(each.offset)
    for poll in polled:
        known.setdefault(poll.key, set()).update(offset for offset, _ in poll.pairs)
    return {key: sorted(offsets) for key, offsets in known.items()}


def _placed(sent: list[_Sent], polled: list[_Polled]) -> Iterator[tuple[Hashable, int, Hashable, Operation]]:
    """Yield each (key, offset, message, operation) that a client was told of."""
    for each in sent:
        if each.offset is not None:
            yield each.key, each.offset, each.message, each.operation
    for poll in polled:
        for offset, message in poll.pairs:
            yield poll.key, offset, message, poll.operation


def _wrong_offsets(sent: list[_Sent], polled: list[_Polled]) -> Iterator[Finding]:
    message_at: dict[tuple[Hashable, int], dict[Hashable, Operation]] = {}
    offsets_of: dict[tuple[Hashable, Hashable], dict[int, Operation]] = {}
    for key, offset, message, operation in _placed(sent, polled):
        message_at.setdefault((key, offset), {}).setdefault(message, operation)
        offsets_of.setdefault((key, message), {}).setdefault(offset, operation)
    for (key, offset), messages in message_at.items():
        if len(messages) > 1:
            shown = " and ".join(
                f"{format_value(message)} ({operation.process}, {operation.interval})"
                for message, operation in messages.items()
            )
            text = f"offset {offset} of {format_value(key)} has {shown}"
            yield Finding("inconsistent offset", text, tuple(messages.values()))
    for (key, message), offsets in offsets_of.items():
        if len(offsets) > 1:
            text = (
                f"{format_value(message)} is in {format_value(key)} at the offsets {format_values(list(offsets))}"
            )
            yield Finding("duplicate", text, tuple(offsets.values()))


def _wrong_messages(sent: list[_Sent], polled: list[_Polled]) -> Iterator[Finding]:
    sender = {(each.key, each.message): each.operation for each in sent}
    found = set()
    for key, pairs, operation in polled:
        for offset, message in pairs:
            by = sender.get((key, message))
            if (key, message) in found or (by is not None and by.outcome != "fail"):
                continue
            found.add((key, message))
            shown = f"{operation.process} polls {format_value(message)} from {format_value(key)} at {offset}"
            if by is None:
                yield Finding("garbage read", f"{shown}, which nobody sent", (operation,))
            else:
                yield Finding(
                    "aborted read", f"{shown}, the send of which by {by.process} failed", (by, operation)
                )


def _lost(sent: list[_Sent], polled: list[_Polled]) -> Iterator[Finding]:
    seen = {(key, message) for key, pairs, _ in polled for _, message in pairs}
    last: dict[Hashable, tuple[int, Operation]] = {}
    for key, pairs, operation in polled:
        for offset, _ in pairs:
            if key not in last or offset > last[key][0]:
                last[key] = offset, operation
    for key, acknowledged, message, operation in sent:
        if (
            acknowledged is not None
            and key in last
            and acknowledged <= last[key][0]
            and (key, message) not in seen
        ):
            beyond, poll = last[key]
            text = (
                f"{operation.process} sent {format_value(message)} to {format_value(key)}, acknowledged at offset "
                f"{acknowledged}; {poll.process} polled up to {beyond}, and nobody polled it"
            )
            yield Finding("lost write", text, (operation, poll))


def _wrong_sends(sent: list[_Sent]) -> Iterator[Finding]:
    last: dict[tuple[str, Hashable], _Sent] = {}
    for each in sent:
        if each.offset is not None:
            before = last.get((each.operation.process, each.key))
            if before is not None and before.offset is not None and each.offset <= before.offset:
                text = (
                    f"{each.operation.process} sent {format_value(before.message)} to {format_value(each.key)} at "
                    f"offset {before.offset}, and then {format_value(each.message)} at {each.offset}"
                )
                yield Finding("nonmonotonic send", text, (before.operation, each.operation))
            last[each.operation.process, each.key] = each


def _wrong_polls(history: History, offsets: dict[Hashable, list[int]]) -> Iterator[Finding]:
    last: dict[str, dict[Hashable, tuple[int, Operation]]] = {}
    for operation in history.operations:
        if operation.f in _PLACING:
            last.pop(operation.process, None)
        at = last.setdefault(operation.process, {})
        for key, pairs, _ in _polls(operation):
            known = offsets[key]
            for offset, _ in pairs:
                before = at.get(key)
                at[key] = offset, operation
                if before is None:
                    continue
                where = f"{operation.process} polls {format_value(key)} at {before[0]} and next at {offset}"
                operations = (operation,) if before[1] is operation else (before[1], operation)
                if offset <= before[0]:
                    yield Finding("nonmonotonic poll", where, operations)
                elif skipped := known[bisect_right(known, before[0]) : bisect_left(known, offset)]:
                    yield Finding("poll skip", f"{where}, past {format_values(skipped)}", operations)
