"""The head of a scenario file: which keys there are, of which types, and where in the text they stand."""

import re
import tomllib
from typing import Any

import msgspec
from msgspec import Struct

from lab.text import did_you_mean, sanitize

__all__ = ["KEYS", "Head", "Key", "Mistake", "as_key", "first_key", "read_head"]


class Key(Struct, frozen=True):
    """What a key may hold, with an example of it."""

    types: tuple[type, ...]
    example: str
    needed: bool = False


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
    except tomllib.TOMLDecodeError as error:
        return Head({}, (_unreadable(str(error), text),), text)
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
        got = sanitize(msgspec.json.encode(value).decode(), 30)
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
    for number, line in enumerate(text.splitlines(), 1):
        match = None if inside else looked_for.search(line)
        if match is not None:
            return number, match.start(1) + 1
        inside ^= (line.count('"""') + line.count("'''")) % 2 == 1
    return None
