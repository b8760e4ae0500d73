"""Build the structs of ``lab.script.triggers`` from the parse tree."""

from typing import Any

from lab.script.building.numbers import whole_number
from lab.script.commands import CommandError
from lab.script.triggers import After, At, Every, OnMessage, OnStatus, When
from lab.units import parse_us

__all__ = ["TriggerRules"]


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
