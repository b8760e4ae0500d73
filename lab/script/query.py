"""Queries of the log: words that must all match a line, and a predicate that must hold at its record.

A word is free text, or a field and its value: ``node:3``, ``link:2->3``, ``kind:Accept``, ``fate:"timed out"``.
With ``-`` before it, it must not match. The word ``when`` is followed by a predicate of the command language.

A log is filtered a chunk at a time, so that the interface can redraw in between. A line is identified by one
number: its record, and its position among the lines of that record. The matching lines are a sorted array of these
numbers, eight bytes each, so counting the lines up to a record is a bisection.

The outcome of a message is known only later. ``fate:`` refers to the last known outcome among the records
examined: the final one in a recording, the present one in a run in progress. So a line may start or stop matching
after later lines have been examined.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator
from functools import partial

from msgspec import Struct

from lab.analysis.delivery import OUTCOMES, DeliveryTracker
from lab.recording.log_lines import LINE_TYPES, LogLine, lines_of
from lab.recording.reader import FileRecords, RecordStore
from lab.recording.records import Header, Record
from lab.script.parse import parse_predicate
from lab.script.predicate_fold import PredicateFold
from lab.script.predicates import And, Predicate
from lab.script.scope import CommandError, NodeNames, Scope, require_node, scope_of
from lab.text import did_you_mean, sanitize

FIELDS: dict[str, str] = {
    "node": "node:3",
    "from": "from:2",
    "to": "to:3",
    "link": "link:2->3",
    "kind": "kind:AreYouUp",
    "fate": "fate:lost",
    "what": "what:status",
}
"""The fields, each with an example: a node; a message by sender, receiver, link, kind, fate; a sort of line."""

_CLOSED = {"fate": OUTCOMES, "what": LINE_TYPES}
_WORD = re.compile(r'(?:[^\s"]|"[^"]*")+')
_PARTS = re.compile(r'(-(?=["\w]))?(?:([A-Za-z]+):)?(.*)', re.DOTALL)
_LINK = re.compile(r"(\d{1,9})->(\d{1,9})")
_NUMBER = re.compile(r"\d{1,9}")
_NAME = re.compile(r"[a-z]\w*(?:-[a-z]\w*)*")
_OF_NODES = ("node", "from", "to", "link")
_WHEN = "when"

_BITS = 20
_PLACES = (1 << _BITS) - 1
"""A matching line is numbered by its record and, in the lower bits, its position among the record's lines."""
_AT_ONCE = 200
_CHUNK = 1 << 18
_RECORD_OF = {"expectation": "expected"} | {each: each for each in ("process", "stall", "command", "end")}
"""For a sort of line: the only kind of record with such lines."""


class Term(Struct, frozen=True):
    """A word: free text if ``field`` is empty. ``negated``: it must not match."""

    value: str
    field: str = ""
    negated: bool = False

    def __str__(self) -> str:
        sign, value = "-" * self.negated, self.value
        if self.field:
            return f"{sign}{self.field}:" + (f'"{value}"' if " " in value else value)
        parts = _PARTS.fullmatch(value)
        is_plain = parts is not None and not parts[1] and not parts[2] and value != _WHEN and " " not in value
        return sign + (value if is_plain and (not sign or value[0].isalnum()) else f'"{value}"')

    def matches(self, line: LogLine, fate: str, text: Callable[[LogLine], str]) -> bool:
        """Return whether it matches a line, without regard to ``negated``."""
        field, value = self.field, self.value
        if not field:
            return value in text(line)
        if field == "what":
            return line.what == value
        if field == "node":
            return str(line.source) == value or str(line.target) == value
        if line.what != "message":
            return False
        found = {"kind": line.kind, "fate": fate, "from": line.source, "to": line.target}
        return (f"{line.source}->{line.target}" if field == "link" else str(found[field])) == value


class Query(Struct, frozen=True):
    """A conjunction of words and a predicate; an empty query matches every line.

    Its ``str`` is its text; parsing that gives an equal query.
    """

    terms: tuple[Term, ...] = ()
    predicate: Predicate | None = None

    def __str__(self) -> str:
        words = [*map(str, self.terms)]
        return " ".join([*words, _WHEN, str(self.predicate)] if self.predicate is not None else words)

    @property
    def texts(self) -> tuple[str, ...]:
        """The free texts that must occur in a line, to highlight them."""
        return tuple(term.value for term in self.terms if not term.field and not term.negated)

    def combine(self, other: "Query") -> "Query":
        """Return the conjunction of two queries."""
        predicates = tuple(each.predicate for each in (self, other) if each.predicate is not None)
        predicate = And(predicates) if len(predicates) > 1 else next(iter(predicates), None)
        return Query((*self.terms, *other.terms), predicate)

    @property
    def depends_on_outcome(self) -> bool:
        """True if the query is about the outcome of messages."""
        return any(term.field == "fate" for term in self.terms)

    def matches(self, line: LogLine, fate: str, text: Callable[[LogLine], str]) -> bool:
        """Return whether the words match a line; ``text`` returns the line as it is shown, in lower case."""
        return all(term.matches(line, fate, text) != term.negated for term in self.terms)


def read_query(text: str, header: Header | None = None) -> Query:
    """Parse a query; with a header, check it against that run. Raises CommandError."""
    scope = None if header is None else scope_of(header)
    terms: list[Term] = []
    end = 0
    while word := _WORD.search(text, end):
        _refuse_quote(text[end : word.start()])
        end = word.end()
        if word[0] == _WHEN:
            predicate = _predicate(" " * end + text[end:], scope)
            if scope is not None:
                predicate.check(scope)
            return Query(tuple(terms), predicate)
        if (term := _term(word[0], header)).value:
            terms.append(term)
    _refuse_quote(text[end:])
    return Query(tuple(terms))


def _predicate(text: str, scope: Scope | None) -> Predicate:
    return parse_predicate(text) if scope is None else parse_predicate(text, scope.protocol, scope.names)


def kinds_in(header: Header) -> list[str]:
    """Return the kinds of messages of a run; empty if its protocol is not installed."""
    scope = scope_of(header)
    return [] if scope is None else sorted(scope.protocol.payloads)


def _refuse_quote(between: str) -> None:
    if '"' in between:
        raise CommandError('the quotes are not closed; put them on both sides of a text: "coordinator 4"')


def _term(word: str, header: Header | None) -> Term:
    parts = _PARTS.fullmatch(word)
    assert parts is not None
    negated, field, value = bool(parts[1]), (parts[2] or "").lower(), parts[3].replace('"', "")
    if not field:
        return Term(" ".join(value.split()).lower(), "", negated)
    if field not in FIELDS:
        raise CommandError(
            f"unknown field {sanitize(field, 30)}; the fields are {', '.join(FIELDS)}"
            f"; put a text with a colon in quotes{did_you_mean(field, list(FIELDS))}"
        )
    if header is not None and field in _OF_NODES:
        value = _NAME.sub(partial(_id_of, NodeNames.of(header)), value)
    _check(field, value, header)
    return Term(value, field, negated)


def _id_of(names: NodeNames, name: re.Match[str]) -> str:
    return f"{int(names.node(name[0])):d}"


def _check(field: str, value: str, header: Header | None) -> None:
    """Raise CommandError if the field never has this value."""
    if field in _CLOSED:
        if value not in _CLOSED[field]:
            known = _CLOSED[field]
            raise CommandError(
                f"{_describe_mismatch(field, value)} is one of: {', '.join(known)}{did_you_mean(value, known)}"
            )
    elif field == "kind":
        if not re.fullmatch(r"\w+", value):
            raise CommandError(f"{_describe_mismatch(field, value)} is a word: {FIELDS[field]}")
        _check_kind(value, [] if header is None else kinds_in(header))
    else:
        found = (_LINK if field == "link" else _NUMBER).fullmatch(value)
        if found is None:
            what = "two nodes" if field == "link" else "a node's number"
            raise CommandError(f"{_describe_mismatch(field, value)} is {what}: {FIELDS[field]}")
        for node in found.groups() or (value,):
            if header is not None:
                require_node(int(node), header.all_nodes, NodeNames.of(header))


def _describe_mismatch(field: str, value: str) -> str:
    return f"{sanitize(value, 30)!r} is not expected; {field}" if value else f"{field}: has no value; it"


def _check_kind(kind: str, known: list[str]) -> None:
    if known and kind not in known:
        raise CommandError(
            f"unknown kind of message {sanitize(kind, 30)}; the kinds are {', '.join(known)}"
            f"{did_you_mean(kind, known)}"
        )


class LogFilter:
    """The lines of a log that match ``query``. Messages of the ``hidden`` kinds never match.

    ``text`` returns a line as it is shown, in lower case. ``done``: how many records have been examined.
    """

    def __init__(
        self, query: Query, store: RecordStore, hidden: Collection[str], text: Callable[[LogLine], str]
    ) -> None:
        self.query = query
        self.done = 0
        self._store = store
        self._hidden = frozenset(hidden)
        self._text = text
        self._hits = array("Q")
        self._fold = None if query.predicate is None else PredicateFold(query.predicate, store.header)
        self._outcomes = DeliveryTracker()
        self._open: dict[tuple[int, int], tuple[int, LogLine]] = {}
        """Lines of messages whose outcome is not final yet, by message; each with its number."""

    def __len__(self) -> int:
        return len(self._hits)

    @property
    def complete(self) -> bool:
        """True if all records that exist by now have been examined."""
        return self.done >= len(self._store)

    def work(self) -> Iterator[None]:
        """Examine the records that exist by now; yield after each chunk."""
        needle = _needle(self.query)
        if needle and isinstance(self._store, FileRecords) and not self.done:
            for share, numbers in self._store.find((needle,), _CHUNK):
                for number in numbers:
                    self._examine(number, self._store.record(number))
                self.done = bisect_left(self._store.offsets, round(share * self._store.offsets[-1]))
                yield
            self.done = len(self._store)
        while not self.complete:
            end = min(self.done + _AT_ONCE, len(self._store))
            for number in range(self.done, end):
                self._examine(number, self._store.record(number))
            self.done = end
            yield

    def upto(self, record: int) -> int:
        """Return the number of matching lines up to this record."""
        return bisect_left(self._hits, (record + 1) << _BITS)

    def at(self, index: int) -> tuple[int, int]:
        """Return (record, position in it) of the matching line with this index."""
        hit = self._hits[index]
        return hit >> _BITS, hit & _PLACES

    def index(self, record: int, place: int) -> int:
        """Return the number of matching lines before this position."""
        return bisect_left(self._hits, record << _BITS | place)

    def has(self, record: int, place: int) -> bool:
        """Return whether the line at this position matches."""
        index = self.index(record, place)
        return index < len(self._hits) and self._hits[index] == record << _BITS | place

    def near(self, record: int, place: int | None, forward: bool) -> int | None:
        """Return the index of the nearest matching line after, or before, a position in a record; None if none.

        Without a ``place``, the search starts after, or before, the whole record.
        """
        if forward:
            index = bisect_right(self._hits, record << _BITS | (_PLACES if place is None else place))
            return index if index < len(self._hits) else None
        index = bisect_left(self._hits, record << _BITS | (place or 0)) - 1
        return index if index >= 0 else None

    def _examine(self, number: int, record: Record | None) -> None:
        holds = self._fold is None or self._fold.observe(record)
        if record is None or isinstance(record, Header):
            return
        if self._open:
            self._on_delivery(record)
        if not holds:
            return
        for place, line in enumerate(lines_of(number, record)[:_PLACES]):
            if line.kind in self._hidden:
                continue
            hit = number << _BITS | place
            if line.what == "message" and self.query.depends_on_outcome:
                self._open[line.message] = (hit, line)
                self._outcomes.sent(line.message)
            if self.query.matches(line, "in flight", self._text):
                self._hits.append(hit)

    def _on_delivery(self, record: Record) -> None:
        """Add or remove the line of a message whose outcome this record changes."""
        turn = self._outcomes.observe(record)
        if turn is None or turn.again:
            return
        hit, line = self._open[turn.message]
        if turn.is_final:
            del self._open[turn.message]
        index = bisect_left(self._hits, hit)
        is_found = index < len(self._hits) and self._hits[index] == hit
        if self.query.matches(line, turn.fate, self._text) != is_found:
            if is_found:
                del self._hits[index]
            else:
                self._hits.insert(index, hit)


def _needle(query: Query) -> bytes:
    """Return bytes that occur in every record with a matching line; empty if none are known."""
    if query.predicate is not None or query.depends_on_outcome:
        return b""
    for term in query.terms:
        if term.field == "kind" and not term.negated:
            return f'"kind":"{term.value}"'.encode()
        if term.field == "what" and not term.negated and term.value in _RECORD_OF:
            return f'{{"record":"{_RECORD_OF[term.value]}"'.encode()
    return b""
