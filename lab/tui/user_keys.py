"""The keys that the user has chosen in a file: ``word = "key"``, a line for each action.

A mistake costs its own line only. It is reported with its place, and the action keeps its key.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from textual.keys import Keys

from lab.foreign_file import read_foreign_text
from lab.text import did_you_mean, sanitize
from lab.tui.actions import ACTIONS, FIXED, TASK_VIEWS, format_key

_SELECTS = "it moves between and within nodes and views"
_RESERVED = {
    **dict.fromkeys("0123456789", "digits select nodes"),
    **dict.fromkeys(("up", "down", "left", "right", "pageup", "pagedown", "tab", "shift+tab"), _SELECTS),
    **dict.fromkeys(("enter", "escape"), "it is the same everywhere"),
    "ctrl+h": "terminals send it as Backspace",
    "ctrl+i": "terminals send it as Tab",
    "ctrl+m": "terminals send it as Enter",
    "ctrl+c": "it ends lab",
    "ctrl+q": "it ends lab",
    "ctrl+z": "it suspends lab",
    "ctrl+l": "it redraws the screen",
    "ctrl+g": "it asks, or answers, in a class",
}
_NAMED = {key.value for key in Keys if not key.value.startswith("<")} | {"space", "comma"}
_EXPECTED = 'a letter, a sign, or a name such as "space", "f5", "ctrl+b", "shift+up"; "" for none'


class UserKeys(Struct, frozen=True):
    """The user's ``keys`` by the words of their actions, as Textual names them; and the mistakes in the file."""

    keys: dict[str, str] = {}
    mistakes: tuple[str, ...] = ()

    @property
    def trouble(self) -> str:
        """The first mistake, and how many more there are; empty if there is none."""
        more = f" (and {len(self.mistakes) - 1} more, printed when lab ends)" if len(self.mistakes) > 1 else ""
        return f"{self.mistakes[0]}{more}" if self.mistakes else ""


def read_user_keys(file: Path) -> UserKeys:
    """Read the file; without it, all keys are those of the table."""
    try:
        text = read_foreign_text(file)
        found = tomllib.loads(text)
    except FileNotFoundError:
        return UserKeys()
    except OSError as error:
        return UserKeys(mistakes=(f"{file}: {error.strerror}; all keys are as usual",))
    except (ValueError, RecursionError) as error:  # of tomllib
        reason = sanitize(str(error), 120) if str(error) else "not TOML"
        return UserKeys(
            mistakes=(f'{file}: {reason}; expected lines such as diagram = "D"; all keys are as usual',)
        )
    return _checked(found, file, text)


def _checked(found: Mapping[str, Any], file: Path, text: str) -> UserKeys:
    keys: dict[str, str] = {}
    mistakes: list[tuple[int, str]] = []
    for word, given in found.items():
        key = _key_of(given)
        if mistake := _mistake_in(word, given, key):
            mistakes.append((_line_of(word, text), mistake))
        else:
            keys[word] = key
    while clash := next(_clashes(keys), None):
        word, other = clash
        key = format_key(keys.pop(word))
        advice = f'give {other} another key, or "" for none'
        mistakes.append((_line_of(word, text), f"{word} = {key!r}: that is the key of {other}, too; {advice}"))
    shown = (f"{file}{f', line {line}' if line else ''}: {mistake}" for line, mistake in sorted(mistakes))
    return UserKeys(keys, tuple(shown))


def _key_of(given: object) -> str:
    """Return the key as the table of actions has it."""
    if not isinstance(given, str):
        return ""
    return {",": "comma", " ": "space"}.get(given, given if len(given) == 1 else given.lower())


def _mistake_in(word: str, given: object, key: str) -> str:
    words = [action.word for action in ACTIONS if action.word not in FIXED]
    got = f"{sanitize(word, 40)} = {sanitize(repr(given), 40)}"
    if word in FIXED:
        return f"{got}: the key of {word} is the same everywhere and cannot be changed; remove the line"
    if word not in words:
        near = did_you_mean(word, words)
        return f"{got}: no action is called {sanitize(word, 40)}{near}; lab guide keys lists the words"
    if not isinstance(given, str):
        return f'{got}: expected a key in quotes, such as {word} = "f5"'
    if key in _RESERVED:
        return f"{got}: {format_key(key)} cannot be given to an action, as {_RESERVED[key]}; take another key"
    if key and key not in _NAMED and not (len(key) == 1 and key.isprintable()):
        return f"{got}: no key is called that; expected {_EXPECTED}"
    return ""


def _clashes(keys: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (action, other) for each key that the user gives to the one, and that is another's; the last first."""
    table = {action.word: keys.get(action.word, action.keys).split(",") for action in ACTIONS}
    for word in reversed(keys):
        for other, others in table.items():
            is_shared = word in TASK_VIEWS and other in TASK_VIEWS  # no run has two of them
            if other != word and keys[word] and keys[word] in others and not is_shared:
                yield word, other


def _line_of(word: str, text: str) -> int:
    """Return the line of a word, or 0 if it is not found."""
    written = re.search(rf"^[ \t]*\[*[\"']?{re.escape(word)}[\"']?[ \t]*[=.\]]", text, re.MULTILINE)
    return text.count("\n", 0, written.start()) + 1 if written else 0
