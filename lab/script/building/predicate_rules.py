"""Build the structs of ``lab.script.predicates`` from the parse tree."""

from decimal import Decimal
from typing import Any

from lab.script.building.numbers import whole_number
from lab.script.commands import CommandError
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

__all__ = ["PredicateRules"]


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
