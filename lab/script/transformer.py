"""Turn the parse tree into the structs of commands, triggers, predicates and expectations."""

import functools
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lab.script.commands import (
    FASTEST,
    MOST_STEPS,
    SLOWEST,
    Answer,
    Caption,
    CommandError,
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
    WorldCommand,
)
from lab.script.predicates import (
    All,
    Arithmetic,
    Attribute,
    Balance,
    Compare,
    Count,
    Is,
    LinkIs,
    Not,
    Number,
    Predicate,
    Suspects,
    Text,
    Value,
    Who,
)
from lab.script.predicates import Any as AnyOf
from lab.script.statements import (
    After,
    At,
    Every,
    Expect,
    ExpectThroughout,
    ExpectViolation,
    OnMessage,
    OnStatus,
    When,
)
from lab.units import parse_us

if TYPE_CHECKING:
    from lark import Transformer

_MOST_DIGITS = 9


def whole_number(text: str) -> int:
    """Return the number. Raises CommandError if it has more than nine digits."""
    if len(text) > _MOST_DIGITS:
        raise CommandError(f"{text[:20]} is too large a number")
    return int(text)


class TriggerRules:
    """One method per grammar rule for a trigger."""

    def at(self, items: list[Any]) -> At:
        return At(parse_us(items[0]))

    def after(self, items: list[Any]) -> After:
        return After(parse_us(items[0]))

    def every(self, items: list[Any]) -> Every:
        us = parse_us(items[0])
        if us < 1000:
            raise CommandError(f"every {items[0]} is too short: write 1ms or more")
        return Every(us)

    def when(self, items: list[Any]) -> When:
        return When(items[0])

    def on_message(self, items: list[Any]) -> OnMessage:
        event, kind, source, target, nth = items
        number = 1 if nth is None else whole_number(nth[1:])
        if number < 1:
            raise CommandError("#0: the first one is #1")
        ends = [None if end is None else whole_number(end) for end in (source, target)]
        return OnMessage(str(event), str(kind), ends[0], ends[1], number)  # type: ignore[arg-type]

    def on_status(self, items: list[Any]) -> OnStatus:
        who, status = items
        if who in ("all", "coordinator"):
            raise CommandError(
                f"on status takes a node or any: on status any {status}; for all nodes, write when all normal"
            )
        return OnStatus(who, str(status))


class CommandRules:
    """One method per grammar rule for a command, or for its operands: nodes, links, kinds."""

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
        return Inject(whole_number(source), whole_number(target), str(kind), str(body or "{}"))

    def protocol_command(self, items: list[Any]) -> ProtocolCommandLine:
        nodes, command, *words = items
        return ProtocolCommandLine(nodes, str(command), tuple(map(str, words)))

    def bare_command(self, items: list[Any]) -> ProtocolCommandLine:
        command, nodes = items
        return ProtocolCommandLine(nodes, str(command))

    def bare_command_with_words(self, items: list[Any]) -> ProtocolCommandLine:
        command, *words = items
        return ProtocolCommandLine(None, str(command), tuple(map(str, words)))

    def caption(self, items: list[Any]) -> Caption:
        return Caption("say", _text_of(items[0]))

    def mark(self, items: list[Any]) -> Caption:
        return Caption("mark", _text_of(items[0]))

    def answer(self, items: list[Any]) -> Answer:
        task, text = items
        return Answer(_task("answer", task), _text_of(text))

    def hint(self, items: list[Any]) -> Hint:
        return Hint(_task("hint", items[0]))

    def freeze(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("freeze")

    def go(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("go")

    def speed(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("speed", factor=None if items[0].type == "MAX" else _factor(items[0]))

    def step(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("step", count=_count("step", items[0] or "1"))

    def choose_event(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("choose", count=_count("choose", items[0]))

    def deliver(self, items: list[Any]) -> WorldCommand:
        source, target, kind = items
        return WorldCommand("deliver", source=int(source), node=int(target), kind=str(kind or ""))

    def fire_timer(self, items: list[Any]) -> WorldCommand:
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


def _text_of(quoted: str) -> str:
    text = " ".join(quoted[1:-1].split())
    if not text:
        raise CommandError('the text between the quotes is empty; for example: say "4 is the first to notice"')
    return text


def _task(verb: str, text: str) -> int:
    task = int(text) if len(text) < 4 else 0
    if not task:
        raise CommandError(f"{verb} {text[:20]}: tasks are numbered from 1")
    return task


def _probability(percent: str) -> float:
    share = float(f"{percent[:-1]}e-2")
    if share > 1:
        raise CommandError(f"{percent} is out of range: write 0% to 100%")
    return share


def _factor(text: str) -> float:
    factor = float(text.removesuffix("x"))
    if not SLOWEST <= factor <= FASTEST:
        raise CommandError(f"speed {text} is out of range: write {SLOWEST:g} to {FASTEST:g}, or max")
    return factor


def _count(verb: str, text: str) -> int:
    count = int(text) if len(text) < 9 else 0
    if not 1 <= count <= MOST_STEPS:
        raise CommandError(f"{verb} {text[:20]} is out of range: write 1 to {MOST_STEPS}")
    return count


class PredicateRules:
    """One method per grammar rule for a predicate, or for a part of one."""

    def any_of(self, items: list[Any]) -> Predicate:
        return items[0] if len(items) == 1 else AnyOf(tuple(items))

    def all_of(self, items: list[Any]) -> Predicate:
        return items[0] if len(items) == 1 else All(tuple(items))

    def negation(self, items: list[Any]) -> Not:
        return Not(items[0])

    def compare(self, items: list[Any]) -> Compare:
        left, operator, right = items
        sides = _as_state(left, right), _as_state(right, left)
        return Compare(str(operator), *sides)  # type: ignore[arg-type]

    def is_(self, items: list[Any]) -> Is:
        return Is(items[0], str(items[1]))

    def suspects(self, items: list[Any]) -> Suspects:
        return Suspects(*map(whole_number, items))

    def link_is(self, items: list[Any]) -> LinkIs:
        return LinkIs(*map(whole_number, items))

    def arithmetic(self, items: list[Any]) -> Arithmetic:
        left, operator, right = items
        return Arithmetic(str(operator), left, right)  # type: ignore[arg-type]

    def number(self, items: list[Any]) -> Number:
        return Number(whole_number(items[0]))

    def amount(self, items: list[Any]) -> Number:
        whole_number(items[0].partition(".")[0])
        return Number(Decimal(items[0]))

    def balance(self, items: list[Any]) -> Balance:
        return Balance(str(items[0]))

    def text(self, items: list[Any]) -> Text:
        return Text(str(items[0]))

    def attribute(self, items: list[Any]) -> Attribute:
        return Attribute(items[0], str(items[1]))

    def counted(self, items: list[Any]) -> Count:
        what, kind, source, target = items
        if what not in ("messages", "flying", "held") and (kind or source):
            raise CommandError(f"{what} takes no arguments: write {what}")
        if what == "messages" and source:
            raise CommandError(
                "messages takes only a kind: messages(Accept); to count on one link, write flying(3->1)"
            )
        ends = (None, None) if source is None else (whole_number(source), whole_number(target))
        return Count(str(what), str(kind or ""), *ends)

    def who(self, items: list[Any]) -> Who:
        item = items[0]
        return whole_number(item) if item.type == "NUMBER" else str(item)  # type: ignore[return-value]


def _as_state(side: Value, other: Value) -> Value:
    """Read ``committed`` and ``aborted`` as transaction states next to ``.state``; elsewhere they are counts."""
    about_state = isinstance(other, Attribute) and other.name == "state"
    if about_state and isinstance(side, Count) and side.what in ("committed", "aborted"):
        return Text(side.what)
    return side


class ExpectationRules:
    """One method per grammar rule for an expectation."""

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


@functools.cache
def transformer() -> "Transformer[Any, Any]":
    """Return the transformer. Lark wraps the ValueError and CommandError that its methods raise in VisitError."""
    from lark import Transformer  # noqa: PLC0415 - a tenth of a second, needed at the first command

    class Build(Transformer[Any, Any], TriggerRules, CommandRules, PredicateRules, ExpectationRules):
        """One method per rule of the grammar."""

        def start(self, items: list[Any]) -> Any:
            return items

    return Build()
