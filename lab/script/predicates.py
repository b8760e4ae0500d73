"""Predicates over the nodes, groups, links and counts of a cluster."""

import operator
from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec.structs import replace

from lab.analysis.elections import agreed_coordinator
from lab.kernel import Fired, Received, Started, Step, Waits
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record
from lab.recording.snapshot import NodeState
from lab.script.scope import CommandError, Scope, format_link
from lab.script.values import (
    UNKNOWN,
    UP,
    Attribute,
    Count,
    Number,
    Part,
    QuotedText,
    Text,
    Value,
    Who,
    as_number,
    attribute_of,
    nobody,
    states_of,
)
from lab.script.vocabulary import ANYTHING, LIST, STATES, YES_OR_NO, brought_by, refuse_term

_STATE_TESTS: dict[str, Callable[[NodeState], bool]] = {
    "normal": lambda view: view.status == "Normal",
    "election": lambda view: view.status == "Election",
    "reorganization": lambda view: view.status == "Reorganization",
    "leads": lambda view: view.leads,
    "up": lambda view: view.process in UP,
    "down": lambda view: view.process not in UP,
    "running": lambda view: view.process == "running",
    "paused": lambda view: view.process == "paused",
}
_OF_PROCESSES = ("up", "down", "running", "paused")
_OF_ELECTIONS = ("normal", "election", "reorganization", "leads")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LED = ("Reorganization", "Normal")


class Suspicions:
    """The suspicions in the records observed so far: pairs of a node and a peer that did not answer in time.

    ``cluster`` is the state before the first of those records; None if that is the start of the run.
    """

    def __init__(self, cluster: ClusterState | None = None) -> None:
        self.pairs: set[tuple[int, int]] = set()
        views = () if cluster is None else cluster.nodes.values()
        self._waits = {view.id: Waits(view.waits) for view in views}

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        if not isinstance(record, Step):
            return
        node, input_ = record.node, record.input
        if isinstance(input_, Fired):
            wait = self._waits[node].of(input_.procedure) if node in self._waits else None
            if wait is not None:
                self.pairs |= {(node, peer) for peer in wait.peers}
        elif isinstance(input_, Received):
            self.pairs.discard((node, input_.source))
        elif isinstance(input_, Started):
            self.pairs = {pair for pair in self.pairs if pair[0] != node}
        if record.changes_waits:
            self._waits.setdefault(node, Waits()).apply(record)


class Predicate(Part, frozen=True):
    """A condition on the present state of a cluster."""

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        """Return whether it holds now."""
        raise NotImplementedError

    def explain(self, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
        """Yield the values that make it differ from ``expected``: ``3.coordinator was 5``, ``4 was Election``."""
        raise NotImplementedError

    @property
    def depends_on_suspicions(self) -> bool:
        """True if it is about suspicions, so that its value depends on earlier records too."""
        return any(isinstance(part, Suspects) for part in self.parts())

    @property
    def depends_on_messages(self) -> bool:
        """True if a step that only sends or receives, without changing state, can change its value."""
        return any(
            isinstance(part, Suspects) or (isinstance(part, Count) and part.what in ("messages", "flying", "held"))
            for part in self.parts()
        )


class Compare(Predicate, frozen=True):
    """A comparison. At most one attribute in it is of all or any."""

    operator: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Value
    right: Value

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"

    @property
    def inner(self) -> tuple[Value, ...]:
        return self.left, self.right

    @property
    def _quantifiers(self) -> list[Who]:
        return [part.who for part in self.parts() if isinstance(part, Attribute) and part.who in ("all", "any")]

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        compare = _COMPARISONS[self.operator]
        lefts, rights = self.left.values(cluster), self.right.values(cluster)
        found = [_compare_values(compare, left, right) for left in lefts for right in rights]
        return any(found) if self._quantifiers[:1] == ["any"] else bool(found) and all(found)

    def check_alone(self, scope: Scope) -> None:
        if len(self._quantifiers) > 1:
            raise CommandError("a comparison can have all or any only once: all.group == 4.group")
        self.left.check_against(self.right, self.operator, scope)
        self.right.check_against(self.left, self.operator, scope)
        if all(isinstance(side, Text | QuotedText | Number) for side in self.inner):
            raise CommandError("both sides are constant; name an attribute or a count: 4.coordinator == 5")
        left, right = (side.type_in(scope.protocol) for side in self.inner)
        with_word = any(isinstance(side, Text | QuotedText) for side in self.inner)
        if not with_word and not left.overlaps(right):
            sides = f"{self.left.label} is {left.name}, and {self.right.label} is {right.name}"
            raise CommandError(f"{sides}, so they are never equal")
        if self.operator not in ("==", "!="):
            for kind in (left, right):
                if not kind.is_computable or left.name == right.name == LIST.name:
                    raise CommandError(f"{kind.name} cannot be ordered: write == or !=, not {self.operator}")

    def explain(self, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
        for value in (*self.left.parts(), *self.right.parts()):
            if isinstance(value, Attribute):
                yield from self._explain_attribute(value, cluster, suspicions, expected)
            elif isinstance(value, Value) and (text := value.explain(cluster)):
                yield text

    def _explain_attribute(
        self, value: Attribute, cluster: ClusterState, suspicions: Suspicions, expected: bool
    ) -> Iterator[str]:
        """Yield its values; of all or any, only those with which the comparison differs from ``expected``."""
        views = states_of(value.who, cluster)
        if not views:
            yield nobody(value.who)
        for view in views:
            alone = replace(self, left=self.left.at_node(view.id), right=self.right.at_node(view.id))
            if [value.who] != self._quantifiers[:1] or alone.holds(cluster, suspicions) != expected:
                yield value.explain_at(view, cluster)


class IsTrue(Predicate, frozen=True):
    """``4.leads``: an attribute that is true or false."""

    attribute: Attribute

    def __str__(self) -> str:
        return str(self.attribute)

    @property
    def _comparison(self) -> Compare:
        return Compare("==", self.attribute, Text("true"))

    @property
    def inner(self) -> tuple[Part, ...]:
        return (self.attribute,)

    def check_alone(self, scope: Scope) -> None:
        kind = self.attribute.type_in(scope.protocol)
        if kind not in (YES_OR_NO, ANYTHING):
            raise CommandError(
                f"{self.attribute.label} is {kind.name}, and not true or false; compare it: {self.attribute} == …"
            )

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        return self._comparison.holds(cluster, suspicions)

    def explain(self, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
        return self._comparison.explain(cluster, suspicions, expected)


def _compare_values(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    if left is UNKNOWN or right is UNKNOWN:
        return compare is operator.eq and (left is None or right is None)
    if isinstance(left, tuple) != isinstance(right, tuple):
        left, right = as_number(left), as_number(right)
    try:
        return bool(compare(left, right))
    except TypeError:
        return False  # none and words cannot be ordered


class Is(Predicate, frozen=True):
    """``4 normal``, ``any leads``: one of ``STATES``, or one that the protocol brings."""

    who: Who
    state: str

    def __str__(self) -> str:
        return f"{self.who} {self.state}"

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        if self._is_agreement:
            return agreed_coordinator(cluster.nodes) is not None
        found = [self._holds_at(view, cluster) for view in self._views(cluster)]
        return any(found) if self.who == "any" else bool(found) and all(found)

    def _holds_at(self, view: NodeState, cluster: ClusterState) -> bool:
        test = _STATE_TESTS.get(self.state)
        return bool(attribute_of(view, self.state, cluster) if test is None else test(view))

    @property
    def _is_agreement(self) -> bool:
        """True for ``all normal``, which is about all nodes together."""
        return self.who == "all" and self.state == "normal"

    def _views(self, cluster: ClusterState) -> list[NodeState]:
        everyone = self.state in _OF_PROCESSES and self.who in ("all", "any")
        return list(cluster.nodes.values()) if everyone else states_of(self.who, cluster)

    def check_alone(self, scope: Scope) -> None:
        scope.require_who(self.who)
        if self.who == "coordinator" and self.state == "down":
            raise CommandError("a coordinator is always up; to test that there is none, write coordinators == 0")
        if self.state not in STATES and brought_by(scope.protocol).node_term(self.state) is None:
            refuse_term(f"{self.state} node", scope.protocol, lambda each: each.node_term(self.state))
        if self.state in _OF_ELECTIONS:
            scope.require_election(
                "nobody leads" if self.state == "leads" else f"its nodes are never {self.state}"
            )

    def explain(self, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
        views = self._views(cluster)
        if not views:
            yield nobody(self.who)
        disagreeing = list(_disagreeing(cluster)) if self._is_agreement and expected else []
        of_process = self.state in _OF_PROCESSES
        yield from disagreeing or (
            f"{view.id} was {view.process if of_process else _status(view)}"
            for view in views
            if self._is_agreement or Is(view.id, self.state).holds(cluster, suspicions) != expected
        )


def _disagreeing(cluster: ClusterState) -> Iterator[str]:
    """Yield the nodes that prevent ``all normal``: not Normal, of different coordinators, or stopped ones."""
    running = [view for view in cluster.nodes.values() if view.process == "running"]
    led = [view for view in running if view.status == "Normal" and view.coordinator is not None]
    leaders = {view.coordinator for view in led}
    for view in cluster.nodes.values():
        if view.process == "running":
            if view not in led or len(leaders) > 1:
                yield f"{view.id} was {_status(view)}"
        elif view.process == "absent" or view.id in leaders:
            yield f"{view.id} was {view.process}"


def _status(view: NodeState) -> str:
    led = view.status in _LED and view.coordinator is not None
    suffix = ", paused" if view.process == "paused" else ""
    return view.status + (f" under {view.coordinator}" if led else "") + suffix


class Suspects(Predicate, frozen=True):
    """``4 suspects 7``: a request of 4 to 7 timed out, and 4 has received nothing from 7 since."""

    who: int
    whom: int

    def __str__(self) -> str:
        return f"{self.who} suspects {self.whom}"

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        return (self.who, self.whom) in suspicions.pairs

    def check_alone(self, scope: Scope) -> None:
        scope.require_nodes([self.who, self.whom])
        if self.who == self.whom:
            raise CommandError("a node does not suspect itself; name two nodes: 4 suspects 5")

    def explain(self, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
        yield f"{self.who} {'did not suspect' if expected else 'suspected'} {self.whom}"


class LinkIs(Predicate, frozen=True):
    """``2->3 cut``: a cut or a partition is in force on the link."""

    source: int
    target: int

    def __str__(self) -> str:
        return f"{format_link(self.source, self.target)} cut"

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        cuts = [fault for fault in cluster.faults.values() if fault.kind in ("cut", "partition")]
        return any((self.source, self.target) in fault.links for fault in cuts)

    def check_alone(self, scope: Scope) -> None:
        scope.require_link(self.source, self.target)

    def explain(self, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
        yield f"{format_link(self.source, self.target)} {'was not' if expected else 'was'} cut"


class Not(Predicate, frozen=True):
    """The part does not hold."""

    part: Predicate

    def __str__(self) -> str:
        return f"not {_in_parentheses(self.part, Or, And)}"

    @property
    def inner(self) -> tuple[Predicate, ...]:
        return (self.part,)

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        return not self.part.holds(cluster, suspicions)

    def explain(self, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
        yield from self.part.explain(cluster, suspicions, not expected)


class _Combination(Predicate, frozen=True):
    """Two or more parts, joined by ``and`` or by ``or``."""

    conditions: tuple[Predicate, ...]

    @property
    def inner(self) -> tuple[Predicate, ...]:
        return self.conditions

    def explain(self, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
        for each in self.conditions:
            if each.holds(cluster, suspicions) != expected:
                yield from each.explain(cluster, suspicions, expected)


class And(_Combination, frozen=True):
    """``… and …``: every part holds."""

    def __str__(self) -> str:
        return " and ".join(_in_parentheses(each, Or, And) for each in self.conditions)

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        return all(each.holds(cluster, suspicions) for each in self.conditions)


class Or(_Combination, frozen=True):
    """``… or …``: at least one part holds."""

    def __str__(self) -> str:
        return " or ".join(_in_parentheses(each, Or) for each in self.conditions)

    def holds(self, cluster: ClusterState, suspicions: Suspicions) -> bool:
        return any(each.holds(cluster, suspicions) for each in self.conditions)


def _in_parentheses(part: Predicate, *looser: type[Predicate]) -> str:
    """Return the text of a part, in parentheses if it is one of these types."""
    return f"({part})" if isinstance(part, looser) else str(part)
