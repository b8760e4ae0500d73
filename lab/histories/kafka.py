"""Workload of append-only logs: kafka. Messages are sent to a key, get an offset, and are polled in order.

As Maelstrom has it, an operation is a list of micro-operations: ``["send", key, message]`` returns ``["send", key,
[offset, message]]``, and ``["poll"]`` returns ``["poll", {key: [[offset, message], …]}]``. A client polls each key
from where its last poll ended, until an ``assign`` (or ``subscribe``) places it anew; or from the offsets that it
asks for, if they are recorded: ``["poll", {key: offset}]``. Offsets may have gaps. What can go wrong:

- **inconsistent offset**: two messages at one offset of a key; **duplicate**: a message at two offsets;
- **lost write**: a message was acknowledged at an offset, the key was polled up to there or further, it never was;
- **unobserved**: a message was acknowledged, and nobody polled it, though in the end each client has polled its
  key until nothing more came;
- **nonmonotonic poll**: a client is given an offset not above its last one of the key, within a poll or from one
  to the next, or below the one that it asked for; **poll skip**: above it, but past a message that exists;
  **nonmonotonic send**: a client's next message to a key gets no higher offset;
- **aborted read** and **garbage read**: a polled message the send of which failed, or that nobody sent.

A message above all that was polled is *not seen yet*: there is no promise when a poll must return it, but for the
final ones, which a workload makes once it has let the system come to rest.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
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
    """The messages of a key that one poll returned, in its order: (offset, message).

    ``asked``: the offset from which on it was to; None if that is not recorded.
    """

    key: Hashable
    pairs: list[tuple[int, Hashable]]
    operation: Operation
    asked: int | None


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
        *_unseen(sent, polled),
        *_wrong_sends(sent),
        *_wrong_polls(history, offsets),
    ]
    counts: dict[str, int] = {}
    kept = []
    for finding in findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
        if counts[finding.kind] <= MOST_FINDINGS:
            kept.append(finding)
    seen = _seen(polled)
    acknowledged = [each for each in sent if each.operation.outcome == "ok"]
    unseen = sum((each.key, each.message) not in seen for each in acknowledged)
    unseen -= counts.get("lost write", 0) + counts.get("unobserved", 0)
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
    elif not findings and unseen and any(each.is_final for each in history.operations):
        word = "not judged"
        evidence = f"{format_count(unseen, 'message')} not seen yet, and the last polls did not come to the end"
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
            asked = _offsets_asked(operation, called)
            if len(done) != 2 or not isinstance(done[1], Mapping):
                raise _wrong_form(operation, done)
            found = {freeze(key): pairs for key, pairs in done[1].items()}
            for key, pairs in found.items():
                if not isinstance(pairs, list | tuple) or not all(map(_is_pair, pairs)):
                    raise _wrong_form(operation, done)
                in_order = [(offset, freeze(message)) for offset, message in pairs]
                yield _Polled(key, in_order, operation, asked.get(key))
            for key, offset in asked.items():
                if key not in found:
                    yield _Polled(key, [], operation, offset)


def _offsets_asked(operation: Operation, called: Sequence[Any]) -> dict[Hashable, int]:
    """Return the offset from which a poll asked for each key; none if it does not say so."""
    if len(called) == 1 or called[1] is None:
        return {}
    if len(called) != 2 or not isinstance(called[1], Mapping):
        raise _wrong_form(operation, called)
    if any(type(offset) is not int for offset in called[1].values()):
        raise _wrong_form(operation, called)
    return {freeze(key): offset for key, offset in called[1].items()}


def _seen(polled: list[_Polled]) -> set[tuple[Hashable, Hashable]]:
    """Return each (key, message) that somebody polled."""
    return {(each.key, message) for each in polled for _, message in each.pairs}


def _known_offsets(sent: list[_Sent], polled: list[_Polled]) -> dict[Hashable, list[int]]:
    """Return the offsets of each key at which a message is known to be, in order."""
    known: dict[Hashable, set[int]] = {}
    for each in sent:
        if each.offset is not None:
            known.setdefault(each.key, set()).add(each.offset)
    for poll in polled:
        known.setdefault(poll.key, set()).update(offset for offset, _ in poll.pairs)
    return {key: sorted(offsets) for key, offsets in known.items() if offsets}


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
    for key, pairs, operation, _ in polled:
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


def _unseen(sent: list[_Sent], polled: list[_Polled]) -> Iterator[Finding]:
    """Yield the messages that somebody should have polled, and nobody has."""
    seen, ends = _seen(polled), _ends(polled)
    last: dict[Hashable, tuple[int, Operation]] = {}
    for key, pairs, operation, _ in polled:
        for offset, _ in pairs:
            if key not in last or offset > last[key][0]:
                last[key] = offset, operation
    for key, acknowledged, message, operation in sent:
        if acknowledged is None or (key, message) in seen:
            continue
        text = (
            f"{operation.process} sent {format_value(message)} to {format_value(key)}, acknowledged at offset "
            f"{acknowledged}"
        )
        if key in last and acknowledged <= last[key][0]:
            beyond, poll = last[key]
            text = f"{text}; {poll.process} polled up to {beyond}, and nobody polled it"
            yield Finding("lost write", text, (operation, poll))
        elif key in ends and operation.precedes(ends[key]):
            text = f"{text}; in the end all clients polled until nothing more came, and nobody polled it"
            yield Finding("unobserved", text, (operation, ends[key]))


def _ends(polled: list[_Polled]) -> dict[Hashable, Operation]:
    """Return the keys that were read to their end, each with a poll that shows it.

    The last final poll of each client says from where it asks, and got nothing more, of whatever key.
    """
    final = [each for each in polled if each.operation.is_final]
    last = {each.operation.process: each.operation for each in final}
    ends = [each for each in final if each.operation is last[each.operation.process]]
    if any(each.pairs or each.asked is None for each in ends):
        return {}
    return {each.key: each.operation for each in reversed(ends)}


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
        for key, pairs, _, asked in _polls(operation):
            if asked is not None:
                at[key] = asked - 1, operation
            for place, (offset, _) in enumerate(pairs):
                before = at.get(key)
                at[key] = offset, operation
                if before is None:
                    continue
                where = f"{operation.process} polls {format_value(key)} "
                if asked is not None and place == 0:
                    where += f"from {asked} on, and gets {offset} first"
                else:
                    where += f"at {before[0]} and next at {offset}"
                operations = (operation,) if before[1] is operation else (before[1], operation)
                known = offsets[key]
                if offset <= before[0]:
                    yield Finding("nonmonotonic poll", where, operations)
                elif skipped := known[bisect_right(known, before[0]) : bisect_left(known, offset)]:
                    yield Finding("poll skip", f"{where}, past {format_values(skipped)}", operations)
