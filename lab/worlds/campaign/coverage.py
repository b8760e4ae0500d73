"""Coverage: the lines, branches and rules of a protocol's file that runs have reached.

Of a task above an election, it is the file of the task.

A *way* is a pair of lines of one function, executed one after the other. From them follow the lines, and for each
``if`` and ``while`` whether it was found true and found false. A rule is reached if a function that cites it in
its docstring (*rule B8*) was executed.

``trace_lines`` collects the lines alone, of whatever files a run executes.
"""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

from lab.kernel import Fired, Input, Protocol, Step
from lab.kernel.node import SteppedNode
from lab.recording.writer import RecordLog
from lab.worlds.simulated.simulation import Simulation

Way = tuple[int, int]
"""Two lines executed one after the other; the first is 0 where a function begins."""

_RULE = re.compile(r"\b[A-Z]\d+(?:\.\d+)?\b")


class Conditional(NamedTuple):
    """An ``if`` or ``while``: the lines of its condition, and the first line of its body."""

    lines: range
    body: int


class Coverage(NamedTuple):
    """The parts of a protocol's file that were reached.

    ``missed_branches`` are (line, the outcome that its condition never had).
    """

    lines: frozenset[int]
    missed_lines: list[int]
    branches: int
    missed_branches: list[tuple[int, bool]]
    rules: list[str]
    missed_rules: list[str]


def coverage_of(protocol: type[Protocol], ways: Iterable[Way]) -> Coverage:
    """Return what the ways reached of the protocol's file."""
    protocol = _covered(protocol)
    reached = set(ways)
    executed = {line for _, line in reached}
    lines = lines_of_code(protocol)
    missed_branches = []
    branches = [branch for branch in _branches(protocol) if not lines.isdisjoint(branch.lines)]
    for branch in branches:
        ends = {line for before, line in reached if before in branch.lines and line not in branch.lines}
        missed_branches += [
            (branch.lines[0], outcome)
            for outcome, was_found in ((True, branch.body in ends), (False, bool(ends - {branch.body})))
            if not was_found
        ]
    rules: dict[str, bool] = {}
    for cited, code in _citations(protocol):
        was_called = not executed.isdisjoint(code)
        for rule in cited:
            rules[rule] = rules.get(rule, False) or was_called
    return Coverage(
        lines,
        sorted(lines - executed),
        2 * len(branches),
        missed_branches,
        sorted(rules),
        sorted(rule for rule, was_reached in rules.items() if not was_reached),
    )


def _covered(protocol: type[Protocol]) -> type[Protocol]:
    return protocol.upper_protocol or protocol


def lines_of_code(protocol: type[Protocol]) -> frozenset[int]:
    """Return the lines of the protocol's file that its methods can execute."""
    return frozenset(line for function in _functions(protocol) for line in _lines(function.__code__))


def _functions(protocol: type[Protocol]) -> list[Any]:
    """Return the methods and properties of the protocol that are in its own file."""
    file = inspect.getfile(protocol)
    members = (member for klass in protocol.__mro__ for member in vars(klass).values())
    methods = (
        getattr(member, "fget", None)
        or getattr(member, "__func__", None)
        or getattr(member, "func", None)
        or member
        for member in members
    )
    return [each for each in methods if inspect.isfunction(each) and each.__code__.co_filename == file]


def _lines(code: CodeType) -> set[int]:
    found = {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _lines(constant)
    return found


def _citations(protocol: type[Protocol]) -> Iterator[tuple[list[str], set[int]]]:
    """Yield the rules that each function's docstring cites, and its lines."""
    for function in _functions(protocol):
        cited = _RULE.findall(function.__doc__ or "")
        if cited:
            yield cited, _lines(function.__code__)


def _branches(protocol: type[Protocol]) -> tuple[Conditional, ...]:
    try:
        tree = ast.parse(inspect.getsource(sys.modules[protocol.__module__]))
    except (OSError, TypeError, KeyError, SyntaxError):
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Constant):
            found.append(
                Conditional(range(node.lineno, (node.test.end_lineno or node.lineno) + 1), node.body[0].lineno)
            )
    return tuple(found)


class WayTrace:
    """A context manager that adds the ways through the protocol's file to ``ways``."""

    def __init__(self, protocol: type[Protocol], ways: set[Way]) -> None:
        self._file = inspect.getfile(_covered(protocol))
        self._add = ways.add
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._trace_call)

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._before)

    def _trace_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace the lines of a function that begins, or of a procedure that goes on."""
        if frame.f_code.co_filename != self._file:
            return None
        add, before = self._add, 0

        def trace_line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal before
            if event == "line":
                line = frame.f_lineno
                add((before, line))
                before = line
            elif event == "return" and before:  # else a coroutine is closed, whenever its node is collected
                add((before, -1))
                before = 0
            return trace_line

        return trace_line


class TracedNode(SteppedNode):
    """A node that is traced while it is in a step: the rest of a run takes several times as long under a trace."""

    __slots__ = ("_node", "_trace", "id")

    def __init__(self, node: SteppedNode, trace: WayTrace) -> None:
        self._node = node
        self._trace = trace
        self.id = node.id

    @property
    def halted(self) -> bool:  # type: ignore[override]
        return self._node.halted

    def step(self, given: Input, now_us: int, draws: Sequence[float] = ()) -> Step:
        with self._trace:
            return self._node.step(given, now_us, draws)

    def next_timer(self) -> tuple[int, Fired] | None:
        with self._trace:
            return self._node.next_timer()


class TracedSimulation(Simulation):
    """A simulation whose nodes are traced."""

    def __init__(self, protocol: type[Protocol], log: RecordLog, trace: WayTrace) -> None:
        super().__init__(protocol, log)
        self._trace = trace

    def create_node(self, node: int) -> SteppedNode:
        with self._trace:
            return TracedNode(super().create_node(node), self._trace)


ExecutedLines = tuple[frozenset[int], ...]
"""The executed lines of each file."""


@contextmanager
def trace_lines(files: tuple[str, ...]) -> Iterator[Callable[[], ExecutedLines]]:
    """Collect the lines executed inside the ``with``; yield a function that returns them, in the files' order.

    What cached functions of these files have computed before is forgotten, or they would not be executed again.
    """
    executed: dict[str, set[int]] = {file: set() for file in files}

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        lines = executed.get(frame.f_code.co_filename)
        if lines is None:
            return None
        add = lines.add

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            add(frame.f_lineno)
            return line

        return line

    _clear_caches(files)
    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield lambda: tuple(frozenset(lines) for lines in executed.values())
    finally:
        sys.settrace(before)


def _clear_caches(files: tuple[str, ...]) -> None:
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) in files:
            owners = [module, *(each for each in vars(module).values() if isinstance(each, type))]
            for function in [each for owner in owners for each in vars(owner).values()]:
                clear = getattr(function, "cache_clear", None)
                if clear is not None and not isinstance(function, type):
                    clear()
