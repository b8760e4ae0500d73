"""What a node ran in one of its steps, line by line: that step again, by re-execution under a line trace.

It takes the node's inputs since its life began, and the installed protocol. Where the source of that is not the
recorded one, or it does not give the recorded steps, nothing is told. No code out of a recording is ever executed.
"""

import sys
from collections.abc import Generator, Iterator
from functools import partial
from types import FrameType
from typing import Any

import msgspec

from lab.kernel import Input, Message, Node, Received, Started, Step
from lab.protocols import ELECTION, Algorithm, UnknownProtocolError, files_of, find_protocol, source_of
from lab.recording.reader import RecordStore
from lab.recording.records import Header, Injected, ProtocolInfo, encode

__all__ = ["CannotTellError", "installed", "lines_run"]

_MOST_RECORDS = 100_000
_MOST_STEPS = 20_000
"""From farther back a life is not executed again for one step of it."""
_AT_ONCE = 100


class CannotTellError(Exception):
    """It cannot be told what ran; the text says why."""


def installed(info: ProtocolInfo) -> type[Algorithm]:
    """The installed protocol whose source is the recorded one. One of the user's own counts if it is loaded."""
    found: type[Algorithm] | None
    try:
        found = find_protocol(info.name, {ELECTION: info.election} if info.election else {})
    except UnknownProtocolError:
        loaded = [each for each in _below(Algorithm) if _is_called(each, info)]
        found = next((each for each in loaded if _is_of(each, info)), loaded[0] if loaded else None)
    if found is None:
        raise CannotTellError("the protocol is not the program's own")
    if not _is_of(found, info):
        raise CannotTellError("the recorded source is not the installed one")
    return found


def _is_of(protocol: type[Algorithm], info: ProtocolInfo) -> bool:
    return source_of(protocol) == (info.file, info.source)


def _below(root: type[Algorithm]) -> Iterator[type[Algorithm]]:
    for each in root.__subclasses__():
        yield each
        yield from _below(each)


def _is_called(protocol: type[Algorithm], info: ProtocolInfo) -> bool:
    return vars(protocol).get("name") == info.name and protocol.chosen.get(ELECTION) == info.election


def lines_run(
    lines: RecordStore, number: int, protocol: type[Algorithm]
) -> Generator[None, None, tuple[int, ...]]:
    """The lines of the source text that ran in the step with that number, in the order in which they first did.

    It yields again and again, so that other things can be done in between. CannotTellError.
    """
    inputs = yield from _inputs(lines, number)
    step = inputs[-1][1]
    try:
        node = _node(lines.header, step.node, protocol)
        for place, (at, recorded, given) in enumerate(inputs[:-1]):
            _compare(at, recorded, node.step(given, recorded.at_us))
            if place % _AT_ONCE == 0:
                yield
        trace = _Trace(protocol)
        _compare(number, step, trace.step(node, inputs[-1][2], step.at_us))
    except CannotTellError:
        raise
    except Exception as error:  # whatever a protocol does, or makes of inputs that never were
        raise CannotTellError(f"re-execution raises {type(error).__name__}") from error
    return tuple(trace.lines)


def _node(header: Header, node: int, protocol: type[Algorithm]) -> Node:
    parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
    return Node(protocol, node, header.nodes, header.timing, parameters)


def _compare(number: int, recorded: Step, executed: Step) -> None:
    if encode(recorded) != encode(executed):
        raise CannotTellError(f"record {number} is not what re-execution gives")


def _inputs(lines: RecordStore, number: int) -> Generator[None, None, list[tuple[int, Step, Input]]]:
    """The steps of the node's life up to this one, each with its number and its input."""
    last = lines.record(number)
    if not isinstance(last, Step):
        raise CannotTellError(f"record {number} is no step")
    steps: list[tuple[int, Step]] = []
    messages: dict[tuple[int, int], Message | None] = {}
    missing = 0
    begun = False
    for earlier in range(number, max(-1, number - _MOST_RECORDS), -1):
        record = lines.record(earlier)
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
        if earlier % _AT_ONCE == 0:
            yield
    if not begun or missing or len(steps) > _MOST_STEPS:
        raise CannotTellError("the node's life began too far back")
    return [(at, step, _given(step, messages)) for at, step in reversed(steps)]


def _given(step: Step, messages: dict[tuple[int, int], Message | None]) -> Input:
    if not isinstance(step.input, Received):
        return step.input
    message = messages[step.input.source, step.input.serial]
    assert message is not None
    return message


class _Trace:
    """Writes down which lines of the protocol's files run, by their numbers in its source text."""

    def __init__(self, protocol: type[Algorithm]) -> None:
        self.lines: dict[int, None] = {}
        self._before = {file.path: file.before for file in files_of(protocol)}

    def step(self, node: Node, given: Input, at_us: int) -> Step:
        """Let the node make a step."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            return node.step(given, at_us)
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self._before or _is_asked_for_timers(frame):
            return None
        begins = frame.f_lineno == frame.f_code.co_firstlineno
        return self._go if begins else partial(self._go_on, frame.f_lineno)

    def _go_on(self, line: int, frame: FrameType, event: str, argument: Any) -> Any:
        """A procedure goes on from the line where it waited, unless it is stopped there."""
        if event != "exception" or argument[0] is not GeneratorExit:
            self._ran(frame, line)
        return self._go(frame, event, argument)

    def _go(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._ran(frame, frame.f_lineno)
        return self._go

    def _ran(self, frame: FrameType, line: int) -> None:
        self.lines.setdefault(self._before[frame.f_code.co_filename] + line)


def _is_asked_for_timers(frame: FrameType) -> bool:
    """Whether the kernel only looks which timer is due, and the node does nothing."""
    caller: FrameType | None = frame
    while caller is not None and caller.f_code is not Node.step.__code__:
        if caller.f_code is Node.next_timer.__code__:
            return True
        caller = caller.f_back
    return False
