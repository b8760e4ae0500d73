"""The interface for authors of protocols: the base class, and the decorators for its methods.

    class Echo(Protocol):
        heard: int = 0                                   # the declared state vector

        @on(Hello)                                       # a handler: answers at once, never waits
        def hello(self, sender: int, message: Hello) -> HelloAnswer:
            self.heard += 1
            return HelloAnswer()

        @procedure                                       # a procedure: a coroutine that may wait
        async def greet(self) -> None:
            replies = await self.ask_all(self.peers, Hello(), within=self.timing.t_us)

        @command                                         # a command for users, whose help text is the docstring
        def publish(self) -> None:
            \"\"\"Publish the survey.\"\"\"

        @command(to="one", example="transfer 100 savings checking")
        def transfer(self, amount: str, source: str, target: str) -> None:
            \"\"\"Move an amount from one account to another.\"\"\"

Handlers run to completion. At most one instance of a procedure runs at a time; a procedure with an argument runs
at most once for each ``key``: ``self.begin(self.coordinate, key=transaction)``. Procedures wait only in ``ask``,
``ask_all``, ``sleep`` and ``until``. A ``periodic`` procedure begins by itself when it is due, but only while no
other procedure of the same protocol runs.

Protocols stack: a class may declare an ``upper_protocol``, which runs in the same node with messages, state and
procedures of its own. The lower layer calls methods of ``upper_layer``, and the upper one of ``lower_layer``.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, ClassVar, Literal, TypeVar, overload

from msgspec import Raw, Struct

from lab.kernel.draws import NodeRandom
from lab.kernel.errors import DriverError, ProtocolError
from lab.kernel.payload import Payload, Request, answer_types
from lab.kernel.state import StateField, declared_fields
from lab.kernel.step import Message
from lab.kernel.traps import Ask, Sleep, Until, duration, trap
from lab.text import sanitize

__all__ = ["Protocol", "ProtocolCommand", "Recipients", "Timing", "command", "on", "periodic", "procedure"]


A = TypeVar("A", bound=Payload)
F = TypeVar("F", bound=Callable[..., Any])
Procedure = Callable[..., Coroutine[Any, Any, None]]


class Timing(Struct, frozen=True):
    """The bounds of rule M5, in microseconds: Tm to deliver a message, Tp for a node to process it."""

    tm_us: int
    tp_us: int

    @property
    def t_us(self) -> int:
        """The bound of a request with its answer: T = 2·Tm + Tp."""
        return 2 * self.tm_us + self.tp_us


def on(kind: type[Payload]) -> Callable[[F], F]:
    """Make the method the handler of messages of ``kind``: ``(self, sender, message) -> answer or None``."""
    if not (isinstance(kind, type) and issubclass(kind, Payload)):
        raise ProtocolError("@on takes a message class: class Name(Payload, frozen=True)")

    def mark(method: F) -> F:
        if iscoroutinefunction(method):
            raise ProtocolError(f"{method.__name__} is a handler, which never waits: write def, not async def")
        if hasattr(method, "_handles"):
            raise ProtocolError(f"{method.__name__} has two @on: write a handler for each message")
        method._handles = kind  # type: ignore[attr-defined]
        return method

    return mark


def procedure(method: F) -> F:
    """Make the coroutine method a procedure, which ``begin`` and ``stop`` control."""
    return _mark_procedure(method, None)


def periodic(due_us: Callable[[Any], int | None]) -> Callable[[F], F]:
    """Make the coroutine method a procedure that begins by itself at ``due_us(self)``; None: not now.

    ``due_us`` is computed from the declared fields, ``begun_us`` and ``heard_us``, and anew whenever one of them
    may have changed, while none of the protocol's procedures is running.
    """
    if not callable(due_us):
        raise ProtocolError("@periodic takes a method that returns the next time: @periodic(next_check_us)")
    return lambda method: _mark_procedure(method, due_us)


def _mark_procedure(method: F, due_us: Callable[[Any], int | None] | None) -> F:
    if not iscoroutinefunction(method):
        raise ProtocolError(f"{method.__name__} is a procedure: write async def, not def")
    method._procedure = due_us  # type: ignore[attr-defined]
    return method


Recipients = Literal["leaders", "one", "named"]
"""The default recipients of a command: all leaders, or all running nodes if the protocol elects none; one of
these, the highest; or nobody, so that nodes must be named."""

_LONGEST = 40


class ProtocolCommand(Struct, frozen=True):
    """A command: its help text, the form of its words, an example if there is one, and its default recipients.

    It takes at least ``least`` words, and at most ``most`` unless that is None.
    """

    name: str
    does: str
    words: str
    example: str
    to: Recipients
    least: int
    most: int | None

    @property
    def usage(self) -> str:
        """The syntax: ``transfer AMOUNT SOURCE TARGET``, ``publish [NODES]`` or ``refuse NODES``."""
        return f"{self.name} {self.words or ('NODES' if self.to == 'named' else '[NODES]')}"

    def count_error(self, words: tuple[str, ...]) -> str:
        """Return what is wrong if the words are too many or too few, otherwise ""."""
        if self.least <= len(words) and (self.most is None or len(words) <= self.most):
            return ""
        takes = f"usage: {self.name} {self.words}" if self.words else f"{self.name} takes no arguments"
        got = sanitize(" ".join(words), _LONGEST) or "none"
        return f"{takes}; got {got}: {self.example or f'tell NODES {self.name} {self.words}'.rstrip()}"


@overload
def command(method: F) -> F: ...
@overload
def command(*, to: Recipients = ..., words: str = ..., example: str = ...) -> Callable[[F], F]: ...
def command(method: Any = None, *, to: Recipients = "leaders", words: str = "", example: str = "") -> Any:
    """Make the method a command for users: ``(self, *words) -> None``. Its docstring is the help text.

    ``words`` is the form of the words; by default it is derived from the names of the parameters.
    """

    def mark(marked: F) -> F:
        accepted_words = list(inspect.signature(marked).parameters.values())[1:]
        plain = [each for each in accepted_words if each.kind is not inspect.Parameter.VAR_POSITIONAL]
        marked._command = ProtocolCommand(  # type: ignore[attr-defined]
            marked.__name__,
            marked.__doc__ or "",
            words or " ".join(map(_usage, accepted_words)),
            example,
            to,
            sum(each.default is inspect.Parameter.empty for each in plain),
            len(plain) if plain == accepted_words else None,
        )
        return marked

    return mark if method is None else mark(method)


def _usage(parameter: inspect.Parameter) -> str:
    name = parameter.name.upper()
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return f"[{name}…]"
    return name if parameter.default is inspect.Parameter.empty else f"[{name}]"


class Port(ABC):
    """The kernel's services to the protocol that it runs; implemented by ``Node``."""

    __slots__ = ("now_us", "touched")

    now_us: int
    random: NodeRandom
    touched: bool
    """True if a declared field was assigned since the last comparison."""
    handled: int
    """The serial of the message that is being handled, or was last."""
    outside: Mapping[int, str]
    """The names of the nodes that this one can reach outside the cluster: clients and services."""

    @abstractmethod
    def send(self, target: int, payload: Payload, reply_to: int = 0) -> None: ...
    @abstractmethod
    def post(self, target: int, kind: str, body: Raw, reply_to: int = 0) -> int: ...
    @abstractmethod
    def begin(self, method: str, key: Hashable | None = None) -> None: ...
    @abstractmethod
    def restart(self, method: str, key: Hashable | None = None) -> None: ...
    @abstractmethod
    def stop(self, method: str, key: Hashable | None = None) -> None: ...
    @abstractmethod
    def is_running(self, method: str, key: Hashable | None = None) -> bool: ...
    @abstractmethod
    def begun_us(self, name: str) -> int: ...
    @abstractmethod
    def heard_us(self, peer: int) -> int: ...
    @abstractmethod
    def note(self, text: str) -> None: ...


class Protocol:
    """The base of every protocol. ``peers`` are all other nodes, in ascending order."""

    name: ClassVar[str]
    """The name for users: ``lab run NAME``."""

    class Parameters(Struct, frozen=True):
        """The settings of a run beside the timing; durations end in ``_us``."""

    heartbeats: ClassVar[tuple[type[Payload], ...]] = ()
    """The messages that keep flowing while nothing happens; logs and diagrams can hide them."""

    asks: ClassVar[tuple[type[Request[Any]], ...]] = ()
    """The requests that it makes of other protocols' nodes, such as services, whose answers it understands."""

    upper_protocol: ClassVar["type[Protocol] | None"] = None
    """The protocol of the layer above this one in the same node. The tables below include its declarations."""

    is_program: ClassVar[bool] = False
    """True if its nodes stand for programs, which are executed only once: in a live run."""

    node_class: ClassVar[Callable[..., Any] | None] = None
    """The class of its nodes, if they are executed in another process."""

    fields: ClassVar[tuple[StateField, ...]] = ()
    handlers: ClassVar[dict[str, str]] = {}
    procedures: ClassVar[dict[str, Callable[[Any], int | None] | None]] = {}
    commands: ClassVar[dict[str, ProtocolCommand]] = {}
    payloads: ClassVar[dict[str, type[Payload]]] = {}
    _settable: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls.fields = declared_fields(cls, Protocol)
        cls._settable = frozenset(field.name for field in cls.fields)
        cls.handlers, cls.procedures, cls.commands, cls.payloads = {}, {}, {}, {}
        for request in cls.asks:
            cls.payloads |= {answer.__name__: answer for answer in answer_types(request)}
        for klass in reversed(cls.__mro__):
            handled: dict[type[Payload], str] = {}
            for name, method in vars(klass).items():
                if hasattr(method, "_handles"):
                    other = handled.setdefault(method._handles, name)
                    if other != name:
                        kind = method._handles.__name__
                        raise ProtocolError(f"{klass.__name__} has two handlers of {kind}, {other} and {name}")
                    cls._add_handler(name, method._handles)
                if hasattr(method, "_procedure"):
                    cls.procedures[name] = method._procedure
                if hasattr(method, "_command"):
                    cls.commands[name] = method._command
        if cls.upper_protocol is not None:
            cls._add_layer(cls.upper_protocol)

    @classmethod
    def _add_layer(cls, upper: "type[Protocol]") -> None:
        names = {*upper._settable, *upper.handlers.values(), *upper.procedures, *upper.commands}
        twice = sorted(name for name in names if hasattr(cls, name))
        twice += sorted(cls.payloads.keys() & upper.payloads.keys())
        if twice:
            raise ProtocolError(
                f"{upper.__name__} cannot run above {cls.__name__}: both have {', '.join(twice)}; rename one"
            )
        cls.fields += upper.fields
        cls.handlers |= upper.handlers
        cls.procedures |= upper.procedures
        cls.commands |= upper.commands
        cls.payloads |= upper.payloads

    @classmethod
    def _add_handler(cls, name: str, kind: type[Payload]) -> None:
        cls.handlers[kind.__name__] = name
        cls.payloads[kind.__name__] = kind
        if issubclass(kind, Request):
            cls.payloads |= {answer.__name__: answer for answer in answer_types(kind)}

    def __init__(self, port: Port, node: int, peers: tuple[int, ...], timing: Timing, parameters: Struct) -> None:
        keep = object.__setattr__
        keep(self, "_port", port)
        keep(self, "id", node)
        keep(self, "peers", peers)
        keep(self, "timing", timing)
        keep(self, "parameters", parameters)
        keep(self, "lower_layer", None)
        keep(
            self,
            "upper_layer",
            None if self.upper_protocol is None else self.upper_protocol(port, node, peers, timing, parameters),
        )
        if self.upper_layer is not None:
            keep(self.upper_layer, "lower_layer", self)

    _port: ClassVar[Port]  # an instance's own; ClassVar here keeps it out of the state vector
    id: ClassVar[int]
    peers: ClassVar[tuple[int, ...]]
    timing: ClassVar[Timing]
    parameters: ClassVar[Any]
    upper_layer: ClassVar["Protocol | None"]
    lower_layer: ClassVar["Protocol | None"]

    @classmethod
    def objection(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        """Return what is wrong with a command's words in a run of these nodes, or "" if nothing is.

        Override it to validate commands before any node gets them. The number of words is right by then.
        """
        return ""

    @classmethod
    def refusal(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        """Return why the layer that has the command refuses it with these words, or "" if it accepts."""
        if cls.upper_protocol is not None and command in cls.upper_protocol.commands:
            return cls.upper_protocol.refusal(command, words, nodes, parameters)
        return cls.commands[command].count_error(words) or cls.objection(command, words, nodes, parameters)

    def handle_command(self, command: str, words: tuple[str, ...]) -> None:
        """Run a command; if it is refused, only note why."""
        refusal = self.refusal(command, words, sorted((self.id, *self.peers)), self.parameters)
        if refusal:
            self.note(f"{command} is refused: {refusal}")
        else:
            getattr(self.layer_of(command), command)(*words)

    @property
    def layers(self) -> "tuple[Protocol, ...]":
        """This protocol and the layers above it."""
        return (self,) if self.upper_layer is None else (self, *self.upper_layer.layers)

    def layer_of(self, name: str) -> "Protocol":
        """Return the layer that has the field, handler, procedure or command of this name."""
        return self if self.upper_layer is None or hasattr(self, name) else self.upper_layer.layer_of(name)

    def values(self) -> dict[str, Any]:
        """Return the current values of all layers' declared fields."""
        return {field.name: getattr(self.layer_of(field.name), field.name) for field in self.fields}

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._settable:
            raise ProtocolError(
                f"{type(self).__name__} has no declared state {name!r}: declare it as {name}: … = … in the class"
            )
        object.__setattr__(self, name, value)
        self._port.touched = True

    def started(self) -> None:
        """Begin the first procedures: the node has started, and its stable storage is restored."""

    def on_other(self, message: Message) -> None:
        """Handle a message of a kind that no handler is for: note it."""
        self.note(f"{message.kind} is not a message of this protocol")

    def on_line(self, line: str, log: bool) -> None:
        """Handle a line that a program wrote: ``lab.protocols.program`` has nodes that stand for programs."""
        raise DriverError(f"node {self.id} stands for no program, so none has written {line!r}")

    @property
    def now_us(self) -> int:
        """The time of this step, in microseconds since the run began."""
        return self._port.now_us

    @property
    def random(self) -> NodeRandom:
        """A generator as ``random.Random``. Its numbers differ by seed, node and incarnation, and are recorded."""
        return self._port.random

    @property
    def outside(self) -> Mapping[int, str]:
        """The names of the nodes that this one can reach outside the cluster: clients and services."""
        return self._port.outside

    def heard_us(self, peer: int) -> int:
        """Return when a message of ``peer`` was last delivered; the node's start if none was."""
        return self._port.heard_us(peer)

    def send(self, peer: int, payload: Payload) -> None:
        """Send a message that expects no answer."""
        self._port.send(peer, payload)

    @property
    def handled(self) -> int:
        """The number of the message that is being handled: with it, ``reply`` answers a request later."""
        return self._port.handled

    def reply(self, peer: int, handled: int, payload: Payload) -> None:
        """Answer a request whose handler returned None, as it had to ask or to wait first."""
        self._port.send(peer, payload, handled)

    def note(self, text: str) -> None:
        """Add a note to the record of this step."""
        self._port.note(text)

    def begin(self, method: Procedure, key: Hashable | None = None) -> None:
        """Begin a procedure unless it runs already; ``key`` is its argument, if it takes one."""
        self._port.begin(method.__name__, key)

    def restart(self, method: Procedure, key: Hashable | None = None) -> None:
        """Stop a procedure if it runs, and begin it anew. A procedure that restarts itself must then return."""
        self._port.restart(method.__name__, key)

    def stop(self, *methods: Procedure, key: Hashable | None = None) -> None:
        """Stop procedures; after this call none of their code runs. Ignore those that are not running."""
        for method in methods:
            self._port.stop(method.__name__, key)

    def is_running(self, method: Procedure, key: Hashable | None = None) -> bool:
        """Return whether the procedure runs."""
        return self._port.is_running(method.__name__, key)

    def begun_us(self, method: Procedure) -> int:
        """Return when the procedure was last begun; the node's start if it never was."""
        return self._port.begun_us(method.__name__)

    async def ask(self, peer: int, request: Request[A], within: int) -> A | None:
        """Ask one peer; return its answer, or None if none came within that many microseconds."""
        replies: dict[int, A] = await trap(Ask((peer,), request, duration(within, "within"), 1))
        return replies.get(peer)

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Ask several peers; return the answers that came within the bound, in the order of ``peers``.

        Resume as soon as all of them, or ``enough`` of them, have answered: at once if that is none. A peer that
        is named twice is asked once.
        """
        asked = tuple(dict.fromkeys(peers))
        needed = len(asked) if enough is None else min(enough, len(asked))
        replies: dict[int, A] = await trap(Ask(asked, request, duration(within, "within"), needed))
        return replies

    async def sleep(self, us: int, what: str = "time to pass") -> None:
        """Wait that many microseconds; ``what`` describes the reason for users."""
        await trap(Sleep(duration(us, "us"), what))

    async def until(self, condition: Callable[[], bool], what: str, within: int | None = None) -> bool:
        """Wait until ``condition()`` holds, evaluated after every step; return False if the bound came first.

        ``what`` describes the condition for users.
        """
        held: bool = await trap(Until(condition, what, None if within is None else duration(within, "within")))
        return held
