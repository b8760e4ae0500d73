"""From the parse tree to the structs of commands, triggers, predicates and expectations."""

import functools
from typing import TYPE_CHECKING, Any

from lab.script.commands import (
    FASTEST,
    MOST_STEPS,
    SLOWEST,
    Caption,
    CommandError,
    Heal,
    Inject,
    LinkFault,
    LinkSet,
    NodeCommand,
    Nodes,
    Partition,
    Slow,
    Tell,
    WorldCommand,
)
from lab.script.expectations import Expect, ExpectThroughout, ExpectViolation
from lab.script.predicates import (
    All,
    Arithmetic,
    Attribute,
    Compare,
    Count,
    Is,
    LinkIs,
    Not,
    Number,
    Predicate,
    Suspects,
    Text,
    Who,
)
from lab.script.predicates import Any as AnyOf
from lab.script.triggers import After, At, Every, OnMessage, OnStatus, When
from lab.units import parse_us

if TYPE_CHECKING:
    from lark import Transformer

__all__ = ["transformer"]

_LARGEST = 10**9


@functools.cache
def transformer() -> "Transformer[Any, Any]":
    """What builds them. ValueError and CommandError come out of it wrapped, as lark does."""
    from lark import Transformer  # noqa: PLC0415 - a tenth of a second, needed at the first command

    class Build(Transformer[Any, Any], _Triggers, _Commands, _Predicates):
        """A method for each rule of the grammar."""

        def start(self, items: list[Any]) -> Any:
            return items

    return Build()


class _Triggers:
    def at(self, items: list[Any]) -> At:
        return At(parse_us(items[0]))

    def after(self, items: list[Any]) -> After:
        return After(parse_us(items[0]))

    def every(self, items: list[Any]) -> Every:
        us = parse_us(items[0])
        if us < 1000:
            raise CommandError(f"every {items[0]}: a millisecond is the least")
        return Every(us)

    def when(self, items: list[Any]) -> When:
        return When(items[0])

    def on_message(self, items: list[Any]) -> OnMessage:
        moment, kind, source, target, nth = items
        number = 1 if nth is None else _number(nth[1:])
        if number < 1:
            raise CommandError("#0: the first one is #1")
        ends = [None if end is None else _number(end) for end in (source, target)]
        return OnMessage(str(moment), str(kind), ends[0], ends[1], number)  # type: ignore[arg-type]

    def on_status(self, items: list[Any]) -> OnStatus:
        who, status = items
        if who in ("all", "coordinator"):
            raise CommandError(
                f"on status is of one node, or any: on status any {status}; or write when all normal"
            )
        return OnStatus(who, str(status))

    def expect(self, items: list[Any]) -> Expect:
        predicate, within = items
        return Expect(predicate, None if within is None else parse_us(within))

    def always(self, items: list[Any]) -> ExpectThroughout:
        return ExpectThroughout(items[0], always=True)

    def never(self, items: list[Any]) -> ExpectThroughout:
        return ExpectThroughout(items[0], always=False)

    def violation(self, items: list[Any]) -> ExpectViolation:
        assertion, cause = items
        return ExpectViolation(str(assertion), str(cause or ""))

    def no_violation(self, items: list[Any]) -> ExpectViolation:
        return ExpectViolation(str(items[0] or ""), none=True)


class _Commands:
    def node_command(self, items: list[Any]) -> NodeCommand:
        return NodeCommand(str(items[0]), items[1])  # type: ignore[arg-type]

    def slow(self, items: list[Any]) -> Slow:
        nodes, time, jitter = items
        return Slow(nodes, parse_us(time), parse_us(jitter) if jitter else 0)

    def delay(self, items: list[Any]) -> LinkFault:
        links, kinds, delay, jitter = items
        return LinkFault("delay", links, parse_us(delay), parse_us(jitter) if jitter else 0, kinds=kinds)

    def lose(self, items: list[Any]) -> LinkFault:
        links, kinds, percent = items
        return LinkFault("lose", links, probability=_probability(percent), kinds=kinds)

    def duplicate(self, items: list[Any]) -> LinkFault:
        links, kinds, percent = items
        return LinkFault("duplicate", links, probability=_probability(percent), kinds=kinds)

    def reorder(self, items: list[Any]) -> LinkFault:
        links, kinds, percent, spread = items
        return LinkFault(
            "reorder", links, parse_us(spread or "100ms"), probability=_probability(percent), kinds=kinds
        )

    def hold(self, items: list[Any]) -> LinkFault:
        return LinkFault("hold", items[0], kinds=items[1])

    def cut(self, items: list[Any]) -> LinkFault:
        return LinkFault("cut", items[0])

    def release(self, items: list[Any]) -> Heal:
        return Heal(items[0], "release")

    def join(self, items: list[Any]) -> Heal:
        return Heal(items[0], "join")

    def heal(self, items: list[Any]) -> Heal:
        return Heal(items[0])

    def partition(self, items: list[Any]) -> Partition:
        return Partition(tuple(items))

    def inject(self, items: list[Any]) -> Inject:
        source, target, kind, body = items
        return Inject(_number(source), _number(target), str(kind), str(body or "{}"))

    def tell(self, items: list[Any]) -> Tell:
        nodes, command, *words = items
        return Tell(nodes, str(command), tuple(map(str, words)))

    def own(self, items: list[Any]) -> Tell:
        command, nodes = items
        return Tell(nodes, str(command))

    def say(self, items: list[Any]) -> Caption:
        return Caption("say", _said(items[0]))

    def mark(self, items: list[Any]) -> Caption:
        return Caption("mark", _said(items[0]))

    def freeze(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("freeze")

    def go(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("go")

    def speed(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("speed", factor=None if items[0].type == "MAX" else _factor(items[0]))

    def step(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("step", count=_count("step", items[0] or "1"))

    def choose(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("choose", count=_count("choose", items[0]))

    def deliver(self, items: list[Any]) -> WorldCommand:
        source, target, kind = items
        return WorldCommand("deliver", source=int(source), node=int(target), kind=str(kind or ""))

    def fire(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("fire", node=int(items[0]))

    def links(self, items: list[Any]) -> LinkSet:
        sources, arrow, targets = items
        return LinkSet(sources, targets, arrow == "<->")

    def kinds(self, items: list[Any]) -> tuple[str, ...]:
        return tuple(map(str, items))

    def nodes(self, items: list[Any]) -> Nodes:
        ids = tuple(int(item) for item in items if item.type == "NUMBER")
        words = tuple(str(item) for item in items if item.type == "WORD")
        return Nodes(ids, words)  # type: ignore[arg-type]


class _Predicates:
    def any_of(self, items: list[Any]) -> Predicate:
        return items[0] if len(items) == 1 else AnyOf(tuple(items))

    def all_of(self, items: list[Any]) -> Predicate:
        return items[0] if len(items) == 1 else All(tuple(items))

    def negation(self, items: list[Any]) -> Not:
        return Not(items[0])

    def compare(self, items: list[Any]) -> Compare:
        left, operator, right = items
        return Compare(str(operator), left, right)  # type: ignore[arg-type]

    def is_(self, items: list[Any]) -> Is:
        return Is(items[0], str(items[1]))

    def suspects(self, items: list[Any]) -> Suspects:
        return Suspects(*map(_number, items))

    def link_is(self, items: list[Any]) -> LinkIs:
        return LinkIs(*map(_number, items))

    def arithmetic(self, items: list[Any]) -> Arithmetic:
        left, operator, right = items
        return Arithmetic(str(operator), left, right)  # type: ignore[arg-type]

    def number(self, items: list[Any]) -> Number:
        return Number(_number(items[0]))

    def text(self, items: list[Any]) -> Text:
        return Text(str(items[0]))

    def attribute(self, items: list[Any]) -> Attribute:
        return Attribute(items[0], str(items[1]))

    def counted(self, items: list[Any]) -> Count:
        what, kind, source, target = items
        if what not in ("messages", "flying", "held") and (kind or source):
            raise CommandError(f"{what} is one number: write {what} alone")
        if what == "messages" and source:
            raise CommandError("messages are counted by kind only: messages(Accept), or on a link: flying(3->1)")
        ends = (None, None) if source is None else (_number(source), _number(target))
        return Count(str(what), str(kind or ""), *ends)

    def who(self, items: list[Any]) -> Who:
        item = items[0]
        return _number(item) if item.type == "NUMBER" else str(item)  # type: ignore[return-value]


def _said(quoted: str) -> str:
    text = " ".join(quoted[1:-1].split())
    if not text:
        raise CommandError('there is nothing between the quotes: say "4 is the first to notice"')
    return text


def _number(text: str) -> int:
    if len(text) > 9 or int(text) > _LARGEST:
        raise CommandError(f"{text[:20]} is too large a number")
    return int(text)


def _probability(percent: str) -> float:
    share = float(f"{percent[:-1]}e-2")
    if share > 1:
        raise CommandError(f"{percent} is more than all of the messages: write 0% to 100%")
    return share


def _factor(text: str) -> float:
    factor = float(text.removesuffix("x"))
    if not SLOWEST <= factor <= FASTEST:
        raise CommandError(f"speed {text}: from {SLOWEST:g} to {FASTEST:g}, or max")
    return factor


def _count(verb: str, text: str) -> int:
    count = int(text) if len(text) < 9 else 0
    if not 1 <= count <= MOST_STEPS:
        what = "events at once" if verb == "step" else "of those that may happen next"
        raise CommandError(f"{verb} {text[:20]}: from 1 to {MOST_STEPS} {what}")
    return count
