"""Helpers for tests of the judge: pass records to it, and build records briefly."""

from collections.abc import Iterable
from typing import Any, Self

import msgspec

from lab.kernel import Fired, Message, Received, Step, Wait
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.recording.records import Event, Fault, Header, Process, Record
from tests.properties.synthetic import header

__all__ = ["WITHIN_US", "Records", "judged", "summaries"]

WITHIN_US = 1_000_000
"""So long the nodes of ``Records`` may take to agree."""


def judged(records: Iterable[Record | None]) -> Judge:
    """Return a judge after all records; the first is the header."""
    first, *others = records
    assert isinstance(first, Header)
    judge = Judge(first)
    for record in (first, *others):
        judge.observe(record)
    return judge


def summaries(violations: Iterable[Violation]) -> list[tuple[str, tuple[int, ...], list[int | str]]]:
    """Return (assertion, nodes, broken assumptions) of each violation."""
    return [(v.assertion, v.nodes, [broken.assumption for broken in v.broken]) for v in violations]


class Records:
    """A recording by hand; ``at_us`` is the time of the next record. All nodes are started at 0."""

    def __init__(self, nodes: tuple[int, ...] = (1, 2, 3), **info: Any) -> None:
        self.header = header(nodes, **{"settles_within_us": WITHIN_US, **info})
        self.records: list[Record | None] = [self.header]
        self.at_us = 0
        self._serial = 0
        self._faults = 0
        for node in nodes:
            self.process(node, "started")

    @property
    def violations(self) -> list[Violation]:
        """The violations that the judge finds."""
        return judged(self.records).violations

    def after(self, us: int) -> Self:
        """Advance the time."""
        self.at_us += us
        return self

    def add(self, record: Record | None) -> Self:
        """Add any other record."""
        self.records.append(record)
        return self

    def process(self, node: int, event: Event) -> Self:
        """Add an event of a process."""
        return self.add(Process(self.at_us, node, event, 1))

    def fault(
        self, kind: str, *breaks: int, nodes: tuple[int, ...] = (), links: tuple[tuple[int, int], ...] = ()
    ) -> int:
        """Add a fault; return its number."""
        self._faults += 1
        text = f"{kind} {self._faults}"
        self.add(Fault(self.at_us, self._faults, kind, text, nodes, breaks, links))
        return self._faults

    def lift(self, number: int, kind: str = "") -> Self:
        """End a fault."""
        return self.add(Fault(self.at_us, number, kind, lifted=True))

    def enters(self, node: int, status: str, coordinator: int, definition: Any = None, **more: Any) -> Self:
        """Let a timer of the node fire, after which it has this state."""
        changed = {"status": status, "coordinator": coordinator, "definition": definition}
        return self.add(Step(self.at_us, node, 1, Fired("timer"), changed, **more))

    def normal(self, coordinator: int, *nodes: int) -> Self:
        """Make these nodes Normal under a coordinator."""
        for node in nodes:
            self.enters(node, "Normal", coordinator)
        return self

    def grouped(self, group: Any, coordinator: int, *nodes: int, status: str = "Normal") -> Self:
        """Put these nodes into a group under a coordinator."""
        for node in nodes:
            changed = {"status": status, "coordinator": coordinator, "group": group, "definition": group}
            self.add(Step(self.at_us, node, 1, Fired("timer"), changed))
        return self

    def sends(self, node: int, target: int) -> int:
        """Let the node send a message; return its serial."""
        self._serial += 1
        message = Message(node, target, self._serial, "Say", msgspec.Raw(b"{}"))
        self.add(Step(self.at_us, node, 1, Fired("timer"), sent=(message,)))
        return self._serial

    def gets(self, node: int, source: int, serial: int) -> Self:
        """Let the node receive a message."""
        return self.add(Step(self.at_us, node, 1, Received(source, serial)))

    def waits(self, node: int, until_us: int) -> Self:
        """Let a procedure of the node begin to wait."""
        wait = Wait("timer", 1, "something", self.at_us, until_us)
        return self.add(Step(self.at_us, node, 1, Fired("other"), began=(wait,), ended=("*",)))

    def fires(self, node: int) -> Self:
        """Let its timer fire."""
        return self.add(Step(self.at_us, node, 1, Fired("timer"), ended=("timer",)))
