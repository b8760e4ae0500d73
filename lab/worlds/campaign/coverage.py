"""Coverage: the lines, branches and rules of a protocol's file that runs have reached.

Of a task above an election, it is the file of the task.

A *way* is a pair of lines of one function, executed one after the other. From them follow the lines, and for each
``if`` and ``while`` whether it was found true and found false. A rule is reached if a function that cites it in
its docstring (*rule B8*) was executed.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

from lab.kernel import Protocol

Way = tuple[int, int]
"""Two lines executed one after the other; the first is 0 where a function begins."""

_RULE = re.compile(r"\b[A-Z]\d+(?:\.\d+)?\b")


class Branch(NamedTuple):
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


def _branches(protocol: type[Protocol]) -> tuple[Branch, ...]:
    try:
        tree = ast.parse(inspect.getsource(sys.modules[protocol.__module__]))
    except (OSError, TypeError, KeyError, SyntaxError):
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Constant):
            found.append(
                Branch(range(node.lineno, (node.test.end_lineno or node.lineno) + 1), node.body[0].lineno)
            )
    return tuple(found)


@contextmanager
def collect_ways(protocol: type[Protocol], ways: set[Way]) -> Iterator[None]:
    """Add the ways through the protocol's file inside the ``with`` to ``ways``. A run takes half as long again."""
    file = inspect.getfile(_covered(protocol))
    last: dict[FrameType, int] = {}

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            ways.add((last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        elif event == "return" and frame in last:  # else a coroutine is closed, whenever its node is collected
            ways.add((last.pop(frame), -1))
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename == file else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)
