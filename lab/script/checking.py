"""Whether a line can mean anything to a protocol and its nodes: a typo is found before the run."""

from collections.abc import Iterable, Sequence
from typing import Any, get_args

import msgspec

from lab.journal import Cluster, ProcessState
from lab.kernel import Payload, Protocol
from lab.properties import ASSERTIONS
from lab.protocols import Election, Status
from lab.script.commands import (
    CommandError,
    Heal,
    Inject,
    LinkFault,
    NodeCommand,
    Nodes,
    Partition,
    Slow,
    Tell,
    WorldCommand,
)
from lab.script.expectations import Expectation, ExpectViolation
from lab.script.holding import ATTRIBUTES, parts_of, predicates_in
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
    Who,
)
from lab.script.resolve import partition_rule, resolve_links
from lab.script.telling import told_by
from lab.script.triggers import OnMessage, OnStatus, Scripted
from lab.text import did_you_mean

__all__ = ["check_line", "forged"]

_ELECTING = ("normal", "election", "reorganization", "leads")


def check_line(line: Scripted, protocol: type[Protocol], ids: Sequence[int]) -> None:
    """CommandError where it names a node, a kind of message, or a part of the state that there is not."""
    _Check(protocol, ids).line(line)


def forged(command: Inject, protocol: type[Protocol], ids: Sequence[int]) -> Payload:
    """What is in the message that the command forges. CommandError where it could be none of this protocol."""
    return _Check(protocol, ids).inject(command)


class _Check:
    def __init__(self, protocol: type[Protocol], ids: Sequence[int]) -> None:
        self._protocol = protocol
        self._cluster = Cluster(tuple(ids))

    def line(self, line: Scripted) -> None:
        for trigger in (line.trigger, *line.then):
            if isinstance(trigger, OnMessage):
                self._kinds([trigger.kind])
                self._link(trigger.source, trigger.target)
            elif isinstance(trigger, OnStatus):
                self._elects(f"its nodes are never {trigger.status}")
                self._nodes([trigger.who])
        for predicate in predicates_in(line):
            self._predicate(predicate)
        if isinstance(line.command, ExpectViolation):
            self._assertion(line.command.assertion)
        elif not isinstance(line.command, Expectation):
            self._command(line.command)

    def _command(self, command: Any) -> None:
        if isinstance(command, Tell):
            told_by(command, self._protocol)
        for named in _named(command):
            self._nodes(named.ids)
            if named.by_role:
                self._elects("there is no coordinator")
        if not any(named.by_role for named in _named(command)):
            self._resolve(command)
        if isinstance(command, Inject):
            self.inject(command)
        elif isinstance(command, LinkFault):
            self._kinds(command.kinds)
        elif isinstance(command, WorldCommand) and command.verb in ("deliver", "fire"):
            self._link(command.source if command.verb == "deliver" else None, command.node)
            self._kinds(filter(None, [command.kind]))

    def _resolve(self, command: Any) -> None:
        """See whether what it names can be together, which is known where nobody is named by a role."""
        if isinstance(command, Partition):
            partition_rule(command, self._cluster)
        elif isinstance(command, LinkFault | Heal) and command.links is not None:
            resolve_links(command.links, self._cluster)

    def inject(self, command: Inject) -> Payload:
        """What is in the forged message."""
        self._link(command.source, command.target)
        self._kinds([command.kind])
        kind = self._protocol.payloads[command.kind]
        try:
            payload = msgspec.json.decode(command.body, type=kind)
            given = msgspec.json.decode(command.body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise CommandError(f"that is no {command.kind}: {error}; write what is in it as JSON") from None
        for name in sorted(given.keys() - set(kind.__struct_fields__)):
            has = (
                f"it has {', '.join(kind.__struct_fields__)}" if kind.__struct_fields__ else "it has nothing in it"
            )
            raise CommandError(f"{command.kind} has no {name}; {has}{did_you_mean(name, kind.__struct_fields__)}")
        return payload

    def _predicate(self, predicate: Predicate) -> None:
        for part in parts_of(predicate):
            if isinstance(part, Attribute):
                self._attribute(part)
            elif isinstance(part, Is):
                self._who(part.who)
                if part.state in _ELECTING:
                    self._elects("nobody leads" if part.state == "leads" else f"its nodes are never {part.state}")
            elif isinstance(part, Count):
                self._kinds(filter(None, [part.kind]))
                self._link(part.source, part.target)
            elif isinstance(part, Suspects):
                self._nodes([part.who, part.whom])
            elif isinstance(part, LinkIs):
                self._link(part.source, part.target)
            elif isinstance(part, Compare):
                self._compare(part)
            elif isinstance(part, Arithmetic):
                _compute(part.left, part.right)

    def _compare(self, compare: Compare) -> None:
        quantified = [
            part.who for part in parts_of(compare) if isinstance(part, Attribute) and part.who in ("all", "any")
        ]
        if len(quantified) > 1:
            raise CommandError("all or any is in a comparison once: all.group == 4.group")
        sides = (compare.left, compare.right)
        for side, other in (sides, sides[::-1]):
            if isinstance(side, Text):
                if compare.operator not in ("==", "!="):
                    raise CommandError(
                        f"a word is neither less nor more than another: write == or !=, not {compare.operator}"
                    )
                if isinstance(other, Attribute):
                    self._word(side.word, other.name)

    def _word(self, word: str, name: str) -> None:
        """Some attributes are one of a few words, so another is a typo."""
        known: tuple[str, ...] = ()
        if name == "process":
            known = get_args(ProcessState)
        elif name == "leads":
            known = ("true", "false")
        elif name == "status" and issubclass(self._protocol, Election):
            known = tuple(status.value for status in Status)
        if known and word not in known:
            raise CommandError(f"{name} is never {word}; it is {', '.join(known)}{did_you_mean(word, known)}")

    def _attribute(self, attribute: Attribute) -> None:
        self._who(attribute.who)
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

    def _who(self, who: Who) -> None:
        self._nodes([who])
        if who == "coordinator":
            self._elects("there is no coordinator")

    def _link(self, source: int | None, target: int | None) -> None:
        self._nodes([source, target])
        if source is not None and source == target:
            raise CommandError(
                f"a node sends itself nothing, so there is no link {source}->{target}; name two nodes"
            )

    def _elects(self, otherwise: str) -> None:
        if not issubclass(self._protocol, Election):
            raise CommandError(
                f"{self._protocol.name} elects nobody, so {otherwise}; name nodes by number, or write at 2s"
            )


def _named(command: Any) -> list[Nodes]:
    """All nodes that it names, in whatever way."""
    found: list[Nodes | None] = []
    if isinstance(command, NodeCommand | Slow | Tell):
        found = [command.nodes]
    elif isinstance(command, Partition):
        found = [*command.sides]
    elif isinstance(command, LinkFault | Heal) and command.links is not None:
        found = [command.links.sources, command.links.targets]
    return [named for named in found if named is not None]


def _compute(*sides: Value) -> None:
    words = [side.word for side in sides if isinstance(side, Text)]
    if words:
        raise CommandError(f"{words[0]} is no number, and cannot be computed with")
