"""Reading a command. The grammar is in ``grammar.lark``; what this adds is errors that help."""

import difflib
import functools
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from lab.kernel import Protocol
from lab.script.commands import (
    FASTEST,
    MOST_STEPS,
    SLOWEST,
    VERBS,
    After,
    At,
    CommandError,
    Heal,
    LinkFault,
    LinkSet,
    NodeCommand,
    Nodes,
    OnMessage,
    Partition,
    Scripted,
    Tell,
    WhenNormal,
    WorldCommand,
)
from lab.script.telling import own_commands
from lab.text import sanitize
from lab.units import parse_us

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
        *triggers, command = _transformer().transform(tree)
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
    first, *then = triggers or [None]
    return Scripted(command, " ".join(text[start:].split()), first, " ".join(text.split()), tuple(then))


@functools.cache
def _parser(own: str) -> "Lark":
    from lark import Lark  # noqa: PLC0415

    grammar = files("lab.script").joinpath("grammar.lark").read_text("utf-8")
    grammar = grammar.replace("OWN_COMMANDS", own or _NOTHING)
    return Lark(grammar, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True)


@functools.cache
def _transformer() -> Any:
    from lark import Transformer  # noqa: PLC0415

    class Build(Transformer[Any, Any]):
        """From the parse tree to the structs of ``commands``."""

        def start(self, items: list[Any]) -> Any:
            return items

        def at(self, items: list[Any]) -> At:
            return At(parse_us(items[0]))

        def after(self, items: list[Any]) -> After:
            return After(parse_us(items[0]))

        def when_normal(self, items: list[Any]) -> WhenNormal:
            return WhenNormal()

        def on_message(self, items: list[Any]) -> OnMessage:
            moment, kind, source, target = items
            ends = (None, None) if source is None else (int(source), int(target))
            return OnMessage(str(moment), str(kind), *ends)  # type: ignore[arg-type]

        def node_command(self, items: list[Any]) -> NodeCommand:
            return NodeCommand(str(items[0]), items[1])  # type: ignore[arg-type]

        def delay(self, items: list[Any]) -> LinkFault:
            links, delay, jitter = items
            return LinkFault("delay", links, parse_us(delay), parse_us(jitter) if jitter else 0)

        def lose(self, items: list[Any]) -> LinkFault:
            return LinkFault("lose", items[0], probability=_probability(items[1]))

        def cut(self, items: list[Any]) -> LinkFault:
            return LinkFault("cut", items[0])

        def duplicate(self, items: list[Any]) -> LinkFault:
            return LinkFault("duplicate", items[0], probability=_probability(items[1]))

        def reorder(self, items: list[Any]) -> LinkFault:
            links, percent, spread = items
            return LinkFault("reorder", links, parse_us(spread or "100ms"), probability=_probability(percent))

        def partition(self, items: list[Any]) -> Partition:
            return Partition(tuple(items))

        def heal(self, items: list[Any]) -> Heal:
            return Heal(items[0])

        def tell(self, items: list[Any]) -> Tell:
            nodes, command, *words = items
            return Tell(nodes, str(command), tuple(map(str, words)))

        def own(self, items: list[Any]) -> Tell:
            command, nodes = items
            return Tell(nodes, str(command))

        def freeze(self, items: list[Any]) -> WorldCommand:
            return WorldCommand("freeze")

        def go(self, items: list[Any]) -> WorldCommand:
            return WorldCommand("go")

        def speed(self, items: list[Any]) -> WorldCommand:
            return WorldCommand("speed", factor=None if items[0].type == "MAX" else _factor(items[0]))

        def step(self, items: list[Any]) -> WorldCommand:
            return WorldCommand("step", count=_count(items[0] or "1"))

        def deliver(self, items: list[Any]) -> WorldCommand:
            source, target, kind = items
            return WorldCommand("deliver", source=int(source), node=int(target), kind=str(kind or ""))

        def fire(self, items: list[Any]) -> WorldCommand:
            return WorldCommand("fire", node=int(items[0]))

        def links(self, items: list[Any]) -> LinkSet:
            sources, arrow, targets = items
            return LinkSet(sources, targets, arrow == "<->")

        def nodes(self, items: list[Any]) -> Nodes:
            ids = tuple(int(item) for item in items if item.type == "NUMBER")
            words = tuple(str(item) for item in items if item.type == "WORD")
            return Nodes(ids, words)  # type: ignore[arg-type]

    return Build()


def _probability(percent: str) -> float:
    share = float(percent[:-1]) / 100
    if share > 1:
        raise CommandError(f"{percent} is more than all of the messages: write 0% to 100%")
    return share


def _factor(text: str) -> float:
    factor = float(text.removesuffix("x"))
    if not SLOWEST <= factor <= FASTEST:
        raise CommandError(f"speed {text}: from {SLOWEST:g} to {FASTEST:g}, or max")
    return factor


def _count(text: str) -> int:
    count = int(text) if len(text) < 9 else 0
    if not 1 <= count <= MOST_STEPS:
        raise CommandError(f"step {text[:20]}: from 1 to {MOST_STEPS} events at once")
    return count


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
