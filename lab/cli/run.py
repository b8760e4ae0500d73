"""``lab run`` and ``lab tour``: run a protocol or a scenario."""

import contextlib
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated

from msgspec import field
from msgspec.structs import replace
from typer import Argument, Option

from lab.cli.options import (
    Clients,
    CommandChecker,
    HeadlessJson,
    Model,
    OwnProperties,
    Parameters,
    Rate,
    Record,
    RequestBound,
    Roles,
    Sandbox,
    Services,
    Watches,
    Workload,
    announce_sandbox,
    check_headless,
    check_watches,
    command,
    complete_target,
    recording_path,
    wanted_outside,
)
from lab.cli.program import app
from lab.cli.progress import Progress
from lab.cli.recording_report import print_failures
from lab.cli.run_report import report_run
from lab.cli.scenario_check import format_report
from lab.cli.terminal import (
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    fail,
    interrupt_on_signals,
    require_terminal,
)
from lab.output import print_error, print_line, print_remark
from lab.protocols import LENSES, PROTOCOLS, TASKS
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import names_in
from lab.scenario.file import SUFFIX, Scenario, World, find, is_path, names, read_scenario, suggestion
from lab.scenario.report import report_of
from lab.scenario.run_scenario import config_of
from lab.script.commands import FASTEST, SLOWEST, WorldCommand
from lab.script.parse import parse
from lab.script.scope import CommandError, Scope
from lab.tui.terminal.guard import run_guarded
from lab.units import CountText, format_us
from lab.worlds.launch import HostFailedError, HostProcess, HostRefusedError
from lab.worlds.loading.config import NotRunnableError, RunConfig, new_run_name
from lab.worlds.loading.members import members_in, protocols_of
from lab.worlds.loading.programs import lens_target, program_command
from lab.worlds.loading.roles import roles_of
from lab.worlds.loading.settings import Settings, as_option, parameters_of, target_of, usual_link
from lab.worlds.loading.targets import UnknownNameError, absolute_target, load_protocol, sandboxed_target
from lab.worlds.loading.user_module import TargetError
from lab.worlds.simulated.execution import DISK_IS_FULL, run_to_end

_MOST_NODES = 64
_MOST_SIMULATED = 1000


class RunOptions(Settings, frozen=True, kw_only=True):
    """The options of ``lab run``."""

    protocol: Annotated[
        str,
        Argument(
            metavar="[PROTOCOL|SCENARIO]",
            help="A protocol (bully, or your own FILE.py:CLASS), or a scenario (a name, or FILE.scenario). With "
            "--program: the first argument of the program.",
            autocompletion=complete_target,
            show_default=False,
        ),
    ] = ""
    arguments: Annotated[
        list[str], Argument(metavar="[-- ARGUMENT…]", help="With --program: the arguments of the program.")
    ] = field(default_factory=list)
    program: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            help="Run this program as every node, in any language: it reads and writes messages as lines of JSON "
            "(Maelstrom's protocol). See lab guide programs.",
        ),
    ] = None
    lens: Annotated[
        str | None,
        Option(
            metavar="NAME|FILE.py:CLASS",
            help="With --program: what reads the state of the nodes off their messages: election, bully, ring, "
            "invitation, raft, or a class of yours.",
        ),
    ] = None
    role: Roles = field(default_factory=list)
    workload: Workload = None
    model: Model = None
    clients: Clients = None
    rate: Rate = None
    service: Services = None
    nodes: Annotated[
        str | None,
        Option(
            metavar="NODES",
            help="Node ids: a count (5: ids 1 to 5), a range (0-7) or a list (1,3,5). The id is the priority.  "
            "\\[default: 5]",
        ),
    ] = None
    t: RequestBound = None
    tm: Annotated[
        str | None, Option(metavar="TIME", help="Tm, the bound for message delivery; requires --tp.")
    ] = None
    tp: Annotated[
        str | None, Option(metavar="TIME", help="Tp, the bound for handling a message; requires --tm.")
    ] = None
    latency: Annotated[
        str | None, Option(metavar="TIME", help=r"Base latency of every message.  \[default: 0s; with --sim Tm/4]")
    ] = None
    jitter: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help=r"Random variation of the latency, plus or minus.  \[default: 0s; with --sim Tm/8]",
        ),
    ] = None
    sim: Annotated[
        bool,
        Option(
            "--sim", help="Simulate in virtual time: freeze, step, choose the next event. Same seed, same run."
        ),
    ] = False
    live: Annotated[
        bool,
        Option(
            "--live", help="Run on real processes: the default, except for scenarios that only run in simulation."
        ),
    ] = False
    speed: Annotated[
        str | None,
        Option(metavar="FACTOR", help="With --sim: virtual time per real time, at first: 0.1, 10 or max."),
    ] = None
    set_: Parameters = field(default_factory=list)
    properties: OwnProperties = None
    sandbox: Sandbox = False
    do: Annotated[
        list[str],
        Option(
            metavar="COMMAND",
            help='Give a command, usually with a trigger: "at 2s kill 5", "when all normal partition 1 2 | 3 4 '
            '5", "on send EnterElection 4->1 kill 4". Repeatable; "then ..." waits for the one before it. All '
            "commands: lab ctl --help",
        ),
    ] = field(default_factory=list)
    script: Annotated[
        Path | None,
        Option(metavar="FILE", help="Read more commands from this file, one per line; # starts a comment."),
    ] = None
    record: Record = None
    seed: Annotated[
        str | None,
        Option(metavar="NUMBER", help="Seed of message loss and jitter. Default: random; it is recorded."),
    ] = None
    headless: Annotated[
        bool, Option("--headless", help="Run without the interface; requires --for, except for scenarios.")
    ] = False
    for_: Annotated[
        str | None,
        Option("--for", metavar="TIME", help="End the run after this time: 6s, 2m."),
    ] = None
    json: HeadlessJson = False
    watch: Watches = field(default_factory=list)

    @property
    def target(self) -> str:
        """The target, whose file is executed in a sandbox with ``--sandbox``."""
        return target_of(self.protocol, self.set_, self.properties, self.sandbox)

    def speed_factor(self) -> float | None:
        """Return the initial speed; None: as fast as possible."""
        if self.speed is None:
            return 1.0
        if not self.sim or self.headless:
            raise UsageError("--speed requires --sim and the interface: lab run bully --sim --speed 0.1")
        try:
            parsed = parse(f"speed {self.speed}").command
        except CommandError:
            bounds = f"from {SLOWEST:g} to {FASTEST:g}, or max"
            text = f"write virtual time per real time, {bounds}: --speed 0.1"
            raise UsageError(f"--speed {self.speed}: {text}") from None
        return parsed.factor if isinstance(parsed, WorldCommand) else None


@command(
    epilog="""Examples:\n
    lab run bully --nodes 0-7\n
    lab run bully --headless --for 6s --do "at 2s kill 5" --do "at 4s restart 5"\n
    lab run bully --t 1s --do "when all normal kill coordinator" --record first.jsonl\n
    lab run bully --sim --do freeze   (then . runs one event, and o chooses which)\n
    lab run bully --sim --speed 0.1 --do "on send EnterElection freeze"\n
    lab run bully --sim --headless --for 10m --do "at 1m kill coordinator" --nodes 100 --seed 7\n
    lab run my_election.py:MyElection   (see lab guide your-own-protocol)\n
    lab run --program ./my_node --nodes 3 --t 1s   (a program in any language; see lab guide programs)\n
    lab run --program ./raft.py --lens raft --do "at 8s kill coordinator" -- --verbose\n
    lab run coordinator-dies   (a scenario; lab scenario list shows all)\n
    lab run my.scenario   (your own scenario; see lab guide scenarios)"""
)
def run(options: RunOptions) -> int:
    """Run a protocol or a scenario.

    The nodes are real processes, or simulated with --sim. The run is shown in the interface, or reported at the
    end with --headless. Every run is recorded.
    """
    if options.headless:
        interrupt_on_signals()  # before there is a recording
    if options.json and not options.headless:
        raise UsageError("--json requires --headless")
    if options.sim and options.live:
        raise UsageError("--sim and --live exclude each other; give one of them")
    if options.watch and options.headless:
        raise UsageError(
            "--watch requires the interface; of a headless run, lab show FILE --watch EXPRESSION prints the values"
        )
    if options.sandbox:
        announce_sandbox()
    options = _with_program(options)
    scenario = find_scenario(options.protocol, options.sandbox)
    if scenario is not None:
        return _run_scenario(scenario, options)
    config = run_config(options)
    watches = _watches(options.watch, config)
    return run_headless(config, options.json) if options.headless else run_with_interface(config, watches=watches)


def _with_program(options: RunOptions) -> RunOptions:
    """Return the options with the lens as protocol, and the program as its parameter."""
    if options.program is None:
        if options.lens is not None:
            raise UsageError("--lens requires --program: lab run --program ./my_node --lens raft")
        if options.arguments:
            more = " ".join(options.arguments)
            raise UsageError(f"{more}: expected one protocol or scenario; only --program has arguments")
        if not options.protocol:
            raise UsageError(
                "name a protocol or a scenario: lab run bully; or a program: lab run --program ./my_node"
            )
        return options
    if options.sandbox:
        raise UsageError("--sandbox is for protocols in Python; a program runs with your rights, so trust it")
    arguments = [*filter(None, [options.protocol]), *options.arguments]
    command = program_command(options.program, arguments)
    return replace(
        options, protocol=lens_target(options.lens), set_=[*options.set_, f"program={command}"], arguments=[]
    )


@app.command()
def tour() -> int:
    """Take a guided tour of the interface, in five steps.

    Five nodes run the bully algorithm. You kill the coordinator, find the moment when its successor was elected,
    and export the run. Every step can be skipped. The tour is an ordinary run, and is recorded.
    """
    slow_enough_to_watch = RunOptions(protocol="bully", t="500ms")
    return run_with_interface(run_config(slow_enough_to_watch), tour=True)


def _watches(texts: list[str], config: RunConfig) -> tuple[str, ...]:
    """Return the expressions of ``--watch``, checked against the run."""
    protocol = load_protocol(config.protocol)
    watches = check_watches(texts, Scope(protocol, config.nodes, config.parameters))
    return tuple(map(str, watches))


# a protocol


def run_config(options: RunOptions) -> RunConfig:
    """Return the configuration of the run of a protocol that the options describe."""
    check_headless(options.headless, options.for_)
    speed = options.speed_factor()
    protocol = load_protocol(options.target)
    nodes = _nodes(options)
    parameters = parameters_of(protocol, options.set_)
    if protocol.is_program and not parameters.get("program"):
        raise UsageError(f"{protocol.name} shows what programs do: add --program ./my_node")
    timing = options.timing()
    wanted = wanted_outside(options, options.sandbox)
    roles = roles_of(wanted, protocol, nodes, timing, options.end_us())
    members = members_in(options.role, protocol, nodes, parameters)
    others = protocols_of(members)
    checker = CommandChecker(
        protocol, nodes, parameters, names_in(roles), options.sim, options.headless, members=others
    )
    for line in options.do:
        checker.check(line)
    script = "" if options.script is None else checker.check_script(options.script)
    commands = tuple(options.do)
    if any(line.split()[:1] == ["then"] for line in commands):  # only the lines of a script follow each other
        script, commands = "\n".join([*script.splitlines(), *commands]), ()
    run = new_run_name(protocol.name)
    return RunConfig(
        run,
        absolute_target(options.target),
        nodes,
        timing,
        parameters,
        options.link() or usual_link(timing, options.sim),
        options.seed_or(secrets.randbelow(1 << 31)),
        str(recording_path(options.record, run)),
        commands,
        options.end_us(),
        "simulated" if options.sim else "live",
        speed,
        script=script,
        roles=roles,
        members=members,
    )


def _nodes(options: RunOptions) -> tuple[int, ...]:
    nodes = options.node_ids()
    count = len(nodes)
    most = _MOST_SIMULATED if options.sim and options.headless else _MOST_NODES
    if not 1 <= count <= most:
        what = "this simulated run" if options.sim else "a live run"
        more = f"; --sim --headless allows {_MOST_SIMULATED}" if most < count <= _MOST_SIMULATED else ""
        raise UsageError(f"--nodes {options.nodes} is {count} nodes; {what} allows 1 to {most}{more}")
    return tuple(nodes)


# a scenario


def find_scenario(target: str, sandbox: bool = False) -> Scenario | None:
    """Return the scenario with that name; None for a protocol. Raises UserError if it names neither."""
    if target in (*PROTOCOLS, *TASKS, *LENSES):
        return None
    if is_path(target) or target in names():
        return read_scenario(find(target), sandbox)
    try:
        load_protocol(sandboxed_target(target) if sandbox else target)
    except TargetError as error:
        text = error.plain if isinstance(error, UnknownNameError) else str(error)
        raise UsageError(f"{text}{_scenario_hint(target, text)}") from None
    return None


def _scenario_hint(target: str, error: str) -> str:
    """Return what to add to ``error``, which says that the target names no protocol."""
    if re.fullmatch(r"[\w-]+", target) and "did you mean" not in error:
        from lab.exercises.exercise_reader import names as exercises  # noqa: PLC0415 - only after a mistake

        if target in exercises():
            return f"; {target} is an exercise: lab exercise start {target}"
        return suggestion(target, [*PROTOCOLS, *TASKS]) or ", or a scenario: lab scenario list"
    is_any = error.endswith("FILE.py:CLASS") and ":" not in target
    return f", or a scenario: FILE{SUFFIX}" if is_any else ""


def _run_scenario(scenario: Scenario, options: RunOptions) -> int:
    """Run the scenario, report, and return the exit status."""
    of_protocols = ("nodes", "t", "tm", "tp", "latency", "jitter", "set_", "properties", "do", "script")
    for name in (*of_protocols, "workload", "model", "clients", "rate", "service", "role"):
        if getattr(options, name):
            given = as_option(name.rstrip("_"), "")
            raise UsageError(
                f"{given} applies to protocols; to change {scenario.name}, edit a copy of {scenario.path}"
            )
    world: World = "simulated" if options.sim or not (options.live or "live" in scenario.worlds) else "live"
    if world not in scenario.worlds:
        raise UsageError(
            f"--{'sim' if options.sim else 'live'}: {scenario.name} supports only {scenario.worlds[0]} runs; "
            "leave it out"
        )
    speed = replace(options, sim=world == "simulated").speed_factor()
    scenario = replace(scenario, seed=options.seed_or(scenario.seed), ends_us=options.end_us() or scenario.ends_us)
    config = config_of(scenario, world, Path())
    config = replace(config, recording=str(recording_path(options.record, config.run)), speed=speed)
    if options.headless:
        return run_headless(config, options.json, scenario)
    watches = _watches(options.watch, config)
    return run_with_interface(config, watches=watches) or _print_outcome(scenario, Path(config.recording))


def _print_outcome(scenario: Scenario, recording: Path) -> int:
    """Print the report if the run was watched to its end; return the exit status."""
    try:
        store = open_recording(recording)
    except NotARecordingError:
        return 0
    with contextlib.closing(store):
        report = report_of(scenario, store)
    if report.ended_us < scenario.ends_us:
        return 0
    for line in format_report(report):
        print_line(line)
    return 0 if report.passed else EXIT_NOT_AS_EXPECTED


# the host, or the simulation


def run_with_interface(config: RunConfig, tour: bool = False, watches: tuple[str, ...] = ()) -> int:
    """Run with the interface, starting with the tour if wanted; print at the end where the recording is.

    ``watches`` are shown there, in addition to those that the user has kept.
    """
    require_terminal("lab run … --headless --for 6s")
    host = HostProcess(config)

    def interface() -> int:
        from lab.tui.apps.runs_app import show_run  # noqa: PLC0415 - only the child loads the interface

        return show_run(host.ready, config.run, tour, watches)

    try:
        status = run_guarded(interface)
    finally:
        failure = host.end()
    if failure and not status:
        print_error(failure)
        status = EXIT_NOT_AS_EXPECTED
    if Path(config.recording).exists():
        print_failures(Path(config.recording))
        print_line(f"recorded: {config.recording}")
        print_line(f"replay:   lab replay {config.recording}")
    return status


def run_headless(config: RunConfig, as_json: bool, scenario: Scenario | None = None) -> int:
    """Run without the interface and print a report, with that of the ``scenario`` if given.

    Ctrl-C ends the run early, with a complete recording.
    """
    if config.world == "simulated":
        return report_run(config, as_json, _simulate(config), scenario)
    signals: list[str] = []
    try:
        with _signals_as_notes(signals):  # an exception amid the code of Popen could leave its lock held
            host = HostProcess(config)
            host.ready()
            _wait(host, config.end_us or 0, signals)
    except HostRefusedError as error:
        fail(str(error))
    except HostFailedError as error:
        recording = f" (recording: {config.recording})" if Path(config.recording).exists() else ""
        text, *details = str(error).splitlines()
        for line in details:
            print_remark(line)
        fail(f"{text.rstrip(':')}{recording}", EXIT_NOT_AS_EXPECTED)
    return report_run(config, as_json, bool(signals), scenario)


def _wait(host: HostProcess, end_us: int, signals: list[str]) -> None:
    """Wait for the end of the run; after a signal, end it. Raises HostFailedError if the host failed."""
    began_s = time.monotonic()
    with Progress(f"running for {format_us(end_us)}") as progress:
        while host.process.poll() is None and not signals:
            with contextlib.suppress(subprocess.TimeoutExpired):
                host.process.wait(0.1)
            progress(0, share=(time.monotonic() - began_s) * 1e6 / end_us)
    if signals:
        host.end()
    else:
        host.wait()


def _simulate(config: RunConfig) -> bool:
    """Simulate the run in this process, as fast as possible; return whether a signal ended it early."""
    signals: list[str] = []
    end_us = config.end_us or 0

    def check_signals(now_us: int) -> str:
        progress.report(CountText(now_us // 1_000_000, -(-end_us // 1_000_000), "second", "simulated"))
        return signals[0] if signals else ""

    def on_reexecuted(done: int) -> None:
        if signals:  # nothing is recorded yet
            raise KeyboardInterrupt
        progress.report(CountText(done, config.at, "record", "re-executed"))

    try:
        with _signals_as_notes(signals), Progress("simulating") as progress:
            why = run_to_end(config, end_us, check_signals, on_reexecuted)
    except NotRunnableError as error:
        fail(str(error))
    except OSError as error:
        fail(f"the recording cannot be written to {config.recording}: {error.strerror}")
    if why == DISK_IS_FULL:
        fail(f"the run was stopped: {why} (recording: {config.recording})", EXIT_NOT_AS_EXPECTED)
    return bool(signals)


@contextlib.contextmanager
def _signals_as_notes(signals: list[str]) -> Iterator[None]:
    """Append signals to the list instead of raising; restore the handlers at the end."""

    def note(number: int, frame: FrameType | None) -> None:
        signals.append(f"signal {signal.Signals(number).name}")

    before = [(number, signal.signal(number, note)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
