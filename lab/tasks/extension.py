"""The extension that a protocol can bring to the packages above it: pane lines, views, terms, reports.

    class VotesExtension(Extension):
        views = (View("votes", "who has voted for what", draw_votes),)

        def describe_node(self, node: NodeState, now_us: int, styles: "ThemeStyles") -> NodeText | None:
            return NodeText([(f"{len(node.state['votes'])} votes", styles.accent)])

    class Voting(Algorithm):
        extension = VotesExtension

The built-in tasks use the same interface: ``lab.tasks.bank.bank_extension`` and ``lab.tasks.field_view``. No class
is loaded because a recording names it: an extension comes from a built-in protocol, or from a file of the user's
that this process was told to load.
"""

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from msgspec import Struct

from lab.kernel.plain import format_plain
from lab.protocols import LENSES, OWN_PROTOCOLS, PROTOCOLS, TASKS, Algorithm
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.recording.snapshot import NodeState
from lab.table_files import Row
from lab.tasks.analysis import Analysis, Report
from lab.tasks.terms import ClusterTerm, NodeTerm
from lab.text import UserError, sanitize

if TYPE_CHECKING:  # rich, which the host of a run does not need
    from rich.console import RenderableType

    from lab.styles import Line, ThemeStyles
    from lab.tasks.comparison import Comparison
    from lab.tasks.view_frame import ViewFrame

C = TypeVar("C")


class NodeText(Struct, frozen=True):
    """The text in the pane of a node about its task.

    ``state`` is what the node holds, ``work`` what it is busy with. ``log`` are the newest entries of its log, the
    newest last; as many as fit are shown. None: nothing is said of a log.
    """

    state: "Line"
    work: "Line" = []
    log: tuple[str, ...] | None = None


class View(Struct, frozen=True):
    """A view: a tab of the interface, an action with this ``word``, and ``lab show --view WORD``.

    ``hint`` says what it shows and how to read it, ``help`` the same in short for the table of keys. ``draw``
    returns a text or any other rich renderable. ``key`` shows and hides it, unless another action has that key.
    ``without`` is the text for runs of other protocols.
    """

    word: str
    hint: str
    draw: "Callable[[ViewFrame], RenderableType]"
    help: str = ""
    key: str = ""
    without: str = "has no such view"


class Extension:
    """The base of extensions. Each part brings nothing unless a subclass declares it."""

    views: ClassVar[tuple[View, ...]] = ()
    node_terms: ClassVar[tuple[NodeTerm, ...]] = ()
    cluster_terms: ClassVar[tuple[ClusterTerm, ...]] = ()
    without_terms: ClassVar[str] = "has no {what}"
    """The end of the error if a predicate has one of these terms in a run of another protocol."""
    analysis: ClassVar[str | type] = "lab.tasks.analysis:Analysis"
    """The analysis of its runs: a class of ``lab.tasks.analysis.Analysis``, or its place."""
    comparison: ClassVar[str | type] = "lab.tasks.election_comparison:ElectionComparison"
    """The comparison of ``lab compare``: a class of ``lab.tasks.comparison.Comparison``, or its place."""
    errands: ClassVar[tuple[str, ...]] = ()
    """Commands that any node carries out; without faults, each has the outcome ``Analysis.success``."""
    opening_hint: ClassVar[str] = ""
    """The first message of the interface, besides its own keys: ``{map} shows the map``, with that view's key."""

    def __init__(self, header: Header) -> None:
        self.header = header

    @classmethod
    def node_term(cls, name: str) -> NodeTerm | None:
        """Return the attribute of its nodes with this name."""
        return next((term for term in cls.node_terms if term.name == name), None)

    @classmethod
    def cluster_term(cls, name: str) -> ClusterTerm | None:
        """Return the quantity with this name."""
        return next((term for term in cls.cluster_terms if term.name == name), None)

    @classmethod
    def recognizes(cls, header: Header) -> bool:
        """Return whether this built-in extension fits a run whose protocol is not installed."""
        return False

    def describe_node(self, node: NodeState, now_us: int, styles: "ThemeStyles") -> NodeText | None:
        """Return what the pane of a node shows; None for nothing. The state of a dead node is mostly empty.

        By default, the fields that the protocol declares as ``Displayed``.
        """
        info = self.header.protocol
        protocol = OWN_PROTOCOLS.get(info.name) or LENSES.get(info.name)
        names = () if protocol is None else (field.name for field in protocol.fields if field.displayed)
        shown = [f"{name} {format_plain(node.state[name])}" for name in names if name in node.state]
        return NodeText([(f"{sanitize(', '.join(shown), 80)}  ", styles.accent)]) if shown else None

    def view(self, word: str) -> View | None:
        """Return the view with this word."""
        return next((view for view in self.views if view.word == word), None)


def describe_safely(extension: Extension, node: NodeState, now_us: int, styles: "ThemeStyles") -> NodeText | None:
    """Return what the pane of a node shows, or the error that a user's ``describe_node`` raised."""
    try:
        return extension.describe_node(node, now_us, styles)
    except Exception as error:
        return NodeText([(format_failure("describe_node", error), styles.warning)])


def draw_safely(draw: "Callable[[ViewFrame], RenderableType]", frame: "ViewFrame") -> "RenderableType":
    """Return what a view shows, or the error that a user's ``draw`` raised."""
    try:
        return draw(frame)
    except Exception as error:
        return frame.text([[(format_failure(getattr(draw, "__name__", "draw"), error), frame.styles.warning)]])


def format_failure(function: str, error: Exception) -> str:
    """Return the function, the innermost line and the error of what a protocol brings, as a line of text."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    line = "" if place is None else f", line {place.tb_lineno}"
    return sanitize(f"{function}{line}: {type(error).__name__}: {error}", 200)


class ExtensionError(UserError):
    """A protocol declares an extension that is none; the message is for the user."""


def extension_of(header: Header) -> Extension:
    """Return what the protocol of a run brings."""
    return extension_class_of(header)(header)


def extension_class_of(header: Header) -> type[Extension]:
    """Return the class of it; of a protocol that is not loaded here, one that a built-in protocol recognizes."""
    name = header.protocol.name
    protocol = PROTOCOLS.get(name) or TASKS.get(name) or OWN_PROTOCOLS.get(name) or LENSES.get(name)
    if protocol is not None:
        return extension_class(protocol)
    return next((each for each in built_in_extensions() if each.recognizes(header)), Extension)


@cache
def built_in_extensions() -> tuple[type[Extension], ...]:
    """Return the extensions of the built-in protocols and tasks, each once."""
    return tuple(dict.fromkeys(extension_class(each) for each in (*PROTOCOLS.values(), *TASKS.values())))


def extension_class(protocol: type[Algorithm]) -> type[Extension]:
    """Return the class that the protocol declares; ``Extension`` if it declares none. Raises ExtensionError."""
    return _class_at(protocol.extension or Extension, f"{protocol.__name__}.extension", Extension)


def analysis_of(extension: type[Extension]) -> type[Analysis]:
    """Return what is computed of the runs of protocols with this extension. Raises ExtensionError."""
    return _class_at(extension.analysis, f"{extension.__name__}.analysis", Analysis)


def start_analysis(header: Header, cluster: ClusterState, extension: type[Extension] | None = None) -> Analysis:
    """Return the analysis of a run, before its first record; by default that of the run's own protocol.

    An error that a user's analysis raises ends it, and its report is that error. Raises ExtensionError.
    """
    analysis = analysis_of(extension_class_of(header) if extension is None else extension)
    return _GuardedAnalysis(analysis(header, cluster))


class _GuardedAnalysis(Analysis):
    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis.header, analysis.cluster)
        self._analysis = analysis
        self._error = ""

    def observe(self, record: Record | None) -> str:
        return self._guarded("observe", "", record)

    def report(self, recording: str) -> Report:
        found = self._guarded("report", Report(), recording)
        return Report((self._error,)) if self._error else found

    def count(self) -> dict[str, int]:
        nothing: dict[str, int] = {}
        return self._or_raise(self._guarded("count", nothing))

    def rows(self) -> Iterable[Row]:
        nothing: list[Row] = []
        return self._or_raise(self._guarded("rows", nothing))

    def states_at_once(self) -> frozenset[tuple[str, str]]:
        nothing: frozenset[tuple[str, str]] = frozenset()
        return self._or_raise(self._guarded("states_at_once", nothing))

    def blocked(self, now_us: int) -> tuple[str, list[str]]:
        nothing: tuple[str, list[str]] = "", []
        return self._or_raise(self._guarded("blocked", nothing, now_us))

    def _guarded(self, method: str, nothing: C, *arguments: Any) -> C:
        if self._error:
            return nothing
        try:
            found: C = getattr(self._analysis, method)(*arguments)
        except Exception as error:
            self._error = format_failure(f"{type(self._analysis).__name__}.{method}", error)
            return nothing
        return found

    def _or_raise(self, found: C) -> C:
        if self._error:
            raise ExtensionError(self._error)
        return found


def comparison_of(protocol: type[Algorithm]) -> "type[Comparison]":
    """Return how protocols like this are compared. Raises ExtensionError."""
    from lab.tasks.comparison import Comparison  # noqa: PLC0415 - only one command needs it

    extension = extension_class(protocol)
    return _class_at(extension.comparison, f"{extension.__name__}.comparison", Comparison)


def comparison_of_run(header: Header) -> "type[Comparison]":
    """Return how runs like this are compared; of a protocol that is not loaded here, as an election."""
    from lab.tasks.comparison import Comparison  # noqa: PLC0415 - only one command needs it

    extension = extension_class_of(header)
    return _class_at(extension.comparison, f"{extension.__name__}.comparison", Comparison)


def _class_at(declared: str | type, owner: str, base: type[C]) -> type[C]:
    """Return the class, which may be declared by its place. Raises ExtensionError if it is not one of ``base``."""
    found = _imported(declared, owner) if isinstance(declared, str) else declared
    if not (isinstance(found, type) and issubclass(found, base)):
        given = getattr(declared, "__name__", repr(declared))
        raise ExtensionError(f"{owner} is {given}: write a class of {base.__name__}")
    return found


@cache
def _imported(place: str, owner: str) -> Any:
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ExtensionError(f"{owner} is {place!r}: {error}") from None
