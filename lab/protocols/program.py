"""Programs as nodes: any program that reads and writes messages as lines, in any language.

The node that stands for a program is as deterministic as every other: its inputs are the messages that are
delivered to the program and the lines that the program writes. It sends what these lines say, and computes from
both what the node shows: Status, Coordinator, and whatever else a class declares. Such a class is a **lens**: it
overrides ``on_ready``, ``on_sent`` and ``on_received``, and declares its fields as every protocol does.

    class Elected(Program):
        term: Displayed[int] = 0

        def on_received(self, peer: int | None, body: dict[str, Any]) -> None:
            if body["type"] == "leader":
                self.status, self.coordinator, self.term = Status.NORMAL, peer, body["term"]

So a recording can be verified, and an older one be read with a better lens. What the program itself does between
its lines is not known, and cannot be executed again.

A program may also say by itself what its node shows, with a message to ``lab``:

    {"src": "n1", "dest": "lab", "body": {"type": "lab_state", "status": "Normal", "coordinator": "n3", "group":
    ["n1", "n3"], "term": 7}}

A field that the lens declares (``term``) is set to what is said of it; any other is a fact, which is shown.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, ClassVar

from msgspec import Struct, ValidationError, convert

from lab.kernel import Message, Timing, command
from lab.kernel.protocol import Port
from lab.kernel.state import StateField
from lab.protocols.definition import Definition
from lab.protocols.election import Election, Status
from lab.protocols.maelstrom import Maelstrom, NotAMessageError, WrittenMessage, body_of
from lab.protocols.services import SERVICES
from lab.text import sanitize

__all__ = ["MISUNDERSTOOD", "NO_ANSWER", "UNREACHABLE", "Program"]

UNREACHABLE = "to nobody, as there is no "
"""The beginning of a note on a message to somebody who is not there; the name follows."""
MISUNDERSTOOD = "lab_state: "
"""The beginning of a note on what a program says of itself, and the lens does not understand."""

NO_ANSWER = "to a client, and no answer to a request: "
"""The beginning of a note on a message to a client that has not the number of one of its requests."""

_CLIENT = re.compile(r"c\d+")
_LONGEST_FACT = 60
_MOST_FACTS = 8
_STATUSES = {each.value: each for each in Status}
_STATE = ("type", "msg_id", "status", "coordinator", "group", "definition")


class Program(Election):
    """Programs in any language, which read and write messages as lines of JSON (Maelstrom's protocol)."""

    name: ClassVar[str] = "program"
    is_program: ClassVar[bool] = True
    extension: ClassVar[str | type] = "lab.tasks.program_extension:ProgramExtension"

    class Parameters(Struct, frozen=True):
        """The program of the nodes."""

        program: str = ""
        """The command that starts it, as a shell has it: ./my_node --verbose."""

    facts: tuple[str, ...] = ()
    """Further facts that the program reports of itself."""

    _language: ClassVar[Maelstrom]  # an instance's own, as in ``Protocol``
    _lines: ClassVar[list[str]]
    _request_numbers: ClassVar[Iterator[int]]
    answered_init: ClassVar[bool]
    """True once the program has answered ``init``."""
    init_error: ClassVar[str]
    """The error that the program answered ``init`` with; empty if it did not."""

    def __init__(self, port: Port, node: int, peers: tuple[int, ...], timing: Timing, parameters: Struct) -> None:
        super().__init__(port, node, peers, timing, parameters)
        keep = object.__setattr__
        cluster = peers if node in port.outside else (node, *peers)  # else it is a service
        keep(self, "_language", Maelstrom(node, tuple(sorted(cluster)), port.outside))
        keep(self, "_lines", [])
        keep(self, "_request_numbers", count(1))
        keep(self, "answered_init", False)
        keep(self, "init_error", "")

    def take_lines(self) -> list[str]:
        """Return the lines that the program is to read after this step, once."""
        lines, self._lines[:] = self._lines[:], []
        return lines

    # what a lens overrides

    def on_ready(self) -> None:
        """Show that the program has answered ``init``: by default, it is Normal."""
        self.status, self.processing = Status.NORMAL, True

    def on_sent(self, peer: int | None, body: dict[str, Any]) -> None:
        """Show what follows from a message that the program sends to a peer; None: to a client or a service."""

    def on_received(self, peer: int | None, body: dict[str, Any]) -> None:
        """Show what follows from a message that the program is given, from a peer; None: a client or a service."""

    def nodes_of(self, named: list[Any]) -> Iterator[int]:
        """Yield the nodes of the cluster that are named in a message, by name or by number."""
        return (node for each in named if (node := self._language.node_of(each)) is not None)

    # the inputs

    def started(self) -> None:
        self._write(self._language.init_line())

    def on_other(self, message: Message) -> None:
        self._write(self._language.message_line(message))
        self.on_received(self._member(message.source), body_of(message))

    def on_line(self, line: str, log: bool) -> None:
        if log:
            return  # it is shown as it is
        try:
            written = self._language.read(line)
        except NotAMessageError as error:
            self.note(str(error))
            return
        if written.target is not None:
            serial = self._port.post(written.target, written.kind, written.encoded, written.reply_to)
            if not written.reply_to and _CLIENT.fullmatch(written.dest):
                self.note(f"{NO_ANSWER}its in_reply_to is {_text(written.body.get('in_reply_to'))}")
            self._language.posted(written, serial)
            self.on_sent(self._member(written.target), written.body)
        else:
            self._on_line_to_others(written)

    def _member(self, node: int) -> int | None:
        """Return the node if it is one of the cluster; None for a client or a service."""
        return node if self._language.is_member(node) else None

    def _on_line_to_others(self, written: WrittenMessage) -> None:
        body = written.body
        if written.dest == "lab":
            self._show(body)
        elif written.dest == "c0" and body.get("type") == "init_ok":
            object.__setattr__(self, "answered_init", True)
            self.on_ready()
        elif written.dest == "c0" and body.get("type") == "error" and not self.answered_init:
            object.__setattr__(self, "init_error", sanitize(_text(body), _LONGEST_FACT))
        elif written.dest.startswith("c"):
            self.note(f"to client {sanitize(written.dest, 20)}: {_text(body)}")
            self.on_sent(None, body)
        else:
            hint = f" (--service {written.dest})" if written.dest in SERVICES else ""
            self.note(f"{UNREACHABLE}{sanitize(written.dest, 20)}{hint}: {_text(body)}")

    def _show(self, body: dict[str, Any]) -> None:
        """Show what the program says of itself; note what is not understood."""
        if "status" in body:
            self.status = self._understood(
                "status", body["status"], _STATUSES.get(str(body["status"])), self.status
            )
        if "coordinator" in body:
            known = body["coordinator"]
            found = None if known is None else self._language.node_of(known)
            self.coordinator = None if known is None else self._understood("coordinator", known, found, None)
        if "group" in body:
            named = body["group"] if isinstance(body["group"], list) else [body["group"]]
            self.up = frozenset(self.nodes_of(named))
            if len(self.up) != len(named):
                self._understood("group", body["group"], None, None)
        if "definition" in body:
            version = body["definition"]
            number = version if isinstance(version, int) else None
            known_version = self._understood("definition", version, number, self.definition.version)
            self.definition = Definition(known_version, self.coordinator, tuple(sorted(self.up)))
        self.processing = self.status is Status.NORMAL
        others = {name: value for name, value in body.items() if name not in _STATE}
        for field in self.fields[len(Program.fields) :]:
            if field.name in others:
                self._set(field, others.pop(field.name))
        facts = [f"{name} {_text(value)}" for name, value in others.items()]
        self.facts = tuple(sanitize(each, _LONGEST_FACT) for each in facts[:_MOST_FACTS])

    def _set(self, field: StateField, value: Any) -> None:
        """Set a field of the lens to what the program says; note a value that is none of its type."""
        try:
            setattr(self, field.name, convert(value, field.type))
        except ValidationError:
            self.note(f"{MISUNDERSTOOD}{_text(value)} is no {field.name}")

    def _understood(self, name: str, given: Any, found: Any, otherwise: Any) -> Any:
        """Return what was found; if that is None, note that the value was not understood, and return the other."""
        if found is None:
            self.note(f"{MISUNDERSTOOD}{_text(given)} is no {name}")
            return otherwise
        return found

    def _write(self, line: str) -> None:
        self._lines.append(line)

    # a request by hand

    @command(to="named", words="JSON", example='tell 1 rpc {"type":"read","key":1}')
    def rpc(self, *words: str) -> None:
        """Send a client's request to the program; the answer is in the log."""
        body = json.loads(" ".join(words))
        self._write(self._language.request_line(f"c{self.id}", next(self._request_numbers), body))
        self.on_received(None, body)

    @classmethod
    def objection(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        if command != "rpc":
            return ""
        try:
            body = json.loads(" ".join(words))
        except (ValueError, RecursionError):
            body = None
        if isinstance(body, dict) and isinstance(body.get("type"), str):
            return ""
        return 'write the body of a request as JSON: tell 1 rpc {"type":"read","key":1}'


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
