"""Check a user's protocol before anything runs: what its class declares, and the ``await``s in its source.

Python turns a call without ``await`` into a coroutine that never runs: nothing is sent, no time passes, and at
most a warning appears. The reverse is a mistake too: a method that the kernel calls directly may not be ``async
def``.
"""

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import Payload, Protocol
from lab.properties.assertions import ASSERTIONS
from lab.protocols import PROTOCOLS, TASKS, Algorithm

_NAMING = ("begin", "restart", "stop", "is_running", "begun_us")
"""These take the procedure itself, without calling it."""


class AwaitMistake(Struct, frozen=True):
    """A mistake at ``place``: FILE:LINE, with the method where it is inside one. ``text`` is for the user."""

    place: str
    text: str


def first_mistake(protocol: type[Protocol]) -> AwaitMistake | None:
    """Return the first mistake in the protocol's classes, base classes first.

    Return None where there is no mistake, or no source to read.
    """
    classes = [each for each in reversed(protocol.__mro__) if issubclass(each, Protocol) and each is not Protocol]
    return next((mistake for each in classes if (mistake := _mistake_in(each))), None)  # type: ignore[arg-type]


@functools.cache  # a class is checked whenever its file is named
def _mistake_in(klass: type[Any]) -> AwaitMistake | None:
    try:
        path = Path(inspect.getfile(klass))
        tree = ast.parse(path.read_bytes())
    except (OSError, TypeError):
        return None
    found = (mistake for method in _methods(tree, klass) for mistake in _mistakes(method, klass, path.name))
    return next(found, None)


def _methods(tree: ast.AST, klass: type) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == klass.__name__:
            yield from (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))


def _mistakes(
    method: ast.FunctionDef | ast.AsyncFunctionDef, klass: type[Protocol], file: str
) -> Iterator[AwaitMistake]:
    waits = isinstance(method, ast.AsyncFunctionDef)
    if waits and method.name in _called_at_once(klass):
        yield AwaitMistake(f"{file}:{method.lineno}", f"{method.name} never waits: write def, not async def")
        return
    for call, naming in _calls(method, klass, naming="", taken=False, plain=False):
        shown = f"{ast.unparse(call.func)}({'…' if call.args or call.keywords else ''})"
        if naming:
            text = f"write {naming}({ast.unparse(call.func)}), without the parentheses"
        elif waits:
            text = f"await is missing before {shown}"
        else:
            text = f"{method.name} never waits, so it cannot call {shown}: begin a procedure that does"
        yield AwaitMistake(f"{file}:{call.lineno} in {method.name}", text)


def _called_at_once(klass: type[Protocol]) -> set[str]:
    """Return the methods that may not be ``async``: plain in a base class, or the *due* test of a procedure."""
    plain = {name for base in klass.__mro__[1:-1] for name, each in vars(base).items() if _is_plain(each)}
    return plain | {due.__name__ for due in klass.procedures.values() if due is not None}


def _is_plain(member: object) -> bool:
    method = getattr(member, "__func__", member)  # a class method's
    return (inspect.isfunction(method) and not iscoroutinefunction(method)) or isinstance(member, property)


def _calls(
    node: ast.AST, klass: type[Protocol], naming: str, taken: bool, plain: bool
) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls under ``node`` whose coroutine is lost, each with the enclosing ``self.begin`` or similar.

    ``taken``: the value of ``node`` is used. ``plain``: the enclosing function is not ``async``.
    """
    if isinstance(node, ast.Call) and not taken and _waits(node, klass):
        yield node, naming
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        plain = isinstance(node, ast.FunctionDef)
    hands_on = isinstance(node, ast.Await | ast.Lambda) or (plain and isinstance(node, ast.Return))
    name = _method_called(node)
    within = f"self.{name}" if name in _NAMING else ""
    for child in ast.iter_child_nodes(node):
        chosen = taken and isinstance(node, ast.IfExp) and child is not node.test
        yield from _calls(child, klass, within, hands_on or chosen, plain)


def _waits(call: ast.Call, klass: type[Protocol]) -> bool:
    return iscoroutinefunction(getattr(klass, _method_called(call), None))


def _method_called(node: ast.AST) -> str:
    """Return the method's name if ``node`` calls a method of ``self`` or ``super()``, else an empty string."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return ""
    return node.func.attr if ast.unparse(node.func.value) in ("self", "super()") else ""


_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class DeclarationError(Exception):
    """A class attribute has a wrong value; the text is for the user. ``place``: where, if known."""

    def __init__(self, text: str, place: str = "") -> None:
        super().__init__(text)
        self.place = place


def check_declarations(protocol: type[Algorithm]) -> None:
    """Raise DeclarationError for the first wrong declaration."""
    _check_name(protocol)
    _check_promises(protocol)
    _check_relies_on(protocol)
    _check_heartbeats(protocol)
    _check_workload(protocol)
    _check_parameters(protocol)
    _check_awaits(protocol)


def _check_name(protocol: type[Algorithm]) -> None:
    name: object = protocol.name
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise DeclarationError(
            f"the name of {protocol.__name__} is {name!r}: write small letters, digits and hyphens, "
            "such as name: ClassVar[str] = 'my-election'"
        )
    if PROTOCOLS.get(name, protocol) is not protocol or name in TASKS:
        raise DeclarationError(
            f"{protocol.__name__} has the name {name!r}, which is the name of a built-in protocol: choose another"
        )


def _check_promises(protocol: type[Algorithm]) -> None:
    promises: object = protocol.promises
    if not isinstance(promises, tuple):
        raise DeclarationError(f"{protocol.__name__}.promises is {promises!r}: write a tuple, such as ('A1.1',)")
    for promise in promises:
        if promise not in ASSERTIONS:
            known = ", ".join(ASSERTIONS)
            raise DeclarationError(
                f"{protocol.__name__} promises {promise!r}, which is no assertion (known: {known})"
            )


def _check_relies_on(protocol: type[Algorithm]) -> None:
    try:
        msgspec.convert(protocol.relies_on, dict[str, tuple[int, ...]])
    except msgspec.ValidationError as error:
        raise DeclarationError(
            f"{protocol.__name__}.relies_on gives for an assertion the assumptions it needs, "
            f"such as {{'A1.1': (8, 9)}}: {error}"
        ) from None


def _check_heartbeats(protocol: type[Algorithm]) -> None:
    kinds: Any = protocol.heartbeats
    if not isinstance(kinds, tuple) or not all(isinstance(k, type) and issubclass(k, Payload) for k in kinds):
        raise DeclarationError(
            f"{protocol.__name__}.heartbeats is {kinds!r}: write a tuple of messages, such as (ILead,)"
        )


def _check_workload(protocol: type[Algorithm]) -> None:
    commands: Any = protocol.workload
    if not isinstance(commands, tuple) or not all(isinstance(each, str) for each in commands):
        raise DeclarationError(
            f"{protocol.__name__}.workload is {commands!r}: write a tuple of commands, such as ('publish',)"
        )
    for each in commands:
        if each.partition(" ")[0] not in protocol.commands:
            known = ", ".join(sorted(protocol.commands)) or "none"
            raise DeclarationError(
                f"{protocol.__name__} is kept busy by {each!r}, which is none of its commands (known: {known})"
            )


def _check_parameters(protocol: type[Algorithm]) -> None:
    parameters: Any = protocol.Parameters
    if not (isinstance(parameters, type) and issubclass(parameters, Struct)):
        raise DeclarationError(
            f"{protocol.__name__}.Parameters is no struct: write class Parameters(Struct, frozen=True)"
        )
    for field in msgspec.structs.fields(parameters):
        if field.required:
            raise DeclarationError(
                f"{protocol.__name__}.Parameters.{field.name} has no default: write {field.name}: … = …"
            )


def _check_awaits(protocol: type[Algorithm]) -> None:
    mistake = first_mistake(protocol)
    if mistake is not None:
        raise DeclarationError(mistake.text, mistake.place)
