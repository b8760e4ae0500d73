"""Clients that are given their operations, as the user asks for them: ``write 0 1; read 0``."""

import re
import shlex
from collections.abc import Sequence
from typing import Any

import msgspec

from lab.histories.operations import HistoryBuilder, HistoryError
from lab.histories.workloads import WORKLOADS as HISTORIES
from lab.kernel import Protocol, Timing
from lab.protocols.clients import Call, GivenClient, value_in
from lab.protocols.maelstrom import type_of
from lab.protocols.workloads import WORKLOADS, operation_of
from lab.recording.records import Role
from lab.text import did_you_mean, sanitize
from lab.worlds.loading.roles import client_timeout_us
from lab.worlds.loading.settings import SettingError, Written, as_option

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
    workload: str, calls: tuple[tuple[Call, ...], ...], nodes: tuple[int, ...], timing: Timing
) -> Role:
    """Return the role of clients that call these operations when they are told."""
    ids = tuple(range(max(nodes) + 1, max(nodes) + 1 + len(calls)))
    settings = GivenClient.Parameters(workload, ids, calls, client_timeout_us(timing))
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
