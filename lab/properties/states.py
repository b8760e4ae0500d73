"""The states that properties are about: the local state of a node, and the global state of a cluster.

A property sees what was recorded, never a node: so one property judges live runs, recordings, simulations and
explored states.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

import msgspec

from lab.kernel import Log
from lab.protocols import Algorithm
from lab.recording.snapshot import NodeState

T = TypeVar("T")


_WITHHELD = object()
"""Stands for the value of a field that properties must not read."""


class LocalState(NodeState, frozen=True):
    """The state of a node, with the declared fields of its protocol as attributes: ``node.term``.

    The fields have the types that the protocol declares. ``values`` holds them by name; empty while the node is
    down.
    """

    values: dict[str, Any] = {}  # noqa: RUF012 - a field of a struct, which copies it

    def appended(self, name: str, before: NodeState) -> Sequence[Any]:
        """Return, as plain values, the entries of the log ``name`` that the state ``before`` did not have."""
        log, known = self.state.get(name), before.state.get(name)
        if isinstance(log, Log) and isinstance(known, Log):
            new = log.after(known)
            return tuple(log) if new is None else new
        entries, earlier = plain_entries(log), plain_entries(known)
        return entries[len(earlier) :] if entries[: len(earlier)] == earlier else entries

    def __getattr__(self, name: str) -> Any:
        try:
            value = self.values[name]
        except KeyError:
            pass
        else:
            if value is _WITHHELD:
                raise AttributeError(f"{name} is auxiliary: an exploration does not tell states apart by it")
            return value
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(self.values) or "none: it is down"
        raise AttributeError(f"the state of node {self.id} has no {name} (its fields: {known})")


def plain_entries(log: object) -> list[Any]:
    """Return the entries of a log in a recorded state; empty if it is none."""
    return list(log) if isinstance(log, Log | list | tuple) else []


class GlobalState:
    """A consistent state of the whole cluster; only valid during the call that it is given to.

    ``ids`` are all nodes of the run, in ascending order. ``cut`` are the (source, target) pairs of the links that
    are cut, ``broken`` the numbers of the assumptions 1 to 9 that do not hold now, ``ever_broken`` those of all
    that were broken at some time. ``failures`` is how often a node has failed. Times are in microseconds since the
    run began. ``parameters`` are those of the protocol in this run.
    """

    def __init__(self, views: Mapping[int, LocalState], types: "FieldTypes | None" = None) -> None:
        self._views = views
        self._is_typed = types is not None
        self.refresh()
        self.parameters: Any = None if types is None else types.parameters
        self.ids = tuple(sorted(views))
        self.at_us = 0
        self.cut: frozenset[tuple[int, int]] = frozenset()
        self.broken: frozenset[int] = frozenset()
        self.ever_broken: frozenset[int] = frozenset()
        self.failures = 0
        self._derived: dict[type, Any] = {}

    def derived(self, kind: type[T]) -> T:
        """Return the object of this type that accompanies the states of a run, made on first use.

        So a built-in property goes through what is new in a log, not at each state through all of it.
        """
        if kind not in self._derived:
            self._derived[kind] = kind()
        found: T = self._derived[kind]
        return found

    def refresh(self) -> None:
        """Take the local states as they are now."""
        self._nodes: dict[int, LocalState] | None = None
        self._running: dict[int, LocalState] | None = None

    @property
    def nodes(self) -> dict[int, LocalState]:
        """The local states of the nodes that have started and are alive, paused ones included, by id."""
        if self._nodes is None:
            self._nodes = {
                node: view
                for node, view in self._views.items()
                if view.process in ("running", "paused") and (view.values or not self._is_typed)
            }
        return self._nodes

    @property
    def running(self) -> dict[int, LocalState]:
        """The local states of the nodes whose processes run, by id; without fields before a node's first step."""
        if self._running is None:
            self._running = {node: view for node, view in self._views.items() if view.process == "running"}
        return self._running

    def connected(self, one: int, other: int) -> bool:
        """Return whether no cut separates these two nodes, in either direction."""
        return not {(one, other), (other, one)} & self.cut

    def groups(self) -> list[tuple[int, ...]]:
        """Return the sets of running nodes that can all talk to each other, and to no others.

        Nothing can be required of nodes that are connected only through a third: they belong to several maximal
        sets at once, and cannot follow a coordinator in each.
        """
        return closed_groups(tuple(self.running), self.cut)

    def largest_group(self) -> int:
        """Return the size of the largest set of running nodes that can all talk to each other."""
        return largest_group(tuple(self.running), self.cut)

    def __iter__(self) -> Iterator[LocalState]:
        """Iterate over the local states of ``nodes``."""
        return iter(self.nodes.values())


def closed_groups(nodes: tuple[int, ...], cut: frozenset[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the sets of nodes that can all talk to each other, both ways, and to no others."""
    if not cut:
        return [nodes] if nodes else []
    heard = {node: tuple(other for other in nodes if not {(node, other), (other, node)} & cut) for node in nodes}
    return [group for node, group in heard.items() if group[0] == node and all(heard[n] == group for n in group)]


def largest_group(nodes: tuple[int, ...], cut: frozenset[tuple[int, int]]) -> int:
    """Return the size of the largest set of these nodes that can all talk to each other."""
    return max((len(group) for group in _cliques(nodes, cut)), default=0)


def _cliques(nodes: tuple[int, ...], cut: frozenset[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return for each node a set with it in which all can talk to each other: the largest, but for odd cuts."""
    if not cut:
        return [nodes] if nodes else []
    found = []
    for first in nodes:
        group = [first]
        for other in nodes:
            if other != first and not any({(other, one), (one, other)} & cut for one in group):
                group.append(other)
        found.append(tuple(group))
    return found


class TimelessState(GlobalState):
    """A global state of an exploration, which knows no times."""

    @property
    def at_us(self) -> int:
        """Raise AttributeError: what a property says of times is not judged there."""
        raise AttributeError("an exploration has no times: at_us is known in runs alone")

    @at_us.setter
    def at_us(self, at_us: int) -> None:
        pass


class FieldTypes:
    """The declared types of a protocol's fields, and its parameters; without a protocol, values stay plain."""

    def __init__(self, protocol: type[Algorithm] | None, parameters: dict[str, Any]) -> None:
        self.parameters = _convert(parameters, None if protocol is None else protocol.Parameters)
        fields = () if protocol is None else protocol.fields
        self._types = {field.name: field.type for field in fields if not field.log}
        self._entries = {field.name: get_args(field.type)[0] for field in fields if field.log}
        self._initial = {field.name: field.default for field in fields}

    def typed(self, changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return these plain values with the declared types; one that does not fit stays as it is."""
        return {name: _convert(value, self._types.get(name)) for name, value in changed.items()}

    def append(self, values: dict[str, Any], logged: Mapping[str, list[Any]]) -> None:
        """Append the plain entries to the logs among the values."""
        for name, entries in logged.items():
            log = values.get(name)
            kind = self._entries.get(name)
            values[name] = (log if isinstance(log, Log) else Log(log or ())) + [_convert(e, kind) for e in entries]

    def initial(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values with which a node starts, given the contents of its stable storage."""
        values = {**self._initial, **self.typed(stored)}
        for name, kind in self._entries.items():
            values[name] = Log(_convert(entry, kind) for entry in values[name])
        return values

    def local_state(self, view: NodeState, without: frozenset[str] = frozenset()) -> LocalState:
        """Return the local state with typed values; with none if it is down. Those of ``without`` are withheld."""
        is_alive = view.process in ("running", "paused")
        values = self.initial(view.state) if is_alive else {}
        values.update(dict.fromkeys(without & values.keys(), _WITHHELD))
        return LocalState(view.id, view.process, state=view.state, values=values)


def _convert(value: Any, kind: Any) -> Any:
    if kind is None:
        return value
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, TypeError):
        return value
