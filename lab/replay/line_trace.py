"""Find the lines that a node ran in a step: exactly, by re-execution under a line trace, or approximately.

The trace needs the inputs of the node since its incarnation began, and the installed protocol. It is unavailable
if the installed source is not the recorded one, or if re-execution does not give the recorded steps. No code out
of a recording is ever executed. Without a trace, the lines are estimated from the step's input and the waits
before and after it.
"""

import sys
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from types import FrameType
from typing import Any

from lab.kernel import CommandInput, Fired, Input, Message, Node, Received, Started, Step, Wait, Waits
from lab.protocols import ELECTION, Algorithm, UnknownProtocolError, files_of, find_protocol, source_of
from lab.recording.reader import RecordStore
from lab.recording.records import Header, Injected, ProtocolInfo
from lab.recording.step_fold import StepFold
from lab.replay.roster import Roster
from lab.replay.source_listing import Function, Listing


def approximate_lines(listing: Listing, step: Step, kind: str, before: Sequence[Wait]) -> tuple[int, ...]:
    """Return the lines of functions begun in the step, and of each procedure those from its old to its new wait.

    ``kind`` is the kind of the message received, or empty; ``before`` are the waits of the node before the step.
    """
    earlier = {wait.procedure: wait for wait in before}
    waits = Waits(before)
    waits.apply(step)
    later = {wait.procedure: wait for wait in waits.now()}
    lines: dict[int, None] = {}
    handler = listing.handler_of(kind)
    for function in (*_begun(listing, step, bool(later)), *([] if handler is None else [handler])):
        lines.update(dict.fromkeys(range(function.line, function.last + 1)))
    for procedure in dict.fromkeys([*earlier, *later]):
        was, now = earlier.get(procedure), later.get(procedure)
        if was is None or now is None or (was.line, was.what, was.since_us) != (now.line, now.what, now.since_us):
            lines.update(dict.fromkeys(_between(listing, was, now)))
    return tuple(lines)


def _begun(listing: Listing, step: Step, waits: bool) -> tuple[Function, ...]:
    match step.input:
        case Started():
            return listing.named("started")[:1]
        case CommandInput(command=command):
            return listing.named(command)[:1]
        case Fired(procedure=procedure) if not waits:
            return listing.named(procedure)[:1]
    return ()


def _between(listing: Listing, was: Wait | None, now: Wait | None) -> Iterator[int]:
    """Yield the lines from one wait to the other; a procedure that began again starts at its first line.

    If they are in two methods, yield the rest of the one, the whole procedure, and the beginning of the other.
    """
    start = None if was is None else listing.line_of(was)
    end = None if now is None else listing.line_of(now)
    left = None if start is None else listing.function_at(start)
    entered = None if end is None else listing.function_at(end)
    if was is not None and left is not None and start is not None and left != entered:
        yield from range(start, left.last + 1)
        for function in listing.named(was.procedure)[:1]:
            yield from range(function.line, function.last + 1)
        start = None
    if entered is not None and end is not None:
        yield from range(entered.line if start is None or end < start else start, end + 1)


_MOST_RECORDS = 100_000
_MOST_STEPS = 20_000
"""The longest incarnation that is re-executed for one step."""
_YIELD_EVERY = 100


class TraceUnavailableError(Exception):
    """No trace is available; the text gives the reason."""


def installed_protocol(info: ProtocolInfo) -> type[Algorithm]:
    """Return the installed protocol with the recorded source; a protocol of the user counts if it is loaded.

    Raises TraceUnavailableError.
    """
    found: type[Algorithm] | None
    try:
        found = find_protocol(info.name, {ELECTION: info.election} if info.election else {})
    except UnknownProtocolError:
        loaded = [each for each in _subclasses(Algorithm) if _has_name(each, info)]
        found = next((each for each in loaded if _has_source(each, info)), loaded[0] if loaded else None)
    if found is None:
        raise TraceUnavailableError("the protocol is not installed")
    if not _has_source(found, info):
        raise TraceUnavailableError("the recorded source differs from the installed one")
    return found


def _has_source(protocol: type[Algorithm], info: ProtocolInfo) -> bool:
    return source_of(protocol) == (info.file, info.source)


def _subclasses(root: type[Algorithm]) -> Iterator[type[Algorithm]]:
    for each in root.__subclasses__():
        yield each
        yield from _subclasses(each)


def _has_name(protocol: type[Algorithm], info: ProtocolInfo) -> bool:
    return vars(protocol).get("name") == info.name and protocol.fixed_parameters.get(ELECTION) == info.election


def trace_lines(
    store: RecordStore, number: int, protocol: type[Algorithm]
) -> Generator[None, None, tuple[int, ...]]:
    """Return the lines of the source text that the step ran, in the order of their first execution.

    A generator that yields often, so that the caller can do other work. Raises TraceUnavailableError.
    """
    inputs = yield from _inputs(store, number)
    step = inputs[-1][1]
    try:
        node = _node(store.header, step.node, protocol)
        steps = StepFold()
        for place, (at, recorded, given) in enumerate(inputs[:-1]):
            _compare(at, steps, recorded, node, node.step(given, recorded.at_us, recorded.draws))
            if place % _YIELD_EVERY == 0:
                yield
        trace = _Trace(protocol)
        _compare(number, steps, step, node, trace.step(node, inputs[-1][2], step))
    except TraceUnavailableError:
        raise
    except Exception as error:  # a protocol may raise anything, above all on inputs that never occurred
        raise TraceUnavailableError(f"re-execution raises {type(error).__name__}") from error
    return tuple(trace.lines)


def _node(header: Header, node: int, protocol: type[Algorithm]) -> Node:
    is_member = header.protocol_of(node) is not header.protocol
    first = installed_protocol(header.protocol) if is_member else protocol
    return Roster.of(header, first).new_kernel_node(node)


def _compare(number: int, steps: StepFold, recorded: Step, node: Node, executed: Step) -> None:
    if not steps.is_same(recorded, executed, node.waits()):
        raise TraceUnavailableError(f"record {number} differs from its re-execution")


def _inputs(store: RecordStore, number: int) -> Generator[None, None, list[tuple[int, Step, Input]]]:
    """Return (number, step, input) for the steps of the incarnation up to this one."""
    last = store.record(number)
    if not isinstance(last, Step):
        raise TraceUnavailableError(f"record {number} is not a step")
    steps: list[tuple[int, Step]] = []
    messages: dict[tuple[int, int], Message | None] = {}
    missing = 0
    begun = False
    for earlier in range(number, max(-1, number - _MOST_RECORDS), -1):
        record = store.record(earlier)
        if isinstance(record, Step):
            if record.node == last.node and not begun:
                steps.append((earlier, record))
                begun = isinstance(record.input, Started)
                if isinstance(record.input, Received):
                    key = record.input.source, record.input.serial
                    missing += key not in messages
                    messages.setdefault(key)
            found: tuple[Message, ...] = record.sent
        else:
            found = (record.message,) if isinstance(record, Injected) else ()
        for message in found:
            key = message.source, message.serial
            if key in messages and messages[key] is None:
                messages[key] = message
                missing -= 1
        if (begun and not missing) or len(steps) > _MOST_STEPS:
            break
        if earlier % _YIELD_EVERY == 0:
            yield
    if not begun or missing or len(steps) > _MOST_STEPS:
        raise TraceUnavailableError("the incarnation of the node began too far back")
    return [(at, step, _input_of(step, messages)) for at, step in reversed(steps)]


def _input_of(step: Step, messages: dict[tuple[int, int], Message | None]) -> Input:
    if not isinstance(step.input, Received):
        return step.input
    message = messages[step.input.source, step.input.serial]
    assert message is not None
    return message


class _Trace:
    """Collect the lines of the protocol's files that run, by their numbers in its source text."""

    def __init__(self, protocol: type[Algorithm]) -> None:
        self.lines: dict[int, None] = {}
        self._before = {file.path: file.before for file in files_of(protocol)}

    def step(self, node: Node, given: Input, recorded: Step) -> Step:
        before = sys.gettrace()
        sys.settrace(self._on_call)
        try:
            return node.step(given, recorded.at_us, recorded.draws)
        finally:
            sys.settrace(before)

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self._before or _is_in_next_timer(frame):
            return None
        begins = frame.f_lineno == frame.f_code.co_firstlineno
        return self._on_event if begins else partial(self._on_resume, frame.f_lineno)

    def _on_resume(self, line: int, frame: FrameType, event: str, argument: Any) -> Any:
        # a procedure resumes at the line where it waited; closing it there raises GeneratorExit
        if event != "exception" or argument[0] is not GeneratorExit:
            self._add_line(frame, line)
        return self._on_event(frame, event, argument)

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._add_line(frame, frame.f_lineno)
        return self._on_event

    def _add_line(self, frame: FrameType, line: int) -> None:
        self.lines.setdefault(self._before[frame.f_code.co_filename] + line)


def _is_in_next_timer(frame: FrameType) -> bool:
    """Return whether the kernel only evaluates which timer is due; the node does nothing then."""
    caller: FrameType | None = frame
    while caller is not None and caller.f_code is not Node.step.__code__:
        if caller.f_code is Node.earliest_timer.__code__:
            return True
        caller = caller.f_back
    return False
