"""What tests of the judge have in common: to show it records, and to write these in a few words."""

from collections.abc import Iterable
from typing import Any, Self

import msgspec

from lab.kernel import Fired, Message, Received, Step, Wait
from lab.properties import Judge, Violation
from lab.recording.records import Event, Fault, Header, Process, Record
from tests.properties.synthetic import header

__all__ = ["WITHIN_US", "Records", "judged", "said"]

WITHIN_US = 1_000_000
"""So long the nodes of ``Records`` may take to agree."""


def judged(records: Iterable[Record | None]) -> Judge:
    """The judge, after all of them; the first is the header."""
    first, *others = records
    assert isinstance(first, Header)
    judge = Judge(first)
    for record in (first, *others):
        judge.observe(record)
    return judge


def said(violations: Iterable[Violation]) -> list[tuple[str, tuple[int, ...], list[int]]]:
    """The assertion, the nodes, and the broken assumptions of each."""
    return [(v.assertion, v.nodes, [broken.assumption for broken in v.broken]) for v in violations]


class Records:
    """A recording by hand; ``at_us`` is the instant of the next record. All nodes are started at 0."""

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
        """What the judge says of them."""
        return judged(self.records).violations

    def after(self, us: int) -> Self:
        """Let time pass."""
        self.at_us += us
        return self

    def add(self, record: Record | None) -> Self:
        """Any other record."""
        self.records.append(record)
        return self

    def process(self, node: int, event: Event) -> Self:
        """Something happens to a process."""
        return self.add(Process(self.at_us, node, event, 1))

    def fault(
        self, kind: str, *breaks: int, nodes: tuple[int, ...] = (), links: tuple[tuple[int, int], ...] = ()
    ) -> int:
        """A fault comes into force; its number."""
        self._faults += 1
        text = f"{kind} {self._faults}"
        self.add(Fault(self.at_us, self._faults, kind, text, nodes, breaks, links))
        return self._faults

    def lift(self, number: int, kind: str = "") -> Self:
        """It ends."""
        return self.add(Fault(self.at_us, number, kind, lifted=True))

    def says(self, node: int, status: str, coordinator: int, definition: Any = None, **more: Any) -> Self:
        """A timer of the node fires, and it has this state."""
        changed = {"status": status, "coordinator": coordinator, "definition": definition}
        return self.add(Step(self.at_us, node, 1, Fired("timer"), changed, **more))

    def normal(self, coordinator: int, *nodes: int) -> Self:
        """These are Normal under that one."""
        for node in nodes:
            self.says(node, "Normal", coordinator)
        return self

    def grouped(self, group: Any, coordinator: int, *nodes: int, status: str = "Normal") -> Self:
        """These are in that group under that one."""
        for node in nodes:
            changed = {"status": status, "coordinator": coordinator, "group": group, "definition": group}
            self.add(Step(self.at_us, node, 1, Fired("timer"), changed))
        return self

    def sends(self, node: int, target: int) -> int:
        """The node sends something; its serial."""
        self._serial += 1
        message = Message(node, target, self._serial, "Say", msgspec.Raw(b"{}"))
        self.add(Step(self.at_us, node, 1, Fired("timer"), sent=(message,)))
        return self._serial

    def gets(self, node: int, source: int, serial: int) -> Self:
        """The node gets it."""
        return self.add(Step(self.at_us, node, 1, Received(source, serial)))

    def waits(self, node: int, until_us: int) -> Self:
        """A procedure of the node begins to wait."""
        wait = Wait("timer", 1, "something", self.at_us, until_us)
        return self.add(Step(self.at_us, node, 1, Fired("other"), waits=(wait,)))

    def fires(self, node: int) -> Self:
        """Its time is up."""
        return self.add(Step(self.at_us, node, 1, Fired("timer")))
