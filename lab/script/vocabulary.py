"""The words of predicates: those of every run, and those that protocols bring (``lab.tasks.terms``); their types.

Comparisons that are always true or always false, because of the types of their values, are refused.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

from msgspec import Struct

from lab.kernel import Protocol
from lab.protocols import OWN_PROTOCOLS, Algorithm
from lab.recording.cluster_state import ClusterState
from lab.script.scope import CommandError
from lab.script.verbs import names_of_bare_commands
from lab.tasks.extension import Extension, built_in_extensions, extension_class, extension_class_of, format_failure
from lab.tasks.terms import ClusterTerm


class ValueType(Struct, frozen=True):
    """A type of values: its name, the ``words`` that are its values, if any, and whether it includes ``none``."""

    name: str
    words: tuple[str, ...] = ()
    none: bool = False

    @property
    def is_computable(self) -> bool:
        """True if its values can be ordered and computed with."""
        return self.name in _COMPUTABLE

    def overlaps(self, other: "ValueType") -> bool:
        """Return whether values of the two types may be equal."""
        names = {self.name, other.name}
        return len(names) == 1 or ANYTHING in (self, other) or names in _MAY_BE_EQUAL


ANYTHING = ValueType("anything")
NUMBER = ValueType("a number")
AMOUNT = ValueType("an amount", none=True)
CENTS = ValueType("an amount of dollars and cents")
LIST = ValueType("a list")
WORD = ValueType("a word")
YES_OR_NO = ValueType("true or false", ("true", "false"))

_MAY_BE_EQUAL = [{AMOUNT.name, NUMBER.name}, {AMOUNT.name, CENTS.name}, {LIST.name, NUMBER.name}]
"""Different types whose values may be equal; a list compares by its length."""
_COMPUTABLE = {each.name for each in (ANYTHING, NUMBER, AMOUNT, CENTS, LIST)}


def type_of(declared: Any) -> ValueType:
    """Return the type of a field or a term by its annotation; ``ANYTHING`` if that is not a simple one."""
    none = False
    if get_origin(declared) in (Union, UnionType):
        parts = [part for part in get_args(declared) if part is not NoneType]
        none = len(parts) < len(get_args(declared))
        if len(parts) > 1:
            return ANYTHING
        declared = parts[0]
    if get_origin(declared) is tuple:
        return LIST
    words = _declared_words(declared)
    if words:
        return ValueType(WORD.name, words, none)
    plain = {int: NUMBER, bool: YES_OR_NO, Decimal: AMOUNT}.get(declared)
    return ANYTHING if plain is None else ValueType(plain.name, plain.words, none)


def _declared_words(declared: Any) -> tuple[str, ...]:
    if get_origin(declared) is Literal:
        values = get_args(declared)
    elif isinstance(declared, type) and issubclass(declared, Enum):
        values = tuple(each.value for each in declared)
    else:
        return ()
    return values if all(isinstance(each, str) for each in values) else ()


STATES = {
    "normal": "status Normal; all normal: every running node is Normal, under one coordinator",
    "election": "status Election",
    "reorganization": "status Reorganization",
    "leads": "status Normal, and its own coordinator",
    "up": "its process is running or paused",
    "down": "its process has crashed, or has not been started",
    "running": "its process is running",
    "paused": "its process is paused",
}
"""The states of a node of any protocol."""

COUNTS = {
    "live": "nodes that are up",
    "groups": "different groups of nodes in Reorganization or Normal; without groups, their coordinators",
    "coordinators": "nodes that lead",
    "faults": "faults in force",
    "messages": "messages sent so far, of all kinds or one: messages(Accept)",
    "flying": "messages in flight, of all kinds or one, on all links or one: flying(Accept 3->1)",
    "held": "held messages, selected in the same way",
}
"""The counts of any run."""

CONSTANTS = ("true", "false", "none", "running", "paused", "killed", "failed", "absent")
"""The words that values are compared with, besides those of a status."""

_RESERVED = {"all", "any", "coordinator", "not", "and", "or", "within", "suspects", "cut", *COUNTS, *CONSTANTS}


class Vocabulary(Struct, frozen=True):
    """The words that the parser has to know.

    ``quantities`` and ``functions`` are brought by protocols, as are the ``words`` of attributes: pairs of an
    attribute and a word. ``commands`` need no *tell* before them: those without arguments, and those with.
    """

    states: tuple[str, ...]
    quantities: tuple[str, ...]
    functions: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    commands: tuple[frozenset[str], frozenset[str]]


def vocabulary(protocol: type[Protocol] | None = None) -> Vocabulary:
    """Return the words of all protocols that are known here, and of this one. Raises CommandError."""
    own = (*OWN_PROTOCOLS.values(), *([] if protocol is None else [protocol]))
    words = dict.fromkeys(
        (field.name, word) for each in own for field in each.fields for word in _words_of(field.type)
    )
    return _vocabulary_of(_known_extensions(protocol), names_of_bare_commands(own), tuple(words))


@cache
def _words_of(declared: Any) -> list[str]:
    """Return the values of this type that can be written without quotes: those of an enum."""
    return [word for word in type_of(declared).words if word.isidentifier() and word not in _RESERVED]


def described_states() -> dict[str, str]:
    """Return all states of nodes with what they mean."""
    terms = (term for each in _known_extensions(None) for term in each.node_terms if term.type is bool)
    return STATES | {term.name: term.help for term in terms}


def described_counts() -> dict[str, str]:
    """Return all quantities, but for functions, with what they mean."""
    terms = (term for each in _known_extensions(None) for term in each.cluster_terms if not term.argument)
    return COUNTS | {term.name: term.help for term in terms}


def names_of_node_terms() -> list[str]:
    """Return the attributes that protocols bring."""
    return [term.name for each in _known_extensions(None) for term in each.node_terms]


def describe_arguments() -> str:
    """Return what the arguments of functions are, for an error message."""
    terms = (term for each in _known_extensions(None) for term in each.cluster_terms)
    return ", ".join(dict.fromkeys(term.argument for term in terms if term.argument))


def _known_extensions(protocol: type[Protocol] | None) -> tuple[type[Extension], ...]:
    own = (brought_by(each) for each in (*OWN_PROTOCOLS.values(), *([] if protocol is None else [protocol])))
    return tuple(dict.fromkeys((*built_in_extensions(), *own)))


@cache
def _vocabulary_of(
    extensions: tuple[type[Extension], ...],
    commands: tuple[frozenset[str], frozenset[str]],
    own_words: tuple[tuple[str, str], ...],
) -> Vocabulary:
    node_terms = [term for each in extensions for term in each.node_terms]
    cluster_terms = [term for each in extensions for term in each.cluster_terms]
    for name in (*(term.name for term in node_terms), *(term.name for term in cluster_terms)):
        if name in _RESERVED or not re.fullmatch(r"[a-z_]\w*", name):
            raise CommandError(f"a protocol cannot bring the term {name!r}: choose another lower-case name")
    words = [(term.name, word) for term in node_terms for word in type_of(term.type).words]
    return Vocabulary(
        tuple(dict.fromkeys((*STATES, *(term.name for term in node_terms if term.type is bool)))),
        tuple(dict.fromkeys(term.name for term in cluster_terms if not term.argument)),
        tuple(dict.fromkeys(term.name for term in cluster_terms if term.argument)),
        tuple(each for each in (*words, *own_words) if each[1].isidentifier()),
        commands,
    )


# the terms of a run


def brought_by(protocol: type[Protocol]) -> type[Extension]:
    """Return what a protocol brings."""
    return extension_class(protocol) if issubclass(protocol, Algorithm) else Extension


def brought_to(cluster: ClusterState) -> type[Extension]:
    """Return what the protocol of a run brings to it."""
    return Extension if cluster.header is None else extension_class_of(cluster.header)


def require_term(name: str, protocol: type[Protocol]) -> ClusterTerm:
    """Return the quantity of this name. Raises CommandError if the protocol does not bring it."""
    term = brought_by(protocol).cluster_term(name)
    if term is None:
        refuse_term(name, protocol, lambda each: each.cluster_term(name))
    return term


def refuse_term(what: str, protocol: type[Protocol], term_in: Callable[[type[Extension]], object]) -> NoReturn:
    """Raise CommandError: say what the protocol has not, as those that bring it would."""
    without = next((each.without_terms for each in _known_extensions(None) if term_in(each)), "has no {what}")
    raise CommandError(f"{protocol.name} {without.format(what=what)}")


def evaluate(term: Callable[..., Any], *arguments: Any) -> Any:
    """Return the value of a term. Raises CommandError, with the place in the user's file, if it fails."""
    try:
        return term(*arguments)
    except Exception as error:
        raise CommandError(format_failure(getattr(term, "__name__", "term"), error)) from error
