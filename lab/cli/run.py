"""``lab run`` and ``lab tour``: run a protocol or a scenario."""

import contextlib
import re
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from lab.cli.options import (
    Record,
    RequestBound,
    check_headless,
    complete_target,
    positive,
    recording_path,
    run_config,
    seed_of,
    world_of,
)
from lab.cli.program import app
from lab.cli.runner import run_headless, run_with_interface
from lab.cli.scenario import read_named
from lab.cli.scenario_check import format_report
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, UsageError
from lab.protocols import PROTOCOLS, TASKS
from lab.recording.reader import NotARecordingError, open_recording
from lab.scenario.file import SUFFIX, Scenario, World, is_path, names, suggestion
from lab.scenario.report import report_of
from lab.scenario.run_scenario import config_of
from lab.worlds.loading.targets import TargetError, load_protocol


@app.command(
    epilog="""Examples:\n
    lab run bully --nodes 0-7\n
    lab run bully --headless --for 6s --do "at 2s kill 5" --do "at 4s restart 5"\n
    lab run bully --t 1s --do "when all normal kill coordinator" --record first.jsonl\n
    lab run bully --sim --do freeze   (then . runs one event, and c chooses which)\n
    lab run bully --sim --speed 0.1 --do "on send EnterElection freeze"\n
    lab run bully --sim --headless --for 10m --do "at 1m kill coordinator" --nodes 100 --seed 7\n
    lab run my_election.py:MyElection   (see lab guide your-own-protocol)\n
    lab run coordinator-dies   (a scenario; lab scenario list shows all)\n
    lab run my.scenario   (your own scenario; see lab guide scenarios)""",
)
def run(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PROTOCOL|SCENARIO",
            help="A protocol (bully, or your own FILE.py:CLASS), or a scenario (a name, or FILE.scenario).",
            autocompletion=complete_target,
        ),
    ],
    nodes: Annotated[
        str | None,
        typer.Option(
            help="Node ids: a count (5), a range (0-7) or a list (1,3,5). The id is the priority.  "
            r"\[default: 5]"
        ),
    ] = None,
    t: RequestBound = None,
    tm: Annotated[str | None, typer.Option(help="Tm, the bound for message delivery; requires --tp.")] = None,
    tp: Annotated[str | None, typer.Option(help="Tp, the bound for handling a message; requires --tm.")] = None,
    latency: Annotated[
        str | None,
        typer.Option(help=r"Base latency of every message.  \[default: 0s; with --sim Tm/4]"),
    ] = None,
    jitter: Annotated[
        str | None,
        typer.Option(help=r"Random variation of the latency, plus or minus.  \[default: 0s; with --sim Tm/8]"),
    ] = None,
    sim: Annotated[
        bool,
        typer.Option(
            "--sim",
            help="Simulate in virtual time: freeze, step, choose the next event. Same seed, same run.",
        ),
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Run on real processes (default), if the scenario can.")
    ] = False,
    speed: Annotated[
        str | None,
        typer.Option(metavar="FACTOR", help="With --sim: initial ratio of virtual to real time: 0.1, 10 or max."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the protocol; lab list protocols NAME lists them.",
        ),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help='Give a command, usually with a trigger: "at 2s kill 5", "when all normal partition 1 2 | 3 4 '
            '5", "on send EnterElection 4->1 kill 4". Repeatable. All commands: lab ctl --help',
        ),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read more commands from this file, one per line; # starts a comment."),
    ] = None,
    record: Record = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Seed of message loss and jitter. Default: random; it is recorded."),
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Run without the interface; requires --for, except for scenarios.")
    ] = False,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="End the run after this time: 6s, 2m.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="With --headless: print one JSON object and nothing else.")
    ] = False,
) -> int:
    """Run a protocol or a scenario.

    The nodes are real processes, or simulated with --sim. The run is shown in the interface, or reported at the
    end with --headless. Every run is recorded.
    """
    if json and not headless:
        raise UsageError("--json requires --headless")
    if sim and live:
        raise UsageError("--sim and --live exclude each other; give one of them")
    scenario = find_scenario(target)
    if scenario is not None:
        options = ("--nodes", "--t", "--tm", "--tp", "--latency", "--jitter", "--set", "--do", "--script")
        values = (nodes, t, tm, tp, latency, jitter, set_, do, script)
        given = [option for option, value in zip(options, values, strict=True) if value]
        return run_scenario(scenario, given, sim, live, speed, seed, record, for_, headless, json)
    check_headless(headless, for_)
    world = world_of(sim, speed, headless)
    config = run_config(
        *(target, nodes or "5", t, tm, tp, latency, jitter, set_ or [], do or []),
        *(script, seed, record, for_, world),
    )
    return run_headless(config, json) if headless else run_with_interface(config)


_T = "500ms"
"""Slow enough to watch, and for a busy machine."""


@app.command()
def tour() -> int:
    """Take a guided tour of the interface, in five steps.

    Five nodes run the bully algorithm. You kill the coordinator, find the moment when its successor was set, and
    export it. Every step can be skipped. The tour is an ordinary run, and is recorded.
    """
    world = world_of(sim=False, speed=None, headless=False)
    no = None
    config = run_config("bully", "5", _T, no, no, no, no, [], [], no, no, no, no, world)
    return run_with_interface(config, tour=True)


def find_scenario(target: str) -> Scenario | None:
    """Return the scenario with that name; None for a protocol. Raises UsageError if it names neither."""
    if target in (*PROTOCOLS, *TASKS):
        return None
    if is_path(target) or target in names():
        return read_named(target)
    try:
        load_protocol(target)
    except TargetError as error:
        raise UsageError(f"{error}{_scenario_hint(target, str(error))}") from None
    return None


def _scenario_hint(target: str, error: str) -> str:
    """Return what to add to ``error``, which says that the target names no protocol."""
    if re.fullmatch(r"[\w-]+", target) and "did you mean" not in error:
        return suggestion(target, [*PROTOCOLS, *TASKS]) or ", or a scenario: lab scenario list"
    is_any = error.endswith("FILE.py:CLASS") and ":" not in target
    return f", or a scenario: FILE{SUFFIX}" if is_any else ""


def run_scenario(
    scenario: Scenario,
    given: list[str],
    sim: bool,
    live: bool,
    speed: str | None,
    seed: str | None,
    record: Path | None,
    for_: str | None,
    headless: bool,
    json: bool,
) -> int:
    """Run the scenario, report, and return the exit status.

    ``given`` are options that only apply to protocols. Raises UsageError.
    """
    if given:
        raise UsageError(
            f"{given[0]} applies to protocols; to change {scenario.name}, edit a copy of {scenario.path}"
        )
    world: World = "simulated" if sim or not (live or "live" in scenario.worlds) else "live"
    if world not in scenario.worlds:
        raise UsageError(
            f"--{'sim' if sim else 'live'}: {scenario.name} supports only {scenario.worlds[0]} runs; leave it out"
        )
    pace = world_of(world == "simulated", speed, headless)
    scenario = replace(
        scenario,
        seed=scenario.seed if seed is None else seed_of(seed),
        ends_us=scenario.ends_us if for_ is None else positive("for", for_),
    )
    config = config_of(scenario, world, Path())
    config = replace(config, recording=str(recording_path(record, config.run)), speed=pace.speed)
    if headless:
        return run_headless(config, json, scenario)
    return run_with_interface(config) or _print_outcome(scenario, Path(config.recording))


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
        print(line)
    return 0 if report.passed else EXIT_NOT_AS_EXPECTED
