"""Parse by ``grammar.lark``, and build statements from the parse tree.

Importing lark takes a tenth of a second, so import this module when the first line is parsed.
"""

import functools
import re
from collections.abc import Iterable
from decimal import Decimal
from importlib.resources import files
from typing import Any, Literal

from lark import Lark, Token, Transformer, Tree, v_args
from lark.exceptions import VisitError

from lab.kernel.storage import NEWEST
from lab.protocols.services import SERVICES
from lab.script.commands import (
    FASTEST,
    MOST_STEPS,
    SLOWEST,
    Answer,
    Cancel,
    Caption,
    Heal,
    Hint,
    Inject,
    LinkFault,
    LinkSet,
    NodeCommand,
    Nodes,
    Partition,
    ProtocolCommandLine,
    Slow,
    SlowDisk,
    WorldCommand,
    unescape,
)
from lab.script.parser_tables import parser_of
from lab.script.predicates import And, Compare, Is, IsTrue, LinkIs, Not, Or, Predicate, Suspects
from lab.script.scope import UNKNOWN_NODE, CommandError, NamedNode, NodeNames
from lab.script.statements import (
    CAUSES,
    After,
    At,
    BeforeMessage,
    Every,
    Expect,
    ExpectThroughout,
    ExpectViolation,
    OnMessage,
    OnStatus,
    OnStore,
    When,
)
from lab.script.values import Arithmetic, Attribute, Count, Number, Quantity, QuotedText, Text, Value, Who
from lab.script.verbs import terminal_of
from lab.script.vocabulary import CONSTANTS, COUNTS, Vocabulary
from lab.script.watches import watch_for
from lab.units import parse_us

_NO_MATCH = "(?!)."
"""A pattern that matches nothing; lark rejects an empty one."""
_DEPTH_LIMIT = 60
"""Limit of the nesting depth, because predicates are evaluated by recursion."""
_MOST_DIGITS = 9
_WORD = re.compile(r'"([a-z]+(?:-[a-z]+)*)"')
"""A word in quotes in the grammar."""

_Kinds = tuple[str, ...]


def read(
    text: str,
    start: Literal["start", "predicate", "watch"],
    vocabulary: Vocabulary,
    names: NodeNames | None,
) -> tuple[int, Any]:
    """Parse a line, a predicate or a watch; return where the last part of its text begins, and what it says.

    A line is a list: ``then`` or None, its triggers, its command. ``names`` as for ``parse``. Raises CommandError
    and lark's UnexpectedInput.
    """
    tree = _parser(vocabulary, () if names is None else names.beyond(SERVICES)).parse(text, start)
    if _depth(tree) > _DEPTH_LIMIT:
        raise CommandError("this line is nested too deeply; shorten it, or split it into several lines")
    last: Any = tree.children[-1]
    try:
        return last.meta.start_pos, _Build(vocabulary, names).transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, ValueError | CommandError):
            raise CommandError(str(error.orig_exc)) from None
        raise


@functools.cache
def _parser(vocabulary: Vocabulary, own_names: tuple[str, ...]) -> Lark:
    grammar = files("lab.script").joinpath("grammar.lark").read_text("utf-8")
    alone, with_words = vocabulary.commands
    words: dict[str, Iterable[str]] = {
        "NODE_NAMES": map(re.escape, (*SERVICES, *own_names)),
        "STATE_WORDS": vocabulary.states,
        "COUNT_WORDS": COUNTS,
        "QUANTITY_WORDS": vocabulary.quantities or [_NO_MATCH],
        "FUNCTION_WORDS": vocabulary.functions or [_NO_MATCH],
        "CONSTANT_WORDS": dict.fromkeys((*CONSTANTS, *(word for _, word in vocabulary.words))),
        "CAUSE_WORDS": CAUSES,
        "COMMANDS_ALONE": sorted(alone) or [_NO_MATCH],
        "COMMANDS_WITH_WORDS": sorted(with_words) or [_NO_MATCH],
    }
    for name, each in words.items():
        grammar = grammar.replace(name, "|".join(each))
    words_of_rules = sorted(set(re.findall(_WORD, grammar)))
    grammar = re.sub(_WORD, lambda word: terminal_of(word[1]), grammar)
    grammar += "".join(f"\n{terminal_of(word)}: /{word}\\b/" for word in words_of_rules)
    return parser_of(
        grammar,
        start=["start", "predicate", "watch"],
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _depth(tree: Tree[Token]) -> int:
    depth, level = 0, [tree]  # no recursion: the tree may be too deep for it
    while level:
        depth += 1
        level = [child for each in level for child in each.children if isinstance(child, Tree)]
    return depth


_MOST_IN_RANGE = 10_000


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise CommandError(f"{text[:20]} is too large a number")
    return int(text)


def _node_ids(named: str | NamedNode) -> Iterable[int]:
    """Return the ids that ``5``, ``1-6`` or a name stands for."""
    if isinstance(named, NamedNode):
        return (named,)
    first, dash, last = named.partition("-")
    if not dash:
        return (int(first),)
    ids = range(_whole_number(first), _whole_number(last) + 1)
    if not 0 < len(ids) <= _MOST_IN_RANGE:
        raise CommandError(
            f"{named[:40]}: a range of nodes goes up, such as 1-6, over at most {_MOST_IN_RANGE:,} nodes"
        )
    return ids


def _nth(text: str | None) -> int:
    number = _whole_number((text or "#1")[1:])
    if number < 1:
        raise CommandError("#0: the first one is #1")
    return number


def _unquoted(quoted: str) -> str:
    return _not_empty(" ".join(quoted[1:-1].split()))


def _answered(quoted: str) -> str:
    return _not_empty(unescape(quoted[1:-1]).strip())


def _not_empty(text: str) -> str:
    if not text:
        raise CommandError('the text between the quotes is empty; for example: say "4 is the first to notice"')
    return text


def _probability(percent: str) -> float:
    share = float(f"{percent[:-1]}e-2")
    if share > 1:
        raise CommandError(f"{percent} is out of range: write 0% to 100%")
    return share


def _task(verb: str, text: str) -> int:
    task = int(text) if len(text) < 4 else 0
    if not task:
        raise CommandError(f"{verb} {text[:20]}: tasks are numbered from 1")
    return task


def _step_count(verb: str, text: str) -> int:
    count = int(text) if len(text) < 9 else 0
    if not 1 <= count <= MOST_STEPS:
        raise CommandError(f"{verb} {text[:20]} is out of range: write 1 to {MOST_STEPS}")
    return count


@v_args(inline=True)
class _Build(Transformer[Token, Any]):
    """One method or class per rule; its arguments are the rule's parts, None for those that are left out.

    Terminals are texts, but for percentages, quoted texts and names of nodes. Lark wraps the ValueError and
    CommandError that are raised here in VisitError.
    """

    PERCENT = staticmethod(_probability)
    STRING = staticmethod(_unquoted)
    ANSWER = staticmethod(_answered)

    def __init__(self, vocabulary: Vocabulary, names: NodeNames | None) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self._names = names

    def NODE_NAME(self, name: Token) -> NamedNode:  # noqa: N802 - lark calls it by the name of the terminal
        return NamedNode(UNKNOWN_NODE, str(name)) if self._names is None else self._names.node(str(name))

    def __default_token__(self, token: Token) -> str:
        return str(token)

    def start(self, *parts: Any) -> list[Any]:
        return list(parts)

    # triggers

    when = When

    def at(self, time: str) -> At:
        return At(parse_us(time))

    def after(self, time: str) -> After:
        return After(parse_us(time))

    def every(self, time: str) -> Every:
        us = parse_us(time)
        if us < 1000:
            raise CommandError(f"every {time} is too short: write 1ms or more")
        return Every(us)

    def on_message(
        self, event: Any, kind: str, source: int | None, target: int | None, nth: str | None
    ) -> OnMessage:
        return OnMessage(event, kind, source, target, _nth(nth))

    def before_message(
        self, event: Any, kind: str, source: int | None, target: int | None, nth: str | None
    ) -> BeforeMessage:
        return BeforeMessage(event, kind, source, target, _nth(nth))

    def on_store(self, who: Any, nth: str | None) -> OnStore:
        if who in ("all", "coordinator"):
            raise CommandError("on store takes a node or any: on store any")
        return OnStore(who, _nth(nth))

    def on_status(self, who: Any, status: str) -> OnStatus:
        if who in ("all", "coordinator"):
            raise CommandError(
                f"on status takes a node or any: on status any {status}; for all nodes, write when all normal"
            )
        return OnStatus(who, status)

    # commands

    node_command = NodeCommand
    heal = Heal

    def nodes(self, *named: Any) -> Nodes:
        words: tuple[Any, ...] = tuple(each for each in named if isinstance(each, str) and each.isalpha())
        return Nodes(tuple(node for each in named if each not in words for node in _node_ids(each)), words)

    def links(self, sources: Nodes, arrow: str | None, targets: Nodes | None) -> LinkSet:
        return LinkSet(sources, targets, arrow == "<->")

    def kinds(self, *kinds: str) -> tuple[str, ...]:
        return kinds

    def unwrite(self, nodes: Nodes, count: str | None) -> NodeCommand:
        writes = _whole_number(count or "1")
        if not 1 <= writes <= NEWEST:
            raise CommandError(f"last {writes} is out of range: write 1 to {NEWEST}")
        return NodeCommand("unwrite", nodes, writes)

    def slow(self, nodes: Nodes, time: str, jitter: str | None) -> Slow:
        return Slow(nodes, parse_us(time), parse_us(jitter or "0s"))

    def slow_disk(self, nodes: Nodes, time: str) -> SlowDisk:
        return SlowDisk(nodes, parse_us(time))

    def delay(self, links: LinkSet, kinds: _Kinds, time: str, jitter: str | None) -> LinkFault:
        return LinkFault("delay", links, parse_us(time), parse_us(jitter or "0s"), kinds=kinds)

    def lose(self, links: LinkSet, kinds: _Kinds, probability: float) -> LinkFault:
        return LinkFault("lose", links, probability=probability, kinds=kinds)

    def duplicate(self, links: LinkSet, kinds: _Kinds, probability: float, spread: str | None) -> LinkFault:
        return LinkFault("duplicate", links, parse_us(spread or "0s"), probability=probability, kinds=kinds)

    def reorder(self, links: LinkSet, kinds: _Kinds, probability: float, spread: str | None) -> LinkFault:
        return LinkFault("reorder", links, parse_us(spread or "100ms"), probability=probability, kinds=kinds)

    def hold(self, links: LinkSet, kinds: _Kinds) -> LinkFault:
        return LinkFault("hold", links, kinds=kinds)

    def cut(self, links: LinkSet) -> LinkFault:
        return LinkFault("cut", links)

    def release(self, links: LinkSet | None) -> Heal:
        return Heal(links, "release")

    def join(self, links: LinkSet) -> Heal:
        return Heal(links, "join")

    def partition(self, *sides: Nodes) -> Partition:
        return Partition(sides)

    def inject(self, source: int, target: int, kind: str, body: str | None) -> Inject:
        return Inject(source, target, kind, body or "{}")

    def protocol_command(self, nodes: Nodes, command: str, *words: str) -> ProtocolCommandLine:
        return ProtocolCommandLine(nodes, command, words)

    def bare_command(self, command: str, nodes: Nodes | None) -> ProtocolCommandLine:
        return ProtocolCommandLine(nodes, command)

    def bare_command_with_words(self, command: str, *words: str) -> ProtocolCommandLine:
        return ProtocolCommandLine(None, command, words)

    def caption(self, text: str) -> Caption:
        return Caption("say", text)

    def mark(self, text: str) -> Caption:
        return Caption("mark", text)

    def answer(self, task: str, text: str) -> Answer:
        return Answer(_task("answer", task), text)

    def hint(self, task: str) -> Hint:
        return Hint(_task("hint", task))

    def cancel(self) -> Cancel:
        return Cancel()

    def freeze(self) -> WorldCommand:
        return WorldCommand("freeze")

    def go(self) -> WorldCommand:
        return WorldCommand("go")

    def speed(self, text: str) -> WorldCommand:
        factor = None if text == "max" else float(text.removesuffix("x"))
        if factor is not None and not SLOWEST <= factor <= FASTEST:
            raise CommandError(f"speed {text} is out of range: write {SLOWEST:g} to {FASTEST:g}, or max")
        return WorldCommand("speed", factor)

    def step(self, count: str | None) -> WorldCommand:
        return WorldCommand("step", count=_step_count("step", count or "1"))

    def choose_event(self, count: str) -> WorldCommand:
        return WorldCommand("choose", count=_step_count("choose", count))

    def deliver(self, source: int, target: int, kind: str | None) -> WorldCommand:
        return WorldCommand("deliver", source=source, node=target, kind=kind or "")

    def fire_timer(self, node: int) -> WorldCommand:
        return WorldCommand("fire", node=node)

    # expectations

    def expect(self, predicate: Predicate, within: str | None) -> Expect:
        return Expect(predicate, None if within is None else parse_us(within))

    def always(self, predicate: Predicate) -> ExpectThroughout:
        return ExpectThroughout(predicate, always=True)

    def never(self, predicate: Predicate) -> ExpectThroughout:
        return ExpectThroughout(predicate, always=False)

    def violation(self, assertion: str, cause: str | None) -> ExpectViolation:
        return ExpectViolation(assertion, cause or "")

    def no_violation(self, assertion: str | None) -> ExpectViolation:
        return ExpectViolation(assertion or "", none=True)

    # predicates

    negation = Not
    is_ = Is

    def any_of(self, *conditions: Predicate) -> Predicate:
        return conditions[0] if len(conditions) == 1 else Or(conditions)

    def all_of(self, *conditions: Predicate) -> Predicate:
        return conditions[0] if len(conditions) == 1 else And(conditions)

    def compare(self, left: Value, operator: Any, right: Value) -> Compare:
        return Compare(operator, self._as_word(left, right), self._as_word(right, left))

    def _as_word(self, side: Value, other: Value) -> Value:
        """Read ``committed`` as a word next to ``4.state``, which may have that value; else it is a quantity."""
        if isinstance(side, Quantity) and isinstance(other, Attribute):
            return Text(side.name) if (other.name, side.name) in self._vocabulary.words else side
        return side

    suspects = Suspects
    link_is = LinkIs

    # watches

    watch = staticmethod(watch_for)

    # values

    text = Text
    member = str
    element = staticmethod(_whole_number)
    quoted_text = QuotedText

    def attribute(self, who: Who, name: str, *path: str | int) -> Attribute:
        return Attribute(who, name, path)

    def is_true(self, who: Who, name: str, *path: str | int) -> IsTrue:
        return IsTrue(Attribute(who, name, path))

    quantity = Quantity

    def who(self, who: Any) -> Who:
        return _whole_number(who) if isinstance(who, str) and who.isdigit() else who

    def node_id(self, node: str | NamedNode) -> int:
        return node if isinstance(node, NamedNode) else _whole_number(node)

    def number(self, text: str) -> Number:
        return Number(_whole_number(text))

    node_number = Number

    def amount(self, text: str) -> Number:
        _whole_number(text.partition(".")[0])
        return Number(Decimal(text))

    def counted(self, what: str, kind: str | None, source: int | None, target: int | None) -> Count:
        if what not in ("messages", "flying", "held") and (kind or source is not None):
            raise CommandError(f"{what} takes no arguments: write {what}")
        if what == "messages" and source is not None:
            raise CommandError(
                "messages takes only a kind: messages(Accept); to count on one link, write flying(3->1)"
            )
        return Count(what, kind or "", source, target)

    def arithmetic(self, left: Value, operator: Any, right: Value) -> Arithmetic:
        return Arithmetic(operator, left, right)
