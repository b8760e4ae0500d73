"""Options that several commands share: their declarations, completion, and what their texts mean.

Every mistake raises UsageError.
"""

import functools
import os
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from msgspec import Struct

from lab.cli.terminal import UsageError
from lab.durable import write_durably
from lab.kernel import Protocol, Timing
from lab.places import new_recording_path
from lab.protocols import Algorithm, Election
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Link
from lab.recording.writer import BeingWrittenError, open_exclusive
from lab.script.commands import FASTEST, SLOWEST, CommandError, WorldCommand
from lab.script.parse import numbered_lines, parse
from lab.script.statements import Statement
from lab.script.validation import check_interactive, check_line
from lab.text import did_you_mean
from lab.worlds.loading import settings as run_settings
from lab.worlds.loading.config import RunConfig, new_run_name
from lab.worlds.loading.settings import SettingError, target_of, usual_link
from lab.worlds.loading.targets import TargetError, absolute_target, load_protocol
from lab.worlds.run import WATCHED

Target = Annotated[
    str, typer.Argument(metavar="PROTOCOL", help="A protocol by name (bully), or your own: FILE.py:CLASS.")
]

Targets = Annotated[
    list[str], typer.Argument(metavar="PROTOCOL", help="Protocols by name, or your own: FILE.py:CLASS.")
]

Faults = Annotated[
    str,
    typer.Option(
        help="Kinds of random faults: kill, pause, partition, delay, loss, duplicate, reorder, wipe; or all."
    ),
]

RequestBound = Annotated[
    str | None, typer.Option(help=r"T, the bound for a request and its answer: 2·Tm + Tp.  \[default: 200ms]")
]

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Set a parameter of the protocol; lab list protocols NAME lists them."
    ),
]

OwnProtocol = Annotated[
    str | None,
    typer.Option(metavar="FILE.py:CLASS", help="Use this class, if the protocol is your own."),
]

Record = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Record to this file. Default: a new file in lab's data folder."),
]

Picture = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE.svg", help="Also write the charts to this file.")
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

Workers = Annotated[str | None, typer.Option(help=r"Number of worker processes.  \[default: one per processor]")]

Headless = Annotated[bool, typer.Option("--headless", help="Run without the interface; requires --for.")]


def complete_exercise(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in exercises with their titles."""
    from lab.exercises.exercise_reader import ExerciseError, all_exercises  # noqa: PLC0415 - for speed

    try:
        return [(each.name, each.title) for each in all_exercises() if each.name.startswith(incomplete)]
    except ExerciseError:
        return []


def complete_format(incomplete: str) -> list[tuple[str, str]]:
    """Return the formats of ``lab export`` with their descriptions."""
    from lab.tui.export_formats import ALL_FORMATS  # noqa: PLC0415 - keeps completion fast

    return [(each.name, each.help) for each in ALL_FORMATS if each.name.startswith(incomplete)]


def complete_scenario(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in scenarios with their titles."""
    from lab.scenario.file import (  # noqa: PLC0415 - keeps completion fast
        ScenarioError,
        read_scenario,
        shipped,
    )

    found = []
    for path in shipped():
        if path.stem.startswith(incomplete):
            try:
                title = read_scenario(path).title
            except ScenarioError:
                title = ""
            found.append((path.stem, title))
    return found


def complete_target(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in protocols, tasks and scenarios."""
    from lab.protocols import PROTOCOLS, TASKS  # noqa: PLC0415

    named = sorted({**PROTOCOLS, **TASKS}.items())
    found = [
        (name, (protocol.__doc__ or "").partition("\n")[0])
        for name, protocol in named
        if name.startswith(incomplete)
    ]
    return found + complete_scenario(incomplete)


P = ParamSpec("P")
R = TypeVar("R")
W = TypeVar("W", bound=str)

_MOST_NODES = 64
_MOST_SIMULATED = 1000


class RunMode(Struct, frozen=True):
    """The world of a run, whether it is watched, and its initial speed. None: as fast as possible."""

    simulated: bool
    headless: bool
    speed: float | None = 1.0


def _as_usage_error(read: Callable[P, R]) -> Callable[P, R]:
    """Return the function with SettingError turned into UsageError."""

    @functools.wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return read(*args, **kwargs)
        except SettingError as error:
            raise UsageError(str(error)) from None

    return reading


duration = _as_usage_error(run_settings.duration)
parameters_of = _as_usage_error(run_settings.parameters_of)
positive = _as_usage_error(run_settings.positive)
timing_of = _as_usage_error(run_settings.timing_of)


@_as_usage_error
def seed_of(text: str | None) -> int:
    """Return the given seed, or a random one."""
    return secrets.randbelow(1 << 31) if text is None else run_settings.seed_of(text)


def find_protocol(target: str) -> type[Algorithm]:
    """Return the protocol that ``target`` names: a name, or FILE.py:CLASS. Raises UsageError."""
    try:
        return load_protocol(target)
    except TargetError as error:
        raise UsageError(str(error)) from None


def find_election(target: str) -> type[Election]:
    """Return the election protocol that ``target`` names. Raises UsageError."""
    found = find_protocol(target)
    if not issubclass(found, Election):
        raise UsageError(f"{found.name} is not an election; name one, such as bully")
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
    world: RunMode,
) -> RunConfig:
    """Return the configuration of the run that the options describe."""
    target = target_of(protocol, settings)
    found = find_protocol(target)
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
    """Raise UsageError if a headless run has no end."""
    if headless and for_ is None:
        raise UsageError("--headless requires --for, such as --for 6s")


def world_of(sim: bool, speed: str | None, headless: bool) -> RunMode:
    """Return the mode that the options describe."""
    if speed is None:
        return RunMode(sim, headless)
    if not sim or headless:
        raise UsageError("--speed requires --sim and the interface: lab run bully --sim --speed 0.1")
    try:
        command = parse(f"speed {speed}").command
    except CommandError:
        bounds = f"from {SLOWEST:g} to {FASTEST:g}, or max"
        raise UsageError(f"--speed {speed}: write virtual time per real time, {bounds}: --speed 0.1") from None
    return RunMode(sim, headless, command.factor if isinstance(command, WorldCommand) else None)


def _link(latency: str | None, jitter: str | None, timing: Timing, world: RunMode) -> Link:
    if latency is None and jitter is None:
        return usual_link(timing, world.simulated)
    return Link(duration("latency", latency or "0s"), duration("jitter", jitter or "0s"))


@_as_usage_error
def _nodes(text: str, world: RunMode) -> tuple[int, ...]:
    nodes = run_settings.nodes_of(text)
    count = len(nodes)
    most = _MOST_SIMULATED if world.simulated and world.headless else _MOST_NODES
    if not 1 <= count <= most:
        what = "this simulated run" if world.simulated else "a live run"
        more = f"; --sim --headless allows {_MOST_SIMULATED}" if most < count <= _MOST_SIMULATED else ""
        raise UsageError(f"--nodes {text} is {count} nodes; {what} allows 1 to {most}{more}")
    return tuple(nodes)


def script_text(
    path: Path,
    protocol: type[Protocol],
    ids: tuple[int, ...],
    world: RunMode,
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return the text of this script, with every command checked. Raises UsageError."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise UsageError(f"--script {path}: {reason}; name a file with one command per line") from None
    for number, line in numbered_lines(text):
        check_command(line, protocol, ids, world, parameters, f"{path}:{number}")
    return text


def check_command(
    line: str,
    protocol: type[Protocol],
    ids: tuple[int, ...],
    world: RunMode,
    parameters: Mapping[str, Any],
    place: str = "",
) -> Statement:
    """Parse a command, and resolve what can be resolved before the run, to find mistakes early.

    ``parameters`` are those that the run sets. ``place`` is where the line is, if not after ``--do``.
    Raises UsageError.
    """
    try:
        scripted = parse(line, protocol)
        if isinstance(scripted.command, WorldCommand):
            _check_world_command(scripted, world, in_script=bool(place))
        check_line(scripted, protocol, ids, parameters)
        if not place:
            check_interactive(scripted)
    except CommandError as error:
        raise UsageError(f"{place or f'--do {line!r}'}: {error}") from None
    return scripted


def _check_world_command(scripted: Statement, world: RunMode, in_script: bool) -> None:
    """Raise CommandError for a command that this mode does not support.

    In a script, commands for watchers are accepted and ignored if nobody watches.
    """
    verb = scripted.text.partition(" ")[0]
    paces = verb in WATCHED
    if paces and in_script:
        return
    if not world.simulated:
        raise CommandError(f"{verb}: requires a simulated run: add --sim")
    if paces and world.headless:
        raise CommandError(
            f"{verb}: has no effect without the interface; leave it out, or watch the run: lab run … --sim"
        )
    if verb == "step" or not (in_script or scripted.trigger or verb == "freeze"):
        raise CommandError(f"{verb}: give it during the run, with : or lab ctl")


def whole_number(option: str, text: str, least: int, most: int | None = None) -> int:
    """Return the integer given with this option. Raises UsageError."""
    if not re.fullmatch(r"\d{1,18}", text.strip()) or not least <= int(text) <= (
        int(text) if most is None else most
    ):
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        raise UsageError(f"{option} {text}: write a whole number, {bounds}")
    return int(text)


def one_of(option: str, text: str, words: tuple[W, ...]) -> W:
    """Return the word given with this option. Raises UsageError if it is not one of ``words``."""
    for word in words:
        if word == text:
            return word
    raise UsageError(f"{option} {text}: write {', '.join(words[:-1])} or {words[-1]}{did_you_mean(text, words)}")


def recording_path(record: Path | None, run: str, parent: Path | None = None) -> Path:
    """Return the file to record to: the given one, or a new one in lab's data folder, which keeps ``parent``."""
    return new_recording_path(run, parent) if record is None else writable_recording("--record", record)


def writable_recording(option: str, path: Path) -> Path:
    """Return the absolute path. Raises UsageError; an existing file that is not a recording is never replaced."""
    file = writable(option, path)
    if file.exists() and file.stat().st_size:
        try:
            open_recording(file).close()
        except NotARecordingError:
            raise UsageError(f"{option} {path} exists and is not a recording; name another file") from None
    if file.exists():
        try:
            os.close(open_exclusive(file))
        except BeingWrittenError:
            raise UsageError(f"{option} {path} is in use by another run; name another file") from None
    return file


def picture_file(path: Path | None) -> Path | None:
    """Return the file for the charts, if any. Raises UsageError."""
    if path is not None:
        if path.suffix != ".svg":
            raise UsageError(f"--output {path}: only SVG is supported; name a file that ends in .svg")
        writable("--output", path)
    return path


def writable(option: str, path: Path) -> Path:
    """Return the absolute path of the file given with this option. Raises UsageError if it cannot be written."""
    file = path.absolute()
    if not file.parent.is_dir():
        raise UsageError(f"{option} {path}: the folder {file.parent} does not exist")
    if file.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file in it")
    if file.exists() and not file.is_file():
        raise UsageError(f"{option} {path} is not a regular file; name another")
    is_new = not file.exists()
    try:
        file.open("ab").close()
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written ({error.strerror}); name another file") from None
    if is_new:
        file.unlink()
    return file


def write_whole(path: Path, data: bytes) -> None:
    """Replace the contents of the file. Raises UsageError."""
    try:
        write_durably(path, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file") from None
