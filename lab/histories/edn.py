"""The part of EDN that histories are written in: Clojure's notation for data.

Read: nil, true, false, integers and decimals, strings, characters, keywords, vectors, lists, sets, maps; comments,
discarded forms (``#_``) and commas are passed over, and a tag such as ``#jepsen.history.Op`` is dropped. A keyword
becomes a ``Keyword``; vectors and lists become lists. Symbols and ratios are no data of a history.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from lab.histories.values import freeze

_DEEPEST = 200
_SPACE = re.compile(r"(?:[\s,]+|;[^\n]*)+")
_NUMBER = re.compile(r"([+-]?\d+)(?:(N)|((?:\.\d*)?(?:[eE][+-]?\d+)?M?))(?![^\s,()\[\]{}\";])")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_WORD = re.compile(r"[^\s,()\[\]{}\";]+")
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
    while not reader.at_end():
        line = reader.line()
        yield line, reader.form(0)


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
        self._line = 1
        self._counted = 0

    def line(self) -> int:
        """Return the number of the line."""
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def at_end(self, depth: int = 0) -> bool:
        """Pass over what is no form, and return whether nothing else follows."""
        while True:
            if space := _SPACE.match(self._text, self._place):
                self._place = space.end()
            if not self._text.startswith("#_", self._place):
                return self._place >= len(self._text)
            self._place += 2
            self.form(depth + 1)

    def form(self, depth: int) -> Any:
        """Read a form."""
        if depth > _DEEPEST:
            raise EdnError(self.line(), f"forms stand in each other more than {_DEEPEST} deep: expected fewer")
        if self.at_end(depth):
            raise EdnError(self.line(), "the text ends: expected a value", is_torn=True)
        text, place = self._text, self._place
        opening = "#{" if text.startswith("#{", place) else text[place]
        if opening in _CLOSING:
            return self._collection(opening, depth)
        if opening == '"':
            return self._string()
        if number := _NUMBER.match(text, place):
            self._place = number.end()
            return self._number(number)
        word = _WORD.match(text, place)
        if word is None:
            raise EdnError(self.line(), f"{opening} stands alone: expected a value")
        self._place = word.end()
        return self._word(word[0], depth)

    def _collection(self, opening: str, depth: int) -> Any:
        line = self.line()
        self._place += len(opening)
        closing = _CLOSING[opening]
        found = []
        while not self.at_end(depth) and self._text[self._place] != closing:
            found.append(self.form(depth + 1))
        if self._place >= len(self._text):
            raise EdnError(
                self.line(), f"the text ends: expected {closing} for the {opening} in line {line}", True
            )
        self._place += 1
        if opening == "#{":
            return frozenset(map(freeze, found))
        if opening != "{":
            return found
        if len(found) % 2:
            raise EdnError(line, "a map has a key without a value: expected both")
        return {
            key if isinstance(key, str) else freeze(key): value
            for key, value in zip(found[::2], found[1::2], strict=True)
        }

    def _string(self) -> str:
        string = _STRING.match(self._text, self._place)
        if string is None:
            raise EdnError(self.line(), 'the text ends within a string: expected "', is_torn=True)
        line = self.line()
        self._place = string.end()

        def unescape(escape: re.Match[str]) -> str:
            name = escape[1]
            if len(name) == 5:
                return chr(int(name[1:], 16))
            if name not in _ESCAPES:
                raise EdnError(line, f'\\{name} in a string: expected one of \\n \\t \\r \\b \\f \\" \\\\ \\u0000')
            return _ESCAPES[name]

        return _ESCAPE.sub(unescape, string[1])

    def _number(self, number: re.Match[str]) -> int | float:
        whole, _, rest = number.groups()
        if rest:
            return float((whole + rest).removesuffix("M"))
        if len(whole) > 4000:
            raise EdnError(self.line(), f"a number of {len(whole):,} digits: expected at most 4,000")
        return int(whole)

    def _word(self, word: str, depth: int) -> Any:
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if word.startswith(":") and len(word) > 1:
            return Keyword(word[1:])
        if word.startswith("\\") and (len(word) == 2 or word[1:] in _CHARACTERS):
            return _CHARACTERS.get(word[1:], word[1:])
        if word.startswith("#") and len(word) > 1 and word[1].isalpha():
            return self.form(depth + 1)
        raise EdnError(
            self.line(),
            f"{word[:40]} is no value: expected nil, true, false, a number, a string, a :keyword, [, ( or {{",
        )
