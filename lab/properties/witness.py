"""Explain a violation: trace each offending state back from cause to cause.

A step has at most one cause: the step that sent the message it received, or the step that began the wait that
timed out. Steps of nodes that start, and of periodic timers, have none. So the explanation of a state is a chain
of records, and that of a violation consists of these chains and of the records that broke assumptions, in the
order of records; and of the crashes because of which one of these nodes forgot what it had not stored, or nothing
was heard from it.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import CommandInput, Fired, Message, Received, Started, Step, Wait, Wrote
from lab.kernel.step import EVERY_WAIT
from lab.properties.verdicts import Broken, Violation, WitnessState
from lab.recording.reader import RecordStore
from lab.recording.records import Fault, Injected, Process, Record
from lab.units import format_us

_FARTHEST = 200_000
"""The distance, in records, within which causes are searched."""
_MOST_CAUSES = 1000
_CRASHES: dict[str, str] = {"killed": "is killed", "failed": "fails"}


class ExplanationLine(Struct, frozen=True):
    """A line of an explanation, about the record with that number; ``node`` is None if there is no single one."""

    record: int
    at_us: int
    node: int | None
    text: str


def explain_violation(
    records: RecordStore | Sequence[Record | None], violation: Violation, most: int = 12
) -> list[ExplanationLine]:
    """Explain a violation in the order of the records, with at most ``most`` lines for each state."""
    walk = _CausalWalk(records.record if isinstance(records, RecordStore) else records.__getitem__)
    lines: dict[int, ExplanationLine] = {}
    gaps: dict[int, ExplanationLine] = {}
    for state in violation.states:
        found = walk.back_from(state)
        left = len(found) - most
        if left > 0:
            begins, goes_on = most // 2, most // 2 + left + 1
            gaps[found[begins].record] = replace(found[begins], node=None, text=f"… {left + 1} more")
            found = [*found[:begins], *found[goes_on:]]
        lines.update((line.record, line) for line in found)
    for broken in violation.broken:
        known = lines.get(broken.record)
        lines[broken.record] = walk.breaking(broken) if known is None else _with_broken(known, broken)
    for line in walk.crashes(lines):
        lines.setdefault(line.record, line)
    every = {**gaps, **lines}
    return [every[number] for number in sorted(every)]


def _with_broken(line: ExplanationLine, broken: Broken) -> ExplanationLine:
    return replace(line, text=f"{line.text} ({broken.why}: breaks assumption {broken.assumption})")


class _CausalWalk:
    def __init__(self, record: Callable[[int], Record | None]) -> None:
        self._record = record
        self._silent: dict[int, tuple[int, ...]] = {}
        """The peers from which nothing was heard, for the number of the step that shows it."""

    def breaking(self, broken: Broken) -> ExplanationLine:
        """Return the line of the record that broke an assumption."""
        record = self._record(broken.record)
        node = record.node if isinstance(record, Step | Process) else None
        text = f"{record.text} is in force" if isinstance(record, Fault) else broken.why
        at_us = getattr(record, "at_us", 0)
        return ExplanationLine(broken.record, at_us, node, f"{text}: breaks assumption {broken.assumption}")

    def back_from(self, state: WitnessState) -> list[ExplanationLine]:
        """Return the causes of a state, the earliest first."""
        found: list[ExplanationLine] = []
        number: int | None = state.record
        effect = f"becomes {state.text}"
        while number is not None and len(found) < _MOST_CAUSES:
            record = self._record(number)
            if not isinstance(record, Step):
                found.append(ExplanationLine(number, state.at_us, state.node, f"{state.node} {effect}"))
                break
            cause, event, next_effect = self._cause(number, record)
            effects = [*_change(record), effect] if found else [_failure(record) or effect]
            text = event + (", " if len(effects) > 1 else " and ") + " and ".join(effects)
            found.append(ExplanationLine(number, record.at_us, record.node, text))
            number, effect = cause, next_effect
        return found[::-1]

    def crashes(self, explained: Collection[int]) -> list[ExplanationLine]:
        """Return the crashes that made a node forget, with its restart, or silent, in these explained records."""
        found: list[ExplanationLine] = []
        forgetful: set[tuple[int, int]] = set()
        silent: set[int] = set()
        first, last = min(explained, default=0), max(explained, default=-1)
        for number, record in self._before(last + 1):
            if number < first and not forgetful:
                break
            if number in explained:
                silent.update(self._silent.get(number, ()))
                if isinstance(record, Step) and record.incarnation > 1:
                    forgetful.add((record.node, record.incarnation))
            if isinstance(record, Step) and isinstance(record.input, Started):
                if (record.node, record.incarnation) in forgetful:
                    text = _describe_start(record.node, record.input)
                    found.append(ExplanationLine(number, record.at_us, record.node, text))
            elif isinstance(record, Process):
                node, crash = record.node, _CRASHES.get(record.event)
                later = (node, record.incarnation + 1)
                if crash and (node in silent or later in forgetful):
                    found.append(ExplanationLine(number, record.at_us, node, f"{node} {crash}"))
                    forgetful.discard(later)
                silent.discard(node)  # this was its last event before the silence
        return found

    def _cause(self, number: int, step: Step) -> tuple[int | None, str, str]:
        """Return (record of the cause, its text for this step, its text for the step of the cause)."""
        node, given = step.node, step.input
        if isinstance(given, Received):
            cause, message = self._sending(number, given)
            if message is None or cause is None:
                what = f"message {given.serial}" if message is None else f"a forged {message.kind}"
                return None, f"{node} receives {what} from {given.source}", ""
            return (
                cause,
                f"{node} receives {message.kind} from {message.source}",
                f"sends {message.kind} to {node}",
            )
        if isinstance(given, Fired):
            cause, wait = self._waiting(number, step, given.procedure)
            if wait is None or wait.until_us is None:
                return None, f"{given.procedure} of {node} is due", ""
            if wait.peers:
                self._silent[number] = wait.peers
                event = f"heard nothing from {' '.join(map(str, wait.peers))}"
            else:
                event = f"waited {format_us(round(wait.until_us - wait.since_us, -3))} for {wait.what}"
            return cause, f"{given.procedure} of {node}: {event}", f"waits for {wait.what}"
        if isinstance(given, CommandInput):
            return None, f"{node} gets the command {' '.join((given.command, *given.words))}", ""
        text = f"the program of {node} writes a line" if isinstance(given, Wrote) else _describe_start(node, given)
        return None, text, ""

    def _sending(self, number: int, given: Received) -> tuple[int | None, Message | None]:
        """Return (record that sent it, message); a forged message has no such record."""
        for earlier, record in self._before(number):
            if isinstance(record, Injected) and record.message.serial == given.serial:
                return None, record.message
            if isinstance(record, Step) and record.node == given.source:
                for message in record.sent:
                    if message.serial == given.serial:
                        return earlier, message
        return None, None

    def _waiting(self, number: int, step: Step, procedure: str) -> tuple[int | None, Wait | None]:
        """Return (step that began the wait that timed out, the wait in its last state)."""
        began, wait = None, None
        answered: set[int] = set()
        for earlier, record in self._before(number):
            if not isinstance(record, Step) or record.node != step.node:
                continue
            if record.incarnation != step.incarnation:
                break
            here = next((each for each in record.began if each.procedure == procedure), None)
            if here is not None:
                if wait is not None and (here.since_us, here.what) != (wait.since_us, wait.what):
                    break
                missing = tuple(peer for peer in here.peers if peer not in answered)
                began, wait = earlier, wait or replace(here, peers=missing)
            if record.ended == (EVERY_WAIT,):  # its waits may have begun earlier
                if here is None:
                    break
            elif here is not None or procedure in record.ended:
                break
            elif record.answered == procedure and isinstance(record.input, Received):
                answered.add(record.input.source)
        return began, wait

    def _before(self, number: int) -> Iterator[tuple[int, Record | None]]:
        for earlier in range(number - 1, max(-1, number - 1 - _FARTHEST), -1):
            yield earlier, self._record(earlier)


_FRAME = re.compile(r"\S+:\d+ in \S+: ")
_ERROR = re.compile(r"[\w.]+(?::|$)")


def _failure(step: Step) -> str:
    """Return what the node raised, and the innermost line of the traceback; empty if it raised nothing."""
    if not step.failed:
        return ""
    *traceback, error = step.failed.splitlines()
    places = [line for line in traceback if _FRAME.match(line)]
    text = f"raises {error}" if _ERROR.match(error) else f"fails: {error}"
    return f"{text} ({places[-1]})" if places else text


def _change(step: Step) -> list[str]:
    status, coordinator = step.updates.get("status"), step.updates.get("coordinator")
    if not isinstance(status, str):
        return []
    led = status in ("Reorganization", "Normal") and isinstance(coordinator, int)
    return [f"becomes {status} under {coordinator}" if led else f"becomes {status}"]


def _describe_start(node: int, given: Started) -> str:
    return f"{node} starts" + (f" for the {_ordinal(given)} time" if given.incarnation > 1 else "")


def _ordinal(given: Started) -> str:
    return {2: "second", 3: "third"}.get(given.incarnation, f"{given.incarnation}th")
