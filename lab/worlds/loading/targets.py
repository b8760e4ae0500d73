"""Load what a target names: a built-in protocol, or a class in a user's file, and the properties that it declares.

    bully                       by name
    my_election.py              the one election protocol in that file
    my_election.py:MyElection   this class of it; a task, on the election that it names as its usual one
    field above bully           a built-in task, on any of these elections
    bully with properties.py    any of these, promising the properties in that file too
    sandboxed my_election.py    a file of a stranger's, executed by a confined process only: see ``sandbox``

This is done here, and not in ``lab.protocols``, because that room opens no files and promised assertions are
looked up in ``lab.properties``.

Before anything runs, a user's protocol is checked: what its class declares, and the ``await``s in its source.
Python turns a call without ``await`` into a coroutine that never runs: nothing is sent, no time passes, and at
most a warning appears. The reverse is a mistake too: a method that the kernel calls directly may not be ``async
def``.
"""

import ast
import difflib
import functools
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from inspect import iscoroutinefunction
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec
from msgspec import Struct

from lab.foreign_file import LARGEST_TEXT, read_foreign
from lab.kernel import Payload, Protocol, ProtocolError
from lab.properties.assertions import ASSERTIONS, BUILT_IN, BUILT_IN_ASSUMPTIONS
from lab.properties.declarations import Assertion, Assumption, Declared
from lab.properties.registry import register
from lab.protocols import (
    ELECTION,
    LENSES,
    OWN_PROTOCOLS,
    PROTOCOLS,
    TASKS,
    Algorithm,
    Election,
    Program,
    Task,
    UnknownProtocolError,
    find_protocol,
    stacked,
)
from lab.recording.records import Header, ProtocolInfo
from lab.text import did_you_mean
from lab.worlds.loading.determinism import hidden_inputs, inputs_besides_states
from lab.worlds.loading.sandbox import Origin
from lab.worlds.loading.sandboxed_protocol import represent
from lab.worlds.loading.user_module import TargetError, load_module, located

_ABOVE = " above "
_WITH = " with "
_WHOLE = re.compile(r"[^/\\]+|.*\.py(:\w+)?", re.DOTALL)
"""A target that does not end within the path of a file, whose folders may have any names."""
_SANDBOXED = "sandboxed "
_YOURS = "one-of-your-own"
"""No protocol has this name: a name in a recording never makes a file run."""
_BASES = (Algorithm, Election, Task, Program)


class UnknownNameError(TargetError):
    """The target is neither a file nor a protocol by name. ``plain`` is the text without a suggestion."""

    def __init__(self, plain: str, name: str) -> None:
        super().__init__(f"{plain}{did_you_mean(name, [*PROTOCOLS, *TASKS])}")
        self.plain = plain


def load_protocol(target: str) -> type[Algorithm]:
    """Return the protocol that ``target`` names. A file is loaded once in a process. Raises TargetError.

    Its runs promise the properties in its own file, and in the file after *with*.
    """
    plain, sandboxed = split_sandbox(target)
    named, properties = split_target(plain)
    found, own = _load(named, named if sandboxed else "")
    if not own and not properties:
        return found
    more = load_properties(properties) if properties else ()
    require_other_names(own, more)
    declared = combine(own, more)
    check_assumptions(declared, found.relies_on)
    register(found.name, declared)
    names = [each.id for each in declared if isinstance(each, Assertion)]
    return _promising(found, tuple(dict.fromkeys((*found.promises, *names))))  # type: ignore[arg-type]


_DECLARATIONS = ("payloads", "heartbeats", "commands", "fields")
"""The tables of a class that it declares by its methods, unless it represents one in a sandbox."""


@functools.cache
def _promising(protocol: type[Algorithm], promises: tuple[str, ...]) -> type[Algorithm]:
    """Return the protocol with these promises."""
    if promises == protocol.promises:
        return protocol
    own = {
        "__module__": protocol.__module__,
        "__doc__": protocol.__doc__,
        "name": protocol.name,
        "promises": promises,
    }
    promising = type(protocol.__name__, (protocol,), own)
    for name in _DECLARATIONS:
        setattr(promising, name, getattr(protocol, name))
    return promising


def _load(target: str, sandboxed: str = "") -> tuple[type[Algorithm], tuple[Declared, ...]]:
    """Return the protocol, and what its own file declares. ``sandboxed``: the whole target, if it is to be."""
    task, election = split_task(target)
    if task:
        lower, of_lower = _load(election, sandboxed)
        return _stack(_task(task), lower), of_lower
    file, name = _parts(target)
    if not _is_file(file):
        try:
            return find_protocol(target), ()
        except UnknownProtocolError as error:
            text = f"{error}, or FILE.py:CLASS for your own"
            if os.path.isfile(f"{file}.py"):  # as a path, a name may be too long
                own = f"{file}.py:{name}" if name else f"{file}.py"
                raise TargetError(f"{text}; did you mean {own}?") from None
            raise UnknownNameError(text, target) from None
    path = python_file(file, "FILE.py:CLASS")
    declared: tuple[Declared, ...] = ()
    try:
        if sandboxed:
            found = _represented(sandboxed, path)
        else:
            module = load_module(path)
            found = _class_in(module, file, name)
            if "name" not in vars(found):
                found.name = _kebab(found.__name__)
            declared = declared_in(module, file)
            check_declarations(found)
    except DeclarationError as error:
        place = (
            path.with_name(error.place) if error.place else file
        )  # the mistake may be in a file that it imports
        raise TargetError(f"{place}: {error}") from None
    OWN_PROTOCOLS[found.name] = found
    return (_stack(found, _load(found.usual_election)[0]) if issubclass(found, Task) else found), declared


@functools.cache
def _represented(target: str, file: Path) -> type[Algorithm]:
    """Return the class that represents the file's, once in a process. Raises TargetError, DeclarationError."""
    found = represent(Origin(absolute_target(target), file.resolve()))
    check_names(found)
    return found


def recorded_protocol(info: ProtocolInfo, target: str | None) -> type[Algorithm]:
    """Return the protocol of a recording, or the user's own protocol at ``target``. Raises TargetError.

    The user's file is executed, never the source text in the recording, nor a file that the recording names. If a
    task ran on an election of the user's own, ``target`` names the election.
    """
    try:
        known = find_protocol(info.name, info.parameters)
    except UnknownProtocolError:
        election = info.election if info.name in TASKS else None
    else:
        if target is None or load_protocol(target) is known:
            return known
        named, properties = split_target(target)
        if not properties or named not in (info.name, info.election):
            raise TargetError(f"its protocol, {info.name}, is built in: leave out --protocol {target}")
        return load_protocol(recorded_target(info, target))
    if target is None:
        own = info.name if election is None else f"{election} (under {info.name})"
        name = _recorded_class(info.source, election or info.name)
        file = (
            info.file if election == info.election else "FILE.py"
        )  # under a user's own task, it is the election's file
        wanted = f"--protocol {file}:{name}, with the path where {file} lies"
        raise TargetError(f"its protocol, {own}, is not built in: add {wanted}")
    found = load_protocol(target)
    if found.name != (info.name if election is None else election):
        raise TargetError(f"its protocol is {election or info.name}, and --protocol {target} is {found.name}")
    return found if election is None else _stack(_task(info.name), found)


def recorded_protocols(header: Header, target: str | None) -> type[Algorithm]:
    """Return the protocol of a recording, after loading those of the nodes with another one. Raises TargetError.

    Of a mixed cluster, ``target`` names each protocol of the user's own, with commas between them.
    """
    if not header.members:
        return recorded_protocol(header.protocol, target)
    own = _own_targets(header, target)
    for role in header.members:
        recorded_protocol(role.protocol, own.get(role.protocol.name))
    return recorded_protocol(header.protocol, own.get(header.protocol.name))


def recorded_targets(header: Header, target: str = "") -> tuple[str, tuple[str, ...]]:
    """Return the target of what ``recorded_protocols`` returns, and those of the members."""
    if not header.members:
        return recorded_target(header.protocol, target), ()
    own = _own_targets(header, target)
    infos = (header.protocol, *(role.protocol for role in header.members))
    first, *others = (recorded_target(info, own.get(info.name, "")) for info in infos)
    return first, tuple(others)


def loaded_targets(header: Header) -> str:
    """Return the targets of those protocols of a run that the user has loaded here, with commas between them.

    Not of one in a sandbox, which is executed nowhere else.
    """
    infos = (header.protocol, *(role.protocol for role in header.members))
    names = (info.election if info.name in TASKS and info.election else info.name for info in infos)
    own = (OWN_PROTOCOLS[name] for name in dict.fromkeys(names) if name in OWN_PROTOCOLS)
    trusted = (each for each in own if each.node_class is None)
    return ",".join(f"{inspect.getfile(each)}:{each.__name__}" for each in trusted)


def _own_targets(header: Header, target: str | None) -> dict[str, str]:
    """Return the targets of the user's own protocols in a mixed cluster, by the names of these protocols."""
    own = {load_protocol(each).name: each for each in split_targets(target or "")}
    names = [header.protocol.name, *(role.protocol.name for role in header.members)]
    unused = next((name for name in own if name not in names), None)
    if unused is not None:
        raise TargetError(f"none of its nodes executes {unused}; its protocols are {', '.join(names)}")
    return own


def _recorded_class(source: str, protocol: str) -> str:
    """Return the class in the source text that has the protocol's name; CLASS if none seems to."""
    _, *parts = re.split(r"^class (\w+)", source, flags=re.MULTILINE)
    own_name = re.compile(rf"^    name\b.*= *[\"']{re.escape(protocol)}[\"']", re.MULTILINE)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if own_name.search(body) or _kebab(name) == protocol:
            return name
    return "CLASS"


def recorded_target(info: ProtocolInfo, own: str = "") -> str:
    """Return the target of what ``recorded_protocol`` finds with the user's target ``own``."""
    if info.name not in TASKS:
        return own or (_YOURS if _is_file(info.name) else info.name)
    election = str(info.parameters.get(ELECTION, ""))
    return stacked_target(info.name, own or (election if election in PROTOCOLS else _YOURS))


def stacked_target(task: str, target: str) -> str:
    """Return the target of this task on the election of that target."""
    return f"{task}{_ABOVE}{target}"


def user_files(target: str) -> dict[str, bytes]:
    """Return the user's files that the target needs, by path: those it names, and all modules beside them."""
    load_protocol(target)
    named, properties = split_target(target)
    election = split_task(named)[1]
    named_files = [Path(file) for file in (_parts(election)[0], properties) if file and _is_file(file)]
    folders = {path.resolve().parent for path in named_files}
    modules = {
        Path(file).resolve()
        for module in list(sys.modules.values())
        if (file := getattr(module, "__file__", None)) and Path(file).resolve().parent in folders
    }
    return {str(path): read_foreign(path, LARGEST_TEXT) for path in sorted(modules) if path.suffix == ".py"}


def target_with(target: str, properties: str) -> str:
    """Return the target with the properties in that file."""
    return f"{target}{_WITH}{properties}"


def split_target(target: str) -> tuple[str, str]:
    """Return the target without the file of properties that it names, and that file; empty if there is none."""
    named, properties = _cut(target, _WITH)
    return named or properties, properties if named else ""


def split_task(target: str) -> tuple[str, str]:
    """Return the task of a target without properties, empty if there is none, and what it runs above."""
    return _cut(target, _ABOVE)


def split_targets(targets: str) -> list[str]:
    """Return the targets between which there are commas; the folder of a file may have some in its name, too."""
    found, rest = [], ""
    for part in targets.split(","):
        rest = f"{rest},{part}" if rest else part
        if _WHOLE.fullmatch(rest):
            found.append(rest)
            rest = ""
    return [*found, rest] if rest else found


def _cut(target: str, between: str) -> tuple[str, str]:
    """Return what stands on both sides of these words; of folders whose names have them, neither is cut."""
    parts = [] if os.path.isfile(_parts(target)[0]) else target.split(between)
    for place in range(1, len(parts)):
        left = between.join(parts[:place])
        if _WHOLE.fullmatch(left):
            return left, between.join(parts[place:])
    return "", target


def _task(name: str) -> type[Task]:
    if name not in TASKS:
        raise TargetError(f"{name!r} does not run above an election; tasks: {', '.join(sorted(TASKS))}")
    return TASKS[name]


def _stack(task: type[Task], election: type[Algorithm]) -> type[Algorithm]:
    if not issubclass(election, Election) or election.upper_protocol is not None:
        raise TargetError(f"{task.name} runs above an election, and {election.name} is not one")
    try:
        return stacked(task, election)
    except ProtocolError as error:
        raise TargetError(str(error)) from None


def sandboxed_target(target: str) -> str:
    """Return the target whose file is executed in a sandbox. Raises TargetError if it names no file."""
    if not names_file(target):
        raise TargetError(f"{target} is built in, and needs no sandbox; a sandbox is for FILE.py:CLASS")
    return f"{_SANDBOXED}{target}"


def split_sandbox(target: str) -> tuple[str, bool]:
    """Return the target as users write it, and whether its file is executed in a sandbox."""
    return target.removeprefix(_SANDBOXED), target.startswith(_SANDBOXED)


def names_file(target: str) -> bool:
    """Return whether the protocol of the target, or a layer of it, is in a file of the user's."""
    named, _ = split_target(target)
    return _is_file(_parts(split_task(named)[1])[0])


def absolute_target(target: str, folder: Path = Path()) -> str:
    """Return the target with an absolute path; a relative one is resolved against ``folder``."""
    if target.startswith(_SANDBOXED):
        return f"{_SANDBOXED}{absolute_target(target.removeprefix(_SANDBOXED), folder)}"
    named, properties = split_target(target)
    if properties:
        return target_with(absolute_target(named, folder), _absolute(folder, properties))
    task, election = split_task(target)
    if task:
        return stacked_target(task, absolute_target(election, folder))
    file, name = _parts(target)
    if not _is_file(file):
        return target
    path = _absolute(folder, file)
    return f"{path}:{name}" if name else path


def _absolute(folder: Path, file: str) -> str:
    """Return the absolute path; a name that no file can have as it is, for the error when it is loaded."""
    return file if "\0" in file else os.path.realpath(folder / file)


def _parts(target: str) -> tuple[str, str]:
    file, colon, name = target.rpartition(":")
    return (file, name) if colon and not name.endswith(".py") else (target, "")


def _is_file(file: str) -> bool:
    return "/" in file or "." in file


def _class_in(module: ModuleType, file: str, name: str) -> type[Algorithm]:
    classes = {key: each for key, each in vars(module).items() if isinstance(each, type) and each not in _BASES}
    own = [
        key
        for key, each in classes.items()
        if issubclass(each, Algorithm) and each.__module__ == module.__name__ and key == each.__name__
    ]
    found = classes.get(name or (own[0] if len(own) == 1 else ""))
    if found is not None and issubclass(found, Algorithm):
        return found
    if found is not None:
        raise TargetError(f"{file}: {name} is not an election protocol: write class {name}(Election)")
    if not own and name:
        raise TargetError(f"{file} has no class {name}, and no other protocol")
    if not own:
        program = "; if it is a program of your own, run it with --program" if os.access(file, os.X_OK) else ""
        raise TargetError(f"{file} has no protocol: write class MyProtocol(Election), or (Algorithm){program}")
    if not name:
        raise TargetError(f"{file} has several protocols; name one: {' or '.join(f'{file}:{key}' for key in own)}")
    near = difflib.get_close_matches(name, own, 1)
    meant = f"; did you mean {file}:{near[0]}?" if near else ""
    raise TargetError(f"{file} has no class {name} (known: {', '.join(own)}){meant}")


def _kebab(name: str) -> str:
    """Convert ``MyElection`` to ``my-election``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", "-", name).strip("-").lower()


# declarations


_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class DeclarationError(Exception):
    """A class attribute has a wrong value; the text is for the user. ``place``: where, if known."""

    def __init__(self, text: str, place: str = "") -> None:
        super().__init__(text)
        self.place = place


def check_declarations(protocol: type[Algorithm]) -> None:
    """Raise DeclarationError for the first wrong declaration."""
    check_names(protocol)
    _check_relies_on(protocol)
    _check_heartbeats(protocol)
    _check_parameters(protocol)
    _check_awaits(protocol)
    _check_determinism(protocol)


def check_names(protocol: type[Algorithm]) -> None:
    """Raise DeclarationError if its name, its promises or its workload are not what they can be."""
    _check_name(protocol)
    _check_promises(protocol)
    _check_workload(protocol)


def _check_name(protocol: type[Algorithm]) -> None:
    name: object = protocol.name
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise DeclarationError(
            f"the name of {protocol.__name__} is {name!r}: write small letters, digits and hyphens, "
            "such as name: ClassVar[str] = 'my-election'"
        )
    if PROTOCOLS.get(name, protocol) is not protocol or name in TASKS or name in LENSES:
        raise DeclarationError(
            f"{protocol.__name__} has the name {name!r}, which is the name of a built-in protocol: choose another"
        )


def _check_promises(protocol: type[Algorithm]) -> None:
    promises: object = protocol.promises
    if not isinstance(promises, tuple):
        raise DeclarationError(f"{protocol.__name__}.promises is {promises!r}: write a tuple, such as ('A1.1',)")
    for promise in promises:
        if promise not in _BUILT_IN:
            known = ", ".join(_BUILT_IN)
            raise DeclarationError(
                f"{protocol.__name__} promises {promise!r}, which is no assertion (known: {known})"
            )
        _check_state(protocol, promise)


_BUILT_IN = [each.id for each in BUILT_IN]
_PLAIN = {int, str, bool, float}
_DECLARED = {
    "status": "status: Status = Status.DOWN",
    "coordinator": "coordinator: int | None = None",
    "definition": "definition: Definition = Definition()",
    "group": "group: Group | None = None",
    "processing": "processing: bool = False",
    "halted": "halted: int | None = None",
    "up": "up: frozenset[int] = frozenset()",
    "log": "log: Log[Entry] = Log()",
    "published": "published: tuple[int, int, int] = (0, 0, 0)",
    "balances": "balances: tuple[tuple[str, int], ...] = ()",
    "locks": "locks: tuple[tuple[str, Transaction], ...] = ()",
    "open": "open: tuple[OpenTransaction, ...] = ()",
}
"""The declarations of the fields that assertions are about, of those that a user's own protocol may promise."""
_OPTIONAL = ("outbox",)
"""The fields that an assertion reads where a protocol has them."""


def _check_state(protocol: type[Algorithm], promise: str) -> None:
    """Refuse a promise about fields that the state of a node lacks, or has as plain values of another type.

    The state of a node with a task has the fields of the election below it, too.
    """
    lower = Election.fields if issubclass(protocol, Task) else ()
    declared = {field.name: field.type for field in (*lower, *protocol.fields)}
    for name in ASSERTIONS[promise].reads:
        if name not in declared and name not in _OPTIONAL:
            why = f"which is about {name}, and the state of its nodes has no {name}"
        elif name == "group" and not _PLAIN.isdisjoint((declared[name], *get_args(declared[name]))):
            why = "which is about groups, and its group is a plain value"
        else:
            continue
        declaration = _DECLARED.get(name, name)
        raise DeclarationError(f"{protocol.__name__} promises {promise}, {why}: declare {declaration}")


def _check_relies_on(protocol: type[Algorithm]) -> None:
    try:
        msgspec.convert(protocol.relies_on, dict[str, tuple[int | str, ...]])
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
    """Raise DeclarationError for the first mistake in the protocol's classes, base classes first."""
    for klass in reversed(protocol.__mro__):
        if issubclass(klass, Protocol) and klass is not Protocol:
            mistake = _mistake_in(klass)  # type: ignore[arg-type]
            if mistake is not None:
                raise DeclarationError(*mistake)


def _check_determinism(protocol: type[Algorithm]) -> None:
    """Raise DeclarationError for the first thing in the user's files that differs between executions."""
    for klass in reversed(protocol.__mro__):
        if issubclass(klass, Protocol) and not klass.__module__.startswith("lab."):
            path = Path(inspect.getfile(klass))
            first = min(hidden_inputs(read_foreign(path, LARGEST_TEXT)), default=None)
            if first is not None:
                raise DeclarationError(first.text, f"{path.name}:{first.line}")
            _check_class_values(klass, path.name)


def _check_class_values(klass: type, file: str) -> None:
    """Raise DeclarationError for a value of the class that its methods could change."""
    for name, value in vars(klass).items():
        if isinstance(value, list | dict | set) and not name.startswith("__") and not hasattr(Algorithm, name):
            raise DeclarationError(
                f"{klass.__name__}.{name} is a {type(value).__name__}, which all nodes of a simulation share: "
                f"declare a field with a value that cannot be changed, such as {name}: tuple[int, ...] = ()",
                file,
            )


# awaits


_NAMING = ("begin", "restart", "stop", "is_running", "begun_us")
"""These take the procedure itself, without calling it."""


@functools.cache  # a class is checked whenever its file is named
def _mistake_in(klass: type[Protocol]) -> tuple[str, str] | None:
    """Return (text, place) of the first mistake in this class alone; None if there is none, or no source."""
    try:
        path = Path(inspect.getfile(klass))
        methods = _methods(read_foreign(path, LARGEST_TEXT)).get(klass.__name__, [])
    except (OSError, TypeError):
        return None
    found = (mistake for method in methods for mistake in _mistakes(method, klass, path.name))
    return next(found, None)


@functools.lru_cache(maxsize=16)  # most files have several classes
def _methods(source: bytes) -> dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return the methods of all classes in this source by the name of the class."""
    found: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found.setdefault(node.name, []).extend(methods)
    return found


def _mistakes(
    method: ast.FunctionDef | ast.AsyncFunctionDef, klass: type[Protocol], file: str
) -> Iterator[tuple[str, str]]:
    waits = isinstance(method, ast.AsyncFunctionDef)
    if waits and method.name in _called_at_once(klass):
        yield f"{method.name} never waits: write def, not async def", f"{file}:{method.lineno}"
        return
    for call, naming in _calls(method, klass, naming="", taken=False, plain=False):
        shown = f"{ast.unparse(call.func)}({'…' if call.args or call.keywords else ''})"
        if naming:
            text = f"write {naming}({ast.unparse(call.func)}), without the parentheses"
        elif waits:
            text = f"await is missing before {shown}"
        else:
            text = f"{method.name} never waits, so it cannot call {shown}: begin a procedure that does"
        yield text, f"{file}:{call.lineno} in {method.name}"


def _called_at_once(klass: type[Protocol]) -> set[str]:
    """Return the methods that may not be ``async``: plain in a base class, or the *due* test of a procedure."""
    plain = {name for base in klass.__mro__[1:-1] for name, each in vars(base).items() if _is_plain(each)}
    return plain | {getattr(due, "__name__", "") for due in klass.procedures.values()}


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


def load_properties(file: str, usage: str = "--properties FILE.py") -> tuple[Declared, ...]:
    """Return what the file declares; ``usage`` is how the user names it.

    Raises TargetError, also if it declares no property.
    """
    path = python_file(file, usage)
    declared = declared_in(load_module(path), file)
    if not any(isinstance(each, Assertion) for each in declared):
        raise TargetError(
            f"{file} declares no property: write a function with @invariant; see lab guide properties"
        )
    first = min(inputs_besides_states(read_foreign(located(path), LARGEST_TEXT)), default=None)
    if first is not None:
        raise TargetError(f"{file}:{first.line}: {first.text}")
    return declared


def python_file(file: str, usage: str) -> Path:
    """Return the path of a Python file that exists. Raises TargetError."""
    path = Path(file)
    if not os.path.isfile(located(path)):  # false for a name that no file can have, too
        raise TargetError(f"there is no file {file}; name one of your Python files: {usage}")
    if path.suffix != ".py":
        raise TargetError(f"{file} is not a Python file; name one: {usage}")
    return path


def declared_in(module: ModuleType, file: str) -> tuple[Declared, ...]:
    """Return what the module declares, or imports from other files of the user's. Raises TargetError."""
    found = {each.id: each for each in vars(module).values() if isinstance(each, Declared) and each.place}
    built_in = {each.id: "assertion" for each in BUILT_IN} | dict.fromkeys(_ASSUMED, "assumption")
    for each in found.values():
        if each.id in built_in:
            line, kind = each.place.rpartition(":")[2], built_in[each.id]
            raise TargetError(f"{file}:{line}: {each.id} is the name of a built-in {kind}: choose another")
    return tuple(found.values())


_ASSUMED = tuple(each.id for each in BUILT_IN_ASSUMPTIONS)


def combine(own: Iterable[Declared], more: Iterable[Declared]) -> tuple[Declared, ...]:
    """Return what two files declare; of the same name, that of the second."""
    return tuple({each.id: each for each in (*own, *more)}.values())


def require_other_names(own: Iterable[Declared], more: Iterable[Declared]) -> None:
    """Raise TargetError if a second file declares what the protocol's own file does: one would be judged alone."""
    places = {each.id: each.place for each in own}
    for each in more:
        if (place := places.get(each.id, each.place)) != each.place:
            raise TargetError(f"{each.place}: {each.id} is declared in {place}, too: choose another name")


def check_assumptions(declared: Iterable[Declared], promises: Mapping[str, tuple[int | str, ...]]) -> None:
    """Raise TargetError if a property, or a promise of the protocol, relies on an unknown assumption."""
    each_of = list(declared)
    known = [*_ASSUMED, *(each.id for each in each_of if isinstance(each, Assumption))]
    relying = [(each.id, each.relies_on or (), each.place) for each in each_of if isinstance(each, Assertion)]
    relying += [(f"the promise {name}", needed, "") for name, needed in promises.items()]
    for name, needed, place in relying:
        for assumption in needed:
            if isinstance(assumption, str) and assumption not in known:
                where = f"{place}: " if place else ""
                meant = did_you_mean(assumption, known)
                text = f"{name} relies on {assumption!r}, and no function with @assumption has that name{meant}"
                raise TargetError(where + text)
