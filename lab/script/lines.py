"""A script: lines of the language, of which each may follow the one before it."""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from lab.kernel import Protocol
from lab.script.commands import CommandError
from lab.script.parse import parse
from lab.script.triggers import Scripted

__all__ = ["ScriptError", "numbered_lines", "predecessors", "read_script"]

_ON_MESSAGE = re.compile(r"\bon\s+\w+\s+\w+(\s+\d+\s*->\s*\d+)?\s*$")
"""Behind such a trigger, ``#2`` is the second of these messages."""


class ScriptError(CommandError):
    """A line that cannot be read; ``line`` is its number, from 1, and the text is for the user."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read_script(text: str, protocol: type[Protocol] | None = None, first: int = 1) -> list[Scripted]:
    """The lines of a script that are no remarks; the first of all has the number ``first``. ScriptError."""
    lines = []
    for number, line in numbered_lines(text, first):
        try:
            lines.append(replace(parse(line, protocol), line=number))
        except CommandError as error:
            raise ScriptError(number, str(error)) from None
    return lines


def numbered_lines(text: str, first: int = 1) -> Iterator[tuple[int, str]]:
    """The lines with something in them beside a remark, each with its number, as editors count them."""
    for number, line in enumerate(text.split("\n"), first):
        said = _without_remark(line).rstrip()
        if said.strip():
            yield number, said


def predecessors(lines: Iterable[Scripted]) -> dict[int, int]:
    """Of each line that follows another, by their numbers, which."""
    found: dict[int, int] = {}
    before = None
    for line in lines:
        if line.follows and before is not None:
            found[line.line] = before
        if line.follows or line.trigger:
            before = line.line
    return found


def _without_remark(line: str) -> str:
    """``on send Accept 3->1 #2: say "no # here"  # a remark``: the last of these is one, as is a # in front."""
    quoted = False
    for place, character in enumerate(line):
        quoted ^= character == '"'
        if character == "#" and not quoted and _begins_remark(line[:place], line[place + 1 :]):
            return line[:place]
    return line


def _begins_remark(before: str, after: str) -> bool:
    """Whether a # between these does."""
    if before and not before[-1].isspace():
        return False
    return not (after[:1].isdigit() and _ON_MESSAGE.search(before))
