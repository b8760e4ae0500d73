"""Explain syntax errors: where the error is, what was got, what was expected, and an example.

The parser knows which terminals of the grammar it would accept at the error. ``_TERMINALS`` describes each of them
and lists its words, of which the closest is suggested. ``_TERMINAL_SETS`` describes sets of terminals by one
phrase.
"""

import difflib
import re
from typing import TYPE_CHECKING

from lab.kernel import Protocol
from lab.properties.assertions import ASSERTIONS
from lab.protocols import PROTOCOLS, TASKS, Election
from lab.script.scope import NodeNames
from lab.script.statements import CAUSES
from lab.script.verbs import BEGINNINGS, VERBS, bare_commands, terminal_of
from lab.script.vocabulary import CONSTANTS, COUNTS, describe_arguments, vocabulary
from lab.text import sanitize

if TYPE_CHECKING:
    from lark import UnexpectedInput


TRIGGERS = {
    "at": "at 2s",
    "after": "after 2s",
    "every": "every 2s",
    "when": "when all.coordinator == 4",
    "on": "on send AreYouUp 4->5",
    "before": "before send NewState 4->1",
    "on store": "on store 4",
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

_NODE_VERBS = ("kill", "restart", "pause", "resume", "wipe", "tear", "flip")
_STATUSES = ("Down", "Election", "Reorganization", "Normal")

_TERMINALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "THEN": ("'then'", ("then",)),
    "NODE_VERB": ("a command", _NODE_VERBS),
    "BARE": ("a command", ()),
    "BARE_WITH_WORDS": ("a command", ()),
    "TIME": ("a time (400ms, 2s)", ()),
    "PERCENT": ("a percentage (30%)", ()),
    "NUMBER": ("a node's number", ()),
    "WORD": ("all, coordinator, coordinators", ("all", "coordinator", "coordinators")),
    "WHO": ("all, any, coordinator", ("all", "any", "coordinator")),
    "STATE": ("", ()),
    "STATUS": (f"a status ({', '.join(_STATUSES)})", _STATUSES),
    "COUNTED": ("", ()),
    "FUNCTION": ("", ()),
    "VALUE": ("", ()),
    "COMPARISON": ("a comparison (== != < <= > >=)", ("==", "!=", "<", "<=", ">", ">=")),
    "PLUS": ("+ or -", ()),
    "TIMES": ("* or /", ()),
    "ASSERTION": ("an assertion (A1.1)", tuple(ASSERTIONS)),
    "PROPERTY": ("a property (one_leader_per_term)", ()),
    "CAUSE": (f"a fault ({', '.join(CAUSES)})", tuple(CAUSES)),
    "EVENT": ("send, deliver, drop", ("send", "deliver", "drop")),
    "MOMENT": ("send, deliver", ("send", "deliver")),
    "_LAST": ("a number of writes (last 2)", ()),
    "KIND": ("a kind of message (AreYouUp)", ()),
    "NTH": ("a position (#2)", ()),
    "AMOUNT": ("an amount (12.50)", ()),
    "ARGUMENT": ("", ()),
    "STRING": ('a quoted text ("4 leads")', ()),
    "JSON": ("a payload as JSON ({…})", ()),
    "NAME": ("a name in lower case (coordinator)", ()),
    "DETAIL": ("an argument", ()),
    "ARROW": ("->, <->", ("->", "<->")),
    "TO": ("->", ("->",)),
    "FACTOR": ("a factor (0.1)", ()),
    "MAX": ("max", ("max",)),
    "COUNT": ("a number (3)", ()),
    "DOT": ("a dot and a name (4.coordinator)", ()),
    "LPAR": ("'('", ()),
    "RPAR": ("')'", ()),
    "COLON": ("a colon", ()),
    "COMMA": ("a comma", ()),
    "VBAR": ("'|'", ()),
    "_PM": ("±", ()),
    "$END": ("the end of the line", ()),
}
"""(description, words) of each terminal; empty for those whose words depend on the protocol: ``_terminals``."""


def _terminals(protocol: type[Protocol] | None, names: NodeNames | None) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return (description, words) of all terminals; COUNTED stands for QUANTITY too."""
    words = vocabulary(protocol)
    others = () if names is None else tuple(name for _, name in names.others)
    counts = (*COUNTS, *words.quantities)
    return _TERMINALS | {
        "NODE_NAME": (f"a name ({sanitize(', '.join(others))})", others),
        "STATE": (f"a state ({', '.join(words.states)})", words.states),
        "COUNTED": (f"a count ({', '.join(counts)})", counts),
        "FUNCTION": (f"a function ({', '.join(words.functions)})", words.functions),
        "ARGUMENT": (describe_arguments(), ()),
        "VALUE": ("a word (Normal, none)", (*_STATUSES, *CONSTANTS, *(word for _, word in words.words))),
    }


_STARTS = {
    *(
        "THEN",
        "NODE_VERB",
        "BARE",
        "BARE_WITH_WORDS",
        "_AT",
        "_AFTER",
        "_EVERY",
        "_WHEN",
        "_ON",
        "_BEFORE",
        "_EXPECT",
    ),
    *map(terminal_of, VERBS),
}
"""The terminals that can start a line, or follow a trigger."""

_PREDICATE = "a predicate (all normal, 4 suspects 5, groups <= 2)"
_WATCH = "a value or a predicate (4.coordinator, all.status, groups, all normal)"

_TERMINAL_SETS: tuple[tuple[set[str], str], ...] = (
    (
        _STARTS - {"THEN", *map(terminal_of, _NODE_VERBS)},
        "a command (kill 5, cut 2->3, say …; all of them: lab ctl --help), a trigger (at, after, every, when, on,"
        " before) or 'expect'",
    ),
    (
        {"NUMBER", "LPAR", "WHO", "VALUE", "STRING", "COUNTED", "FUNCTION", "AMOUNT", "_NOT"},
        _PREDICATE,
    ),
    (
        {"NUMBER", "LPAR", "WHO", "VALUE", "STRING", "COUNTED", "FUNCTION", "AMOUNT"},
        'a value (4, "a text", all.coordinator, groups, Normal)',
    ),
    ({"COMPARISON", "PLUS", "TIMES"}, "a comparison (== != < <= > >=)"),
    ({"NUMBER", "WORD", "NAME"}, "a node (5, all), or a protocol command (publish)"),
    ({"NUMBER", "WORD"}, "a node (5, all, coordinator)"),
    ({"NUMBER", "WHO"}, "a node (5, any)"),
)
"""Sets of terminals that occur together, larger sets first, each with one description for all of them."""

_SYNONYMS = {
    "==": "=",
    "!=": "<>",
    "<=": "=<",
    ">=": "=>",
    "->": "=> -",
    "and": "& &&",
    "or": "||",
    "not": "!",
    "within": "in",
    "after": "sleep wait",
    "kill": "crash stop terminate",
    "restart": "start recover revive",
    "resume": "continue",
    "pause": "suspend",
    "lose": "drop",
    "partition": "split isolate",
    "cut": "disconnect",
    "say": "print echo",
    "expect": "assert check",
    "when": "if until",
}
"""Our words and operators, each with those of other languages for it."""

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

_AFTER_ATTRIBUTE = {"COMPARISON", "LSQB"}

_UNCLOSED = {'"': ("STRING", "its quotes are not closed"), "{": ("JSON", "its brace is not closed in this line")}

_HEADS = re.compile(
    rf"\d\s*cut\b|\bon\s+(?:status|store)\b|\bon\b(?:\s+\w+)?|\bexpect\s+(?:always|never|violation|no)\b|"
    rf"\b(?:at|after|every|when|before|expect|{'|'.join(sorted(VERBS, reverse=True))})\b"
)
"""The words that start a construct, to choose an example by; ``2->3 cut`` is part of a predicate, and skipped."""


def explain_error(
    text: str,
    error: "UnexpectedInput",
    protocol: type[Protocol] | None,
    names: NodeNames | None = None,
    example: str = "",
    is_watch: bool = False,
) -> str:
    """Return the error message. ``example`` replaces the example that is chosen by the place of the error."""
    token = getattr(error, "token", None)
    place = len(text) if token is not None and token.type == "$END" else error.pos_in_stream or 0
    got = text[place:].partition(" ")[0]
    parser = getattr(error, "interactive_parser", None)  # what the grammar accepts next, not the lexer
    expected: set[str] = ((parser.accepts() if parser else set()) or {"$END"}) - {"QUANTITY"}
    expected = {"STRING" if each == "ANSWER" else each for each in expected}
    if names is None or not names.others:
        expected -= {"NODE_NAME"}
    if expected >= _AFTER_ATTRIBUTE:
        expected &= _AFTER_ATTRIBUTE | {"PLUS", "TIMES"}  # what else may follow is the end of the predicate
        expected -= {"LSQB"}
    near = _nearest(got, expected, protocol, names)
    message = f"column {place + 1}: " + (
        f"{sanitize(got, 30)!r} is not expected here" if got else "the line ends too soon"
    )
    if near:
        message += f" (did you mean {near!r}?)"
    else:
        message += _reason(got, expected) or _missing_unit(got or text.rpartition(" ")[2], expected)
    if not (near and "_EXPECT" in expected):
        described = _describe_expected(expected, protocol, names)
        message += f"; expected {described.replace(_PREDICATE, _WATCH) if is_watch else described}"
    example = example or _example(text[:place], near, "_EXPECT" in expected)
    if protocol is not None and not issubclass(protocol, Election):
        example = example.replace("pause coordinator", "pause 5")
    return f"{message}. For example: {example}"


def _nearest(got: str, expected: set[str], protocol: type[Protocol] | None, names: NodeNames | None) -> str:
    """Return the expected word most similar to what was written; empty if none is similar."""
    known = {word.lower(): word for word in _words(expected, protocol, names)}
    start = re.match(r"\w+(?:-[a-z]+)*|[^\w\s\"(]+", got)
    word = start[0].lower() if start else ""
    words = vocabulary(protocol)
    if word in words.states and "_NOT" in expected:
        return f"all {word}"
    if "STATE" in expected and word not in words.states:
        own = next((each for each in words.words if each[1].lower() == word), None)
        if own is not None:
            return f"all.{own[0]} == {own[1]}"
    if word in _NUMBERS and "NUMBER" in expected:
        return str(_NUMBERS.index(word))
    for ours, theirs in _SYNONYMS.items():
        if word in theirs.split() and ours in known:
            return ours
    return known[found[0]] if (found := difflib.get_close_matches(word, known, 1)) else ""


_FEW = 10
"""Whoever writes a time without a unit means seconds if it is less, else milliseconds."""


def _reason(got: str, expected: set[str]) -> str:
    terminal, unclosed = _UNCLOSED.get(got[:1], ("", ""))
    if terminal in expected:
        return f", as {unclosed}"
    if re.fullmatch(r"-\w+", got) and "NUMBER" in expected and "TIME" not in expected:
        return ", as commands take no options"
    return ", as a line has only one command" if got in BEGINNINGS and "$END" in expected else ""


def _missing_unit(number: str, expected: set[str]) -> str:
    """Return the unit that a number lacks; empty if it is none, or needs none here."""
    unit = ""
    if re.fullmatch(r"\d+(\.\d+)?", number) and "NUMBER" not in expected:
        if "PERCENT" in expected:
            unit = "%"
        elif "TIME" in expected:
            unit = "s" if float(number) < _FEW else "ms"
    return f", as {number} has no unit (did you mean {number}{unit}?)" if unit else ""


def _words(expected: set[str], protocol: type[Protocol] | None, names: NodeNames | None) -> list[str]:
    """Return all words that are accepted here."""
    protocols = [*PROTOCOLS.values(), *TASKS.values()] if protocol is None else [protocol]
    terminal_texts = _terminals(protocol, names)
    words: list[str] = []
    for terminal in sorted(expected):
        if terminal in ("BARE", "BARE_WITH_WORDS"):
            words += bare_commands() if protocol is None else protocol.commands
        elif terminal == "KIND":
            words += [kind for each in protocols for kind in each.payloads]
        elif terminal in terminal_texts:
            words += terminal_texts[terminal][1]
        else:
            words.append(_word_of(terminal))
    return words


def _word_of(terminal: str) -> str:
    return terminal[1:].lower().replace("_", "-")


def _describe_expected(expected: set[str], protocol: type[Protocol] | None, names: NodeNames | None) -> str:
    terminal_texts = _terminals(protocol, names)
    left, together = expected - {"RANGE"}, []  # a range of nodes comes where a node does
    for terminals, name in _TERMINAL_SETS:
        if terminals <= left:
            left -= _STARTS if terminals <= _STARTS else terminals
            together.append(name)
    texts = [name for terminal, (name, _) in terminal_texts.items() if terminal in left]
    texts += [f"{_word_of(terminal)!r}" for terminal in sorted(left - terminal_texts.keys())]
    texts += together
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def _example(before: str, near: str, at_start: bool) -> str:
    """Return an example for the place after these words."""
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
    return bare_commands()[near].example if near in bare_commands() else "when all normal: kill 5"
