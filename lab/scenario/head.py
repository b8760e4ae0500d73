"""The head of a scenario file: where it ends, which keys there are, of which types, and where they stand."""

import json
import re
import tomllib
from typing import Any

from msgspec import Struct

from lab.text import did_you_mean, sanitize

__all__ = [
    "KEYS",
    "LONGEST_TITLE",
    "LONGEST_US",
    "MOST_NODES",
    "Head",
    "Key",
    "Mistake",
    "as_key",
    "first_key",
    "quoted",
    "read_head",
    "split_scenario",
]

MOST_NODES = 64
LONGEST_US = 600_000_000
LONGEST_TITLE = 100
"""In characters."""


class Key(Struct, frozen=True):
    """What a key may hold, with an example of it."""

    types: tuple[type, ...]
    example: str
    needed: bool = False


_RULE = re.compile(r"^---[^\S\n]*$", re.MULTILINE)
_PARTS = re.compile(
    r'"{3}(?:[^"\\]++|\\.?|"{1,2}+(?!"))*+(?:"{3,5}|\Z)'  # a text of several lines
    r"|'{3}(?:[^']++|'{1,2}+(?!'))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?'  # one of one line
    r"|'[^'\n]*+'?"
    r"|#[^\n]*"
    rf"|(?P<rule>{_RULE.pattern})",
    re.MULTILINE | re.DOTALL,
)
"""What a head is made of, as far as it says where the head ends. Nothing is read twice, whatever the text."""
_TOML = 'the head is TOML, a key and a value a line, and texts in quotes: nodes = "5"'
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
    """What is wrong in a file, and where: line and column from 1, 0 where it is of none."""

    line: int
    column: int
    text: str


class Head(Struct, frozen=True):
    """The keys and their values, as far as they have the right types, and what is wrong with the others."""

    values: dict[str, Any]
    mistakes: tuple[Mistake, ...]
    text: str

    def mistake(self, key: str, text: str) -> Mistake:
        """A mistake in what this key says, or a parameter that ``set`` gives."""
        line, column = _place_of(key, self.text) or _place_of("set", self.text) or (1, 0)
        return Mistake(line, column, text)


def split_scenario(text: str) -> tuple[str, str, int]:
    """(the head, the script, the number of the script's first line).

    Between them is the first line ``---`` that is in none of the head's texts; where one of those has no end,
    the first of all. Without such a line all is script.
    """
    rule = next((part for part in _PARTS.finditer(text) if part["rule"]), None) or _RULE.search(text)
    if rule is None:
        return "", text, 1
    head = text[: rule.start()]
    return head, text[rule.end() :].removeprefix("\n"), head.count("\n") + 2


def quoted(value: str) -> str:
    """As a text in TOML, which is as in JSON, but that there is no DEL and no half of a surrogate pair in it."""
    whole = value.encode("utf-8", "replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


def as_key(name: str, value: str) -> str:
    """As a head has a setting: ``nodes = "5"``; see ``lab.worlds.settings.Written``."""
    outer, _, parameter = name.partition(" ")
    if outer == "set" and not parameter:
        parameter, _, value = value.partition("=")
        return f"set = {{ {parameter} = {value} }}"
    return f'{parameter or outer} = "{value}"' if value else parameter or outer


def first_key(said: str) -> str:
    """The key that a mistake is about: the first that is written in it, as ``as_key`` writes it."""
    return said.removeprefix("set = { ").partition(" ")[0].rstrip(":")


def read_head(text: str) -> Head:
    """What the text before the line ``---`` says."""
    try:
        found = tomllib.loads(text)
        json.dumps(found, default=str)  # which counts the digits of what is in hex
    except tomllib.TOMLDecodeError as error:
        return Head({}, (_unreadable(str(error), text),), text)
    except ValueError:
        return Head({}, (Mistake(0, 0, "a number in the head has too many digits; a seed has at most 18"),), text)
    except RecursionError:
        return Head({}, (Mistake(0, 0, "too much is nested in the head; a list in no list is enough"),), text)
    values = {key: value for key, value in found.items() if key in KEYS and _fits(value, KEYS[key])}
    head = Head(values, (), text)
    mistakes = [head.mistake(key, _said_of(key, found[key])) for key in found if key not in values]
    mistakes += [
        Mistake(1, 0, f"the head has no {name}: {key.example}")
        for name, key in KEYS.items()
        if key.needed and name not in found
    ]
    return Head(values, tuple(mistakes), text)


def _fits(value: Any, key: Key) -> bool:
    return isinstance(value, key.types) and not isinstance(value, bool)


def _said_of(key: str, value: Any) -> str:
    if key in KEYS:
        got = sanitize(json.dumps(value, ensure_ascii=False, default=str), 30)
        return f"{key} = {got} is not what it may be; for example: {KEYS[key].example}"
    near = did_you_mean(key, list(KEYS)) or f"; there are {', '.join(KEYS)}"
    return f"there is no key {sanitize(key, 30)} in a scenario's head{near}"


def _unreadable(said: str, text: str) -> Mistake:
    """tomllib gives the place in words alone."""
    match = re.search(r" \(at line (\d+), column (\d+)\)$", said)
    line, column = (int(match[1]), int(match[2])) if match else (text.count("\n") + 1, 0)
    what = said[: match.start()] if match else said.removesuffix(" (at end of document)")
    return Mistake(line, column, f"{what}; {_TOML}")


def _place_of(key: str, text: str) -> tuple[int, int] | None:
    """The line and the column of a key, looked for outside of texts of several lines."""
    looked_for = re.compile(rf"(?:^|[{{,])\s*\[?\"?({re.escape(key)})\"?\s*[\]=.]")
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        match = None if inside else looked_for.search(line)
        if match is not None:
            return number, match.start(1) + 1
        inside ^= (line.count('"""') + line.count("'''")) % 2 == 1
    return None
