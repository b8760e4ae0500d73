"""Histories as text: EDN as Jepsen writes it, for Elle and Knossos, and JSON Lines. Both are read back.

**EDN** has a map a line: ``{:index 0, :time 5000, :process 0, :type :invoke, :f :read, :value ["x" nil]}``. A
client is a number there; if the names of the clients are none, they are numbered, and ``:client`` has the name.
Times are in nanoseconds. The value of a completion is the result, or, where there is none, the argument again, as
Jepsen has it: that alone a history that is read back cannot tell apart. A file that is one vector of such maps is
read as well, and what a nemesis did is passed over.

**JSON Lines** have an ``Event`` a line, and lose nothing but what JSON has not: keys of objects that are no
strings, and infinity. A line may also have what Jepsen has in EDN: a client that is a number, the ``time`` in
nanoseconds, an error that is a code or a name alone; what a nemesis did is passed over.

A file that ends within its last line was torn when its writer ended. It is refused, unless ``accept_torn`` is
given: then that line is left out, and operations without a completion have no known outcome.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import msgspec
from msgspec import Struct, field

from lab.histories.edn import EdnError, Keyword, format_edn, read_edn
from lab.histories.operations import ERRORS, ErrorReply, Event, EventType, History, HistoryBuilder, HistoryError
from lab.histories.values import format_value

_CODES = {name: code for code, name in ERRORS.items()}
_TYPES: dict[str, EventType] = {"invoke": "invoke", "ok": "ok", "fail": "fail", "info": "info"}
_MICRO_OPERATIONS = frozenset(("r", "w", "append", "send", "poll"))
_EXAMPLE = '{"type":"invoke","process":"c1","f":"read","value":["x",null],"at_us":5}'


class HistoryFileError(HistoryError):
    """A text that is no history: the line, what was got, what was expected."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


def edn_lines(history: History) -> Iterator[str]:
    """Yield the lines of a history as EDN, without newlines."""
    names = history.processes
    are_numbers = all(name.isdecimal() and str(int(name)) == name for name in names)
    numbers = {name: int(name) if are_numbers else number for number, name in enumerate(names)}
    arguments: dict[str, Any] = {}
    for event in history.events():
        value = event.value
        if event.type == "invoke":
            arguments[event.process] = value
        elif value is None:
            value = arguments[event.process]
        line: dict[Keyword, Any] = {
            Keyword("index"): event.index,
            Keyword("time"): event.at_us * 1000,
            Keyword("process"): numbers[event.process],
            Keyword("type"): Keyword(event.type),
            Keyword("f"): _keyword(event.f),
            Keyword("value"): _with_keywords(value),
        }
        if event.error is not None:
            line[Keyword("error")] = _edn_error(event.error)
        if event.is_final:
            line[Keyword("final?")] = True
        if not are_numbers:
            line[Keyword("client")] = event.process
        yield format_edn(line)


def jsonl_lines(history: History) -> Iterator[str]:
    """Yield the lines of a history as JSON, without newlines."""
    encode = msgspec.json.Encoder().encode
    return (encode(event).decode() for event in history.events())


def has_keys_lost_in_json(history: History) -> bool:
    """Return whether an object in the history has a key that is no text: in JSON it would become one."""
    return any(_has_other_keys(value) for each in history.operations for value in (each.value, each.result))


def _has_other_keys(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(not isinstance(key, str) for key in value) or any(map(_has_other_keys, value.values()))
    return isinstance(value, list | tuple | Set) and any(map(_has_other_keys, value))


def read_edn_history(text: str, accept_torn: bool = False) -> History:
    """Return the history that is written as EDN. Raises HistoryFileError."""
    return _history(_edn_events(text, accept_torn))


def read_jsonl_history(text: str, accept_torn: bool = False) -> History:
    """Return the history that is written as JSON Lines. Raises HistoryFileError."""
    return _history(_jsonl_events(text, accept_torn))


def _history(events: Iterable[tuple[int, Event]]) -> History:
    builder = HistoryBuilder()
    for line, event in events:
        try:
            builder.add(event)
        except HistoryError as error:
            raise HistoryFileError(line, str(error)) from None
    return builder.history()


class _JsonEvent(Struct, frozen=True, forbid_unknown_fields=True):
    """A line of JSON: an ``Event``, or as others write it: with the number of a client, a time in nanoseconds."""

    type: EventType
    process: int | str
    f: str
    value: Any = None
    at_us: int = 0
    error: ErrorReply | list[Any] | int | str | None = None
    index: int | None = None
    is_final: bool = False
    time: int | None = None
    final: bool = field(default=False, name="final?")

    def event(self) -> Event | None:
        """Return the event; None if no client made it."""
        if self.process == "nemesis":
            return None
        error = self.error if isinstance(self.error, ErrorReply | None) else _error(self.error)
        at_us = self.at_us if self.time is None else self.time // 1000
        return Event(
            self.type,
            str(self.process),
            self.f,
            self.value,
            at_us,
            error,
            self.index,
            self.is_final or self.final,
        )


def _jsonl_events(text: str, accept_torn: bool) -> Iterator[tuple[int, Event]]:
    decode = msgspec.json.Decoder(_JsonEvent).decode
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = decode(line).event()
        except (msgspec.MsgspecError, RecursionError) as error:
            if number == len(lines) and accept_torn:
                return
            torn = (
                "; the line is the last, and has no end: was its writer interrupted?"
                if number == len(lines)
                else ""
            )
            raise HistoryFileError(number, f"{error}: expected an event, such as {_EXAMPLE}{torn}") from None
        if event is not None:
            yield number, event


def _edn_events(text: str, accept_torn: bool) -> Iterator[tuple[int, Event]]:
    at_us = 0
    try:
        for line, form in read_edn(text):
            for each in form if isinstance(form, list) else [form]:
                event = _edn_event(line, each, at_us)
                if event is not None:
                    at_us = event.at_us
                    yield line, event
    except EdnError as error:
        if error.is_torn and accept_torn:
            return
        torn = "; was its writer interrupted?" if error.is_torn else ""
        raise HistoryFileError(error.line, f"{error}{torn}") from None


def _edn_event(line: int, form: Any, last_us: int) -> Event | None:
    """Return the event of a map; None if no client made it."""
    if not isinstance(form, dict):
        raise HistoryFileError(
            line, f"{format_value(form)[:60]}: expected a map such as {{:process 0, :type :invoke, …}}"
        )
    process, kind, f = form.get("process"), form.get("type"), form.get("f")
    if isinstance(process, Keyword) or process == "nemesis":
        return None
    if isinstance(process, bool) or not isinstance(process, int):
        raise HistoryFileError(line, f":process is {format_value(process)}: expected the number of a client")
    if kind not in _TYPES:
        raise HistoryFileError(line, f":type is {format_value(kind)}: expected :invoke, :ok, :fail or :info")
    if not isinstance(f, str):
        raise HistoryFileError(line, f":f is {format_value(f)}: expected the name of an operation, such as :read")
    time_ns, index = form.get("time"), form.get("index")
    for name, number in (("time", time_ns), ("index", index)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            raise HistoryFileError(line, f":{name} is {format_value(number)}: expected an integer")
    return Event(
        type=_TYPES[kind],
        process=str(form.get("client", process)),
        f=str(f),
        value=_plain(form.get("value")) if kind in ("invoke", "ok") else None,
        at_us=last_us if time_ns is None else time_ns // 1000,
        error=_error(form.get("error")),
        index=index,
        is_final=form.get("final?") is True,
    )


def _plain(value: Any) -> Any:
    """Return a value with its keywords as strings."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(member) for key, member in value.items()}
    if isinstance(value, Set):
        return frozenset(map(_plain, value))
    return value


def _keyword(name: str) -> str:
    return Keyword(name) if name and not set(name) & set(' \n\t",;()[]{}') else name


def _with_keywords(value: Any) -> Any:
    """Return a value with the names of its micro-operations as keywords, which Elle expects."""
    if not isinstance(value, list | tuple) or not all(_is_micro_operation(each) for each in value):
        return value
    return [[Keyword(each[0]), *each[1:]] for each in value]


def _is_micro_operation(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and value[0] in _MICRO_OPERATIONS


def _edn_error(error: ErrorReply) -> Any:
    code: Any = error.code
    if isinstance(code, str) or code in ERRORS:
        code = _keyword(code if isinstance(code, str) else ERRORS[code])
    return [code, error.text] if error.text else code


def _error(value: Any) -> ErrorReply | None:
    """Return an error as Jepsen writes it: a name, or a vector of a name and a text."""
    if value is None:
        return None
    code, text = value, ""
    if isinstance(value, list) and value and (len(value) == 1 or isinstance(value[1], str | None)):
        code, text = value[0], value[1] or "" if len(value) > 1 else ""
    if isinstance(code, str):
        return ErrorReply(_CODES.get(str(code), str(code)), text)
    if isinstance(code, int) and not isinstance(code, bool):
        return ErrorReply(code, text)
    return ErrorReply(format_value(_plain(value) if not isinstance(value, Mapping) else value))
