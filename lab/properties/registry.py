"""The properties of a run: the built-in ones, and those in files that this process was told to load.

No file is loaded because a recording names it. A property of a run whose code is not loaded is not judged.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from lab.properties.assertions import ASSERTIONS, ASSUMPTIONS, BUILT_IN, BUILT_IN_ASSUMPTIONS, RAISES
from lab.properties.declarations import Assertion, Assumption, Declared
from lab.protocols import OWN_PROTOCOLS, Algorithm, UnknownProtocolError, find_protocol
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
    unloaded = [_unloaded(name) for name in info.promises if name not in known]
    return [*built_in, *own.values(), *unloaded]


def _unloaded(name: str) -> Assertion:
    return Assertion(name, f"{name}, whose code is not loaded", short=name.replace("_", " "))


def assumptions_of(info: ProtocolInfo) -> list[Assumption]:
    """Return the assumptions by name of the runs of this protocol, beside the nine.

    These are the built-in ones on which a promise relies, and those that were loaded.
    """
    needed = [*info.relies_on.values(), *(each.relies_on or () for each in assertions_of(info))]
    relied = {name for names in needed for name in names}
    built_in = [each for each in BUILT_IN_ASSUMPTIONS if each.id in relied]
    return [*built_in, *(each for each in _LOADED.get(info.name, {}).values() if isinstance(each, Assumption))]


def installed_protocol(info: ProtocolInfo) -> type[Algorithm] | None:
    """Return the protocol of a run if this process has it: a built-in one, or one of the user's own."""
    try:
        return find_protocol(info.name, info.parameters)
    except UnknownProtocolError:
        return OWN_PROTOCOLS.get(info.name)
