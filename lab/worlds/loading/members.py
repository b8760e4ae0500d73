"""The nodes of a cluster that execute another protocol than the rest of it, as the user asks for them.

    4,5=ring               a built-in protocol
    4=my_bully.py          a protocol in a file, one of several: my_bully.py:MyBully
    5=./my_node --verbose  a program, which sends and receives the messages of the others (live only)

The parameters of the run are also theirs, as far as their protocol has them.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import Protocol
from lab.protocols import Algorithm, Election, installed
from lab.tasks.extension import extension_class
from lab.units import first_duplicate, format_ranges
from lab.worlds.loading.programs import lens_target, program_command
from lab.worlds.loading.settings import SettingError, Written, as_option
from lab.worlds.loading.targets import absolute_target, load_protocol
from lab.worlds.loading.user_module import TargetError

_NODES = re.compile(r"\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*")


class MemberTarget(Struct, frozen=True):
    """Nodes of a cluster, and the target and the parameters of the protocol that they execute."""

    nodes: tuple[int, ...]
    target: str
    parameters: dict[str, Any] = {}


def members_in(
    texts: Iterable[str],
    protocol: type[Algorithm],
    nodes: Sequence[int],
    parameters: dict[str, Any],
    written: Written = as_option,
    folder: Path = Path(),
) -> tuple[MemberTarget, ...]:
    """Return what ``NODES=PROTOCOL`` texts ask for in a cluster whose other nodes execute ``protocol``.

    Files are relative to ``folder``. Raises SettingError.
    """
    found: list[MemberTarget] = []
    free = set(nodes)
    for text in texts:
        got = written("role", text)
        named, equals, target = text.partition("=")
        if not equals or not target.strip():
            raise SettingError(f"{got}: write nodes and their protocol, such as {written('role', '4,5=ring')}")
        ids = _ids_in(named, nodes, got)
        if taken := [node for node in ids if node not in free]:
            raise SettingError(f"{got}: node {taken[0]} has a role already; name each node once")
        free.difference_update(ids)
        try:
            member = _member(named, ids, target.strip(), parameters, written, folder)
            _check_mix(got, load_protocol(member.target), protocol)
        except TargetError as error:
            command = written("role", f"{named}=python3 {target.strip()}")
            hint = f"; of a program, give the command: {command}" if target.strip().endswith(".py") else ""
            raise SettingError(f"{got}: {error}{hint}") from None
        found.append(member)
    if found and not free:
        raise SettingError(
            f"{written('role', '')}: no node is left for {protocol.name}; name the protocol of the others instead"
        )
    return tuple(found)


def protocols_of(members: Iterable[MemberTarget]) -> tuple[type[Algorithm], ...]:
    """Return the protocols that these nodes execute. Raises TargetError."""
    return tuple(load_protocol(member.target) for member in members)


def require_executable(members: Iterable[MemberTarget], written: Written = as_option) -> None:
    """Raise SettingError if nodes execute a program, which cannot be executed again and again."""
    for member in members:
        if load_protocol(member.target).is_program:
            got = written("role", f"{format_ranges(member.nodes)}={member.parameters['program']}")
            raise SettingError(f"{got}: a program cannot be explored, as it cannot be executed again; use lab run")


def _ids_in(named: str, nodes: Sequence[int], got: str) -> tuple[int, ...]:
    ids: list[int] = []
    if _NODES.fullmatch(named.replace(" ", "")) is None:
        raise SettingError(
            f"{got}: {named.strip()!r} names no nodes; write their ids, as a list (4,5) or a range (4-6)"
        )
    for part in named.replace(" ", "").split(","):
        low, _, high = part.partition("-")
        span = range(int(low), int(high or low) + 1)
        if not span:
            raise SettingError(f"{got}: write the lower number first ({high}-{low})")
        outside = next((node for node in (span[0], span[-1]) if node not in nodes), None)
        if outside is not None:
            raise SettingError(f"{got}: there is no node {outside}; the nodes are {format_ranges(nodes)}")
        ids += [node for node in nodes if node in span]
    if (twice := first_duplicate(sorted(ids))) is not None:
        raise SettingError(f"{got}: node {twice} is named twice; name each node once")
    return tuple(sorted(ids))


def _member(
    named: str, ids: tuple[int, ...], target: str, parameters: dict[str, Any], written: Written, folder: Path
) -> MemberTarget:
    if _is_program(target):
        command = program_command(target, (), lambda _, value: written("role", f"{named}={value}"), folder)
        return MemberTarget(ids, lens_target(None), {"program": command})
    target = absolute_target(target, folder)
    protocol = load_protocol(target)
    own = {name: each for name, each in parameters.items() if name in protocol.Parameters.__struct_fields__}
    try:
        msgspec.convert(own, protocol.Parameters)
    except msgspec.ValidationError as error:
        got = written("role", f"{named}={target}")
        raise SettingError(f"{got}: the parameters of the run do not fit {protocol.name}: {error}") from None
    return MemberTarget(ids, target, own)


def _is_program(target: str) -> bool:
    """Return whether it is the command of a program: it has arguments, or is a path, but no file of Python's."""
    first, _, arguments = target.partition(" ")
    return ("/" in first and ".py" not in Path(first).name) or bool(arguments and not Path(target).exists())


def _check_mix(got: str, member: type[Algorithm], protocol: type[Algorithm]) -> None:
    """Raise SettingError if nodes of these two protocols cannot be in one cluster."""
    if member.name == protocol.name:
        is_same = member.fixed_parameters == protocol.fixed_parameters and not _is_own(member)
        how = "which the others execute, too" if is_same else "as is that of the others"
        raise SettingError(
            f"{got}: its protocol is {member.name}, {how}; name another, or give the class another name: "
            'name: ClassVar[str] = "my-version"'
        )
    known = installed(member.name, member.fixed_parameters)
    if known is None or not issubclass(member, known):
        raise SettingError(f"{got}: another class of this run has the name {member.name}; give it another")
    if not (member.is_program or protocol.is_program) and _work_of(member) != _work_of(protocol):
        raise SettingError(
            f"{got}: {member.name} and {protocol.name} do not do the same work, so nothing could be shown or "
            "judged of them together; mix elections, or protocols for the same task"
        )
    for each in (member, protocol):
        if _is_confined(each):
            raise SettingError(f"{got}: nodes in a sandbox execute one protocol; leave --sandbox out")


def _work_of(protocol: type[Algorithm]) -> tuple[object, ...]:
    """Return what is equal for protocols whose nodes can be shown and judged together."""
    return extension_class(protocol), issubclass(protocol, Election)


def _is_own(protocol: type[Protocol]) -> bool:
    return not protocol.__module__.startswith("lab.protocols.")


def _is_confined(protocol: type[Protocol]) -> bool:
    return protocol.node_class is not None
