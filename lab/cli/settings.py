"""From the options of ``lab run`` to the configuration of a run. Every mistake is a UsageError."""

import re
import secrets
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from lab.cli.errors import UsageError
from lab.cli.files import recording_path
from lab.cli.values import value_of
from lab.journal import Link
from lab.kernel import Protocol, Timing
from lab.protocols import ELECTION, TASKS, Algorithm, Election
from lab.script import (
    FASTEST,
    SLOWEST,
    CommandError,
    Scripted,
    WorldCommand,
    check_line,
    numbered_lines,
    parse,
)
from lab.text import did_you_mean
from lab.units import parse_us
from lab.worlds.config import RunConfig, new_run_name
from lab.worlds.targets import TargetError, above, absolute_target, load_protocol

__all__ = [
    "World",
    "check_command",
    "check_headless",
    "duration",
    "election_named",
    "one_of",
    "parameters_of",
    "positive",
    "protocol_named",
    "run_config",
    "script_text",
    "seed_of",
    "target_of",
    "timing_of",
    "whole_number",
    "world_of",
]

W = TypeVar("W", bound=str)

_MOST_NODES = 64
_MOST_SIMULATED = 1000


class World(Struct, frozen=True):
    """Where a run takes place, who watches, and how fast it goes there at first; None: as it can be computed."""

    simulated: bool
    headless: bool
    speed: float | None = 1.0


def protocol_named(target: str) -> type[Algorithm]:
    """The protocol that ``target`` names: a name, or a file of the user's own."""
    try:
        return load_protocol(target)
    except TargetError as error:
        raise UsageError(str(error)) from None


def target_of(protocol: str, settings: list[str]) -> str:
    """The target with the election that is set below a task: ``--set election=ring``."""
    chosen = [value for name, _, value in (each.partition("=") for each in settings) if name == ELECTION]
    return above(protocol, chosen[-1]) if protocol in TASKS and chosen else protocol


def election_named(target: str) -> type[Election]:
    """The same for what is about elections: the protocol has to hold them."""
    found = protocol_named(target)
    if not issubclass(found, Election):
        raise UsageError(f"{found.name} elects nobody, and this is about elections; name one, such as bully")
    return found


def run_config(
    protocol: str,
    nodes: str,
    t: str | None,
    tm: str | None,
    tp: str | None,
    latency: str | None,
    jitter: str | None,
    settings: list[str],
    commands: list[str],
    script: Path | None,
    seed: str | None,
    record: Path | None,
    for_: str | None,
    world: World,
) -> RunConfig:
    """The run that the options ask for."""
    target = target_of(protocol, settings)
    found = protocol_named(target)
    ids = _nodes(nodes, world)
    for line in commands:
        check_command(line, found, ids, world)
    text = "" if script is None else script_text(script, found, ids, world)
    timing = timing_of(t, tm, tp)
    run = new_run_name(found.name)
    return RunConfig(
        run,
        absolute_target(target),
        ids,
        timing,
        parameters_of(found, settings),
        _link(latency, jitter, timing, world),
        seed_of(seed),
        str(recording_path(record, run)),
        tuple(commands),
        None if for_ is None else positive("--for", for_),
        "simulated" if world.simulated else "live",
        world.speed,
        script=text,
    )


def check_headless(headless: bool, for_: str | None) -> None:
    """Without the interface, nobody is there to end the run."""
    if headless and for_ is None:
        raise UsageError("--headless needs an end: add --for 6s")


def world_of(sim: bool, speed: str | None, headless: bool) -> World:
    """The world that the options ask for."""
    if speed is None:
        return World(sim, headless)
    if not sim or headless:
        raise UsageError("--speed goes with --sim and the interface: lab run bully --sim --speed 0.1")
    try:
        command = parse(f"speed {speed}").command
    except CommandError:
        bounds = f"from {SLOWEST:g} to {FASTEST:g}, or max"
        raise UsageError(f"--speed {speed}: write virtual over real time, {bounds}: --speed 0.1") from None
    return World(sim, headless, command.factor if isinstance(command, WorldCommand) else None)


def _link(latency: str | None, jitter: str | None, timing: Timing, world: World) -> Link:
    """Where nothing is said of it, simulated messages take so long that they can be seen in flight."""
    if world.simulated and latency is None and jitter is None:
        return Link(timing.tm_us // 4, timing.tm_us // 8)
    return Link(duration("--latency", latency or "0s"), duration("--jitter", jitter or "0s"))


def _nodes(text: str, world: World) -> tuple[int, ...]:
    if re.fullmatch(r"\d{1,9}(,\d{1,9})+", text.strip()):
        listed = sorted({int(number) for number in text.split(",")})
        _check_count(len(listed), text, world)
        return tuple(listed)
    match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text.strip())
    if match is None:
        raise UsageError(f"--nodes {text}: write how many (--nodes 5), from-to (--nodes 0-7), or which (1,3,5)")
    low, high = (1, int(match[1])) if match[2] is None else (int(match[1]), int(match[2]))
    if match[2] is not None and high < low:
        raise UsageError(f"--nodes {text}: write the lower number first (--nodes {high}-{low})")
    _check_count(high - low + 1, text, world)
    return tuple(range(low, high + 1))


def _check_count(count: int, text: str, world: World) -> None:
    most = _MOST_SIMULATED if world.simulated and world.headless else _MOST_NODES
    if not 1 <= count <= most:
        what = "this simulated run" if world.simulated else "a live run"
        more = f"; --sim --headless takes {_MOST_SIMULATED}" if most < count <= _MOST_SIMULATED else ""
        raise UsageError(f"--nodes {text} is {count} nodes; {what} has 1 to {most}{more}")


def script_text(path: Path, protocol: type[Protocol], ids: tuple[int, ...], world: World) -> str:
    """The script in this file, a command a line; what follows a # and a blank is a remark."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"--script {path}: {said}; name a file with a command a line") from None
    for number, line in numbered_lines(text):
        check_command(line, protocol, ids, world, f"{path}:{number}")
    return text


def seed_of(text: str | None) -> int:
    """The seed that was given, or a fresh one."""
    if text is None:
        return secrets.randbelow(1 << 31)
    if re.fullmatch(r"\d{1,18}", text.strip()) is None:
        raise UsageError(f"--seed {text}: write a whole number, such as --seed 7")
    return int(text)


def timing_of(t: str | None, tm: str | None, tp: str | None) -> Timing:
    """The bounds that were given as T, or as its parts."""
    if t is not None and (tm is not None or tp is not None):
        raise UsageError("--t gives Tm and Tp as parts of it: write --t, or --tm and --tp, not both")
    if t is None and (tm is None) != (tp is None):
        given, missing = ("--tm", "--tp") if tp is None else ("--tp", "--tm")
        raise UsageError(f"{given} goes with {missing}, as T = 2·Tm + Tp: add {missing}, or write --t")
    if t is not None or tm is None or tp is None:
        t_us = positive("--t", t or "200ms")
        tm_us = t_us * 2 // 5
        return Timing(tm_us, t_us - 2 * tm_us)
    return Timing(positive("--tm", tm), duration("--tp", tp))


def parameters_of(protocol: type[Protocol], settings: list[str]) -> dict[str, Any]:
    """What ``--set NAME=VALUE`` sets."""
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
            values[field.name] = positive(f"--set {name}", value)
        else:
            values[field.name] = value_of(setting, value, field.type)
    return values


def check_command(
    line: str, protocol: type[Protocol], ids: tuple[int, ...], world: World, place: str = ""
) -> Scripted:
    """Parse, and resolve what can be resolved before the run, so that a typo is found now.

    ``place``: where the line stands, if not behind ``--do``.
    """
    try:
        scripted = parse(line, protocol)
        if isinstance(scripted.command, WorldCommand):
            _check_world_command(scripted.command, world)
        check_line(scripted, protocol, ids)
    except CommandError as error:
        raise UsageError(f"{place or f'--do {line!r}'}: {error}") from None
    return scripted


def _check_world_command(command: WorldCommand, world: World) -> None:
    if not world.simulated:
        raise CommandError(f"{command.verb}: only in a simulated run: add --sim")
    if world.headless:
        raise CommandError(
            f"{command.verb}: without the interface nobody would see it; take it out, or watch the run: "
            "lab run … --sim"
        )
    if command.verb != "freeze":
        raise CommandError(f"{command.verb}: give it once the run is there, with : or lab ctl")


def duration(option: str, text: str) -> int:
    """A duration that was given with this option, in microseconds."""
    try:
        return parse_us(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def whole_number(option: str, text: str, least: int, most: int | None = None) -> int:
    """A number that was given with this option."""
    if not re.fullmatch(r"\d{1,18}", text.strip()) or not least <= int(text) <= (
        int(text) if most is None else most
    ):
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        raise UsageError(f"{option} {text}: write a whole number, {bounds}")
    return int(text)


def one_of(option: str, text: str, words: tuple[W, ...]) -> W:
    """One of these words, which was given with this option."""
    for word in words:
        if word == text:
            return word
    raise UsageError(f"{option} {text}: write {', '.join(words[:-1])} or {words[-1]}{did_you_mean(text, words)}")


def positive(option: str, text: str) -> int:
    """The same; a millisecond at least."""
    us = duration(option, text)
    if us < 1000:
        raise UsageError(f"{option} {text}: a millisecond is the least")
    return us
