"""Read scripts: numbered lines of the command language, each of which may follow the line before it."""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from lab.kernel import Protocol
from lab.script.commands import CommandError
from lab.script.parse import parse
from lab.script.triggers import Statement

__all__ = ["ScriptError", "numbered_lines", "predecessors", "read_script"]

_ON_MESSAGE = re.compile(r"\bon\s+\w+\s+\w+(\s+\d+\s*->\s*\d+)?\s*$")
"""A trigger after which ``#2`` means the second such message, not a comment."""


class ScriptError(CommandError):
    """A line that cannot be parsed; ``line`` is its number, from 1, and the message is for the user."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read_script(text: str, protocol: type[Protocol] | None = None, first: int = 1) -> list[Statement]:
    """Return the statements of a script, numbered from ``first``. Raises ScriptError."""
    lines = []
    for number, line in numbered_lines(text, first):
        try:
            lines.append(replace(parse(line, protocol), line=number))
        except CommandError as error:
            raise ScriptError(number, str(error)) from None
    return lines


def numbered_lines(text: str, first: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the lines that are more than a comment, stripped of comments, each with its number from ``first``."""
    for number, line in enumerate(text.split("\n"), first):
        code = _strip_comment(line).rstrip()
        if code.strip():
            yield number, code


def predecessors(lines: Iterable[Statement]) -> dict[int, int]:
    """Map the number of each line that follows another to the number of that line."""
    found: dict[int, int] = {}
    before = None
    for line in lines:
        if line.follows and before is not None:
            found[line.line] = before
        if line.follows or line.trigger:
            before = line.line
    return found


def _strip_comment(line: str) -> str:
    """Remove the comment. In ``on send Accept 3->1 #2: say "no # here"  # this`` only the last # starts one."""
    quoted = False
    for place, character in enumerate(line):
        quoted ^= character == '"'
        if character == "#" and not quoted and _begins_comment(line[:place], line[place + 1 :]):
            return line[:place]
    return line


def _begins_comment(before: str, after: str) -> bool:
    """Return whether a # between these texts starts a comment."""
    if before and not before[-1].isspace():
        return False
    return not (after[:1].isdigit() and _ON_MESSAGE.search(before))
