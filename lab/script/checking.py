"""Whether a line can mean anything to a protocol and its nodes: a typo is found before the run."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from lab.journal import Cluster
from lab.kernel import Protocol
from lab.properties import ASSERTIONS
from lab.protocols import Election
from lab.script.commands import (
    CommandError,
    Heal,
    Inject,
    LinkFault,
    NodeCommand,
    Partition,
    Slow,
    Tell,
    WorldCommand,
)
from lab.script.expectations import Expect, ExpectThroughout, ExpectViolation
from lab.script.holding import ATTRIBUTES, parts_of, quantifier_of
from lab.script.predicates import (
    Arithmetic,
    Attribute,
    Compare,
    Count,
    Is,
    LinkIs,
    Predicate,
    Suspects,
    Text,
    Value,
)
from lab.script.resolve import partition_rule, resolve_links, resolve_nodes
from lab.script.telling import told_by
from lab.script.triggers import OnMessage, OnStatus, Scripted, When
from lab.text import did_you_mean

__all__ = ["check_line"]

_ELECTING = ("normal", "election", "reorganization", "leads")


def check_line(line: Scripted, protocol: type[Protocol], ids: Sequence[int]) -> None:
    """CommandError where it names a node, a kind of message, or a part of the state that there is not."""
    _Check(protocol, ids).line(line)


class _Check:
    def __init__(self, protocol: type[Protocol], ids: Sequence[int]) -> None:
        self._protocol = protocol
        self._cluster = Cluster(tuple(ids))

    def line(self, line: Scripted) -> None:
        for trigger in (line.trigger, *line.then):
            if isinstance(trigger, OnMessage):
                self._kinds([trigger.kind])
                self._nodes([trigger.source, trigger.target])
            elif isinstance(trigger, OnStatus):
                self._elects(f"a node of {self._protocol.name} has no Status")
                self._nodes([trigger.who])
            elif isinstance(trigger, When):
                self._predicate(trigger.predicate)
        command = line.command
        if isinstance(command, Expect | ExpectThroughout):
            self._predicate(command.predicate)
        elif isinstance(command, ExpectViolation):
            self._assertion(command.assertion)
        else:
            self._command(command)

    def _command(self, command: Any) -> None:
        if isinstance(command, Tell):
            told_by(command, self._protocol)
        if isinstance(command, NodeCommand | Slow | Tell):
            if command.nodes is not None and not command.nodes.by_role:
                resolve_nodes(command.nodes, self._cluster)
        elif isinstance(command, Partition):
            if not any(side.by_role for side in command.sides):
                partition_rule(command, self._cluster)
        elif isinstance(command, LinkFault | Heal) and command.links is not None:
            ends = (command.links.sources, command.links.targets)
            if not any(end is not None and end.by_role for end in ends):
                resolve_links(command.links, self._cluster)
        elif isinstance(command, Inject):
            self._inject(command)
        elif isinstance(command, WorldCommand):
            self._nodes([node for node in (command.source, command.node) if node])
        if isinstance(command, LinkFault | WorldCommand):
            self._kinds(command.kinds if isinstance(command, LinkFault) else filter(None, [command.kind]))

    def _inject(self, command: Inject) -> None:
        self._nodes([command.source, command.target])
        self._kinds([command.kind])
        if command.source == command.target:
            raise CommandError(f"a node sends itself nothing; name two: inject 1->3 {command.kind}")
        try:
            msgspec.json.decode(command.body, type=self._protocol.payloads[command.kind])
        except (msgspec.DecodeError, RecursionError) as error:
            raise CommandError(f"that is no {command.kind}: {error}; write what is in it as JSON") from None

    def _predicate(self, predicate: Predicate) -> None:
        for part in parts_of(predicate):
            if isinstance(part, Attribute):
                self._attribute(part)
            elif isinstance(part, Is):
                self._nodes([part.who])
                if part.state in _ELECTING:
                    self._elects(f"a node of {self._protocol.name} is never {part.state}")
            elif isinstance(part, Count):
                self._kinds(filter(None, [part.kind]))
                self._nodes([part.source, part.target])
            elif isinstance(part, Suspects):
                self._nodes([part.who, part.whom])
            elif isinstance(part, LinkIs):
                self._nodes([part.source, part.target])
            elif isinstance(part, Compare):
                _compare(part)
            elif isinstance(part, Arithmetic):
                _compute(part.left, part.right)

    def _attribute(self, attribute: Attribute) -> None:
        self._nodes([attribute.who])
        known = sorted({*ATTRIBUTES, *(field.name for field in self._protocol.fields)})
        if attribute.name not in known:
            raise CommandError(
                f"a node of {self._protocol.name} has no {attribute.name}; it has {', '.join(known)}"
                f"{did_you_mean(attribute.name, known)}"
            )

    def _assertion(self, name: str) -> None:
        if name and name not in ASSERTIONS:
            raise CommandError(
                f"there is no assertion {name}; there are {', '.join(ASSERTIONS)}"
                f"{did_you_mean(name, list(ASSERTIONS))}"
            )

    def _kinds(self, kinds: Iterable[str]) -> None:
        known = sorted(self._protocol.payloads)
        for kind in kinds:
            if kind not in known:
                name = self._protocol.name
                sent = f"the kinds of {name} are {', '.join(known)}" if known else f"{name} has none"
                raise CommandError(f"there is no kind of message {kind}; {sent}{did_you_mean(kind, known)}")

    def _nodes(self, named: Iterable[object]) -> None:
        known = self._cluster.nodes
        for node in named:
            if isinstance(node, int) and node not in known:
                raise CommandError(f"there is no node {node}; there are {' '.join(map(str, sorted(known)))}")

    def _elects(self, otherwise: str) -> None:
        if not issubclass(self._protocol, Election):
            raise CommandError(f"{otherwise}, as it elects nobody; write at 2s")


def _compare(compare: Compare) -> None:
    sides = (compare.left, compare.right)
    quantified = [side for side in sides if quantifier_of(Compare("==", side, side))]
    if len(quantified) > 1:
        raise CommandError("one side of a comparison at most is of all or any: all.group == 4.group")
    if any(isinstance(side, Text) for side in sides) and compare.operator not in ("==", "!="):
        raise CommandError(f"a word is neither less nor more than another: write == or !=, not {compare.operator}")


def _compute(*sides: Value) -> None:
    words = [side.word for side in sides if isinstance(side, Text)]
    if words:
        raise CommandError(f"{words[0]} is no number, and cannot be computed with")
