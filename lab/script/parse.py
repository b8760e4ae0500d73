"""Reading a command. The grammar is in ``grammar.lark``; what this adds is errors that help."""

import difflib
import functools
from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from lab.kernel import Protocol
from lab.script.building import transformer
from lab.script.commands import VERBS, CommandError, WorldCommand
from lab.script.expectations import CAUSES, Expectation, is_of_whole_run
from lab.script.predicates import COUNTS, STATES
from lab.script.telling import own_commands
from lab.script.triggers import After, Every, Scripted
from lab.text import sanitize

if TYPE_CHECKING:
    from lark import Lark, Tree, UnexpectedInput

__all__ = ["LONGEST", "parse"]

LONGEST = 1000
"""A command has at most so many characters."""

_NAMED = ("all", "coordinator", "coordinators")

_WORDS = {
    "TIME": "a time (400ms, 2s)",
    "PERCENT": "a percentage (30%)",
    "NUMBER": "a node's number",
    "WORD": "all, coordinator or coordinators",
    "ARROW": "-> or <->",
    "NAME": "a command of the protocol's own (publish)",
    "KIND": "a kind of message (EnterElection)",
    "MOMENT": "send or deliver",
    "FACTOR": "a factor (0.1)",
    "MAX": "max",
    "COUNT": "how many (3)",
    "VBAR": "|",
    "COMMA": "a comma",
    "COLON": "a colon",
    "MORETHAN": "->",
    "__ANON_0": "->",
    "__ANON_1": "±",
    "__ANON_2": "±",
    "$END": "the end",
}

_NOTHING = "(?!)."
"""A pattern that matches nothing, though it is not empty."""

_WAITS = "on send NewState freeze"
_TRIGGERS = {"at": "at 2s ", "after": "after 2s ", "when": "when all normal ", "on": "on send NewState "}


def parse(text: str, protocol: type[Protocol] | None = None) -> Scripted:
    """One line of the language. CommandError says where it is wrong, what was expected, and gives an example.

    What is expected are the commands of this protocol, or, where it is not known, of any.
    """
    from lark import UnexpectedInput  # noqa: PLC0415 - a tenth of a second, needed at the first command
    from lark.exceptions import VisitError  # noqa: PLC0415

    if len(text) > LONGEST:
        raise CommandError(f"a command has at most {LONGEST} characters; this has {len(text)}")
    try:
        tree = _parser("|".join(sorted(own_commands()))).parse(text)
        then, *triggers, command = transformer().transform(tree)
    except UnexpectedInput as error:
        own = own_commands() if protocol is None else protocol.commands
        raise CommandError(_explain(text, error, list(own))) from None
    except VisitError as error:
        if isinstance(error.orig_exc, ValueError | CommandError):
            raise CommandError(str(error.orig_exc)) from None
        raise
    if triggers and isinstance(command, WorldCommand) and command.verb != "freeze":
        raise CommandError(f"{command.verb} is done at once and cannot wait; freeze can: {_WAITS}")
    start = cast("Tree[Any]", tree.children[-1]).meta.start_pos
    if any(isinstance(trigger, Every) for trigger in triggers[:-1]):
        raise CommandError("every is the last trigger of a line: when all normal every 2s kill coordinator")
    if isinstance(command, Expectation) and any(isinstance(trigger, Every) for trigger in triggers):
        raise CommandError("what is expected is looked at all the time: write expect always")
    first, *others = triggers or [None]
    follows = then is not None or isinstance(first, After) or (first is None and not is_of_whole_run(command))
    return Scripted(command, " ".join(text[start:].split()), first, " ".join(text.split()), tuple(others), follows)


@functools.cache
def _parser(own: str) -> "Lark":
    from lark import Lark  # noqa: PLC0415

    grammar = files("lab.script").joinpath("grammar.lark").read_text("utf-8")
    words: dict[str, Iterable[str]] = {"STATE_WORDS": STATES, "COUNT_WORDS": COUNTS, "CAUSE_WORDS": CAUSES}
    for name, each in words.items():
        grammar = grammar.replace(name, "|".join(each))
    grammar = grammar.replace("OWN_COMMANDS", own or _NOTHING)
    return Lark(grammar, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True)


def _explain(text: str, error: "UnexpectedInput", own: list[str]) -> str:
    position = error.pos_in_stream or 0
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        position = len(text)
    got = text[position:].partition(" ")[0]
    parser = getattr(error, "interactive_parser", None)  # what comes next here, not what the lexer would take
    expected: set[str] = parser.accepts() if parser else set()
    verbs = [verb for verb in VERBS if verb.upper() in expected or "NODE_VERB" in expected]
    verbs += own if "OWN" in expected else ()
    starts = [word for word in ("at", "after", "when", "on") if word.upper() in expected]
    words = list(dict.fromkeys(_WORDS.get(name, name.lower()) for name in sorted(expected) if not _is_verb(name)))
    said = f"column {position + 1}: "
    said += f"{sanitize(got, 30)!r} is not expected here" if got else "the command ends too soon"
    near = difflib.get_close_matches(got.lower(), [*verbs, *starts, *_NAMED, "normal"], 1)
    if near and near[0] != got:
        said += f" (did you mean {near[0]!r}?)"
    if verbs:
        said += f"; expected a command: {', '.join(verbs)}"
        if starts:
            said += ", or a trigger: at 2s, after 2s, when all normal, on send KIND"
    elif words:
        said += f"; expected {_either(words)}"
    return f"{said}. For example: {_example(text)}"


def _is_verb(name: str) -> bool:
    return name in ("NODE_VERB", "OWN") or name.lower() in VERBS


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _example(text: str) -> str:
    words = text.lower().split()
    named = next((word for word in words if word in VERBS), None)
    near = [verb for word in words for verb in difflib.get_close_matches(word, VERBS, 1)]
    trigger = _TRIGGERS.get(words[0], "") if words else ""
    if named is None and not near:
        return "at 2s kill 5"
    return trigger + VERBS[named or near[0]].example
