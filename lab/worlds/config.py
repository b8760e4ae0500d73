"""What a run is to be: everything the host needs to know, as one struct that goes to it as JSON."""

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from lab import __version__
from lab.kernel import Timing
from lab.protocols import Algorithm, source_of
from lab.recording.records import FORMAT, Exercised, Header, Link, ProtocolInfo
from lab.script import Director, Scripted, parse, read_script
from lab.worlds.targets import recorded_target

__all__ = [
    "Begun",
    "NotRunnableError",
    "Ready",
    "Refused",
    "RunConfig",
    "branch_config",
    "header_of",
    "new_run_name",
]

_LONGEST_NAME = 16


class NotRunnableError(Exception):
    """The run cannot begin as it is configured; the text is for the user."""


class RunConfig(Struct, frozen=True):
    """A run. ``commands`` are lines of the command language, ``script`` is a text of such lines, of which each may
    follow the one before it; its first has the number ``first_line``. It ends at ``end_us``; None: when somebody
    ends it. ``remark`` and ``scenario`` are for its header, which has the script where there is no scenario.

    ``speed`` is that of a simulated run at its start, virtual over real time; None: as fast as it can be. A
    branch goes on from the record ``at`` of the recording in the file ``parent``. ``exercise``: what it is an
    attempt at; ``may``: the commands that may then be given by hand, by their first word, None: any.
    """

    run: str
    protocol: str
    nodes: tuple[int, ...]
    timing: Timing
    parameters: dict[str, Any]
    link: Link
    seed: int
    recording: str
    commands: tuple[str, ...] = ()
    end_us: int | None = None
    world: Literal["live", "simulated"] = "live"
    speed: float | None = 1.0
    parent: str = ""
    at: int = 0
    script: str = ""
    first_line: int = 1
    remark: str = ""
    scenario: str = ""
    exercise: Exercised | None = None
    may: tuple[str, ...] | None = None


class Ready(Struct, frozen=True, tag="ready"):
    """The host's first line to whoever started it: it serves its feed on this socket."""

    socket: str
    pid: int


class Refused(Struct, frozen=True, tag="refused"):
    """The host's first line where it cannot run; the text is for the user."""

    text: str


def new_run_name(protocol: str) -> str:
    """A name for a run of this protocol as it goes on. It is short, as the path of its feed's socket must be."""
    return f"{protocol[:_LONGEST_NAME]}-{datetime.now():%m%d-%H%M%S}-{secrets.token_hex(2)}"


def branch_config(
    header: Header,
    parent: Path,
    at: int,
    run: str,
    recording: str,
    target: str = "",
    seed: int | None = None,
    commands: tuple[str, ...] = (),
    end_us: int | None = None,
) -> RunConfig:
    """The run that goes on from record ``at`` of ``parent``; ``target`` names a protocol of the user's own."""
    return RunConfig(
        run,
        recorded_target(header.protocol, target),
        header.nodes,
        header.timing,
        header.protocol.parameters,
        header.link,
        header.seed if seed is None else seed,
        recording,
        commands,
        end_us,
        "simulated",
        parent=str(parent.resolve()),
        at=at,
    )


class Begun(Struct, frozen=True):
    """What a run begins with, read: its commands, and its script."""

    commands: tuple[Scripted, ...]
    script: tuple[Scripted, ...]

    @classmethod
    def of(cls, config: RunConfig) -> "Begun":
        """To read it takes a while, so that it is done before a clock begins."""
        script = read_script(config.script, first=config.first_line)
        return cls(tuple(map(parse, config.commands)), tuple(script))

    def add_to(self, director: Director) -> None:
        """From now on it waits for its triggers."""
        for line in self.commands:
            director.add(line)
        director.add_script(self.script)


def header_of(config: RunConfig, protocol: type[Algorithm]) -> Header:
    """The first line of the run's recording. A simulated run began at no time: its bytes are all of its seed."""
    file, source = source_of(protocol)
    info = ProtocolInfo(
        protocol.name,
        {**config.parameters, **protocol.chosen},
        file,
        source,
        tuple(kind.__name__ for kind in protocol.heartbeats),
        protocol.promises,
        protocol.relies_on,
        protocol.settles_within_us(
            config.timing, msgspec.convert(config.parameters, protocol.Parameters), len(config.nodes)
        ),
    )
    live = config.world == "live"
    return Header(
        FORMAT,
        __version__,
        config.run if live else f"{protocol.name} seed {config.seed}",
        datetime.now(UTC).isoformat(timespec="seconds") if live else "",
        config.world,
        info,
        config.nodes,
        config.timing,
        config.link,
        config.seed,
        remark=config.remark,
        scenario=config.scenario or config.script,
        exercise=config.exercise,
    )
