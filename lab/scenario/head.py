"""Read the head of a scenario file: find its end, check its keys and types, and locate mistakes."""

import json
import re
import tomllib
from typing import Any

from msgspec import Struct

from lab.text import did_you_mean, sanitize

MOST_NODES = 64
LONGEST_US = 600_000_000
LONGEST_TITLE = 100
"""In characters."""


class Key(Struct, frozen=True):
    """The types of a key's value, with an example."""

    types: tuple[type, ...]
    example: str
    needed: bool = False


_RULE = re.compile(r"^---[^\S\n]*$", re.MULTILINE)
_PARTS = re.compile(
    r'"{3}(?:[^"\\]++|\\.?|"{1,2}+(?!"))*+(?:"{3,5}|\Z)'  # a multi-line string
    r"|'{3}(?:[^']++|'{1,2}+(?!'))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?'  # a single-line string
    r"|'[^'\n]*+'?"
    r"|#[^\n]*"
    rf"|(?P<rule>{_RULE.pattern})",
    re.MULTILINE | re.DOTALL,
)
"""The tokens that matter for the end of the head. Possessive quantifiers avoid backtracking on any text."""
_TOML = 'the head is TOML, one key and value per line, with texts in quotes: nodes = "5"'
_TEXT = (str,)
_NUMBER = (str, int)

KEYS: dict[str, Key] = {
    "title": Key(_TEXT, 'title = "A pause makes two coordinators"', needed=True),
    "shows": Key(_TEXT, 'shows = """What to look at."""'),
    "source": Key(_TEXT, 'source = "Garcia-Molina 1982, section 4"'),
    "protocol": Key(_TEXT, 'protocol = "bully"', needed=True),
    "nodes": Key(_NUMBER, 'nodes = "5"'),
    "t": Key(_TEXT, 't = "200ms"'),
    "tm": Key(_TEXT, 'tm = "80ms"'),
    "tp": Key(_TEXT, 'tp = "40ms"'),
    "latency": Key(_TEXT, 'latency = "20ms"'),
    "jitter": Key(_TEXT, 'jitter = "10ms"'),
    "seed": Key(_NUMBER, "seed = 7"),
    "set": Key((dict,), 'set = { check_every = "400ms" }'),
    "worlds": Key((list,), 'worlds = ["simulated", "live"]'),
    "for": Key(_TEXT, 'for = "8s"', needed=True),
}


class Mistake(Struct, frozen=True):
    """A mistake in a file: line and column from 1, 0 if it has no place."""

    line: int
    column: int
    text: str


class Head(Struct, frozen=True):
    """The keys with values of the right types, and the mistakes in the others."""

    values: dict[str, Any]
    mistakes: tuple[Mistake, ...]
    text: str

    def mistake(self, key: str, text: str) -> Mistake:
        """Return a mistake at the place of this key, or of this parameter in ``set``."""
        line, column = _place_of(key, self.text) or _place_of("set", self.text) or (1, 0)
        return Mistake(line, column, text)


def split_scenario(text: str) -> tuple[str, str, int]:
    """Return (the head, the script, the number of the script's first line).

    They are separated by the first line ``---`` outside the head's strings; by the first of all if a string is not
    closed. Without such a line, all is script.
    """
    rule = next((part for part in _PARTS.finditer(text) if part["rule"]), None) or _RULE.search(text)
    if rule is None:
        return "", text, 1
    head = text[: rule.start()]
    return head, text[rule.end() :].removeprefix("\n"), head.count("\n") + 2


def quoted(value: str) -> str:
    """Format a TOML string: JSON's format, with DEL escaped and unpaired surrogates replaced."""
    whole = value.encode("utf-8", "replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


def as_key(name: str, value: str) -> str:
    """Format a setting as in a head: ``nodes = "5"``; see ``lab.worlds.loading.settings.Written``."""
    outer, _, parameter = name.partition(" ")
    if outer == "set" and not parameter:
        parameter, _, value = value.partition("=")
        return f"set = {{ {parameter} = {value} }}"
    return f'{parameter or outer} = "{value}"' if value else parameter or outer


def first_key(message: str) -> str:
    """Return the key that a message begins with, in the format of ``as_key``."""
    return message.removeprefix("set = { ").partition(" ")[0].rstrip(":")


def read_head(text: str) -> Head:
    """Parse the text before the line ``---``."""
    try:
        found = tomllib.loads(text)
        json.dumps(found, default=str)  # raises ValueError for numbers with too many digits, in hex too
    except tomllib.TOMLDecodeError as error:
        return Head({}, (_unreadable(str(error), text),), text)
    except ValueError:
        return Head({}, (Mistake(0, 0, "a number in the head has too many digits; a seed has at most 18"),), text)
    except RecursionError:
        return Head({}, (Mistake(0, 0, "the head is nested too deeply; a plain list is enough"),), text)
    values = {key: value for key, value in found.items() if key in KEYS and _fits(value, KEYS[key])}
    head = Head(values, (), text)
    mistakes = [head.mistake(key, _describe_key_error(key, found[key])) for key in found if key not in values]
    mistakes += [
        Mistake(1, 0, f"the head has no {name}: {key.example}")
        for name, key in KEYS.items()
        if key.needed and name not in found
    ]
    return Head(values, tuple(mistakes), text)


def _fits(value: Any, key: Key) -> bool:
    return isinstance(value, key.types) and not isinstance(value, bool)


def _describe_key_error(key: str, value: Any) -> str:
    if key in KEYS:
        got = sanitize(json.dumps(value, ensure_ascii=False, default=str), 30)
        return f"{key} = {got} has the wrong type; for example: {KEYS[key].example}"
    near = did_you_mean(key, list(KEYS)) or f"; the keys are {', '.join(KEYS)}"
    return f"unknown key {sanitize(key, 30)}{near}"


def _unreadable(message: str, text: str) -> Mistake:
    # tomllib gives the place only in the message.
    match = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    line, column = (int(match[1]), int(match[2])) if match else (text.count("\n") + 1, 0)
    what = message[: match.start()] if match else message.removesuffix(" (at end of document)")
    return Mistake(line, column, f"{what}; {_TOML}")


def _place_of(key: str, text: str) -> tuple[int, int] | None:
    """Return the line and column of a key outside of multi-line strings."""
    looked_for = re.compile(rf"(?:^|[{{,])\s*\[?\"?({re.escape(key)})\"?\s*[\]=.]")
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        match = None if inside else looked_for.search(line)
        if match is not None:
            return number, match.start(1) + 1
        inside ^= (line.count('"""') + line.count("'''")) % 2 == 1
    return None
