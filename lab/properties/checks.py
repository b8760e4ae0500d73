"""The checks behind the assertions: pairs of concurrent states, claims made twice, liveness.

Pairs: for each node, key and value, the last epoch of the node with that value is kept, the newest last. When a
node begins an epoch, its value is compared with those of every other node in epochs that it does not know to be
over: these are concurrent with the new epoch. The scan stops at the first conflict, or at the first epoch that is
over, because all earlier epochs are over too.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping

from msgspec import Struct

from lab.analysis.causality import Clock
from lab.properties.assertions import A2, A4, ENDS, Agreement, Assertion, UniquenessAssertion
from lab.properties.ledger_audit import is_open
from lab.properties.verdicts import Broken, Evidence, LocalState
from lab.recording.snapshot import NodeState
from lab.units import format_count, format_us

KeyedValue = tuple[Hashable, Hashable] | None
"""(key, value), or None."""


class Epoch(Struct):
    """A local state of a node from ``record`` on, for as long as the part that matters stays the same.

    ``values`` holds the keyed value for each agreement. ``over`` is the record that ended the epoch, ``broken``
    the assumptions that did not hold then.
    """

    node: int
    record: int
    at_us: int
    clock: Clock
    text: str
    values: tuple[KeyedValue, ...]
    over: int | None = None
    broken: dict[int, Broken] = {}

    def is_over_for(self, clock: Clock, place: int) -> bool:
        """Return whether the epoch is over before a state with this clock; ``place`` is the node's place in it."""
        return self.over is not None and clock[place] >= self.over


class PairChecker:
    """The epochs of ``nodes``, checked for one agreement, which is at index ``place`` of their ``values``."""

    def __init__(self, agreement: Agreement, place: int, nodes: tuple[int, ...]) -> None:
        self.agreement = agreement
        self._place = place
        self._epochs: list[dict[Hashable, dict[Hashable, Epoch]]] = [{} for _ in nodes]
        self._places = {node: place for place, node in enumerate(nodes)}
        self._concerned: set[int] = set()
        self._states = 0
        self._pairs = 0
        self._since: int | None = None

    @property
    def evidence(self) -> Evidence:
        """The states looked at; two nodes must have been concerned, or else they could not have disagreed."""
        if self._since is None:
            who = f"only node {min(self._concerned)}" if self._concerned else "no node"
            return Evidence(f"{who} was ever {self.agreement.concerned}")
        pairs = format_count(self._pairs, "pair")
        states = format_count(self._states, "state")
        return Evidence(
            f"{states} of {len(self._concerned)} nodes, {pairs} of them concurrent",
            self._since,
            self._states,
            "state",
        )

    def conflicts(self, epoch: Epoch) -> Iterator[Epoch]:
        """Yield the epochs that conflict with this one, which begins now: at most one of each other node."""
        keyed_value = epoch.values[self._place]
        if keyed_value is None:
            return
        key, value = keyed_value
        own = self._places[epoch.node]
        self._states += 1
        self._concerned.add(epoch.node)
        if self._since is None and len(self._concerned) > 1:
            self._since = epoch.record
        for place, by_key in enumerate(self._epochs):
            if place == own or key not in by_key:
                continue
            for theirs, last in reversed(by_key[key].items()):
                if last.is_over_for(epoch.clock, place):
                    break
                self._pairs += 1
                if theirs != value:
                    yield last
                    break
        mine = self._epochs[own].setdefault(key, {})
        mine.pop(value, None)
        mine[value] = epoch


def describe_state(view: NodeState) -> str:
    """Return the local state in words."""
    if view.status not in ("Normal", "Reorganization") or view.coordinator is None:
        return view.status
    version = view.definition_version if view.status == "Normal" else 0
    group = f" in group {view.group[0]}.{view.group[1]}" if view.group else ""
    return f"{view.status} under {view.coordinator}{group}" + (f", definition {version}" if version else "")


class UniquenessChecker:
    """The first claim of each item so far, for each of the assertions."""

    def __init__(self, claims: Iterable[UniquenessAssertion]) -> None:
        self._claims = tuple(claims)
        self._first: dict[tuple[str, Hashable], tuple[Hashable | None, LocalState]] = {}
        self._counts: Counter[str] = Counter()
        self._since: dict[str, int] = {}

    def evidence(self, assertion: UniquenessAssertion) -> Evidence:
        """Return what was claimed."""
        if assertion.id not in self._since:
            return Evidence(f"no {assertion.noun} was {assertion.done}")
        count = format_count(self._counts[assertion.id], assertion.noun)
        return Evidence(
            f"{count} {assertion.done}", self._since[assertion.id], self._counts[assertion.id], assertion.noun
        )

    def second(
        self, was: NodeState, view: NodeState, record: int, at_us: int
    ) -> Iterator[tuple[str, tuple[LocalState, LocalState], str]]:
        """Yield (assertion, states of the first and the second claim, text) for each item claimed again.

        The node passes from the state ``was`` to ``view`` with this record.
        """
        for claim in self._claims:
            found = claim.claims(was, view)
            if found is None:
                continue
            item, claimant = found
            self._counts[claim.id] += 1
            self._since.setdefault(claim.id, record)
            state = LocalState(view.id, record, at_us, f"the node by which {item} is {claim.done}")
            owner, first = self._first.setdefault((claim.id, item), (claimant, state))
            if first is not state and (claimant is None or owner != claimant):
                when = format_us(round(first.at_us, -3))
                text = (
                    f"{item}, {claim.done} by node {first.node} at {when}, is {claim.done} again by node {view.id}"
                )
                yield claim.id, (first, state), text


class Liveness:
    """The state that a liveness property requires after its bound.

    A2: all running nodes have one coordinator. A4: all running nodes that can talk to each other, and to no
    others, have one coordinator and one group. ENDS: if all nodes run and can talk to each other, no transaction
    is open.
    """

    def __init__(self, assertion: Assertion) -> None:
        assert assertion in (A2, A4, ENDS)
        self.assertion = assertion
        self.of_groups = assertion is A4

    def disagreeing(self, views: Mapping[int, NodeState], cut: frozenset[tuple[int, int]]) -> list[NodeState]:
        """Return the nodes of all groups that do not agree, or for ENDS the nodes with an open transaction.

        ``cut`` holds the links that are cut.
        """
        if self.assertion is ENDS:
            whole = not cut and all(view.process == "running" for view in views.values())
            return [view for view in views.values() if whole and is_open(view.state)]
        running = {node: view for node, view in views.items() if view.process == "running"}
        together = closed_groups(tuple(running), cut) if self.of_groups else [tuple(running)]
        return [running[node] for group in together if not self._agree(group, running) for node in group]

    def _agree(self, group: tuple[int, ...], running: Mapping[int, NodeState]) -> bool:
        if not group:
            return True
        first = running[group[0]]
        followed = {(running[node].status, running[node].coordinator) for node in group}
        groups = {running[node].group for node in group} if self.of_groups else ()
        return followed == {("Normal", first.coordinator)} and first.coordinator in group and len(groups) <= 1


def closed_groups(nodes: tuple[int, ...], cut: frozenset[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the sets of nodes that can all talk to each other, both ways, and to no others.

    Nothing can be required of nodes that are connected only through a third: they belong to several maximal sets
    at once, and cannot follow a coordinator in each.
    """
    if not cut:
        return [nodes] if nodes else []
    heard = {node: tuple(other for other in nodes if not {(node, other), (other, node)} & cut) for node in nodes}
    return [group for node, group in heard.items() if group[0] == node and all(heard[n] == group for n in group)]
