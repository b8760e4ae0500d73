"""``lab run``: run a protocol or a scenario."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import Record, RequestBound
from lab.cli.completion import complete_target
from lab.cli.program import app
from lab.cli.usage_errors import UsageError

__all__ = ["run"]


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
            metavar="NODES",
            help="Node ids: a count (5: ids 1 to 5), a range (0-7) or a list (1,3,5). The id is the priority.  "
            r"\[default: 5]",
        ),
    ] = None,
    t: RequestBound = None,
    tm: Annotated[
        str | None, typer.Option(metavar="TIME", help="Tm, the bound for message delivery; requires --tp.")
    ] = None,
    tp: Annotated[
        str | None, typer.Option(metavar="TIME", help="Tp, the bound for handling a message; requires --tm.")
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=r"Base latency of every message.  \[default: 0s; with --sim Tm/4]"),
    ] = None,
    jitter: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=r"Random variation of the latency, plus or minus.  \[default: 0s; with --sim Tm/8]",
        ),
    ] = None,
    sim: Annotated[
        bool,
        typer.Option(
            "--sim",
            help="Simulate in virtual time: freeze, step, choose the next event. Same seed, same run.",
        ),
    ] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Run on real processes: the default, except for scenarios that only run in simulation."
        ),
    ] = False,
    speed: Annotated[
        str | None,
        typer.Option(metavar="FACTOR", help="With --sim: virtual time per real time, at first: 0.1, 10 or max."),
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
    from lab.cli.run_options import check_headless, run_config, world_of  # noqa: PLC0415
    from lab.cli.runner import run_headless, run_with_interface  # noqa: PLC0415
    from lab.cli.scenario_runner import find_scenario, run_scenario  # noqa: PLC0415

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
