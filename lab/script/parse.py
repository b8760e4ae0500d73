"""Reading a line. The grammar is in ``grammar.lark``; what is said of one that is not of it in ``explaining``."""

import functools
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, cast

from lab.kernel import Protocol
from lab.script.building import transformer
from lab.script.commands import CommandError, WorldCommand
from lab.script.expectations import CAUSES, Expectation, ExpectViolation, is_of_whole_run
from lab.script.explaining import explain
from lab.script.predicates import COUNTS, STATES, Predicate
from lab.script.telling import commands_with_words, own_commands
from lab.script.triggers import After, Every, Scripted, Trigger

if TYPE_CHECKING:
    from lark import Lark, Tree

__all__ = ["LONGEST", "parse", "parse_predicate"]

LONGEST = 1000
"""A command has at most so many characters."""

_NOTHING = "(?!)."
"""A pattern that matches nothing, though it is not empty."""

_BLANKS = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
_DEEPEST = 60
"""So deep is one part in another at most: what looks at predicates later calls itself for each."""

_PREDICATE = "all.coordinator == 4"
"""An example of one."""


def parse(text: str, protocol: type[Protocol] | None = None) -> Scripted:
    """One line of the language. CommandError says where it is wrong, what was expected, and gives an example.

    What is expected are the commands of this protocol, or, where it is not known, of any.
    """
    tree, (then, *triggers, command) = _read(text, "start", protocol)
    amiss = _out_of_place(triggers, command, bool(triggers) or then is not None)
    if amiss:
        raise CommandError(amiss)
    start = cast("Tree[Any]", tree.children[-1]).meta.start_pos
    first, *others = triggers or [None]
    follows = then is not None or isinstance(first, After) or (first is None and not is_of_whole_run(command))
    return Scripted(command, _spaced(text[start:]), first, _spaced(text), tuple(others), follows)


def parse_predicate(text: str, protocol: type[Protocol] | None = None) -> Predicate:
    """A predicate alone. CommandError as of a line."""
    predicate: Predicate = _read(text, "predicate", protocol)[1]
    return predicate


def _read(
    text: str, what: Literal["start", "predicate"], protocol: type[Protocol] | None
) -> "tuple[Tree[Any], Any]":
    """The text as a tree, and what that comes to. CommandError."""
    from lark import UnexpectedInput  # noqa: PLC0415 - a tenth of a second, needed at the first command
    from lark.exceptions import VisitError  # noqa: PLC0415

    if len(text) > LONGEST:
        raise CommandError(f"a command has at most {LONGEST} characters; this has {len(text)}")
    try:
        own, with_words = own_commands().keys(), commands_with_words()
        tree = _parser("|".join(sorted(own - with_words)), "|".join(sorted(with_words))).parse(text, what)
        if _depth(tree) > _DEEPEST:
            raise CommandError("too much is nested in this line; write less of it, or several lines")
        return tree, transformer().transform(tree)
    except UnexpectedInput as error:
        example = _PREDICATE if what == "predicate" else ""
        raise CommandError(explain(text, error, protocol, example)) from None
    except VisitError as error:
        if isinstance(error.orig_exc, ValueError | CommandError):
            raise CommandError(str(error.orig_exc)) from None
        raise


def _out_of_place(triggers: list[Trigger], command: Any, waits: bool) -> str:
    """What is wrong, where each part is as it should be, and one has no meaning beside another; or nothing."""
    if waits and isinstance(command, WorldCommand) and command.verb == "step":
        return "step is done at once and cannot wait; freeze can: on send NewState freeze"
    if any(isinstance(trigger, Every) for trigger in triggers[:-1]):
        return "every is the last trigger of a line: when all normal every 2s kill coordinator"
    if triggers and isinstance(triggers[-1], Every) and isinstance(command, Expectation):
        return "what is expected is looked at all the time: write expect always"
    if waits and isinstance(command, ExpectViolation):
        return "a verdict is of the whole run: write expect violation without a trigger"
    return ""


def _spaced(text: str) -> str:
    """With single blanks, but for those in quotes."""
    return _BLANKS.sub(lambda found: found[1] or " ", text.strip())


def _depth(tree: "Tree[Any]") -> int:
    """How deep the tree is; counted without recursion, as it may be too deep for that."""
    depth, level = 0, [tree]
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
    grammar = grammar.replace("COMMANDS_ALONE", alone or _NOTHING)
    grammar = grammar.replace("COMMANDS_WITH_WORDS", with_words or _NOTHING)
    words_of_rules = sorted(set(re.findall(r'"([a-z]+)"', grammar)))
    grammar = re.sub(r'"([a-z]+)"', lambda word: f"_{word[1].upper()}", grammar)
    grammar += "".join(f"\n_{word.upper()}: /{word}\\b/" for word in words_of_rules)
    starts = ["start", "predicate"]
    return Lark(
        grammar, start=starts, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True
    )
