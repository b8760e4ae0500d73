"""Parse lines and scripts. The grammar is in ``grammar``, the error messages are in ``parse_errors``.

Statements are immutable, and a process parses each text once: a script that is read, run and reported on costs one
parse.
"""

import contextlib
import functools
import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from lab.kernel import Protocol
from lab.script.commands import WorldCommand
from lab.script.parse_errors import explain_error
from lab.script.predicates import Predicate
from lab.script.scope import CommandError, NodeNames, Scope
from lab.script.statements import (
    After,
    Every,
    Expectation,
    ExpectViolation,
    Statement,
    Trigger,
    covers_whole_run,
)
from lab.script.vocabulary import Vocabulary, vocabulary
from lab.script.watches import Watch
from lab.units import format_us

LONGEST = 1000
"""Limit of the length of a command, in characters."""

_LEAST_EVERY_US = 10_000
"""The shortest interval of ``every``: a line that is due more often leaves no time for anything else."""
_BLANKS = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
_ON_MESSAGE = re.compile(r"\b(?:on|before)\s+\w+\s+\w+(\s+\d+\s*->\s*\d+)?\s*$")
"""A trigger after which ``#2`` means the second such message, not a comment."""


class ScriptError(CommandError):
    """A line that cannot be parsed; ``line`` is its number, from 1, and the message is for the user."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


# scripts


def read_script(
    text: str, protocol: type[Protocol] | None = None, first: int = 1, names: NodeNames | None = None
) -> list[Statement]:
    """Return the statements of a script, numbered from ``first``. ``names`` as for ``parse``.

    Raises ScriptError.
    """
    lines = []
    for number, line in numbered_lines(text, first):
        try:
            lines.append(replace(parse(line, protocol, names), line=number))
        except CommandError as error:
            raise ScriptError(number, str(error)) from None
    return lines


def numbered_lines(text: str, first: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the lines that are more than a comment, stripped of comments, each with its number from ``first``."""
    for number, line in enumerate(text.split("\n"), first):
        code = _strip_comment(line).rstrip()
        if code.strip():
            yield number, code


def _strip_comment(line: str) -> str:
    """Remove the comment. In ``on send Accept 3->1 #2: say "no # here"  # this`` only the last # starts one."""
    quoted = escaped = False
    for place, character in enumerate(line):
        quoted ^= character == '"' and not escaped
        escaped = quoted and character == "\\" and not escaped
        if character == "#" and not quoted and _begins_comment(line[:place], line[place + 1 :]):
            return line[:place]
    return line


def _begins_comment(before: str, after: str) -> bool:
    """Return whether a # between these texts starts a comment."""
    if before and not before[-1].isspace():
        return False
    return not (after[:1].isdigit() and _ON_MESSAGE.search(before))


# lines


def parse(text: str, protocol: type[Protocol] | None = None, names: NodeNames | None = None) -> Statement:
    """Parse one line. Raises CommandError with the column, what was expected and an example.

    The error suggests commands of ``protocol``; of all protocols if it is None. ``names`` are those of the nodes
    of the run; without them, a name is read as one, but which node it is remains unknown.
    """
    with _explained(text, protocol, names):
        return _statement(text, vocabulary(protocol), names)


def parse_predicate(
    text: str, protocol: type[Protocol] | None = None, names: NodeNames | None = None
) -> Predicate:
    """Parse a predicate. Raises CommandError as ``parse`` does."""
    with _explained(text, protocol, names, "all.coordinator == 4"):
        from lab.script.grammar import read  # noqa: PLC0415 - imports lark

        predicate: Predicate = read(text, "predicate", vocabulary(protocol), names)[1]
        return predicate


def parse_watch(text: str, protocol: type[Protocol] | None = None, names: NodeNames | None = None) -> Watch:
    """Parse a watch. Raises CommandError as ``parse`` does."""
    with _explained(text, protocol, names, "4.coordinator", is_watch=True):
        from lab.script.grammar import read  # noqa: PLC0415 - imports lark

        watch: Watch = read(text, "watch", vocabulary(protocol), names)[1]
        return watch


def read_watch(text: str, scope: Scope | None) -> Watch:
    """Parse a watch, and check it against a run whose protocol is known. Raises CommandError as ``parse`` does."""
    if scope is None:
        return parse_watch(text)
    watch = parse_watch(text, scope.protocol, scope.names)
    watch.check(scope)
    return watch


@contextlib.contextmanager
def _explained(
    text: str,
    protocol: type[Protocol] | None,
    names: NodeNames | None,
    example: str = "",
    is_watch: bool = False,
) -> Iterator[None]:
    """Explain the syntax errors in a text."""
    from lark import UnexpectedInput  # noqa: PLC0415 - a tenth of a second, needed at the first command

    if len(text) > LONGEST:
        raise CommandError(f"a command has at most {LONGEST} characters; this has {len(text)}")
    try:
        yield
    except UnexpectedInput as error:
        raise CommandError(explain_error(text, error, protocol, names, example, is_watch)) from None


@functools.lru_cache(4096)
def _statement(text: str, words: Vocabulary, names: NodeNames | None) -> Statement:
    from lab.script.grammar import read  # noqa: PLC0415 - imports lark

    start, (then, *triggers, command) = read(text, "start", words, names)
    error_text = _misplaced_part(triggers, command, bool(triggers) or then is not None)
    if error_text:
        raise CommandError(error_text)
    follows = isinstance(triggers[0], After) if triggers else not covers_whole_run(command)
    source, text = _normalize_blanks(text), _normalize_blanks(text[start:])
    return Statement(command, text, source, tuple(triggers), follows or then is not None)


def _misplaced_part(triggers: list[Trigger], command: Any, waits: bool) -> str:
    """Return an error message if the parts of a line, each valid, make no sense together; else an empty text."""
    if waits and isinstance(command, WorldCommand) and command.verb == "step":
        return "step runs at once and cannot have a trigger; freeze can: on send NewState freeze"
    if any(isinstance(trigger, Every) for trigger in triggers[:-1]):
        return "every must be the last trigger of a line: when all normal every 2s kill coordinator"
    often = next((each for each in triggers if isinstance(each, Every) and each.us < _LEAST_EVERY_US), None)
    if often is not None:
        return f"every {format_us(often.us)} is too often: write at least every {format_us(_LEAST_EVERY_US)}"
    if triggers and isinstance(triggers[-1], Every) and isinstance(command, Expectation):
        return "every cannot repeat an expectation: write expect always"
    if waits and isinstance(command, ExpectViolation):
        return "a verdict is about the whole run: write expect violation without a trigger"
    return ""


def _normalize_blanks(text: str) -> str:
    """Collapse blanks, except in quotes."""
    return _BLANKS.sub(lambda found: found[1] or " ", text.strip())
