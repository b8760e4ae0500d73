"""How it came to a violation: each of the offending states, walked back from cause to cause to where it began.

The cause of a step is one thing: the step that sent the message it got, or the step in which the wait began
whose time ran out. Nodes that come up and periodic timers have none. So the account of a state is a line of
records, and that of a violation these lines and what broke the assumptions, in the order of the records.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import CommandInput, Fired, Message, Received, Started, Step, Wait
from lab.properties.verdicts import Broken, LocalState, Violation
from lab.recording.reader import RecordStore
from lab.recording.records import Fault, Injected, Process, Record
from lab.units import format_us

__all__ = ["Moment", "account"]

_FARTHEST = 200_000
"""So many records back a cause is looked for; what is farther off is taken to have none."""
_MOST_CAUSES = 1000


class Moment(Struct, frozen=True):
    """A line of an account: what the record with that number tells. ``node`` None: of no node alone."""

    record: int
    at_us: int
    node: int | None
    text: str


def account(records: RecordStore | Sequence[Record | None], violation: Violation, most: int = 12) -> list[Moment]:
    """How the violation came about, in the order of the records: at most so many moments for each state."""
    walk = _Walk(records.record if isinstance(records, RecordStore) else records.__getitem__)
    moments: dict[int, Moment] = {}
    gaps: dict[int, Moment] = {}
    for state in violation.states:
        found = walk.back_from(state)
        left = len(found) - most
        if left > 0:
            begins, goes_on = most // 2, most // 2 + left + 1
            gaps[found[begins].record] = replace(found[begins], node=None, text=f"… {left + 1} more")
            found = [*found[:begins], *found[goes_on:]]
        moments.update((moment.record, moment) for moment in found)
    for broken in violation.broken:
        known = moments.get(broken.record)
        moments[broken.record] = walk.breaking(broken) if known is None else _marked(known, broken)
    every = {**gaps, **moments}
    return [every[number] for number in sorted(every)]


def _marked(moment: Moment, broken: Broken) -> Moment:
    return replace(moment, text=f"{moment.text} ({broken.why}: breaks assumption {broken.assumption})")


class _Walk:
    def __init__(self, record: Callable[[int], Record | None]) -> None:
        self._record = record

    def breaking(self, broken: Broken) -> Moment:
        """The record that shows what broke an assumption."""
        record = self._record(broken.record)
        node = record.node if isinstance(record, Step | Process) else None
        said = f"{record.text} is in force" if isinstance(record, Fault) else broken.why
        at_us = getattr(record, "at_us", 0)
        return Moment(broken.record, at_us, node, f"{said}: breaks assumption {broken.assumption}")

    def back_from(self, state: LocalState) -> list[Moment]:
        """The moments that led to a state, the first one first."""
        found: list[Moment] = []
        number: int | None = state.record
        effect = f"becomes {state.text}"
        while number is not None and len(found) < _MOST_CAUSES:
            record = self._record(number)
            if not isinstance(record, Step):
                found.append(Moment(number, state.at_us, state.node, f"{state.node} {effect}"))
                break
            cause, told, next_effect = self._cause(number, record)
            effects = [*_change(record), effect] if found else [_failure(record) or effect]
            text = told + (", " if len(effects) > 1 else " and ") + " and ".join(effects)
            found.append(Moment(number, record.at_us, record.node, text))
            number, effect = cause, next_effect
        return found[::-1]

    def _cause(self, number: int, step: Step) -> tuple[int | None, str, str]:
        """(its record, what it brings about in this step, what it is in its own)."""
        node, given = step.node, step.input
        if isinstance(given, Received):
            cause, message = self._sending(number, given)
            if message is None or cause is None:
                what = f"message {given.serial}" if message is None else f"a forged {message.kind}"
                return None, f"{node} gets {what} of {given.source}", ""
            return cause, f"{node} gets {message.kind} of {message.source}", f"sends {message.kind} to {node}"
        if isinstance(given, Fired):
            cause, wait = self._waiting(number, step, given.procedure)
            if wait is None or wait.until_us is None:
                return None, f"{given.procedure} of {node} is due", ""
            if wait.peers:
                told = f"heard nothing of {' '.join(map(str, wait.peers))}"
            else:
                told = f"waited {format_us(round(wait.until_us - wait.since_us, -3))} for {wait.what}"
            return cause, f"{given.procedure} of {node}: {told}", f"waits for {wait.what}"
        if isinstance(given, CommandInput):
            return None, f"{node} is told to {' '.join((given.command, *given.words))}", ""
        return None, f"{node} comes up" + (f" for the {_ordinal(given)} time" if given.incarnation > 1 else ""), ""

    def _sending(self, number: int, given: Received) -> tuple[int | None, Message | None]:
        """(the record that sent it, the message); no record sent a forged one."""
        for earlier, record in self._before(number):
            if isinstance(record, Injected) and record.message.serial == given.serial:
                return None, record.message
            if isinstance(record, Step) and record.node == given.source:
                for message in record.sent:
                    if message.serial == given.serial:
                        return earlier, message
        return None, None

    def _waiting(self, number: int, step: Step, procedure: str) -> tuple[int | None, Wait | None]:
        """The step in which the wait began whose time ran out, and the wait as it was at last."""
        began, wait = None, None
        for earlier, record in self._before(number):
            if not isinstance(record, Step) or record.node != step.node:
                continue
            here = next((each for each in record.waits if each.procedure == procedure), None)
            if here is None or record.incarnation != step.incarnation:
                break
            if wait is not None and (here.since_us, here.what) != (wait.since_us, wait.what):
                break
            began, wait = earlier, wait or here
        return began, wait

    def _before(self, number: int) -> Iterator[tuple[int, Record | None]]:
        for earlier in range(number - 1, max(-1, number - 1 - _FARTHEST), -1):
            yield earlier, self._record(earlier)


def _failure(step: Step) -> str:
    return f"raises {step.failed.rpartition(chr(10))[2]}" if step.failed else ""


def _change(step: Step) -> list[str]:
    """What the step says of the node's state, as far as it shows it."""
    status, coordinator = step.changed.get("status"), step.changed.get("coordinator")
    if not isinstance(status, str):
        return []
    led = status in ("Reorganization", "Normal") and isinstance(coordinator, int)
    return [f"becomes {status} under {coordinator}" if led else f"becomes {status}"]


def _ordinal(given: Started) -> str:
    return {2: "second", 3: "third"}.get(given.incarnation, f"{given.incarnation}th")
