"""The children of sandboxes, and the program that forks them. Its argument is the descriptor of its socket.

It imports what a protocol may need of this program. A child confines itself, and says what it could not. Only then
does it load the file. From there on it does what the other side of its socket asks, until that has gone.
"""

import ctypes
import inspect
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import DriverError, Node, Protocol, Request
from lab.kernel.errors import format_traceback
from lab.kernel.plain import plain
from lab.properties.assertions import BUILT_IN
from lab.protocols import OWN_PROTOCOLS, Algorithm
from lab.text import UserError
from lab.worlds.fork_server import ForkServer, keep_only
from lab.worlds.json_lines import Channel
from lab.worlds.loading.confinement import confine
from lab.worlds.loading.sandbox_messages import (
    Confined,
    Create,
    Describe,
    Described,
    Failed,
    Fed,
    Feed,
    Load,
    Loaded,
    Refused,
    SandboxRequest,
)
from lab.worlds.loading.sandbox_server import SandboxJob
from lab.worlds.loading.targets import load_protocol
from lab.worlds.watchdog import watch_steps

_CHANNEL = 3
_decode = msgspec.json.Decoder(SandboxRequest).decode


class _Server(ForkServer[SandboxJob]):
    """Its children have imported what it has."""

    def __init__(self, peer: socket.socket) -> None:
        super().__init__(peer, SandboxJob)

    def run_child(self, job: SandboxJob, descriptors: Sequence[int]) -> int:
        keep_only(0, 1, 2, *descriptors)
        if sys.platform == "linux":
            pr_set_pdeathsig = 1
            ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
        os.chdir(job.empty)
        serve_requests(socket.socket(fileno=_CHANNEL), Path(job.code))
        return 0


def main() -> None:
    """Fork children until the other side of the socket, whose descriptor is the first argument, has gone."""
    _Server(socket.socket(fileno=int(sys.argv[1]))).run()


def serve_requests(peer: socket.socket, folder: Path) -> None:
    """Confine this process; then serve requests until the other side has gone."""
    channel = Channel(peer, float("inf"))
    channel.send(Confined(confine(folder)))
    child = _Child()
    while True:
        try:
            lines = channel.receive()
        except EOFError:
            return
        for line in lines:
            reply = child.reply(_decode(line))
            if reply is not None:
                channel.send(reply)


class _Child:
    def __init__(self) -> None:
        self._protocol: type[Algorithm] = Algorithm
        self._node: Node | None = None

    def reply(self, request: SandboxRequest) -> Struct | None:
        """Do what is asked for; return the reply, if there is one."""
        try:
            match request:
                case Load():
                    return self._load(request)
                case Create():
                    self._create(request)
                    return None
                case Describe():
                    return self._describe(request)
                case Feed():
                    return self._feed(request)
        except UserError as error:
            return Refused(str(error))
        except (Exception, SystemExit) as error:
            return Failed(format_traceback(error))

    def _load(self, request: Load) -> Loaded:
        if request.original:
            withhold(load_protocol(request.original))
        self._protocol = load_protocol(request.target)
        watch_steps()
        return _declarations(next(reversed(OWN_PROTOCOLS.values())), self._protocol)

    def _describe(self, request: Describe) -> Described:
        protocol = next(reversed(OWN_PROTOCOLS.values()))
        parameters = msgspec.convert(request.parameters, protocol.Parameters)
        return Described(
            protocol.settles_within_us(request.timing, parameters, request.nodes),
            dict(protocol.relied_on(parameters)),
        )

    def _create(self, request: Create) -> None:
        self._node = None
        parameters = msgspec.convert(request.parameters, self._protocol.Parameters)
        self._node = Node(self._protocol, request.node, request.ids, request.timing, parameters, request.seed)

    def _feed(self, request: Feed) -> Fed:
        node, given = self._node, request.given if request.message is None else request.message
        if node is None or given is None:
            raise DriverError("there is no node, or no input")
        step = node.step(given, request.now_us, request.draws)
        timer = node.next_timer()
        return Fed(step, None if timer is None else (timer[0], timer[1].procedure))


def _declarations(named: type[Algorithm], whole: type[Algorithm]) -> Loaded:
    """Return what the class in the file declares; ``whole`` has the layers that it stands on or below, too."""
    base = next(each for each in named.__mro__ if each.__module__.startswith("lab."))
    return Loaded(
        named.name,
        named.__name__,
        (base.__module__, base.__name__),
        named.promises,
        {name: issubclass(kind, Request) for name, kind in named.payloads.items()},
        {each.name: "log" if each.log else "safe" if each.safe else "volatile" for each in named.fields},
        plain(named.Parameters()),
        named.commands,
        named.workload,
        tuple(kind.__name__ for kind in named.heartbeats),
        named.__doc__ or "",
        not {each.id for each in BUILT_IN}.issuperset(whole.promises),
        {each.name: plain(each.default) for each in named.fields},
    )


def withhold(original: type[Algorithm]) -> None:
    """Leave nothing in this process that repairs ``original``, the faulty protocol of an exercise.

    Its methods replace those that they override, in its built-in bases too. All other protocols of this program
    lose their methods. The files are out of reach.
    """
    layers = (original, *(layer for layer in (original.upper_protocol,) if layer is not None))
    kept = {klass for layer in layers for klass in layer.__mro__}
    for klass in _protocol_classes(Algorithm):
        if klass not in kept and klass.__module__.startswith("lab."):
            _empty(klass)
    for klass in original.__mro__[1:]:
        if klass.__module__.startswith("lab."):
            for name in vars(original).keys() & vars(klass).keys():
                if isinstance(vars(klass)[name], FunctionType):
                    setattr(klass, name, vars(original)[name])
    for klass in reversed(original.__mro__):
        if klass in kept and issubclass(klass, Algorithm):
            Protocol.__init_subclass__.__func__(klass)  # type: ignore[attr-defined]


def _protocol_classes(root: type[Any]) -> set[type[Any]]:
    return {root}.union(*map(_protocol_classes, root.__subclasses__()))


def _empty(klass: type[Any]) -> None:
    for name, member in list(vars(klass).items()):
        if isinstance(member, FunctionType | property | classmethod | staticmethod) or inspect.iscoroutinefunction(
            member
        ):
            delattr(klass, name)
