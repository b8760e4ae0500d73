"""From the options of ``lab run`` to the configuration of a run. Every mistake is a UsageError."""

import os
import re
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from lab.cli.errors import UsageError
from lab.journal import Cluster, Link, NotARecordingError, open_recording
from lab.kernel import Protocol, Timing
from lab.places import new_recording_path
from lab.protocols import UnknownProtocolError, find_protocol
from lab.script import CommandError, Heal, LinkFault, NodeCommand, Partition, Scripted, parse, partition_rule
from lab.script.resolve import resolve_links, resolve_nodes
from lab.units import parse_us
from lab.worlds.config import RunConfig

__all__ = ["MOST_NODES", "protocol_named", "run_config"]

MOST_NODES = 64


def protocol_named(name: str) -> type[Protocol]:
    """The protocol called ``name``."""
    try:
        return find_protocol(name)
    except UnknownProtocolError as error:
        raise UsageError(f"{error} (lab run --help)") from None


def run_config(
    protocol: str,
    nodes: str,
    t: str | None,
    tm: str | None,
    tp: str | None,
    latency: str,
    jitter: str,
    settings: list[str],
    commands: list[str],
    seed: str | None,
    record: Path | None,
    for_: str | None,
) -> RunConfig:
    """The run that the options ask for."""
    found = protocol_named(protocol)
    ids = _nodes(nodes)
    for line in commands:
        _check_command(line, ids)
    run = f"{protocol}-{datetime.now():%m%d-%H%M%S}-{secrets.token_hex(2)}"
    return RunConfig(
        run,
        protocol,
        ids,
        _timing(t, tm, tp),
        _parameters(found, settings),
        Link(_duration("--latency", latency), _duration("--jitter", jitter)),
        _seed(seed),
        str(_recording(record, run)),
        tuple(commands),
        None if for_ is None else _positive("--for", for_),
    )


def _nodes(text: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text.strip())
    if match is None:
        raise UsageError(f"--nodes {text}: write how many (--nodes 5) or from-to (--nodes 0-7)")
    low, high = (1, int(match[1])) if match[2] is None else (int(match[1]), int(match[2]))
    if match[2] is not None and high < low:
        raise UsageError(f"--nodes {text}: write the lower number first (--nodes {high}-{low})")
    count = high - low + 1
    if not 1 <= count <= MOST_NODES:
        raise UsageError(f"--nodes {text} is {count} nodes; a live run has 1 to {MOST_NODES}")
    return tuple(range(low, high + 1))


def _seed(text: str | None) -> int:
    if text is None:
        return secrets.randbelow(1 << 31)
    if re.fullmatch(r"\d{1,18}", text.strip()) is None:
        raise UsageError(f"--seed {text}: write a whole number, such as --seed 7")
    return int(text)


def _timing(t: str | None, tm: str | None, tp: str | None) -> Timing:
    if t is not None and (tm is not None or tp is not None):
        raise UsageError("--t gives Tm and Tp as parts of it: write --t, or --tm and --tp, not both")
    if t is None and (tm is None) != (tp is None):
        given, missing = ("--tm", "--tp") if tp is None else ("--tp", "--tm")
        raise UsageError(f"{given} goes with {missing}, as T = 2·Tm + Tp: add {missing}, or write --t")
    if t is not None or tm is None or tp is None:
        t_us = _positive("--t", t or "200ms")
        tm_us = t_us * 2 // 5
        return Timing(tm_us, t_us - 2 * tm_us)
    return Timing(_positive("--tm", tm), _duration("--tp", tp))


def _parameters(protocol: type[Protocol], settings: list[str]) -> dict[str, Any]:
    fields = {field.name: field for field in msgspec.structs.fields(protocol.Parameters)}
    shown = {name.removesuffix("_us"): name for name in fields}
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in shown:
            known = ", ".join(shown) or "nothing"
            raise UsageError(f"--set {setting}: {protocol.name} has {known} to set: --set NAME=VALUE")
        field = fields[shown[name]]
        if field.name.endswith("_us"):
            values[field.name] = _positive(f"--set {name}", value)
            continue
        try:
            values[field.name] = msgspec.convert(value, field.type, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"--set {setting}: {error}") from None
    return values


def _check_command(line: str, ids: tuple[int, ...]) -> Scripted:
    """Parse, and resolve what can be resolved before the run, so that a typo is found now."""
    nobody_yet = Cluster(ids)
    try:
        scripted = parse(line)
        command = scripted.command
        if isinstance(command, NodeCommand) and "coordinator" not in command.nodes.words:
            resolve_nodes(command.nodes, nobody_yet)
        elif isinstance(command, Partition) and not any(side.words for side in command.sides):
            partition_rule(command, nobody_yet)
        elif isinstance(command, LinkFault | Heal) and command.links is not None:
            ends = (command.links.sources, command.links.targets)
            if not any(end is not None and "coordinator" in end.words for end in ends):
                resolve_links(command.links, nobody_yet)
    except CommandError as error:
        raise UsageError(f"--do {line!r}: {error}") from None
    return scripted


def _recording(record: Path | None, run: str) -> Path:
    if record is None:
        return new_recording_path(run)
    path = record.absolute()
    if not path.parent.is_dir():
        raise UsageError(f"--record {record}: there is no folder {path.parent}")
    if path.is_dir():
        raise UsageError(f"--record {record} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise UsageError(f"--record {record} is no file that can be kept; name another")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--record {record}: you may not write there; name another file")
    if path.exists() and path.stat().st_size:
        try:
            open_recording(path).close()
        except NotARecordingError:
            raise UsageError(f"--record {record} exists and is no recording; it is left alone") from None
    return path


def _duration(option: str, text: str) -> int:
    try:
        return parse_us(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _positive(option: str, text: str) -> int:
    us = _duration(option, text)
    if us < 1000:
        raise UsageError(f"{option} {text}: a millisecond is the least")
    return us
