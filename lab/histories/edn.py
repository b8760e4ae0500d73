"""The part of EDN that histories are written in: Clojure's notation for data.

Read: nil, true, false, integers and decimals, strings, characters, keywords, vectors, lists, sets, maps; comments,
discarded forms (``#_``) and commas are passed over, and a tag such as ``#jepsen.history.Op`` is dropped. A keyword
becomes a ``Keyword``; vectors and lists become lists. A symbol, as Jepsen has them in the trace of an exception,
becomes a string. Ratios are no data of a history.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from lab.histories.values import freeze

_DEEPEST = 200
_LONGEST_NUMBER = 4000
_TOKEN = re.compile(
    r"""(?>[\s,]+|;[^\n]*)*
    (?: (?P<number> [+-]?\d+ (?: N | (?:\.\d*)? (?:[eE][+-]?\d+)? M? ) (?![^\s,()\[\]{}";]) )
      | (?P<string> "(?:[^"\\]|\\.)*" )
      | (?P<opening> \#\{ | [\[({] )
      | (?P<closing> [\])}] )
      | (?P<discard> \#_ )
      | (?P<word> [^\s,()\[\]{}";]+ )
      | (?P<quote> " )
      | (?P<end> \Z ) )""",
    re.VERBOSE | re.DOTALL,
)
_SYMBOL = re.compile(r"[-+]?[a-zA-Z.*!_?$%&=<>|'/\-+][\w.*+!?$%&=<>|'/:#-]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
_CHARACTERS = {"newline": "\n", "space": " ", "tab": "\t", "return": "\r"}
_CLOSING = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_CONSTANTS: dict[str, Any] = {
    "nil": None,
    "true": True,
    "false": False,
    "##Inf": math.inf,
    "##-Inf": -math.inf,
    "##NaN": math.nan,
}


class Keyword(str):
    """A keyword, such as ``:append``, without its colon."""

    __slots__ = ()


class EdnError(ValueError):
    """Text that is no EDN: ``line``, from 1, what was got and what was expected.

    ``is_torn``: the text ended within a form.
    """

    def __init__(self, line: int, message: str, is_torn: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.is_torn = is_torn


def read_edn(text: str) -> Iterator[tuple[int, Any]]:
    """Yield each form of a text with the number of its line, from 1. Raises EdnError."""
    reader = _Reader(text)
    line, counted = 1, 0
    while (form := reader.next_form()) is not None:
        place, value = form
        line += text.count("\n", counted, place)
        counted = place
        yield line, value


def format_edn(value: Any) -> str:
    """Return a value as EDN in one line. Raises TypeError for one that has no form there."""
    match value:
        case None:
            text = "nil"
        case bool():
            text = "true" if value else "false"
        case Keyword():
            text = f":{value}"
        case str():
            text = json.dumps(value, ensure_ascii=False)
        case float():
            text = _format_float(value)
        case int():
            text = str(value)
        case Mapping():
            members = (f"{format_edn(key)} {format_edn(member)}" for key, member in value.items())
            text = "{" + ", ".join(members) + "}"
        case list() | tuple():
            text = "[" + " ".join(map(format_edn, value)) + "]"
        case Set():
            text = "#{" + " ".join(sorted(map(format_edn, value))) + "}"
        case _:
            raise TypeError(f"{value!r} is no value of a history")
    return text


def _format_float(value: float) -> str:
    if math.isnan(value):
        return "##NaN"
    if math.isinf(value):
        return "##Inf" if value > 0 else "##-Inf"
    return repr(value)


class _Reader:
    """A place in a text; each method reads on from there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._began = 0

    def next_form(self) -> tuple[int, Any] | None:
        """Read a form, and return it with the place where it begins; None at the end."""
        kind, token = self._next()
        while kind == "discard":
            self._form(*self._next(), 1)
            kind, token = self._next()
        return None if kind == "end" else (self._began, self._form(kind, token, 0))

    def _next(self) -> tuple[str, str]:
        """Return the kind and the text of the next token."""
        found = _TOKEN.match(self._text, self._place)
        assert found is not None
        assert found.lastgroup is not None
        self._place = found.end()
        token = found[found.lastgroup]
        self._began = self._place - len(token)
        return found.lastgroup, token

    def _error(self, message: str, place: int | None = None, is_torn: bool = False) -> EdnError:
        line = self._text.count("\n", 0, self._began if place is None else place) + 1
        return EdnError(line, message, is_torn)

    def _form(self, kind: str, token: str, depth: int) -> Any:
        """Return the form that begins with this token."""
        value: Any = None
        if depth > _DEEPEST:
            raise self._error(f"forms stand in each other more than {_DEEPEST} deep: expected fewer")
        if kind == "number":
            value = self._number(token)
        elif kind == "word":
            value = self._word(token, depth)
        elif kind == "string":
            value = _ESCAPE.sub(self._unescape, token[1:-1]) if "\\" in token else token[1:-1]
        elif kind == "opening":
            value = self._collection(token, depth)
        elif kind == "discard":
            self._form(*self._next(), depth + 1)
            value = self._form(*self._next(), depth + 1)
        elif kind == "closing":
            raise self._error(f"{token} stands alone: expected a value")
        elif kind == "quote":
            raise self._error('the text ends within a string: expected "', is_torn=True)
        else:
            raise self._error("the text ends: expected a value", is_torn=True)
        return value

    def _collection(self, opening: str, depth: int) -> Any:
        place = self._began
        closing = _CLOSING[opening]
        found = []
        while True:
            kind, token = self._next()
            if kind == "closing" and token == closing:
                break
            if kind == "end":
                line = self._text.count("\n", 0, place) + 1
                message = f"the text ends: expected {closing} for the {opening} in line {line}"
                raise self._error(message, is_torn=True)
            if kind == "discard":
                self._form(*self._next(), depth + 1)
            else:
                found.append(self._form(kind, token, depth + 1))
        if opening == "#{":
            return frozenset(map(freeze, found))
        if opening != "{":
            return found
        if len(found) % 2:
            raise self._error("a map has a key without a value: expected both", place)
        return {
            key if isinstance(key, str) else freeze(key): value
            for key, value in zip(found[::2], found[1::2], strict=True)
        }

    def _unescape(self, escape: re.Match[str]) -> str:
        name = escape[1]
        if len(name) == 5:
            return chr(int(name[1:], 16))
        if name not in _ESCAPES:
            raise self._error(f'\\{name} in a string: expected one of \\n \\t \\r \\b \\f \\" \\\\ \\u0000')
        return _ESCAPES[name]

    def _number(self, token: str) -> int | float:
        if len(token) > _LONGEST_NUMBER:
            raise self._error(f"a number of {len(token):,} digits: expected at most {_LONGEST_NUMBER:,}")
        whole = token.removesuffix("N")
        return float(token.removesuffix("M")) if set(whole) & set(".eEM") else int(whole)

    def _word(self, word: str, depth: int) -> Any:
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if word[0] == ":" and len(word) > 1:
            return Keyword(word[1:])
        if word[0] == "\\" and (len(word) == 2 or word[1:] in _CHARACTERS):
            return _CHARACTERS.get(word[1:], word[1:])
        if word[0] == "#" and len(word) > 1 and word[1].isalpha():
            return self._form(*self._next(), depth + 1)
        if depth and _SYMBOL.fullmatch(word):
            return word
        expected = "nil, true, false, a number, a string, a :keyword, [, ( or {"
        raise self._error(f"{word[:40]} is no value: expected {expected}")
