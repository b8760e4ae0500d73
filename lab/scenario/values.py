"""What was, where a predicate was not as it was wanted: the values that kept it from that, in words."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script import Expect, ExpectThroughout, predicates
from lab.script.banking import balance_of
from lab.script.holding import (
    Suspicions,
    attribute_of,
    counted_now,
    holds,
    parts_of,
    quantifier_of,
    views_of,
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

__all__ = ["values_told", "why_unmet"]

_MOST = 8
_OF_PROCESSES = ("up", "down", "running", "paused")
_LED = ("Reorganization", "Normal")


def values_told(predicate: Predicate, cluster: ClusterState, suspicions: Suspicions, wanted: bool = True) -> str:
    """``3.coordinator was 5, 4.coordinator was 4``: why it does not have the value that was wanted."""
    told = list(dict.fromkeys(_told(predicate, cluster, suspicions, wanted)))
    if len(told) > _MOST:
        told[_MOST - 1 :] = [f"and {len(told) - _MOST + 1} more"]
    return ", ".join(told)


def why_unmet(why: str, command: object, cluster: ClusterState, suspicions: Suspicions) -> str:
    """Why the expectation ``command`` was not met: as its record says, and the values that were."""
    predicate, wanted = None, True
    if isinstance(command, Expect | ExpectThroughout):
        predicate = command.predicate
        wanted = not isinstance(command, ExpectThroughout) or command.always
    values = "" if predicate is None else values_told(predicate, cluster, suspicions, wanted)
    return ": ".join(filter(None, (why, values))) or "it was not so"


def _told(predicate: Predicate, cluster: ClusterState, suspicions: Suspicions, wanted: bool) -> Iterator[str]:
    match predicate:
        case predicates.All(parts) | predicates.Any(parts):
            for part in parts:
                if holds(part, cluster, suspicions) != wanted:
                    yield from _told(part, cluster, suspicions, wanted)
        case Not(part):
            yield from _told(part, cluster, suspicions, not wanted)
        case Suspects(who, whom):
            yield f"{who} did not suspect {whom}" if wanted else f"{who} suspected {whom}"
        case LinkIs(source, target):
            yield f"{source}->{target} was not cut" if wanted else f"{source}->{target} was cut"
        case Is():
            yield from _nodes_told(predicate, cluster, suspicions, wanted)
        case Compare():
            yield from _sides_told(predicate, cluster, suspicions, wanted)


def _nodes_told(part: Is, cluster: ClusterState, suspicions: Suspicions, wanted: bool) -> Iterator[str]:
    of_processes = part.state in _OF_PROCESSES
    everyone = of_processes and part.who in ("all", "any")
    views = list(cluster.nodes.values()) if everyone else views_of(part.who, cluster)
    if not views:
        yield _nobody(part.who)
    together = part.who == "all" and part.state == "normal"  # not each by itself
    amiss = list(_disagreeing(cluster)) if together and wanted else []
    yield from amiss or (
        f"{view.id} was {view.process if of_processes else _status(view)}"
        for view in views
        if together or holds(Is(view.id, part.state), cluster, suspicions) != wanted
    )


def _disagreeing(cluster: ClusterState) -> Iterator[str]:
    """Why not all are Normal under one coordinator: who is not, and whom they follow who does not run."""
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
    stands = ", paused" if view.process == "paused" else ""
    return view.status + (f" under {view.coordinator}" if led else "") + stands


def _nobody(who: predicates.Who) -> str:
    return "nobody led" if who == "coordinator" else "no node was up"


def _sides_told(part: Compare, cluster: ClusterState, suspicions: Suspicions, wanted: bool) -> Iterator[str]:
    """Of all, the nodes for which it is not as wanted; else each value in it."""
    quantifier = quantifier_of(part)
    for value in (each for side in (part.left, part.right) for each in parts_of(side)):
        if isinstance(value, Count):
            yield f"{_written(value)} was {_said(counted_now(value, cluster))}"
        elif isinstance(value, Balance):
            yield f"balance({value.account}) was {_said(balance_of(value.account, views_of('all', cluster)))}"
        elif isinstance(value, Attribute):
            views = views_of(value.who, cluster)
            if not views:
                yield _nobody(value.who)
            for view in views:
                alone = replace(part, left=_of(part.left, view.id), right=_of(part.right, view.id))
                if value.who != quantifier or holds(alone, cluster, suspicions) != wanted:
                    yield f"{view.id}.{value.name} was {_said(attribute_of(view, value.name))}"


def _of(value: Value, node: int) -> Value:
    """The same, with the node in the place of all or any."""
    match value:
        case Attribute("all" | "any", name):
            return Attribute(node, name)
        case Arithmetic(sign, left, right):
            return Arithmetic(sign, _of(left, node), _of(right, node))
    return value


def _written(count: Count) -> str:
    link = "" if count.source is None else f"{count.source}->{count.target}"
    inside = " ".join(filter(None, (count.kind, link)))
    return f"{count.what}({inside})" if inside else count.what


def _said(value: Any) -> str:
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
