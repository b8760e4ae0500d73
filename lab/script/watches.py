"""Watches: values and predicates of the user's own, shown for the present state of a cluster.

A watch is evaluated in one state, and needs nothing else: so it can be shown at every record of a run, forwards
and backwards. What depends on earlier records too, *4 suspects 5*, cannot be watched.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from rich.cells import cell_len

from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import format_value
from lab.recording.records import Header, Record
from lab.script.predicates import IsTrue, Predicate, Suspects, Suspicions
from lab.script.scope import CommandError
from lab.script.values import UNKNOWN, Arithmetic, Attribute, Count, Part, Quantity, Value, as_number, format_plain
from lab.text import sanitize

UNKNOWN_TEXT = "-"
"""The text for a value that is none, that does not exist, or whose node is down."""
_LONGEST = 200


class WatchReading(Struct, frozen=True):
    """A value as it is shown; ``node`` is the node whose value it is, if the watch is about all nodes."""

    text: str
    node: int | None = None

    def __str__(self) -> str:
        return self.text if self.node is None else f"{self.node}:{self.text}"


class Watch(Part, frozen=True):
    """An expression to show."""

    def read(self, cluster: ClusterState) -> tuple[WatchReading, ...]:
        """Return what it shows in this state. Never raises: an expression that fails shows why."""
        try:
            return self._read(cluster)
        except CommandError as error:  # what a protocol brings has failed
            return (WatchReading(f"failed: {sanitize(str(error), _LONGEST)}"),)
        except ArithmeticError:
            return (WatchReading(UNKNOWN_TEXT),)

    def _read(self, cluster: ClusterState) -> tuple[WatchReading, ...]:
        raise NotImplementedError


class WatchedValue(Watch, frozen=True):
    """``4.term - 1.term``: one value."""

    value: Value

    def __str__(self) -> str:
        return str(self.value)

    @property
    def inner(self) -> tuple[Value, ...]:
        return (self.value,)

    def _read(self, cluster: ClusterState) -> tuple[WatchReading, ...]:
        return (WatchReading(_text_of(self.value, cluster)),)


class WatchedNodes(WatchedValue, frozen=True):
    """``all.term``: a value of each node, whether it is up or down."""

    def _read(self, cluster: ClusterState) -> tuple[WatchReading, ...]:
        return tuple(
            WatchReading(_text_of(self.value.at_node(node), cluster), node) for node in sorted(cluster.nodes)
        )


class WatchedPredicate(Watch, frozen=True):
    """``any.role == leader``: whether a predicate holds."""

    predicate: Predicate

    def __str__(self) -> str:
        return str(self.predicate)

    @property
    def inner(self) -> tuple[Predicate, ...]:
        return (self.predicate,)

    def _read(self, cluster: ClusterState) -> tuple[WatchReading, ...]:
        return (WatchReading(format_plain(self.predicate.holds(cluster, Suspicions()))),)


def watch_for(expression: Value | Predicate) -> Watch:
    """Return the watch of an expression. Raises CommandError if it cannot be watched.

    An attribute alone is a value, even where it is read as a predicate: ``4.leads``.
    """
    if isinstance(expression, IsTrue):
        expression = expression.attribute
    if isinstance(expression, Predicate):
        for part in expression.parts():
            if isinstance(part, Suspects):
                raise CommandError(
                    f"{part} depends on earlier records, and a watch on the present state alone; to go to "
                    f"where it becomes true, write until {part}"
                )
        return WatchedPredicate(expression)
    attributes = [part for part in expression.parts() if isinstance(part, Attribute)]
    if not any(isinstance(part, Attribute | Count | Quantity) for part in expression.parts()):
        raise CommandError(f"{expression} is constant; watch an attribute or a count: 4.coordinator, groups")
    for attribute in attributes:
        if attribute.who == "any":
            raise CommandError(
                f"{attribute} is not one value; watch all.{attribute.label}, or a predicate: {attribute} == 4"
            )
    is_of_all = any(attribute.who == "all" for attribute in attributes)
    return WatchedNodes(expression) if is_of_all else WatchedValue(expression)


class WatchHistory:
    """The values that watches show after each record of a run; only changes are kept."""

    def __init__(self, watches: Sequence[Watch], header: Header) -> None:
        self._watches = watches
        self._cluster = ClusterState.of(header)
        self._changed_at: list[int] = []
        self._texts: list[tuple[str, ...]] = []

    def observe(self, record: Record | None) -> None:
        """Process the next record, None for an unreadable one."""
        self._cluster.apply(record)
        texts = tuple(" ".join(map(str, watch.read(self._cluster))) for watch in self._watches)
        if not self._texts or texts != self._texts[-1]:
            self._changed_at.append(self._cluster.record)
            self._texts.append(texts)

    def after(self, number: int) -> tuple[str, ...]:
        """Return what each watch shows after this record, one of those observed."""
        return self._texts[bisect_right(self._changed_at, number) - 1]

    @property
    def widths(self) -> list[int]:
        """The width of what each watch shows at most, in cells."""
        return [max(map(cell_len, column)) for column in zip(*self._texts, strict=True)]


def _text_of(value: Value, cluster: ClusterState) -> str:
    """Return one value as it is shown."""
    if any(isinstance(part, Arithmetic) and _divides_by_zero(part, cluster) for part in value.parts()):
        return UNKNOWN_TEXT
    found = next(iter(value.values(cluster)), None)
    if found is None or found is UNKNOWN:
        return UNKNOWN_TEXT
    try:
        return sanitize(_format(found), _LONGEST)
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        return "…"


def _divides_by_zero(operation: Arithmetic, cluster: ClusterState) -> bool:
    """Return whether it is a division by zero, which has the result 0 in a predicate."""
    return operation.operator == "/" and 0 in map(as_number, operation.right.values(cluster))


def _format(value: Any) -> str:
    match value:
        case "":
            return '""'
        case dict():
            return format_value(value) or "{}"
        case tuple():
            return f"[{format_value(value)}]"
    return format_plain(value)
