"""The configuration of a run: one struct, sent to the host as JSON."""

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from lab import __version__
from lab.kernel import Protocol, Timing
from lab.protocols import Algorithm, Program, source_of
from lab.recording.records import FORMAT, ExerciseAttempt, Header, Link, MemberRole, ProtocolInfo, Role, names_in
from lab.recording.writer import Writer
from lab.script.director import Director
from lab.script.parse import parse, read_script
from lab.script.scope import NodeNames
from lab.script.statements import Statement
from lab.text import UserError
from lab.worlds.json_lines import to_line
from lab.worlds.loading.members import MemberTarget
from lab.worlds.loading.program_confinement import ConfinedProgram
from lab.worlds.loading.targets import load_protocol, recorded_targets

_LONGEST_NAME = 16


class NotRunnableError(UserError):
    """The run cannot begin with this configuration; the text is for the user."""


class RunConfig(Struct, frozen=True):
    """The configuration of a run.

    ``commands`` are lines of the command language. ``script`` is a text of such lines, each of which may follow
    the one before it; ``first_line`` is the number of its first. The run ends at ``end_us``; None: when a client
    ends it. ``remark`` and ``scenario`` go into the header; without a scenario, the header has the script.

    ``speed`` is the initial speed of a simulated run, virtual over real time; None: as fast as possible. If it is
    ``frozen``, its time stands still at first. A branch continues from record ``at`` of the recording in the file
    ``parent``. ``exercise`` is the exercise that the run is an attempt at; ``may`` are the commands, by first
    word, that may then be given by hand (None: any). ``roles`` has the nodes outside the cluster, ``members``
    those in it that execute another protocol than ``protocol``. ``confined``: the program of the nodes is a
    stranger's, and runs in a sandbox; such a run has an end.
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
    frozen: bool = False
    parent: str = ""
    at: int = 0
    script: str = ""
    first_line: int = 1
    remark: str = ""
    scenario: str = ""
    exercise: ExerciseAttempt | None = None
    may: tuple[str, ...] | None = None
    roles: tuple[Role, ...] = ()
    confined: ConfinedProgram | None = None
    members: tuple[MemberTarget, ...] = ()


class HostReady(Struct, frozen=True, tag="ready"):
    """The host's first line to the process that started it: the feed is served on this socket."""

    socket: str
    pid: int


class HostRefused(Struct, frozen=True, tag="refused"):
    """The host's first line if it cannot run; the text is for the user."""

    text: str


def send_reply(first: HostReady | HostRefused) -> None:
    """Write the reply, one line, to standard output."""
    os.write(1, to_line(first))


def new_run_name(protocol: str) -> str:
    """Return a new name for a run of this protocol, short enough for the path of the feed's socket."""
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
    frozen: bool = False,
) -> RunConfig:
    """Return the configuration of a branch from record ``at`` of ``parent``; ``target``: a user's own protocol."""
    own, of_members = recorded_targets(header, target)
    return RunConfig(
        run,
        own,
        header.nodes,
        header.timing,
        header.protocol.parameters,
        header.link,
        header.seed if seed is None else seed,
        recording,
        commands,
        end_us,
        "simulated",
        frozen=frozen,
        parent=str(parent.resolve()),
        at=at,
        roles=header.roles,
        members=tuple(
            MemberTarget(role.nodes, each, role.protocol.parameters)
            for role, each in zip(header.members, of_members, strict=True)
        ),
    )


class InitialCommands(Struct, frozen=True):
    """The parsed commands and script of a run's configuration."""

    commands: tuple[Statement, ...]
    script: tuple[Statement, ...]

    @classmethod
    def of(cls, config: RunConfig) -> "InitialCommands":
        """Parse the commands and the script. This takes a while, so do it before the clock starts."""
        names = NodeNames.among(config.nodes, names_in(config.roles))
        script = read_script(config.script, first=config.first_line, names=names)
        return cls(tuple(parse(line, names=names) for line in config.commands), tuple(script))

    def add_to(self, director: Director) -> None:
        """Add the commands and the script to the director, which waits for their triggers."""
        for line in self.commands:
            director.add(line)
        director.add_script(self.script)


def header_of(config: RunConfig, protocol: type[Algorithm]) -> Header:
    """Return the header of the run's recording.

    A simulated run has no date and no random name, so that the bytes of its recording depend on the configuration
    alone.
    """
    members = member_roles(config)
    if config.world == "simulated" and any(role.protocol == Program.name for role in config.roles):
        require_simulable(Program)
    live = config.world == "live"
    return Header(
        FORMAT,
        __version__,
        config.run if live else f"{protocol.name} seed {config.seed}",
        datetime.now(UTC).isoformat(timespec="seconds") if live else "",
        config.world,
        _info_of(config, protocol, config.parameters),
        config.nodes,
        config.timing,
        config.link,
        config.seed,
        remark=config.remark,
        scenario=config.scenario or config.script,
        exercise=config.exercise,
        roles=config.roles,
        members=members,
    )


def load_protocols(config: RunConfig) -> type[Algorithm]:
    """Load the protocols of the cluster; return that of the nodes without a role. Raises TargetError."""
    for member in config.members:
        load_protocol(member.target)
    return load_protocol(config.protocol)


def member_roles(config: RunConfig) -> tuple[MemberRole, ...]:
    """Return the roles of the nodes that execute another protocol, as the header has them."""
    return tuple(
        MemberRole(member.nodes, _info_of(config, load_protocol(member.target), member.parameters))
        for member in config.members
    )


def _info_of(config: RunConfig, protocol: type[Algorithm], parameters: dict[str, Any]) -> ProtocolInfo:
    if config.world == "simulated":
        require_simulable(protocol)
    file, source = source_of(protocol)
    converted = _converted(protocol, parameters)
    refusal = protocol.parameter_refusal(config.timing, converted)
    if refusal:
        raise NotRunnableError(refusal)
    return ProtocolInfo(
        protocol.name,
        {**parameters, **protocol.fixed_parameters},
        file,
        source,
        tuple(kind.__name__ for kind in protocol.heartbeats),
        protocol.promises_with(converted),
        dict(protocol.relied_on(converted)),
        settling_us(protocol, parameters, config.timing, len(config.nodes)),
    )


def require_simulable(protocol: type[Protocol]) -> None:
    """Raise NotRunnableError if the nodes stand for programs, which cannot be executed again."""
    if protocol.is_program:
        raise NotRunnableError(
            f"{protocol.name} runs programs, which cannot be simulated, nor executed again from a recording; "
            "run them live: lab run --program ./my_node, or many times: lab check --program ./my_node"
        )


def settling_us(protocol: type[Algorithm], parameters: dict[str, Any], timing: Timing, nodes: int) -> int:
    """Return the time within which that many nodes settle after the last fault, with these recorded parameters."""
    return protocol.settles_within_us(timing, _converted(protocol, parameters), nodes)


def _converted(protocol: type[Algorithm], parameters: dict[str, Any]) -> Any:
    given = {name: value for name, value in parameters.items() if name not in protocol.fixed_parameters}
    return msgspec.convert(given, protocol.Parameters)


def simulation_header(
    protocol: type[Algorithm],
    nodes: tuple[int, ...],
    timing: Timing,
    parameters: dict[str, Any],
    seed: int = 0,
    members: tuple[MemberTarget, ...] = (),
) -> Header:
    """Return the header of a simulation in memory, over perfect links."""
    link = Link()
    config = RunConfig(
        "", protocol.name, nodes, timing, parameters, link, seed, "", world="simulated", members=members
    )
    return header_of(config, protocol)


def new_writer(config: RunConfig) -> Writer:
    """Begin the run's recording, with its header. Raises OSError."""
    if config.exercise is not None:
        Path(config.recording).touch(0o600, exist_ok=False)  # never overwrite the recording of an attempt
    return Writer(Path(config.recording), header_of(config, load_protocol(config.protocol)))
