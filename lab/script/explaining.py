"""What is said of a line that is not of the language: where, what was got, what was expected, and an example.

What the parser would take at that place is a set of terminals of the grammar. ``_TERMINALS`` has how each is
called, and the words that it may be, of which the nearest is suggested; ``_TOGETHER`` calls several by one name.
"""

import difflib
import re
from typing import TYPE_CHECKING

from lab.kernel import Protocol
from lab.properties import ASSERTIONS
from lab.protocols import PROTOCOLS, TASKS
from lab.protocols.transaction import State
from lab.script.commands import VERBS
from lab.script.expectations import CAUSES
from lab.script.predicates import COUNTS, STATES
from lab.script.telling import own_commands
from lab.text import sanitize

if TYPE_CHECKING:
    from lark import UnexpectedInput

__all__ = ["EXPECTATIONS", "TRIGGERS", "explain"]

TRIGGERS = {
    "at": "at 2s",
    "after": "after 2s",
    "every": "every 2s",
    "when": "when all.coordinator == 4",
    "on": "on send AreYouUp 4->5",
    "on status": "on status 4 Election",
}
"""An example of each trigger."""

EXPECTATIONS = {
    "expect": "expect all.coordinator == 4 within 2s",
    "expect always": "expect always groups <= 2",
    "expect never": "expect never 4 suspects 5",
    "expect violation": "expect violation A1.1 under pause",
    "expect no": "expect no violation",
}
"""An example of each expectation."""

_NODE_VERBS = ("kill", "restart", "pause", "resume", "wipe")
_STATUSES = ("Down", "Election", "Reorganization", "Normal")
_VALUES = (
    "true",
    "false",
    "none",
    "running",
    "paused",
    "killed",
    "failed",
    "absent",
    *(each.value for each in State),
)

_TERMINALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "THEN": ("'then'", ("then",)),
    "NODE_VERB": ("a command", _NODE_VERBS),
    "OWN": ("a command", ()),
    "OWN_WITH_WORDS": ("a command", ()),
    "TIME": ("a time (400ms, 2s)", ()),
    "PERCENT": ("a percentage (30%)", ()),
    "NUMBER": ("a node's number", ()),
    "WORD": ("all, coordinator, coordinators", ("all", "coordinator", "coordinators")),
    "WHO": ("all, any, coordinator", ("all", "any", "coordinator")),
    "STATE": (f"what it is ({', '.join(STATES)})", tuple(STATES)),
    "STATUS": (f"a status ({', '.join(_STATUSES)})", _STATUSES),
    "COUNTED": (f"a count ({', '.join(COUNTS)})", tuple(COUNTS)),
    "VALUE": ("a word (Normal, none)", (*_STATUSES, *_VALUES)),
    "COMPARISON": ("a comparison (== != < <= > >=)", ("==", "!=", "<", "<=", ">", ">=")),
    "PLUS": ("+ or -", ()),
    "TIMES": ("* or /", ()),
    "ASSERTION": ("an assertion (A1.1)", tuple(ASSERTIONS)),
    "CAUSE": (f"a fault ({', '.join(CAUSES)})", tuple(CAUSES)),
    "MOMENT": ("send, deliver, drop", ("send", "deliver", "drop")),
    "KIND": ("a kind of message (AreYouUp)", ()),
    "NTH": ("which of them (#2)", ()),
    "AMOUNT": ("an amount (12.50)", ()),
    "ACCOUNT": ("an account (savings)", ()),
    "STRING": ('a text in quotes ("4 leads")', ()),
    "JSON": ("what is in it, as JSON ({…})", ()),
    "NAME": ("a name in small letters (coordinator)", ()),
    "DETAIL": ("its words", ()),
    "ARROW": ("->, <->", ("->", "<->")),
    "TO": ("->", ("->",)),
    "FACTOR": ("a factor (0.1)", ()),
    "MAX": ("max", ("max",)),
    "COUNT": ("how many (3)", ()),
    "DOT": ("a dot and a name (4.coordinator)", ()),
    "LPAR": ("'('", ()),
    "RPAR": ("')'", ()),
    "COLON": ("a colon", ()),
    "COMMA": ("a comma", ()),
    "VBAR": ("'|'", ()),
    "_PM": ("±", ()),
    "$END": ("the end", ()),
}
_STARTS = {
    *("THEN", "NODE_VERB", "OWN", "OWN_WITH_WORDS", "_AT", "_AFTER", "_EVERY", "_WHEN", "_ON", "_EXPECT"),
    *(f"_{verb.upper()}" for verb in VERBS),
}
"""What a line begins with, and what may come behind a trigger."""

_TOGETHER: tuple[tuple[set[str], str], ...] = (
    (
        _STARTS - {"THEN", *(f"_{verb.upper()}" for verb in _NODE_VERBS)},
        "a command (kill 5, cut 2->3, say …; all of them: lab ctl --help), a trigger (at, after, every, when, on)"
        " or 'expect'",
    ),
    (
        {"NUMBER", "LPAR", "WHO", "VALUE", "COUNTED", "AMOUNT", "_BALANCE", "_NOT"},
        "a predicate (all normal, 4 suspects 5, groups <= 2)",
    ),
    (
        {"NUMBER", "LPAR", "WHO", "VALUE", "COUNTED", "AMOUNT", "_BALANCE"},
        "a value (4, all.coordinator, groups, Normal)",
    ),
    ({"COMPARISON", "PLUS", "TIMES"}, "a comparison (== != < <= > >=)"),
    ({"NUMBER", "WORD", "NAME"}, "a node (5, all), or a command of the protocol's own (publish)"),
    ({"NUMBER", "WORD"}, "a node (5, all, coordinator)"),
    ({"NUMBER", "WHO"}, "a node (5, any)"),
)
"""Terminals that come together, the more of them the earlier, and what they are called then."""

_ELSEWHERE = {
    "=": "==",
    "=<": "<=",
    "=>": ">= ->",
    "<>": "!=",
    "&": "and",
    "&&": "and",
    "||": "or",
    "!": "not",
    "-": "->",
    "in": "within",
    "sleep": "after",
    "wait": "after",
    "crash": "kill",
    "stop": "kill",
    "terminate": "kill",
    "start": "restart",
    "recover": "restart",
    "revive": "restart",
    "continue": "resume",
    "suspend": "pause",
    "drop": "lose",
    "split": "partition",
    "disconnect": "cut",
    "isolate": "partition",
    "print": "say",
    "echo": "say",
    "assert": "expect",
    "check": "expect",
    "if": "when",
    "until": "when",
}
"""How it is written elsewhere, and what it is here, where that may be."""

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

_UNCLOSED = {'"': ("STRING", "its quotes are not closed"), "{": ("JSON", "its brace is not closed in this line")}

_HEADS = re.compile(
    rf"\d\s*cut\b|\bon\s+status\b|\bon\b(?:\s+\w+)?|\bexpect\s+(?:always|never|violation|no)\b|"
    rf"\b(?:at|after|every|when|expect|{'|'.join(VERBS)})\b"
)
"""The word that says what kind of thing comes behind it; a link that is cut is in the midst of one."""


def explain(text: str, error: "UnexpectedInput", protocol: type[Protocol] | None, example: str = "") -> str:
    """The message for whoever wrote it. ``example``: what to show, where that does not depend on the place."""
    token = getattr(error, "token", None)
    place = len(text) if token is not None and token.type == "$END" else error.pos_in_stream or 0
    got = text[place:].partition(" ")[0]
    parser = getattr(error, "interactive_parser", None)  # what comes next here, not what the lexer would take
    expected: set[str] = (parser.accepts() if parser else set()) or {"$END"}
    near = _nearest(got, expected, protocol)
    said = f"column {place + 1}: " + (
        f"{sanitize(got, 30)!r} is not expected here" if got else "the line ends too soon"
    )
    if near:
        said += f" (did you mean {near!r}?)"
    else:
        said += _why(got, expected)
    if not (near and "_EXPECT" in expected):
        said += f"; expected {_called(expected)}"
    return f"{said}. For example: {example or _example(text[:place], near, '_EXPECT' in expected)}"


def _nearest(got: str, expected: set[str], protocol: type[Protocol] | None) -> str:
    """The word that is meant, perhaps: of those that may be here the one most like it; nothing, if none is."""
    known = {word.lower(): word for word in _words(expected, protocol)}
    start = re.match(r"\w+|[^\w\s\"(]+", got)
    word = start[0].lower() if start else ""
    if word in STATES and "_NOT" in expected:
        return f"all {word}"
    if word in _NUMBERS and "NUMBER" in expected:
        return str(_NUMBERS.index(word))
    for meant in _ELSEWHERE.get(word, "").split():
        if meant in known:
            return meant
    return known[found[0]] if (found := difflib.get_close_matches(word, known, 1)) else ""


def _why(got: str, expected: set[str]) -> str:
    terminal, unclosed = _UNCLOSED.get(got[:1], ("", ""))
    if terminal in expected:
        return f", as {unclosed}"
    if re.fullmatch(r"-\w+", got) and "NUMBER" in expected and "TIME" not in expected:
        return ", as commands have no options"
    begins = {*VERBS, "then", "at", "after", "every", "when", "on", "expect"}
    return ", as a line has one command, and this ends it" if got in begins and "$END" in expected else ""


def _words(expected: set[str], protocol: type[Protocol] | None) -> list[str]:
    """All words that may be here."""
    protocols = [*PROTOCOLS.values(), *TASKS.values()] if protocol is None else [protocol]
    words: list[str] = []
    for terminal in sorted(expected):
        if terminal in ("OWN", "OWN_WITH_WORDS"):
            words += own_commands() if protocol is None else protocol.commands
        elif terminal == "KIND":
            words += [kind for each in protocols for kind in each.payloads]
        elif terminal in _TERMINALS:
            words += _TERMINALS[terminal][1]
        else:
            words.append(terminal[1:].lower())
    return words


def _called(expected: set[str]) -> str:
    left, together = set(expected), []
    for terminals, name in _TOGETHER:
        if terminals <= left:
            left -= _STARTS if terminals <= _STARTS else terminals
            together.append(name)
    names = [name for terminal, (name, _) in _TERMINALS.items() if terminal in left]
    names += [f"{terminal[1:].lower()!r}" for terminal in sorted(left - _TERMINALS.keys())]
    names += together
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _example(before: str, near: str, at_start: bool) -> str:
    """For the place behind these words."""
    heads = [near] if at_start else [each[0] for each in _HEADS.finditer(re.sub(r'"[^"]*"', "", before))]
    for head in reversed(heads):
        words = head.split()
        for name in (" ".join(words), *words[:1]):
            if name in VERBS:
                return VERBS[name].example
            if name in EXPECTATIONS:
                return EXPECTATIONS[name]
            if name in TRIGGERS:
                return f"{TRIGGERS[name]}: kill 5"
    return own_commands()[near].example if near in own_commands() else "when all normal: kill 5"
