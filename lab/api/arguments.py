"""The arguments of the library's functions: what they mean, and what is wrong with them.

Every mistake raises UserError, which says what was given and what is expected, as on the command line.
"""

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from lab.protocols import ELECTION, PROTOCOLS, TASKS, Algorithm
from lab.recording.records import Role, names_in
from lab.script.parse import parse
from lab.script.scope import CommandError, Scope
from lab.text import UserError
from lab.units import parse_us
from lab.worlds.campaign.schedule import fault_kinds
from lab.worlds.loading.members import members_in, protocols_of
from lab.worlds.loading.roles import Wanted, roles_of
from lab.worlds.loading.settings import Settings, parameters_of
from lab.worlds.loading.targets import (
    absolute_target,
    load_protocol,
    split_target,
    split_task,
    stacked_target,
    target_with,
)
from lab.worlds.loading.user_module import forget_edited

Protocol = str | type[Algorithm]
"""A protocol by name (``"bully"``), as ``"FILE.py:CLASS"``, or a class that is defined in a file."""
Time = str | int
"""A time since the run began: ``"3.5s"``, or whole microseconds."""

GREATEST_SEED = 10**18 - 1
_MOST_PER_S = 1_000_000


class Arguments(Settings, frozen=True, kw_only=True):
    """The settings of a run, which errors name as arguments of a function."""

    @staticmethod
    def written(name: str, value: str) -> str:
        name = {"set": "parameters", "for": "for_"}.get(name, name)
        return f"{name}={value!r}" if value else name


class ProtocolArguments:
    """A protocol with parameters and a timing, as arguments of a function describe them.

    ``settings`` has them as texts. Raises TargetError and UserError.
    """

    def __init__(
        self,
        protocol: Protocol,
        t: Time = "200ms",
        parameters: Mapping[str, Any] | None = None,
        properties: str | Path | None = None,
        nodes: str | None = None,
        latency: str | None = None,
        jitter: str | None = None,
    ) -> None:
        given = {} if parameters is None else parameters
        if not isinstance(given, Mapping):
            raise UserError(f'parameters={given!r}: expected their values by name: {{"patience": "2s"}}')
        self.settings = Arguments(
            protocol=target_of(protocol),
            properties=None if properties is None else Path(properties).absolute(),
            nodes=nodes,
            t=text_of("t", t),
            set_=[f"{ELECTION}={given[ELECTION]}"] if ELECTION in given else [],
            latency=latency,
            jitter=jitter,
        )
        self.protocol = load_protocol(self.settings.target)
        self.timing = self.settings.timing()
        fields = {field.name for field in msgspec.structs.fields(self.protocol.Parameters)}
        texts = [
            f"{name}={text_of(name, value) if f'{name}_us' in fields else _text_of_value(value)}"
            for name, value in given.items()
        ]
        self.parameters = parameters_of(self.protocol, texts, self.settings.written)

    def wanted(
        self,
        workload: str | None,
        clients: int | None,
        rate: int,
        services: Sequence[str],
        model: str | None,
    ) -> Wanted:
        """Return the clients and services. Raises UserError for wrong ones, and for clients without a workload."""
        if clients is not None:
            require_number("clients", clients, 1)
            if workload is None:
                raise UserError(f'clients={clients}: they need a workload, such as workload="lin-kv"')
        if model is not None and workload is None:
            raise UserError(f"model={model!r}: it judges transactions; add a workload, such as txn-list-append")
        require_number("rate", rate, 1, _MOST_PER_S)
        if isinstance(services, str):
            raise UserError(f"services={services!r}: expected a list of names: [{services!r}]")
        return Wanted.of_values(workload, clients, rate, services, model, self.settings.written)


class ClusterArguments(ProtocolArguments):
    """A cluster, as arguments of a function describe it: protocol, nodes, timing, links, parameters.

    ``members`` are the nodes with another protocol. Raises TargetError and UserError.
    """

    def __init__(
        self,
        protocol: Protocol,
        nodes: int | Sequence[int],
        t: Time = "200ms",
        parameters: Mapping[str, Any] | None = None,
        latency: Time | None = None,
        jitter: Time | None = None,
        role: Mapping[str, Protocol] = MappingProxyType({}),
        properties: str | Path | None = None,
    ) -> None:
        links = {"latency": latency, "jitter": jitter}
        texts = {name: None if time is None else text_of(name, time) for name, time in links.items()}
        super().__init__(protocol, t, parameters, properties, _text_of_nodes(nodes), **texts)
        self.ids = tuple(self.settings.node_ids())
        self.link = self.settings.link()
        if not isinstance(role, Mapping):
            raise UserError(f'role={role!r}: expected a protocol by the nodes that execute it: {{"4,5": "ring"}}')
        own = [f"{named}={target_of(each)}" for named, each in role.items()]
        self.members = members_in(own, self.protocol, self.ids, self.parameters, self.settings.written)

    @property
    def own_target(self) -> str | None:
        """The targets of the protocols that are not built in, with commas between them; None if all are."""
        targets = (self.settings.target, *(member.target for member in self.members))
        return ",".join(filter(None, map(own_target_in, targets))) or None

    def scope(self, roles: tuple[Role, ...]) -> Scope:
        """Return the names in the run, which has these roles too."""
        return Scope(self.protocol, self.ids, self.parameters, names_in(roles), protocols_of(self.members))

    def roles(self, wanted: Wanted, end_us: int | None) -> tuple[Role, ...]:
        """Return the clients and services. Raises UserError for wrong ones."""
        return roles_of(wanted, self.protocol, self.ids, self.timing, end_us, self.settings.written)


def own_target_in(target: str) -> str:
    """Return what names, of a target, the user's own protocol and properties; empty if it is built in.

    Of a task, that is the election below it.
    """
    named, properties = split_target(target)
    task, election = split_task(named)
    own = election if task else TASKS[named].usual_election if named in TASKS else named
    if properties:
        return target_with(own, properties)
    return "" if own in PROTOCOLS else own


def target_of(protocol: Protocol | Path) -> str:
    """Return the target that names a protocol, with the path of its file.

    A file that was edited since it was loaded is loaded again. Raises UserError for a class that nodes cannot
    load.
    """
    forget_edited()
    if isinstance(protocol, Path):
        protocol = str(protocol)
    if isinstance(protocol, str):
        return absolute_target(protocol)
    if not (isinstance(protocol, type) and issubclass(protocol, Algorithm)):
        raise UserError(f'protocol={protocol!r}: expected a name, "FILE.py:CLASS", or a class of a protocol')
    if protocol.__module__.startswith("lab."):
        return _built_in_target(protocol)
    name, module = protocol.__qualname__, sys.modules.get(protocol.__module__)
    try:
        file = inspect.getsourcefile(protocol)
    except (OSError, TypeError):
        file = None
    if file is None or not Path(file).is_file():
        raise UserError(f"{name} is not defined in a file, from which nodes could load it: write it to FILE.py")
    if "." in name:
        raise UserError(f"{name} is not at the top level of {file}, from which nodes load it: move it there")
    if vars(module).get(name) not in protocol.__mro__:
        raise UserError(f"{file} has another {name} now, which nodes would load: give one of them another name")
    return f"{file}:{name}"


def _built_in_target(protocol: type[Algorithm]) -> str:
    name = vars(protocol).get("name", "")
    if name in TASKS and ELECTION in protocol.fixed_parameters:
        return stacked_target(name, protocol.fixed_parameters[ELECTION])
    if PROTOCOLS.get(name) is protocol or TASKS.get(name) is protocol:
        return str(name)
    raise UserError(f"{protocol.__name__} is no protocol that can run: {', '.join([*PROTOCOLS, *TASKS])}")


def require_number(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise UserError unless an argument is a whole number, and no less and no more."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or value < least or (most is not None and value > most):  # type: ignore[operator]
        to = "" if most is None else f" to {most:,}"
        raise UserError(f"{name}={value!r}: expected a whole number from {least}{to}")


def require_range(nodes: object) -> tuple[int, int]:
    """Return the least and the most nodes that an argument gives. Raises UserError."""
    match nodes:
        case (int(least), int(most)) | [int(least), int(most)] if 1 <= least <= most:
            return least, most
        case int(count) if count >= 1 and not isinstance(count, bool):
            return count, count
    raise UserError(f"nodes={nodes!r}: expected a number from 1, or a range such as (3, 7)")


def faults_of(faults: str, settings: Settings) -> tuple[str, ...]:
    """Return the kinds of faults that an argument names. Raises UserError."""
    if not isinstance(faults, str):
        raise UserError(f'faults={faults!r}: expected kinds with commas between them: "kill,pause"')
    return fault_kinds(faults, settings.written)


def us_of(time: Time, name: str = "time") -> int:
    """Return a time in microseconds. Raises UserError for what is none."""
    try:
        if isinstance(time, str):
            return parse_us(time)
        if isinstance(time, int) and not isinstance(time, bool) and time >= 0:
            return time
    except ValueError as error:
        raise UserError(f"{name}={time!r}: {error}") from None
    raise UserError(f'{name}={time!r}: expected a time, such as "3.5s", or whole microseconds')


def text_of(name: str, time: Time) -> str:
    """Return a time as the settings of a run have it. Raises UserError for what is none."""
    return time if isinstance(time, str) else f"{us_of(time, name)}us"


def lines_of(script: str | Sequence[str], scope: Scope) -> tuple[str, ...]:
    """Return the lines of a script. Raises CommandError for the first one that cannot be executed in this run."""
    given = script.splitlines() if isinstance(script, str) else script
    if not isinstance(given, Sequence) or not all(isinstance(line, str) for line in given):
        raise UserError(f'script={script!r}: expected lines of text: ["at 2s kill 5"]')
    lines = [line for line in given if line.strip()]
    for line in lines:
        try:
            parse(line, scope.protocol, scope.names).check(scope)
        except CommandError as error:
            raise CommandError(f"{line.strip()!r}: {error}") from None
    return tuple(lines)


def _text_of_nodes(nodes: object) -> str:
    if isinstance(nodes, int):
        require_number("nodes", nodes, 1)
        return str(nodes)
    ids = list(map(str, nodes)) if isinstance(nodes, Sequence) and not isinstance(nodes, str) else []
    if not ids or not all(each.isdecimal() for each in ids):
        raise UserError(f"nodes={nodes!r}: expected a number from 1, or a list of ids: [1, 2, 5]")
    return ",".join(ids) if len(ids) > 1 else f"{ids[0]}-{ids[0]}"


def _text_of_value(value: object) -> str:
    """Return a value of a parameter as ``--set`` has it."""
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(_text_of_value, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
