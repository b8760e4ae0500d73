"""The kinds of properties, and the decorators that declare them.

A property is a plain function with a docstring. It is deterministic and changes nothing but its memory, if it has
one::

    @pairwise
    def one_leader_per_term(one: LocalState, other: LocalState) -> Outcome:
        \"\"\"No two nodes lead in the same term at the same time.\"\"\"
        if not (one.role == Role.LEADER == other.role):
            return None
        return one.term != other.term or f"{one.id} and {other.id} lead in term {one.term}"

It returns None for states that it has nothing to say of: a property that was never given another state is *not
judged*. It returns True where it holds, and otherwise False, a sentence, or a ``Counterexample``.

=================  ==============================================  ===========================================
decorator          called with                                     judged
=================  ==============================================  ===========================================
``@invariant``     a global state                                  in every state that the run passes through
``@agreement``     a local state; returns (key, value)             over all consistent cuts, see ``Agreement``
``@pairwise``      two local states                                over all consistent cuts
``@eventually``    a global state                                  a bounded time after the last disturbance
``@leads_to``      a global state; yields the pending items        each item must be gone in a bounded time
``@over_history``  a memory, and a local state before and after    at every change of a local state
``@assumption``    a global state                                  a property that relies on it is required
                                                                   only while it holds
=================  ==============================================  ===========================================
"""

import inspect
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar, overload

from msgspec import Struct

from lab.kernel import Timing
from lab.properties.states import GlobalState, LocalState
from lab.recording.snapshot import NodeState
from lab.units import parse_us

P = TypeVar("P", bound="Declared")


class Counterexample(Struct, frozen=True):
    """A violation: a sentence, and the nodes whose states show it; without nodes, all that are alive.

    A property of the history may name states of the past in place of nodes: ``shown_by`` are keys under which its
    memory noted them.
    """

    text: str
    nodes: tuple[int, ...] = ()
    shown_by: tuple[Hashable, ...] = ()

    def __bool__(self) -> bool:
        return False


Outcome = bool | str | Counterexample | None
"""The result of a property: True, None (nothing to judge), or why it is violated."""


class DeclaredWrongError(Exception):
    """A property is declared in a wrong way; the message is for the user."""


class Declared(Struct, frozen=True):
    """A declared function, with its file and line as ``place``. Some built-in assertions have no function."""

    id: str
    statement: str
    function: Callable[..., Any] | None = None
    place: str = ""

    @property
    def short_text(self) -> str:
        """The sentence of a violation for which the function has none."""
        return f"it does not hold that {self.statement}"

    def __call__(self, *arguments: Any) -> Any:
        assert self.function is not None
        return self.function(*arguments)


class Assumption(Declared, frozen=True):
    """A condition under which properties are required, beside the assumptions 1 to 9."""


class Assertion(Declared, frozen=True, kw_only=True):
    """A property: ``id`` as in the sources, ``statement`` in words, and perhaps ``short`` for a line of verdicts.

    ``marked``: it depends on identifiers that stable storage keeps unique, so the effect of a wipe or of a lost
    write may show at any later time. ``reads`` are the fields of a node's state that it is about. ``relies_on``
    are the assumptions that it needs, by number or by name; None: all nine.
    """

    short: str
    marked: bool = False
    reads: tuple[str, ...] = ()
    relies_on: tuple[int | str, ...] | None = None

    @property
    def label(self) -> str:
        """The name, and the short words in parentheses if there are any."""
        return f"{self.id} ({self.short})" if self.short else self.id


class Invariant(Assertion, frozen=True):
    """A property of single global states."""


KeyedValue = tuple[Hashable, Hashable] | None
"""A key, and a value for it; None of a node that is not concerned."""


class Agreement(Assertion, frozen=True, kw_only=True):
    """A property that any two nodes that it concerns at the same time have the same value for the same key.

    The function maps a local state to (key, value), or to None if the node is not concerned. Two nodes violate it
    if they have different values for one key. ``concerned`` says in words which nodes are.
    """

    concerned: str

    def value_of(self, node: NodeState) -> KeyedValue:
        """Return (key, value), or None. Raises PropertyError."""
        if not self.place:
            claim: KeyedValue = self.function(node)  # type: ignore[misc]
            return claim
        if not getattr(node, "values", None):
            return None  # it has made no step, or is down
        try:
            found: object = self.function(node)  # type: ignore[misc]
        except Exception as error:
            raise PropertyError.of(self, error) from None
        if found is None or (isinstance(found, tuple) and len(found) == 2 and _is_hashable(found)):
            return found
        raise PropertyError(f"{self.id} returned {found!r}: return a key and a value, both hashable, or None")


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:  # of a part
        return False
    return True


class Pairwise(Assertion, frozen=True):
    """A property of any two local states of two nodes that occur together in some consistent cut."""


Bound = Callable[[Timing, Mapping[str, Any], int], int]
"""A bound in microseconds, from the timing of a run, its protocol's parameters, and its protocol's own bound."""


class Bounded(Assertion, frozen=True, kw_only=True):
    """A liveness property. ``within``: the bound, as a duration, in multiples of T (``30T``), or a ``Bound``.

    If it is empty, the bound is the protocol's own. ``despite_cuts``: the property is required even while links
    are cut.
    """

    within: str | Bound = ""
    despite_cuts: bool = False

    def within_us(self, timing: Timing, parameters: Mapping[str, Any], settles_within_us: int) -> int:
        """Return the bound in microseconds."""
        if callable(self.within):
            return self.within(timing, parameters, settles_within_us)
        if not self.within:
            return settles_within_us
        if self.within.endswith("T"):
            return round(float(self.within[:-1]) * timing.t_us)
        return parse_us(self.within)


class Eventually(Bounded, frozen=True, kw_only=True):
    """A property that the cluster has a bounded time after the last disturbance, and from then on.

    ``met`` is the verb in the evidence of a verdict: the nodes *agreed*.
    """

    met: str = "held"


class LeadsTo(Bounded, frozen=True, kw_only=True):
    """A property that what is pending in a state is done within a bounded time without a disturbance.

    The function yields the pending items, as texts or as ``Counterexample``s; the text identifies an item.
    ``noun`` and ``done`` are words for the evidence: *3 requests served*. ``settles``: the effects of faults are
    over once nothing is pending any more.
    """

    noun: str = "item"
    done: str = "done"
    settles: bool = False


class OverHistory(Assertion, frozen=True, kw_only=True):
    """A property of all that has happened in a run. The function gets a ``Memory`` that begins empty.

    ``noun`` and ``done`` are words for the evidence: *3 groups formed*.
    """

    noun: str = "change"
    done: str = "judged"


class Memory(dict[Any, Any]):
    """The memory of a property of the history. Keys and values are plain: numbers, texts, tuples, lists, sets."""

    def claim(self, item: Hashable, claimant: Hashable | None = None) -> Outcome:
        """Return True if ``item`` is claimed for the first time, or again by the same claimant.

        None as a claimant equals no other. A second claim is a ``Counterexample``; its witness has both states.
        """
        if item not in self:
            self[item] = claimant
            self.first_claim(item)
        elif claimant is None or self[item] != claimant:
            return self.second_claim(item)
        return True

    def note(self, key: Hashable, value: Any, by: LocalState, shows: str) -> None:
        """Remember a value under ``key``, and the state of a node that is its reason, for a later witness.

        ``shows`` says in words what the state shows: *the node that commits 1.1*. Only the value tells explored
        states apart.
        """
        self[key] = value

    def node_of(self, key: Hashable) -> int:
        """Return the node whose state was noted under ``key``; 0 in an exploration, which needs no witness."""
        return 0

    def first_claim(self, item: Hashable) -> None:
        """Note the first claim of an item."""

    def second_claim(self, item: Hashable) -> Counterexample:
        """Return the violation by a second claim."""
        return Counterexample(f"{item} a second time")


# decorators


F = TypeVar("F", bound=Callable[..., Any])


def _declare(kind: type[P], function: Callable[..., Any], given: dict[str, Any]) -> P:
    name = function.__name__
    code = getattr(function, "__code__", None)
    is_own = code is not None and not function.__module__.startswith("lab.")
    place = f"{code.co_filename}:{code.co_firstlineno}" if code is not None and is_own else ""
    statement = " ".join(inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
    if not statement:
        raise DeclaredWrongError(f"{name} has no docstring: write what holds, in a sentence")
    if inspect.iscoroutinefunction(function):
        raise DeclaredWrongError(f"{name} is a property, which never waits: write def, not async def")
    if inspect.isgeneratorfunction(function) and not issubclass(kind, LeadsTo):
        raise DeclaredWrongError(
            f"{name} yields, as only functions of @leads_to do: return True, False, a sentence or a Counterexample"
        )
    given = {name: value for name, value in given.items() if value is not None}
    if issubclass(kind, Assertion):
        given = {"short": "", **given}
        if "relies_on" in given:
            given["relies_on"] = tuple(map(_assumption_name, given["relies_on"]))
    within = given.get("within", "")
    if not callable(within) and not _BOUND.fullmatch(str(within)):
        raise DeclaredWrongError(f"{name}: within={within!r} is no duration; write one such as '30T' or '2s'")
    if not statement[1:2].isupper():
        statement = statement[0].lower() + statement[1:]
    given = {"id": name, "place": place, "statement": statement, **given}
    return kind(function=function, **given)


_BOUND = re.compile(r"|\d+(\.\d+)?(T|us|ms|s)")


def _assumption_name(each: object) -> int | str:
    if isinstance(each, Assumption):
        return each.id
    if isinstance(each, str) or (isinstance(each, int) and 1 <= each <= 9):
        return each
    raise DeclaredWrongError(
        f"{each!r} is no assumption: write a number from 1 to 9, or a function with @assumption"
    )


Relied = Iterable[int | str | Assumption] | None
_Decorator = Callable[[Callable[..., Any]], P]


def _decorator(kind: type[P], function: Callable[..., Any] | None, given: dict[str, Any]) -> Any:
    if function is not None:
        return _declare(kind, function, given)
    return lambda decorated: _declare(kind, decorated, given)


@overload
def invariant(function: Callable[[GlobalState], Outcome], /) -> Invariant: ...
@overload
def invariant(*, relies_on: Relied = None, short: str | None = None, **more: Any) -> _Decorator[Invariant]: ...
def invariant(function: Any = None, /, **given: Any) -> Any:
    """Declare a property of every global state that a run passes through."""
    return _decorator(Invariant, function, given)


@overload
def pairwise(function: Callable[[LocalState, LocalState], Outcome], /) -> Pairwise: ...
@overload
def pairwise(*, relies_on: Relied = None, short: str | None = None, **more: Any) -> _Decorator[Pairwise]: ...
def pairwise(function: Any = None, /, **given: Any) -> Any:
    """Declare a property of any two local states of two nodes that can occur together.

    The function gets the node with the lower id first.
    """
    return _decorator(Pairwise, function, given)


def agreement(
    function: None = None,
    /,
    *,
    concerned: str = "",
    relies_on: Relied = None,
    short: str | None = None,
    **more: Any,
) -> _Decorator[Agreement]:
    """Declare that any two nodes that it concerns at the same time agree: see ``Agreement``.

    Raises DeclaredWrongError unless ``concerned`` says which nodes these are.
    """
    if function is not None or not concerned:
        raise DeclaredWrongError('say which nodes have to agree: @agreement(concerned="leading a term")')
    given = {"concerned": concerned, "relies_on": relies_on, "short": short, **more}
    return lambda declared: _declare(Agreement, declared, given)


@overload
def eventually(function: Callable[[GlobalState], Outcome], /) -> Eventually: ...
@overload
def eventually(
    *,
    within: str | Bound = "",
    relies_on: Relied = None,
    despite_cuts: bool = False,
    short: str | None = None,
    **more: Any,
) -> _Decorator[Eventually]: ...
def eventually(function: Any = None, /, **given: Any) -> Any:
    """Declare a property that the cluster has ``within`` this time after the last disturbance, and from then on.

    A disturbance is a fault, a crash, a restart, a message or a timer that is late, or a moment from which an
    assumption holds again on which the property relies. The property is not required while a fault is in force;
    with ``despite_cuts``, it is required while links are cut.
    """
    return _decorator(Eventually, function, given)


@overload
def leads_to(function: Callable[[GlobalState], Iterable[str | Counterexample]], /) -> LeadsTo: ...
@overload
def leads_to(
    *,
    within: str | Bound = "",
    relies_on: Relied = None,
    despite_cuts: bool = False,
    short: str | None = None,
    **more: Any,
) -> _Decorator[LeadsTo]: ...
def leads_to(function: Any = None, /, **given: Any) -> Any:
    """Declare that each item that the function yields is gone ``within`` this time without a disturbance."""
    return _decorator(LeadsTo, function, given)


@overload
def over_history(function: Callable[[Memory, LocalState, LocalState], Outcome], /) -> OverHistory: ...
@overload
def over_history(
    *, relies_on: Relied = None, short: str | None = None, **more: Any
) -> _Decorator[OverHistory]: ...
def over_history(function: Any = None, /, **given: Any) -> Any:
    """Declare a property of all that has happened: it is called with every change of a node's local state."""
    return _decorator(OverHistory, function, given)


def assumption(function: Callable[[GlobalState], Outcome]) -> Assumption:
    """Declare an assumption, to be named in ``relies_on``."""
    return _declare(Assumption, function, {})


# outcomes


class PropertyError(Exception):
    """A property raised an error, or returned something else than an outcome; the message is for the user."""

    @classmethod
    def of(cls, declared: "Declared", error: Exception) -> "PropertyError":
        """Return the error that the property's function raised, with its place."""
        return cls(_describe_error(declared, error))


def evaluate(declared: Declared, *arguments: Any) -> bool | Counterexample | None:
    """Return the outcome, with a ``Counterexample`` for any violation. Raises PropertyError."""
    try:
        outcome = declared.function(*arguments)  # type: ignore[misc]
    except Exception as error:
        raise PropertyError.of(declared, error) from None
    if outcome is None or outcome is True or isinstance(outcome, Counterexample):
        return outcome
    if outcome is False:
        return Counterexample(declared.short_text)
    if isinstance(outcome, str):
        return Counterexample(outcome or declared.short_text)
    raise PropertyError(f"{declared.id} returned {outcome!r}: return True, False, a sentence, or None")


def owed_items(leads_to: LeadsTo, state: GlobalState) -> list[Counterexample]:
    """Return the pending items of the state. Raises PropertyError."""
    try:
        return [_owed_item(each) for each in leads_to(state) or ()]
    except Exception as error:
        raise PropertyError.of(leads_to, error) from None


def _owed_item(each: object) -> Counterexample:
    if isinstance(each, Counterexample):
        return each
    if isinstance(each, str):
        return Counterexample(each)
    raise TypeError(f"it yields {each!r}: yield a sentence or a Counterexample for each pending item")


def _describe_error(declared: Declared, error: Exception) -> str:
    """Return the error with the innermost line of the property's own file."""
    file = declared.place.rpartition(":")[0]
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    place = f"{file.rpartition('/')[2]}:{line}" if line else declared.id
    return f"{place}: {type(error).__name__}: {error}"
