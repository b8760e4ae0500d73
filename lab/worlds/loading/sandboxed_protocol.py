"""A class that represents a stranger's protocol where it is judged: names and values, never its code.

The class has what the child of a sandbox declares of its own, over the built-in class that it derives from; so the
world that runs it is the same as ever. Its nodes are in sandboxes. What they return is not trusted: a step is
refused where the node could not have done it, such as a message in the name of another node.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import (
    DriverError,
    Fired,
    Input,
    Message,
    Payload,
    ProtocolCommand,
    Received,
    Request,
    Started,
    Step,
    Timing,
    Waits,
)
from lab.kernel.log import Log
from lab.kernel.node import SteppedNode
from lab.kernel.state import StateField
from lab.protocols import Algorithm
from lab.text import sanitize
from lab.worlds.loading.sandbox import Origin, Sandbox, SandboxError, SandboxPool
from lab.worlds.loading.sandbox_messages import Create, Described, Loaded
from lab.worlds.loading.user_module import TargetError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,80}")
_IDENTIFIER = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]{0,80}")
_MOST_NAMES = 1000


class SandboxedProtocol(Algorithm):
    """The base of what represents a protocol in a sandbox. ``pool`` executes its nodes."""

    pool: ClassVar[SandboxPool]


def leaves_out_properties(protocol: type[Algorithm]) -> bool:
    """Return whether it is in a sandbox, and its file declares properties, which are then not judged."""
    return issubclass(protocol, SandboxedProtocol) and protocol.pool.loaded.own_properties


def describe_left_out(protocol: type[Algorithm]) -> str:
    """Return that the properties in its file are not judged, and what to do; empty unless they are left out."""
    if not leaves_out_properties(protocol):
        return ""
    return (
        f"{protocol.name}: properties in its own file are not judged in a sandbox, as the judge would execute "
        "them; read them, and judge those you trust from a file of yours: --properties FILE.py"
    )


def represent(origin: Origin) -> type[SandboxedProtocol]:
    """Return a class that represents the one in the file: its names and values, over its first built-in base.

    The file is executed in a sandbox only. Raises TargetError.
    """
    pool = SandboxPool(origin)
    loaded = pool.loaded
    _check_names(loaded, origin.file)
    base = _base(loaded)

    @cache
    def described(parameters: bytes, timing: Timing, nodes: int) -> Described:
        return pool.describe(msgspec.json.decode(parameters), timing, nodes)

    def settles_within_us(cls: type, timing: Timing, parameters: Struct, nodes: int) -> int:
        return described(msgspec.json.encode(parameters), timing, nodes).settles_within_us

    def relied_on(cls: type, parameters: Struct) -> Mapping[str, tuple[int | str, ...]]:
        return described(msgspec.json.encode(parameters), Timing(1000, 1000), 1).relied_on

    own = {
        "__module__": _module_of(origin.file),
        "__doc__": sanitize(loaded.doc, 500),
        "name": loaded.name,
        "promises": loaded.promises,
        "workload": loaded.workload,
        "pool": pool,
        "node_class": SandboxedNode,
        "settles_within_us": classmethod(settles_within_us),
        "relied_on": classmethod(relied_on),
        "Parameters": _parameters(loaded.parameters, base),
    }
    protocol: type[SandboxedProtocol] = type(loaded.class_name, (SandboxedProtocol, base), own)
    inherited = {field.name: field for field in base.fields}
    protocol.payloads = {name: _payload(name, is_request, base) for name, is_request in loaded.payloads.items()}
    protocol.heartbeats = tuple(protocol.payloads[kind] for kind in loaded.heartbeats if kind in protocol.payloads)
    protocol.commands = {name: _sanitized(command) for name, command in loaded.commands.items()}
    protocol.fields = tuple(
        inherited.get(name) or _field(name, kind, loaded.initial.get(name)) for name, kind in loaded.fields.items()
    )
    return protocol


def _field(name: str, kind: str, initial: Any) -> StateField:
    """Return a field of the file's own, whose values are plain JSON here."""
    if kind != "log":
        return StateField(name, Any, initial, kind == "safe")
    return StateField(name, Log[Any], Log(initial if isinstance(initial, list) else ()), True, True)


def _check_names(loaded: Loaded, file: Path) -> None:
    """Raise TargetError for what is no name, and for more names than anyone writes."""
    names = loaded.name, *loaded.commands
    identifiers = loaded.class_name, *loaded.payloads, *loaded.fields, *loaded.parameters
    wrong = [name for name in names if _NAME.fullmatch(name) is None]
    wrong += [name for name in identifiers if _IDENTIFIER.fullmatch(name) is None]
    if wrong:
        raise TargetError(f"{file}: it declares {sanitize(wrong[0], 40)!r} where a name is expected")
    if len(names) + len(identifiers) > _MOST_NAMES:
        raise TargetError(f"{file}: it declares more than {_MOST_NAMES} messages, fields, parameters and commands")


def _base(loaded: Loaded) -> type[Algorithm]:
    module, name = loaded.base
    if module.startswith("lab.protocols."):
        found = getattr(import_module(module), name, None) if module in sys.modules else None
        if isinstance(found, type) and issubclass(found, Algorithm):
            return found
    return Algorithm


def _payload(name: str, is_request: bool, base: type[Algorithm]) -> type[Payload]:
    inherited = base.payloads.get(name)
    if inherited is not None and issubclass(inherited, Request) == is_request:
        return inherited
    made: type[Any] = msgspec.defstruct(name, [], bases=(Request if is_request else Payload,), frozen=True)
    return made


def _sanitized(command: ProtocolCommand) -> ProtocolCommand:
    texts = {name: sanitize(getattr(command, name), 200) for name in ("name", "does", "words", "example")}
    return replace(command, **texts)


def _parameters(defaults: dict[str, Any], base: type[Algorithm]) -> type[Struct]:
    types = {field.name: field.type for field in msgspec.structs.fields(base.Parameters)}
    fields = [
        (name, types.get(name, Any if default is None else type(default)), default)
        for name, default in defaults.items()
        if default is None or isinstance(default, int | float | str)
    ]
    return msgspec.defstruct("Parameters", fields, frozen=True)


def _module_of(file: Path) -> str:
    """Return the name of a module that has the file's source, and was not executed."""
    name = f"sandboxed {file}".replace(".", "_")
    sys.modules[name] = module = ModuleType(name)
    module.__file__ = str(file)
    return name


# the nodes


class SandboxedNode(SteppedNode):
    """A node that is in a sandbox."""

    def __init__(
        self,
        protocol: type[SandboxedProtocol],
        node: int,
        ids: tuple[int, ...],
        timing: Timing,
        parameters: Struct,
        seed: int,
        run: object,
    ) -> None:
        self.id = node
        self.halted = False
        self._protocol = protocol
        self._run = run
        self._ids = frozenset(ids)
        self._fields = {field.name for field in protocol.fields}
        node_seed = protocol.pool.origin.node_seed(seed)
        self._create = Create(node, ids, timing, msgspec.to_builtins(parameters), node_seed)
        self._sandbox: Sandbox | None = None
        self._incarnation = self._serial = 0
        self._timer: tuple[int, Fired] | None = None
        self._waits = Waits()
        protocol.pool.prepare(run)

    def step(self, given: Input, now_us: int, draws: Sequence[float] = ()) -> Step:
        if self.halted:
            raise DriverError(f"node {self.id} has halted and takes no input")
        cause = Received(given.source, given.serial) if isinstance(given, Message) else given
        try:
            if isinstance(given, Started):
                self._start(given)
            if self._sandbox is None or self._sandbox.node is not self:
                raise SandboxError("another run has begun")
            step, timer = self._sandbox.feed(given, now_us, draws)
            self._require_possible(step, cause, now_us)
            self._require_timer(step, timer)
            self._timer = timer
        except SandboxError as error:
            step = Step(now_us, self.id, self._incarnation, cause, failed=f"in the sandbox, {error}")
        self.halted = bool(step.failed)
        return step

    def next_timer(self) -> tuple[int, Fired] | None:
        return None if self.halted else self._timer

    def _start(self, given: Started) -> None:
        self._incarnation, self._serial = given.incarnation, given.serial
        self._sandbox = self._protocol.pool.start(self, self._run, self._create)

    def _require_possible(self, step: Step, cause: object, now_us: int) -> None:
        """Raise SandboxError unless this node could have made the step."""
        if (step.node, step.incarnation, step.at_us, step.input) != (self.id, self._incarnation, now_us, cause):
            raise SandboxError("it sent the step of another node, or of another input")
        for message in step.sent:
            if message.source != self.id or message.serial != self._serial or message.target not in self._ids:
                raise SandboxError("it sent a message of another node, or to none of the nodes")
            if message.kind not in self._protocol.payloads:
                kind = sanitize(message.kind, 40)
                raise SandboxError(
                    f"it sent {kind}, which is not a message of its protocol: no handler has @on({kind})"
                )
            self._serial += 1
        changed = step.changed.keys() | step.stored.keys() | step.logged.keys()
        if not self._fields >= changed | step.edits.keys() | step.stored_edits.keys():
            raise SandboxError("it changed a field that it does not declare")

    def _require_timer(self, step: Step, timer: tuple[int, Fired] | None) -> None:
        """Raise SandboxError unless the node will not be late by itself: that would excuse its failures."""
        if any(wait.since_us != step.at_us for wait in step.began):
            raise SandboxError("it began to wait at another time than now")
        self._waits.apply(step)
        for wait in self._waits.now():
            if wait.until_us is not None and not step.failed and (timer is None or timer[0] > wait.until_us):
                raise SandboxError("it set no timer for the end of a wait")
