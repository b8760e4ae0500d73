"""From the options of ``lab run`` to the configuration of a run. Every mistake is a UsageError."""

import functools
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from msgspec import Struct

from lab.cli.errors import UsageError
from lab.cli.files import recording_path
from lab.kernel import Protocol, Timing
from lab.protocols import Algorithm, Election
from lab.recording.records import Link
from lab.script import (
    FASTEST,
    SLOWEST,
    CommandError,
    Scripted,
    WorldCommand,
    check_by_hand,
    check_line,
    numbered_lines,
    parse,
)
from lab.text import did_you_mean
from lab.worlds import settings as worded
from lab.worlds.config import RunConfig, new_run_name
from lab.worlds.handles import WATCHED
from lab.worlds.settings import SettingError, target_of, usual_link
from lab.worlds.targets import TargetError, absolute_target, load_protocol

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

P = ParamSpec("P")
R = TypeVar("R")
W = TypeVar("W", bound=str)

_MOST_NODES = 64
_MOST_SIMULATED = 1000


class World(Struct, frozen=True):
    """Where a run takes place, who watches, and how fast it goes there at first; None: as it can be computed."""

    simulated: bool
    headless: bool
    speed: float | None = 1.0


def _in_the_call(read: Callable[P, R]) -> Callable[P, R]:
    """The same function, with the user's mistake as one in the call."""

    @functools.wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return read(*args, **kwargs)
        except SettingError as error:
            raise UsageError(str(error)) from None

    return reading


duration = _in_the_call(worded.duration)
parameters_of = _in_the_call(worded.parameters_of)
positive = _in_the_call(worded.positive)
timing_of = _in_the_call(worded.timing_of)


@_in_the_call
def seed_of(text: str | None) -> int:
    """The seed that was given, or a fresh one."""
    return secrets.randbelow(1 << 31) if text is None else worded.seed_of(text)


def protocol_named(target: str) -> type[Algorithm]:
    """The protocol that ``target`` names: a name, or a file of the user's own."""
    try:
        return load_protocol(target)
    except TargetError as error:
        raise UsageError(str(error)) from None


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
    parameters = parameters_of(found, settings)
    for line in commands:
        check_command(line, found, ids, world, parameters)
    text = "" if script is None else script_text(script, found, ids, world, parameters)
    timing = timing_of(t, tm, tp)
    run = new_run_name(found.name)
    return RunConfig(
        run,
        absolute_target(target),
        ids,
        timing,
        parameters,
        _link(latency, jitter, timing, world),
        seed_of(seed),
        str(recording_path(record, run)),
        tuple(commands),
        None if for_ is None else positive("for", for_),
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
    if latency is None and jitter is None:
        return usual_link(timing, world.simulated)
    return Link(duration("latency", latency or "0s"), duration("jitter", jitter or "0s"))


@_in_the_call
def _nodes(text: str, world: World) -> tuple[int, ...]:
    nodes = worded.nodes_of(text)
    count = len(nodes)
    most = _MOST_SIMULATED if world.simulated and world.headless else _MOST_NODES
    if not 1 <= count <= most:
        what = "this simulated run" if world.simulated else "a live run"
        more = f"; --sim --headless takes {_MOST_SIMULATED}" if most < count <= _MOST_SIMULATED else ""
        raise UsageError(f"--nodes {text} is {count} nodes; {what} has 1 to {most}{more}")
    return tuple(nodes)


def script_text(
    path: Path,
    protocol: type[Protocol],
    ids: tuple[int, ...],
    world: World,
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """The script in this file, a command a line; what follows a blank and a # is a remark."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"--script {path}: {said}; name a file with a command a line") from None
    for number, line in numbered_lines(text):
        check_command(line, protocol, ids, world, parameters, f"{path}:{number}")
    return text


def check_command(
    line: str,
    protocol: type[Protocol],
    ids: tuple[int, ...],
    world: World,
    parameters: Mapping[str, Any],
    place: str = "",
) -> Scripted:
    """Parse, and resolve what can be resolved before the run, so that a typo is found now.

    ``parameters`` are those that the run sets. ``place``: where the line stands, if not behind ``--do``.
    """
    try:
        scripted = parse(line, protocol)
        if isinstance(scripted.command, WorldCommand):
            _check_world_command(scripted, world, in_script=bool(place))
        check_line(scripted, protocol, ids, parameters)
        if not place:
            check_by_hand(scripted)
    except CommandError as error:
        raise UsageError(f"{place or f'--do {line!r}'}: {error}") from None
    return scripted


def _check_world_command(scripted: Scripted, world: World, in_script: bool) -> None:
    """What a script does to the pace is for those who watch, and passed over where nobody does."""
    verb = scripted.text.partition(" ")[0]
    paces = verb in WATCHED
    if paces and in_script:
        return
    if not world.simulated:
        raise CommandError(f"{verb}: only in a simulated run: add --sim")
    if paces and world.headless:
        raise CommandError(
            f"{verb}: without the interface nobody would see it; take it out, or watch the run: lab run … --sim"
        )
    if verb == "step" or not (in_script or scripted.trigger or verb == "freeze"):
        raise CommandError(f"{verb}: give it once the run is there, with : or lab ctl")


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
