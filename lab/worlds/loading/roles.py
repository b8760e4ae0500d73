"""The clients and services of a run, as the user asks for them."""

import re
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from lab.kernel import Protocol, Timing
from lab.protocols import Program
from lab.protocols.clients import Client
from lab.protocols.services import SERVICES
from lab.protocols.workloads import WORKLOADS
from lab.recording.records import Role
from lab.text import did_you_mean
from lab.worlds.loading.programs import program_command
from lab.worlds.loading.settings import SettingError, Written, as_option

_SETTLING_US = 15_000_000
"""So long before the end, clients stop, and the cluster comes to rest; but at most for half of the run."""
_TIMEOUT_US = 1_000_000
_MOST_CLIENTS = 64
HIGHEST_RATE = 1000
_BEGIN_US = 1_000_000
"""Programs take their time to start; a client that begins earlier waits for its answer in vain."""


class Wanted(Struct, frozen=True):
    """What the user asks for: the clients of a workload, each with so many operations a second, and services.

    ``clients`` None: as many as there are nodes. A service is one by name, or has a program: ``my-kv=./my_kv``.
    """

    workload: str | None = None
    clients: int | None = None
    rate: int = 5
    services: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        workload: str | None,
        clients: str | None,
        rate: str | None,
        services: tuple[str, ...],
        confined: bool = False,
        written: Written = as_option,
    ) -> "Wanted":
        """Read the texts of the settings. Raises SettingError, also if the nodes would be ``confined``."""
        if workload is None:
            for name, given in (("clients", clients), ("rate", rate)):
                if given is not None:
                    raise SettingError(
                        f"{written(name, '')} requires {written('workload', '')}: what shall the clients do?"
                    )
        if confined and (workload or services):
            raise SettingError(
                f"{written('sandbox', '')}: clients and services cannot reach a node in a sandbox; "
                "leave one of them out"
            )
        return cls(
            workload,
            None if clients is None else _number("clients", clients, _MOST_CLIENTS, written),
            cls().rate if rate is None else _number("rate", rate, HIGHEST_RATE, written),
            services,
        )


def named_services(text: str | None) -> tuple[str, ...]:
    """Return the services in a list such as ``lin-kv,my-kv=./kv``."""
    return tuple(filter(None, (each.strip() for each in (text or "").split(","))))


def _number(name: str, text: str, most: int, written: Written) -> int:
    number = int(text) if re.fullmatch(r"\d{1,9}", text.strip()) else 0
    if not 1 <= number <= most:
        raise SettingError(f"{written(name, text)}: write a whole number, from 1 to {most}")
    return number


def roles_of(
    wanted: Wanted,
    protocol: type[Protocol],
    nodes: tuple[int, ...],
    timing: Timing,
    end_us: int | None,
    written: Written = as_option,
    folder: Path = Path(),
) -> tuple[Role, ...]:
    """Return the roles beside the nodes of the cluster, whose ids are above theirs.

    The programs of services are relative to ``folder``. Raises SettingError for an unknown workload or service,
    or a workload that the protocol does not serve.
    """
    if wanted.workload is not None and wanted.workload not in WORKLOADS:
        raise SettingError(
            f"{written('workload', wanted.workload)}: unknown workload; known: {', '.join(WORKLOADS)}"
            f"{did_you_mean(wanted.workload, tuple(WORKLOADS))}"
        )
    programs: dict[str, str] = {}
    for service in wanted.services:
        name, is_program, command = service.partition("=")
        if is_program:
            programs[name] = _service_program(service, name, command, written, folder)
        elif name not in SERVICES:
            raise SettingError(
                f"{written('service', name)}: unknown service; known: {', '.join(SERVICES)}"
                f"{did_you_mean(name, tuple(SERVICES))}; or name a program: {written('service', 'my-kv=./my_kv')}"
            )
    services = [name for service in wanted.services if (name := service.partition("=")[0]) not in programs]
    roles = []
    free = max(nodes) + 1
    if wanted.workload is not None:
        _require_served(wanted.workload, protocol, written)
        if protocol.is_program:
            services += WORKLOADS[wanted.workload].services
        count = len(nodes) if wanted.clients is None else wanted.clients
        ids = tuple(range(free, free + count))
        free += count
        settings = _client_settings(wanted, ids, timing, end_us, protocol.is_program)
        roles.append(Role("clients", Client.name, {each: f"c{each}" for each in ids}, asdict(settings)))
    for name in dict.fromkeys(services):
        roles.append(Role(name, name, {free: name}))
        free += 1
    for name, command in programs.items():
        roles.append(Role(name, Program.name, {free: name}, {"program": command}))
        free += 1
    return tuple(roles)


_SERVICE_NAME = re.compile(r"[a-z]+(-[a-z][a-z0-9]*)+")


def _service_program(service: str, name: str, command: str, written: Written, folder: Path) -> str:
    """Return the command of a service that is a program. Raises SettingError."""
    got = written("service", service)
    if name in SERVICES:
        built_in = written("service", name)
        raise SettingError(f"{got}: {name} is built in ({built_in}); give the program another name, such as my-kv")
    if _SERVICE_NAME.fullmatch(name) is None:
        raise SettingError(f"{got}: choose another name, of small letters with a hyphen, such as my-kv")
    return program_command(command, (), lambda _, value: written("service", f"{name}={value}"), folder)


def wanted_in(roles: tuple[Role, ...], clients: int) -> Wanted:
    """Return what gives these roles, with another number of clients."""
    settings = next((role.parameters for role in roles if role.protocol == Client.name), None)
    services = tuple(role.protocol for role in roles if role.protocol in SERVICES)
    services += tuple(
        f"{role.name}={role.parameters['program']}" for role in roles if role.protocol == Program.name
    )
    if settings is None:
        return Wanted(services=services)
    return Wanted(settings["workload"], clients, 1_000_000 // settings["every_us"], services)


def tail_us(wanted: Wanted, timing: Timing, lifted_us: int, settles_us: int) -> int:
    """Return how long a run goes on once all faults are lifted, in microseconds, whole milliseconds.

    Its clients call a while longer, and their last operations come when the cluster, which settles within
    ``settles_us``, is at rest.
    """
    assert wanted.workload is not None
    if WORKLOADS[wanted.workload].final is None:
        longer_us = settles_us + client_timeout_us(timing)
    else:
        half_us = min(lifted_us, _SETTLING_US)
        longer_us = max(half_us, 5 * settles_us // 2 - lifted_us, settles_us)
    return -(-longer_us // 1_000) * 1_000


def _client_settings(
    wanted: Wanted, ids: tuple[int, ...], timing: Timing, end_us: int | None, are_programs: bool
) -> Client.Parameters:
    assert wanted.workload is not None
    timeout_us = client_timeout_us(timing)
    from_us = max(timing.t_us, _BEGIN_US if are_programs else 0)
    until_us = final_us = None
    if end_us is not None and WORKLOADS[wanted.workload].final is None:
        until_us = end_us - min(timeout_us, end_us // 2)  # the last operation, too, is answered or given up
    elif end_us is not None:
        settling_us = min(_SETTLING_US, end_us // 2)
        until_us, final_us = end_us - settling_us, end_us - settling_us // 5
    return Client.Parameters(
        wanted.workload, ids, from_us, 1_000_000 // wanted.rate, timeout_us, until_us, final_us
    )


def client_timeout_us(timing: Timing) -> int:
    """Return for how long a client waits for an answer."""
    return max(_TIMEOUT_US, 4 * timing.t_us)


def _require_served(workload: str, protocol: type[Protocol], written: Written) -> None:
    """Raise SettingError if nodes of the protocol handle none of the operations of the workload."""
    if protocol.is_program:
        return
    missing = [kind for kind in WORKLOADS[workload].kinds if kind not in protocol.handlers]
    if missing:
        raise SettingError(
            f"{written('workload', workload)}: {protocol.name} does not handle {', '.join(missing)}: "
            f"write a handler, @on({missing[0]}) with {missing[0]} from lab.protocols.operations, "
            "or run a program: --program ./my_node"
        )
