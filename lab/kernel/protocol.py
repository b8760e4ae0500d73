"""What an author of a protocol writes against: the base class, and the decorators for its methods.

    class Echo(Protocol):
        heard: int = 0                                   # the declared state vector

        @on(Hello)                                       # a handler: answers at once, never waits
        def hello(self, sender: int, message: Hello) -> HelloAnswer:
            self.heard += 1
            return HelloAnswer()

        @procedure                                       # a procedure: a coroutine that may wait
        async def greet(self) -> None:
            answers = await self.ask_all(self.peers, Hello(), within=self.timing.t_us)

Handlers run to their end at once. At most one instance of a procedure runs at a time; of one that takes an
argument, at most one ``about`` each thing: ``self.begin(self.coordinate, about=transaction)``. It waits only in
``ask``, ``ask_all``, ``sleep`` and ``until``. A ``periodic`` procedure begins by itself when it is due, but
only while no other procedure of the same protocol runs.

Protocols stack: a class may carry another one, which runs ``above`` it in the same node, with messages, state
and procedures of its own. The lower one calls the upper one's methods, and the upper one those of ``below``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from inspect import iscoroutinefunction
from typing import Any, ClassVar, TypeVar

from msgspec import Struct

from lab.kernel.errors import ProtocolError
from lab.kernel.payload import Payload, Request, answer_type
from lab.kernel.protocol_command import ProtocolCommand
from lab.kernel.state import Field, declared_fields
from lab.kernel.traps import Ask, Sleep, Until, trap

__all__ = ["Protocol", "Timing", "on", "periodic", "procedure"]

A = TypeVar("A", bound=Payload)
F = TypeVar("F", bound=Callable[..., Any])
Procedure = Callable[..., Coroutine[Any, Any, None]]


class Timing(Struct, frozen=True):
    """The bounds of rule M5, in microseconds: a message's journey, and a node's handling of it."""

    tm_us: int
    tp_us: int

    @property
    def t_us(self) -> int:
        """T = 2·Tm + Tp: the bound of a request with its answer."""
        return 2 * self.tm_us + self.tp_us


def on(kind: type[Payload]) -> Callable[[F], F]:
    """Make the method the handler of messages of ``kind``: ``(self, sender, message) -> answer or None``."""
    if not (isinstance(kind, type) and issubclass(kind, Payload)):
        raise ProtocolError("@on takes a message class: class Name(Payload, frozen=True)")

    def mark(method: F) -> F:
        if iscoroutinefunction(method):
            raise ProtocolError(f"{method.__name__} is a handler, which never waits: write def, not async def")
        method._handles = kind  # type: ignore[attr-defined]
        return method

    return mark


def procedure(method: F) -> F:
    """Make the coroutine method a procedure, which can be begun and stopped by name."""
    return _mark_procedure(method, None)


def periodic(due_us: Callable[[Any], int | None]) -> Callable[[F], F]:
    """A procedure that begins by itself at the instant ``due_us(self)``, or not while that is None.

    The instant is asked for after every step at which no procedure of the protocol runs.
    """

    return lambda method: _mark_procedure(method, due_us)


def _mark_procedure(method: F, due_us: Callable[[Any], int | None] | None) -> F:
    if not iscoroutinefunction(method):
        raise ProtocolError(f"{method.__name__} is a procedure: write async def, not def")
    method._procedure = due_us  # type: ignore[attr-defined]
    return method


class Port(ABC):
    """What the kernel offers the protocol that it runs; ``Node`` is the one implementation."""

    now_us: int
    touched: bool
    """Whether declared state was set since this was last looked at."""

    @abstractmethod
    def send(self, target: int, payload: Payload) -> None: ...
    @abstractmethod
    def begin(self, method: str, about: Hashable | None = None) -> None: ...
    @abstractmethod
    def restart(self, method: str, about: Hashable | None = None) -> None: ...
    @abstractmethod
    def stop(self, method: str, about: Hashable | None = None) -> None: ...
    @abstractmethod
    def is_running(self, method: str, about: Hashable | None = None) -> bool: ...
    @abstractmethod
    def begun_us(self, name: str) -> int: ...
    @abstractmethod
    def heard_us(self, peer: int) -> int: ...
    @abstractmethod
    def note(self, text: str) -> None: ...


class Protocol:
    """The base of every protocol. ``peers`` are all other nodes, in ascending order."""

    name: ClassVar[str]
    """What users call it: ``lab run NAME``."""

    class Parameters(Struct, frozen=True):
        """What a run may set beside the timing; durations end in ``_us``."""

    heartbeats: ClassVar[tuple[type[Payload], ...]] = ()
    """Requests that keep coming while all is well; a reader may want to leave them out."""

    carries: ClassVar["type[Protocol] | None"] = None
    """The protocol that runs above this one in the same node. What the class has of it is in the tables below."""

    fields: ClassVar[tuple[Field, ...]] = ()
    handlers: ClassVar[dict[str, str]] = {}
    procedures: ClassVar[dict[str, Callable[[Any], int | None] | None]] = {}
    commands: ClassVar[dict[str, ProtocolCommand]] = {}
    payloads: ClassVar[dict[str, type[Payload]]] = {}
    _settable: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls.fields = declared_fields(cls, Protocol)
        cls._settable = frozenset(field.name for field in cls.fields)
        cls.handlers, cls.procedures, cls.commands, cls.payloads = {}, {}, {}, {}
        for klass in reversed(cls.__mro__):
            for name, method in vars(klass).items():
                if hasattr(method, "_handles"):
                    cls._add_handler(name, method._handles)
                if hasattr(method, "_procedure"):
                    cls.procedures[name] = method._procedure
                if hasattr(method, "_command"):
                    cls.commands[name] = method._command
        if cls.carries is not None:
            cls._add_layer(cls.carries)

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
            answer = answer_type(kind)
            cls.payloads[answer.__name__] = answer

    def __init__(self, port: Port, node: int, peers: tuple[int, ...], timing: Timing, parameters: Struct) -> None:
        keep = object.__setattr__
        keep(self, "_port", port)
        keep(self, "id", node)
        keep(self, "peers", peers)
        keep(self, "timing", timing)
        keep(self, "parameters", parameters)
        keep(self, "below", None)
        keep(self, "above", None if self.carries is None else self.carries(port, node, peers, timing, parameters))
        if self.above is not None:
            keep(self.above, "below", self)

    _port: ClassVar[Port]  # an instance's own; ClassVar here keeps it out of the state vector
    id: ClassVar[int]
    peers: ClassVar[tuple[int, ...]]
    timing: ClassVar[Timing]
    parameters: ClassVar[Any]
    above: ClassVar["Protocol | None"]
    below: ClassVar["Protocol | None"]

    @classmethod
    def objection(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        """What is wrong with these words of a command, in a run of these nodes; nothing, if they will do.

        It is told to users, before any node is. How many there are has been looked at by then.
        """
        return ""

    @classmethod
    def against(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        """What is wrong with these words of one of the ``commands``, by the layer that has it."""
        if cls.carries is not None and command in cls.carries.commands:
            return cls.carries.against(command, words, nodes, parameters)
        return cls.commands[command].miscounts(words) or cls.objection(command, words, nodes, parameters)

    def handle_command(self, command: str, words: tuple[str, ...]) -> None:
        """Carry out a command; one that cannot be is remarked on, and nothing else."""
        against = self.against(command, words, sorted((self.id, *self.peers)), self.parameters)
        if against:
            self.note(f"{command} is refused: {against}")
        else:
            getattr(self.layer_of(command), command)(*words)

    @property
    def layers(self) -> "tuple[Protocol, ...]":
        """This protocol, and what runs above it."""
        return (self,) if self.above is None else (self, *self.above.layers)

    def layer_of(self, name: str) -> "Protocol":
        """Which of the layers has the field, handler, procedure or command of this name."""
        return self if self.above is None or hasattr(self, name) else self.above.layer_of(name)

    def values(self) -> dict[str, Any]:
        """What is declared of the layers, as it is now."""
        return {field.name: getattr(self.layer_of(field.name), field.name) for field in self.fields}

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._settable:
            raise ProtocolError(
                f"{type(self).__name__} has no declared state {name!r}: declare it as {name}: … = … in the class"
            )
        object.__setattr__(self, name, value)
        self._port.touched = True

    def started(self) -> None:
        """The node came up; safe storage is back in its fields. Begin what is to run."""

    @property
    def now_us(self) -> int:
        """The instant of this step, in microseconds since the run began."""
        return self._port.now_us

    def heard_us(self, peer: int) -> int:
        """When a message of ``peer`` was last delivered; the instant of the start if none ever was."""
        return self._port.heard_us(peer)

    def send(self, peer: int, payload: Payload) -> None:
        """Send one message that expects no answer."""
        self._port.send(peer, payload)

    def note(self, text: str) -> None:
        """Put a remark into the record of this step."""
        self._port.note(text)

    def begin(self, started: Procedure, about: Hashable | None = None) -> None:
        """Begin a procedure, unless it runs already; ``about`` is the argument of one that takes one."""
        self._port.begin(started.__name__, about)

    def restart(self, restarted: Procedure, about: Hashable | None = None) -> None:
        """Stop a procedure if it runs, and begin it anew; a procedure that restarts itself must then return."""
        self._port.restart(restarted.__name__, about)

    def stop(self, *stopped: Procedure, about: Hashable | None = None) -> None:
        """Stop procedures: when this returns, nothing of them can run. Those that do not run are left alone."""
        for each in stopped:
            self._port.stop(each.__name__, about)

    def is_running(self, asked: Procedure, about: Hashable | None = None) -> bool:
        """Whether the procedure runs."""
        return self._port.is_running(asked.__name__, about)

    def begun_us(self, asked: Procedure) -> int:
        """When the procedure was last begun; the instant of the node's start if it never was."""
        return self._port.begun_us(asked.__name__)

    async def ask(self, peer: int, request: Request[A], within: int) -> A | None:
        """Ask one peer; its answer, or None if none came within that many microseconds."""
        answers: dict[int, A] = await trap(Ask((peer,), request, within, 1))
        return answers.get(peer)

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Ask several; who answered within the bound, in the order of ``peers``.

        Resumes as soon as all have answered, or ``enough`` of them. Asking nobody takes no time.
        """
        asked = tuple(peers)
        wanted = len(asked) if enough is None else min(enough, len(asked))
        answers: dict[int, A] = await trap(Ask(asked, request, within, wanted))
        return answers

    async def sleep(self, us: int, what: str = "time to pass") -> None:
        """Wait that many microseconds; ``what`` says in words what for."""
        await trap(Sleep(us, what))

    async def until(self, condition: Callable[[], bool], what: str, within: int | None = None) -> bool:
        """Wait until ``condition()`` holds, which is looked at after every step; False if the bound came first.

        ``what`` says in words what is waited for.
        """
        held: bool = await trap(Until(condition, what, within))
        return held
