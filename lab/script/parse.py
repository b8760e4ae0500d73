"""Parse lines and scripts. The grammar is in ``grammar.lark``, the error messages are in ``parse_errors``."""

import functools
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec.structs import replace

from lab.kernel import Protocol
from lab.script.commands import CommandError, WorldCommand
from lab.script.parse_errors import explain_error
from lab.script.predicates import COUNTS, STATES, Predicate
from lab.script.protocol_commands import bare_commands, commands_with_words
from lab.script.statements import (
    CAUSES,
    After,
    Every,
    Expectation,
    ExpectViolation,
    Statement,
    Trigger,
    covers_whole_run,
)
from lab.script.transformer import transformer

if TYPE_CHECKING:
    from lark import Lark, Tree


LONGEST = 1000
"""Limit of the length of a command, in characters."""

_NO_MATCH = "(?!)."
"""A pattern that matches nothing; lark rejects an empty one."""

_BLANKS = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
_DEPTH_LIMIT = 60
"""Limit of the nesting depth, because predicates are evaluated by recursion."""

_PREDICATE = "all.coordinator == 4"


def parse(text: str, protocol: type[Protocol] | None = None) -> Statement:
    """Parse one line. Raises CommandError with the column, what was expected and an example.

    The error suggests commands of ``protocol``; of all protocols if it is None.
    """
    tree, (then, *triggers, command) = _read(text, "start", protocol)
    error_text = _misplaced_part(triggers, command, bool(triggers) or then is not None)
    if error_text:
        raise CommandError(error_text)
    start = cast("Tree[Any]", tree.children[-1]).meta.start_pos
    first, *others = triggers or [None]
    follows = then is not None or isinstance(first, After) or (first is None and not covers_whole_run(command))
    return Statement(
        command, _normalize_blanks(text[start:]), first, _normalize_blanks(text), tuple(others), follows
    )


def parse_predicate(text: str, protocol: type[Protocol] | None = None) -> Predicate:
    """Parse a predicate. Raises CommandError as ``parse`` does."""
    predicate: Predicate = _read(text, "predicate", protocol)[1]
    return predicate


def _read(
    text: str, what: Literal["start", "predicate"], protocol: type[Protocol] | None
) -> "tuple[Tree[Any], Any]":
    """Return the parse tree and its transformation. Raises CommandError."""
    from lark import UnexpectedInput  # noqa: PLC0415 - a tenth of a second, needed at the first command
    from lark.exceptions import VisitError  # noqa: PLC0415

    if len(text) > LONGEST:
        raise CommandError(f"a command has at most {LONGEST} characters; this has {len(text)}")
    try:
        own, with_words = bare_commands().keys(), commands_with_words()
        tree = _parser("|".join(sorted(own - with_words)), "|".join(sorted(with_words))).parse(text, what)
        if _depth(tree) > _DEPTH_LIMIT:
            raise CommandError("this line is nested too deeply; shorten it, or split it into several lines")
        return tree, transformer().transform(tree)
    except UnexpectedInput as error:
        example = _PREDICATE if what == "predicate" else ""
        raise CommandError(explain_error(text, error, protocol, example)) from None
    except VisitError as error:
        if isinstance(error.orig_exc, ValueError | CommandError):
            raise CommandError(str(error.orig_exc)) from None
        raise


def _misplaced_part(triggers: list[Trigger], command: Any, waits: bool) -> str:
    """Return an error message if the parts of a line, each valid, make no sense together; else an empty text."""
    if waits and isinstance(command, WorldCommand) and command.verb == "step":
        return "step runs at once and cannot have a trigger; freeze can: on send NewState freeze"
    if any(isinstance(trigger, Every) for trigger in triggers[:-1]):
        return "every must be the last trigger of a line: when all normal every 2s kill coordinator"
    if triggers and isinstance(triggers[-1], Every) and isinstance(command, Expectation):
        return "every cannot repeat an expectation: write expect always"
    if waits and isinstance(command, ExpectViolation):
        return "a verdict is about the whole run: write expect violation without a trigger"
    return ""


def _normalize_blanks(text: str) -> str:
    """Collapse blanks, except in quotes."""
    return _BLANKS.sub(lambda found: found[1] or " ", text.strip())


def _depth(tree: "Tree[Any]") -> int:
    """Return the depth of the tree."""
    depth, level = 0, [tree]  # no recursion: the tree may be too deep for it
    while level:
        depth += 1
        level = [child for each in level for child in each.children if isinstance(child, type(tree))]
    return depth


@functools.cache
def _parser(alone: str, with_words: str) -> "Lark":
    from lark import Lark  # noqa: PLC0415

    grammar = files("lab.script").joinpath("grammar.lark").read_text("utf-8")
    words: dict[str, Iterable[str]] = {"STATE_WORDS": STATES, "COUNT_WORDS": COUNTS, "CAUSE_WORDS": CAUSES}
    for name, each in words.items():
        grammar = grammar.replace(name, "|".join(each))
    grammar = grammar.replace("COMMANDS_ALONE", alone or _NO_MATCH)
    grammar = grammar.replace("COMMANDS_WITH_WORDS", with_words or _NO_MATCH)
    words_of_rules = sorted(set(re.findall(r'"([a-z]+)"', grammar)))
    grammar = re.sub(r'"([a-z]+)"', lambda word: f"_{word[1].upper()}", grammar)
    grammar += "".join(f"\n_{word.upper()}: /{word}\\b/" for word in words_of_rules)
    starts = ["start", "predicate"]
    return Lark(
        grammar, start=starts, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True
    )


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
