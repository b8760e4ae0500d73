"""Explain why a predicate does not have the expected value, by the values that matter."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script import predicates
from lab.script.bank_terms import balance_of
from lab.script.evaluation import (
    Suspicions,
    attribute_of,
    evaluate_count,
    holds,
    parts_of,
    quantifier_of,
    states_of,
)
from lab.script.predicates import (
    Arithmetic,
    Attribute,
    Balance,
    Compare,
    Count,
    Is,
    LinkIs,
    Not,
    Predicate,
    Suspects,
    Value,
)
from lab.script.statements import Expect, ExpectThroughout

_MOST = 8
_OF_PROCESSES = ("up", "down", "running", "paused")
_LED = ("Reorganization", "Normal")


def format_values(
    predicate: Predicate, cluster: ClusterState, suspicions: Suspicions, expected: bool = True
) -> str:
    """Return ``3.coordinator was 5, 4.coordinator was 4``: the values that make it differ from ``expected``."""
    parts = list(dict.fromkeys(_values(predicate, cluster, suspicions, expected)))
    if len(parts) > _MOST:
        parts[_MOST - 1 :] = [f"and {len(parts) - _MOST + 1} more"]
    return ", ".join(parts)


def explain_unmet(why: str, command: object, cluster: ClusterState, suspicions: Suspicions) -> str:
    """Return why an expectation was not met: the reason from its record, and the values that matter."""
    predicate, expected = None, True
    if isinstance(command, Expect | ExpectThroughout):
        predicate = command.predicate
        expected = not isinstance(command, ExpectThroughout) or command.always
    values = "" if predicate is None else format_values(predicate, cluster, suspicions, expected)
    return ": ".join(filter(None, (why, values))) or "it did not hold"


def _values(predicate: Predicate, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
    match predicate:
        case predicates.All(parts) | predicates.Any(parts):
            for part in parts:
                if holds(part, cluster, suspicions) != expected:
                    yield from _values(part, cluster, suspicions, expected)
        case Not(part):
            yield from _values(part, cluster, suspicions, not expected)
        case Suspects(who, whom):
            yield f"{who} did not suspect {whom}" if expected else f"{who} suspected {whom}"
        case LinkIs(source, target):
            yield f"{source}->{target} was not cut" if expected else f"{source}->{target} was cut"
        case Is():
            yield from _node_values(predicate, cluster, suspicions, expected)
        case Compare():
            yield from _side_values(predicate, cluster, suspicions, expected)


def _node_values(part: Is, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
    of_processes = part.state in _OF_PROCESSES
    everyone = of_processes and part.who in ("all", "any")
    views = list(cluster.nodes.values()) if everyone else states_of(part.who, cluster)
    if not views:
        yield _nobody(part.who)
    together = part.who == "all" and part.state == "normal"  # this is about all nodes together
    disagreeing = list(_disagreeing(cluster)) if together and expected else []
    yield from disagreeing or (
        f"{view.id} was {view.process if of_processes else _status(view)}"
        for view in views
        if together or holds(Is(view.id, part.state), cluster, suspicions) != expected
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


def _nobody(who: predicates.Who) -> str:
    return "nobody led" if who == "coordinator" else "no node was up"


def _side_values(part: Compare, cluster: ClusterState, suspicions: Suspicions, expected: bool) -> Iterator[str]:
    """Yield the values in a comparison; for a quantified attribute, only those that differ from ``expected``."""
    quantifier = quantifier_of(part)
    for value in (each for side in (part.left, part.right) for each in parts_of(side)):
        if isinstance(value, Count):
            yield f"{_format_count(value)} was {_format_value(evaluate_count(value, cluster))}"
        elif isinstance(value, Balance):
            balance = balance_of(value.account, states_of("all", cluster))
            yield f"balance({value.account}) was {_format_value(balance)}"
        elif isinstance(value, Attribute):
            views = states_of(value.who, cluster)
            if not views:
                yield _nobody(value.who)
            for view in views:
                alone = replace(part, left=_of(part.left, view.id), right=_of(part.right, view.id))
                if value.who != quantifier or holds(alone, cluster, suspicions) != expected:
                    yield f"{view.id}.{value.name} was {_format_value(attribute_of(view, value.name))}"


def _of(value: Value, node: int) -> Value:
    """Replace all or any by the node."""
    match value:
        case Attribute("all" | "any", name):
            return Attribute(node, name)
        case Arithmetic(sign, left, right):
            return Arithmetic(sign, _of(left, node), _of(right, node))
    return value


def _format_count(count: Count) -> str:
    link = "" if count.source is None else f"{count.source}->{count.target}"
    inside = " ".join(filter(None, (count.kind, link)))
    return f"{count.what}({inside})" if inside else count.what


def _format_value(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case Decimal():
            return f"{value:.2f}".removesuffix(".00")
        case tuple():
            return f"[{' '.join(map(str, value))}]"
    return str(value)
