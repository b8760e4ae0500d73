"""The properties of a run: the built-in ones, and those in files that this process was told to load.

No file is loaded because a recording names it. A property of a run whose code is not loaded is not judged.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from lab.properties.assertions import (
    ASSERTIONS,
    ASSUMPTION_NUMBERS,
    ASSUMPTIONS,
    BUILT_IN,
    BUILT_IN_ASSUMPTIONS,
    RAISES,
    unloaded,
)
from lab.properties.declarations import Assertion, Assumption, Declared
from lab.properties.states import FieldTypes
from lab.protocols import Algorithm, Program, installed
from lab.recording.records import Header, ProtocolInfo

_LOADED: dict[str, dict[str, Declared]] = {}
"""By the name of the protocol, the properties and the assumptions loaded for its runs."""


def register(protocol: str, declared: Iterable[Declared]) -> None:
    """Use these in all runs of the protocol of this name, in place of those registered before."""
    loaded = _LOADED[protocol] = {each.id: each for each in declared}
    for each in loaded.values():
        if isinstance(each, Assertion):
            ASSERTIONS[each.id] = each
        elif isinstance(each, Assumption):
            ASSUMPTIONS[each.id] = each.statement


def declared_for(info: ProtocolInfo) -> tuple[Declared, ...]:
    """Return what was loaded for the runs of this protocol."""
    return tuple(_LOADED.get(info.name, {}).values())


def with_promises(header: Header, declared: Iterable[Declared]) -> Header:
    """Return the header of a run that promises these properties too, and register them for its protocol."""
    info = header.protocol
    properties = tuple(declared)
    register(info.name, (*declared_for(info), *properties))
    names = [each.id for each in properties if isinstance(each, Assertion)]
    promises = tuple(dict.fromkeys((*info.promises, *names)))
    return replace(header, protocol=replace(info, promises=promises))


def assertions_of(info: ProtocolInfo) -> list[Assertion]:
    """Return the assertions that a run promises, without *raises*: the built-in ones first."""
    loaded = _LOADED.get(info.name, {})
    own = {name: each for name, each in loaded.items() if isinstance(each, Assertion) and name in info.promises}
    built_in = [each for each in BUILT_IN if each.id in info.promises and each is not RAISES]
    known = {each.id for each in (*BUILT_IN, *own.values())}
    return [*built_in, *own.values(), *(unloaded(name) for name in info.promises if name not in known)]


class RunProperties(Struct, frozen=True):
    """The properties by which a run is judged.

    ``relies_on`` has the assumptions that each needs; those without an entry need all nine. ``assumptions`` are
    those by name on which some property relies. ``types`` are the types of the protocol's fields, if a property of
    the user's own needs them.
    """

    assertions: tuple[Assertion, ...]
    relies_on: dict[str, tuple[int | str, ...]]
    assumptions: tuple[Assumption, ...]
    types: FieldTypes | None

    @classmethod
    def of(cls, info: ProtocolInfo, protocol: type[Algorithm] | None = None) -> "RunProperties":
        """Return the properties that a run promises; ``protocol`` is its class, by default the one loaded here."""
        assertions = tuple(assertions_of(info))
        relies_on = {
            each.id: assumptions_of(each, info.relies_on.get(each.id))
            for each in assertions
            if each.relies_on is not None or each.id in info.relies_on
        }
        relied = {name for names in relies_on.values() for name in names}
        known = (*BUILT_IN_ASSUMPTIONS, *declared_for(info))
        assumptions = tuple(each for each in known if isinstance(each, Assumption) and each.id in relied)
        is_own = any(each.place for each in (*assertions, *assumptions))
        types = FieldTypes(protocol or installed_protocol(info), info.parameters) if is_own else None
        return cls(assertions, relies_on, assumptions, types)

    def relying_on(self, assumption: int) -> "RunProperties":
        """Return the properties, all of which need this assumption, too."""
        needed = {each.id: self.relies_on.get(each.id, ASSUMPTION_NUMBERS) for each in self.assertions}
        return replace(self, relies_on={name: (assumption, *numbers) for name, numbers in needed.items()})

    def with_assertion(self, assertion: Assertion) -> "RunProperties":
        """Return the properties with one more."""
        relies_on = self.relies_on
        if assertion.relies_on is not None:
            relies_on = {**relies_on, assertion.id: assertion.relies_on}
        return replace(self, assertions=(*self.assertions, assertion), relies_on=relies_on)


def assumptions_of(assertion: Assertion, given: tuple[int | str, ...] | None) -> tuple[int | str, ...]:
    """Return what an assertion relies on, of a protocol that says this: its own by name always count."""
    own = ASSUMPTION_NUMBERS if assertion.relies_on is None else assertion.relies_on
    return own if given is None else (*given, *(each for each in own if isinstance(each, str)))


def runs_programs(info: ProtocolInfo) -> bool:
    """Return whether the nodes of a run stand for programs, as far as this process has its protocol."""
    protocol = installed_protocol(info)
    return protocol is not None and protocol.is_program


def has_programs(header: Header) -> bool:
    """Return whether some nodes of a run, in the cluster or outside, stand for programs."""
    infos = (header.protocol, *(role.protocol for role in header.members))
    return any(map(runs_programs, infos)) or any(role.protocol == Program.name for role in header.roles)


def installed_protocol(info: ProtocolInfo) -> type[Algorithm] | None:
    """Return the protocol of a run if this process has it: a built-in one, or one of the user's own."""
    return installed(info.name, info.parameters)
