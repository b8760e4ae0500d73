"""The clients and services of a run, as the user asks for them, and what clients call: ``write 0 1; read 0``."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from lab.histories.anomalies import MODELS, ConsistencyModel
from lab.histories.operations import HistoryBuilder, HistoryError
from lab.histories.workloads import WORKLOADS as HISTORIES
from lab.kernel import Protocol, Timing
from lab.protocols import Program
from lab.protocols.clients import Call, Client, GivenClient, value_in
from lab.protocols.maelstrom import type_of
from lab.protocols.services import SERVICES
from lab.protocols.workloads import WORKLOADS, operation_of
from lab.recording.records import Role
from lab.text import did_you_mean, sanitize
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
    ``model``: the consistency model that transactions are judged by; empty: strict serializable.
    """

    workload: str | None = None
    clients: int | None = None
    rate: int = 5
    services: tuple[str, ...] = ()
    model: str = ""

    @classmethod
    def of(
        cls,
        workload: str | None,
        clients: str | None,
        rate: str | None,
        services: tuple[str, ...],
        confined: bool = False,
        written: Written = as_option,
        model: str | None = None,
    ) -> "Wanted":
        """Read the texts of the settings. Raises SettingError, also if the nodes would be ``confined``."""
        if workload is None:
            for name, given in (("clients", clients), ("rate", rate), ("model", model)):
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
            "" if model is None else model_for(workload, model, written),
        )

    @classmethod
    def of_values(
        cls,
        workload: str | None,
        clients: int | None,
        rate: int,
        services: Sequence[str],
        model: str | None,
        written: Written,
    ) -> "Wanted":
        """Take the settings that a program passes. Raises SettingError for a wrong ``model``."""
        named = "" if model is None else model_for(workload, model, written)
        return cls(workload, clients, rate, tuple(services), named)


def model_for(workload: str | None, text: str, written: Written = as_option) -> ConsistencyModel:
    """Return the consistency model of this name, with blanks or hyphens, that transactions are judged by.

    Raises SettingError for an unknown one, or a workload without transactions.
    """
    got = written("model", text)
    if workload in HISTORIES and HISTORIES[workload].transactions is None:
        named = " and ".join(name for name, each in HISTORIES.items() if each.transactions is not None)
        raise SettingError(f"{got} applies to transactions: {named}; leave it out")
    plain = text.strip().lower().replace("-", " ")
    for model in MODELS:
        if model == plain:
            return model
    raise SettingError(f"{got}: unknown model; known: {', '.join(MODELS)}{did_you_mean(plain, MODELS)}")


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
    model = settings.get("model", "")
    return Wanted(settings["workload"], clients, 1_000_000 // settings["every_us"], services, model)


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
        wanted.workload, wanted.model, ids, from_us, 1_000_000 // wanted.rate, timeout_us, until_us, final_us
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


EXPLORED_WORKLOADS = tuple(name for name, each in WORKLOADS.items() if each.final is None)
"""The workloads whose history is judged without last reads, for which the cluster must come to rest."""


def calls_of(
    workload: str | None, texts: Sequence[str], protocol: type[Protocol], written: Written = as_option
) -> tuple[tuple[Call, ...], ...]:
    """Return the operations of each client, given as ``write 0 1; read 0``. Raises SettingError."""
    example = written("client", shlex.quote("write 0 1; read 0"))
    if workload is None:
        if texts:
            raise SettingError(
                f"{written('client', shlex.quote(texts[0]))} requires {written('workload', 'lin-kv')}"
            )
        return ()
    got = written("workload", workload)
    if workload in WORKLOADS and workload not in EXPLORED_WORKLOADS:
        raise SettingError(
            f"{got}: it is judged by last reads, when the cluster has come to rest, which an exploration does not "
            f"wait for; explore {', '.join(EXPLORED_WORKLOADS)}, or use lab check"
        )
    if workload not in WORKLOADS:
        meant = did_you_mean(workload, EXPLORED_WORKLOADS)
        raise SettingError(f"{got}: unknown workload; known: {', '.join(EXPLORED_WORKLOADS)}{meant}")
    if not texts:
        raise SettingError(f"{got}: say what each client calls: {example}")
    calls = tuple(_calls_in(text, workload, written) for text in texts)
    kinds = dict.fromkeys(call.kind for each in calls for call in each)
    if missing := [kind for kind in kinds if kind not in protocol.handlers]:
        raise SettingError(
            f"{got}: {protocol.name} does not handle {', '.join(missing)}: write @on({missing[0]}), with "
            "this class from lab.protocols.operations"
        )
    _require_history(workload, calls, got)
    return calls


def _require_history(workload: str, calls: tuple[tuple[Call, ...], ...], got: str) -> None:
    """Raise SettingError if no answers make a history of these operations."""
    builder = HistoryBuilder()
    try:
        for client, each in enumerate(calls, 1):
            for place, call in enumerate(each):
                operation = operation_of(call.kind, call.body)
                assert operation is not None
                builder.invoke(f"client {client}.{place}", *operation)
        HISTORIES[workload].check(builder.history())
    except HistoryError as error:
        raise SettingError(f"{got}: these operations make no history: {error}") from None


def given_clients(
    workload: str, model: str, calls: tuple[tuple[Call, ...], ...], nodes: tuple[int, ...], timing: Timing
) -> Role:
    """Return the role of clients that call these operations when they are told."""
    ids = tuple(range(max(nodes) + 1, max(nodes) + 1 + len(calls)))
    settings = GivenClient.Parameters(workload, model, ids, calls, client_timeout_us(timing))
    return Role("clients", GivenClient.name, {each: f"c{each}" for each in ids}, msgspec.to_builtins(settings))


_FIELDS = {
    "Read": ("key",),
    "Write": ("key", "value"),
    "Cas": ("key", "from", "to"),
    "Echo": ("echo",),
    "Generate": (),
    "Ts": (),
    "Txn": ("txn",),
}
"""The fields of operations that clients can be given, as their words follow each other."""

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_WORD = re.compile(rf"{_QUOTED}(?=\s|$)|\S+")
_LONGEST_OPERATIONS, _DEEPEST_VALUE = 2_000, 20


def _calls_in(text: str, workload: str, written: Written) -> tuple[Call, ...]:
    known = {type_of(kind): kind for kind in WORKLOADS[workload].kinds}
    found, got = [], written("client", shlex.quote(sanitize(text, 100)))
    if len(text) > _LONGEST_OPERATIONS or not text.isprintable():
        raise SettingError(f"{got}: write plain text, of {_LONGEST_OPERATIONS:,} characters at most")
    for part in _parts_of(text):
        name, _, rest = part.partition(" ")
        if name not in known:
            forms = "; ".join(" ".join([each, *map(str.upper, _FIELDS[kind])]) for each, kind in known.items())
            raise SettingError(f"{got}: {name or 'nothing'} is no operation of {workload}; write {forms}")
        fields = _FIELDS[known[name]]
        words = [rest.strip()] if fields in (("echo",), ("txn",)) and rest.strip() else _WORD.findall(rest)
        if len(words) != len(fields):
            form = " ".join([name, *map(str.upper, fields)])
            raise SettingError(f"{got}: expected {form}, not {part}")
        values = tuple(map(value_in, words))
        if any(_depth_of(value) > _DEEPEST_VALUE for value in values):
            raise SettingError(f"{got}: lists in lists, deeper than {_DEEPEST_VALUE}")
        found.append(Call(known[name], dict(zip(fields, values, strict=True))))
    return tuple(found)


def _parts_of(text: str) -> list[str]:
    """Return the operations of a text: what is between its semicolons, but for those in quotes."""
    parts = [""]
    for piece in re.findall(rf"{_QUOTED}|.", text, re.DOTALL):
        if piece == ";":
            parts.append("")
        else:
            parts[-1] += piece
    stripped = [part.strip() for part in parts]
    return stripped[:-1] if len(stripped) > 1 and not stripped[-1] else stripped


def _depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth_of, inner), default=0)
