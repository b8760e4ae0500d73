"""Check lines against the protocol and the nodes of a run, to find typos before it starts."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from lab.kernel import Payload, Protocol
from lab.properties.assertions import A2, A4, ASSERTIONS, RAISES
from lab.protocols import Election
from lab.recording.cluster_state import ClusterState
from lab.script.bank_terms import ATTRIBUTES_OF_BANK, COUNTS_OF_BANK, check_account, check_bank, keeps_accounts
from lab.script.commands import (
    CommandError,
    Heal,
    Inject,
    LinkFault,
    NodeCommand,
    Nodes,
    Partition,
    ProtocolCommandLine,
    Slow,
    WorldCommand,
)
from lab.script.evaluation import ATTRIBUTES, parts_of, predicates_in
from lab.script.predicates import (
    Arithmetic,
    Attribute,
    Balance,
    Compare,
    Count,
    Is,
    LinkIs,
    Predicate,
    Suspects,
    Who,
)
from lab.script.protocol_commands import command_input
from lab.script.resolve import partition_rule, resolve_links
from lab.script.statements import Expectation, ExpectViolation, OnMessage, OnStatus, Statement
from lab.script.value_types import check_arithmetic, check_compare
from lab.text import did_you_mean

_ELECTING = ("normal", "election", "reorganization", "leads")
_NEVER_UNDER = (RAISES.id, A2.id, A4.id)
"""Assertions whose violation no broken assumption excuses."""


def check_line(
    line: Statement,
    protocol: type[Protocol],
    ids: Sequence[int],
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Raise CommandError if the line names a node, a kind of message or an attribute that does not exist.

    ``parameters`` are those that the run sets; the valid arguments of protocol commands may depend on them.
    """
    _Validator(protocol, ids, parameters).line(line)


def check_predicate(
    predicate: Predicate,
    protocol: type[Protocol],
    ids: Sequence[int],
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Raise CommandError as for a line with this predicate."""
    _Validator(protocol, ids, parameters).predicate(predicate)


def check_interactive(line: Statement) -> None:
    """Raise CommandError if the line makes sense only in a script, which has a report after the run."""
    if isinstance(line.command, ExpectViolation):
        raise CommandError(
            "a verdict is about the whole run, so it is not known yet: write this line in a scenario or a --script"
        )


def forged_payload(command: Inject, protocol: type[Protocol], ids: Sequence[int]) -> Payload:
    """Return the payload of the forged message. Raises CommandError if the protocol has no such message."""
    return _Validator(protocol, ids, {}).inject(command)


class _Validator:
    def __init__(self, protocol: type[Protocol], ids: Sequence[int], parameters: Mapping[str, Any]) -> None:
        self._protocol = protocol
        self._parameters = parameters
        self._cluster = ClusterState(tuple(ids))

    def line(self, line: Statement) -> None:
        for trigger in (line.trigger, *line.then):
            if isinstance(trigger, OnMessage):
                self._kinds([trigger.kind])
                self._link(trigger.source, trigger.target)
            elif isinstance(trigger, OnStatus):
                self._elects(f"its nodes are never {trigger.status}")
                self._nodes([trigger.who])
        for predicate in predicates_in(line):
            self.predicate(predicate)
        if isinstance(line.command, ExpectViolation):
            self._assertion(line.command)
        elif not isinstance(line.command, Expectation):
            self._command(line.command)

    def _command(self, command: Any) -> None:
        if isinstance(command, ProtocolCommandLine):
            command_input(command, self._protocol, tuple(self._cluster.nodes), self._parameters)
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
        """Check the combination of the nodes, which is known if none is named by its role."""
        if isinstance(command, Partition):
            partition_rule(command, self._cluster)
        elif isinstance(command, LinkFault | Heal) and command.links is not None:
            resolve_links(command.links, self._cluster)

    def inject(self, command: Inject) -> Payload:
        """Check a forged message and return its payload."""
        self._link(command.source, command.target)
        self._kinds([command.kind])
        kind = self._protocol.payloads[command.kind]
        try:
            payload = msgspec.json.decode(command.body, type=kind)
            given = msgspec.json.decode(command.body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise CommandError(f"not a valid {command.kind}: {error}; write its payload as JSON") from None
        for name in sorted(given.keys() - set(kind.__struct_fields__)):
            has = (
                f"its fields are {', '.join(kind.__struct_fields__)}"
                if kind.__struct_fields__
                else "it has no fields"
            )
            raise CommandError(
                f"{command.kind} has no field {name}; {has}{did_you_mean(name, kind.__struct_fields__)}"
            )
        return payload

    def predicate(self, predicate: Predicate) -> None:
        for part in parts_of(predicate):
            if isinstance(part, Attribute):
                self._attribute(part)
            elif isinstance(part, Is):
                self._is(part)
            elif isinstance(part, Balance):
                check_account(part.account, self._protocol, tuple(self._cluster.nodes), self._parameters)
            elif isinstance(part, Count):
                self._count(part)
            elif isinstance(part, Suspects):
                self._nodes([part.who, part.whom])
                if part.who == part.whom:
                    raise CommandError("a node does not suspect itself; name two nodes: 4 suspects 5")
            elif isinstance(part, LinkIs):
                self._link(part.source, part.target)
            elif isinstance(part, Compare):
                self._compare(part)
            elif isinstance(part, Arithmetic):
                check_arithmetic(part, self._protocol)

    def _is(self, part: Is) -> None:
        self._who(part.who)
        if part.who == "coordinator" and part.state == "down":
            raise CommandError("a coordinator is always up; to test that there is none, write coordinators == 0")
        if part.state == "blocked":
            check_bank("blocked node", self._protocol)
        if part.state in _ELECTING:
            self._elects("nobody leads" if part.state == "leads" else f"its nodes are never {part.state}")

    def _count(self, count: Count) -> None:
        if count.what in COUNTS_OF_BANK:
            check_bank(count.what, self._protocol)
        self._kinds(filter(None, [count.kind]))
        self._link(count.source, count.target)

    def _compare(self, compare: Compare) -> None:
        quantified = [
            part.who for part in parts_of(compare) if isinstance(part, Attribute) and part.who in ("all", "any")
        ]
        if len(quantified) > 1:
            raise CommandError("a comparison can have all or any only once: all.group == 4.group")
        check_compare(compare, self._protocol, tuple(self._cluster.nodes))

    def _attribute(self, attribute: Attribute) -> None:
        self._who(attribute.who)
        declared = [field.name for field in self._protocol.fields]
        known = sorted({*ATTRIBUTES, *(ATTRIBUTES_OF_BANK if keeps_accounts(declared) else ()), *declared})
        if attribute.name not in known:
            raise CommandError(
                f"a node of {self._protocol.name} has no attribute {attribute.name}; it has {', '.join(known)}"
                f"{did_you_mean(attribute.name, known)}"
            )

    def _assertion(self, expected: ExpectViolation) -> None:
        name = expected.assertion
        if name and name not in ASSERTIONS:
            raise CommandError(
                f"unknown assertion {name}; the assertions are {', '.join(ASSERTIONS)}"
                f"{did_you_mean(name, list(ASSERTIONS))}"
            )
        if expected.under and name in _NEVER_UNDER:
            raise CommandError(f"no fault excuses a violation of {name}: leave out under")

    def _kinds(self, kinds: Iterable[str]) -> None:
        known = sorted(self._protocol.payloads)
        for kind in kinds:
            if kind not in known:
                name = self._protocol.name
                sent = f"{name} has {', '.join(known)}" if known else f"{name} has none"
                raise CommandError(f"unknown kind of message {kind}; {sent}{did_you_mean(kind, known)}")

    def _nodes(self, named: Iterable[object]) -> None:
        known = self._cluster.nodes
        for node in named:
            if isinstance(node, int) and node not in known:
                raise CommandError(f"there is no node {node}; the nodes are {' '.join(map(str, sorted(known)))}")

    def _who(self, who: Who) -> None:
        self._nodes([who])
        if who == "coordinator":
            self._elects("there is no coordinator")

    def _link(self, source: int | None, target: int | None) -> None:
        self._nodes([source, target])
        if source is not None and source == target:
            raise CommandError(f"a node has no link to itself, so there is no {source}->{target}; name two nodes")

    def _elects(self, otherwise: str) -> None:
        if not issubclass(self._protocol, Election):
            raise CommandError(
                f"{self._protocol.name} elects nobody, so {otherwise}; name nodes by number, or write at 2s"
            )


def _named(command: Any) -> list[Nodes]:
    """Return all nodes that the command names."""
    found: list[Nodes | None] = []
    if isinstance(command, NodeCommand | Slow | ProtocolCommandLine):
        found = [command.nodes]
    elif isinstance(command, Partition):
        found = [*command.sides]
    elif isinstance(command, LinkFault | Heal) and command.links is not None:
        found = [command.links.sources, command.links.targets]
    return [named for named in found if named is not None]
