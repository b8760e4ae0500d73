"""``lab run``: a protocol or a scenario, live or simulated, watched or headless."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import Record, RequestBound
from lab.cli.completion import complete_target
from lab.cli.errors import UsageError

__all__ = ["run"]


@app.command(
    epilog="""Examples:\n
    lab run bully --nodes 0-7\n
    lab run bully --headless --for 6s --do "at 2s kill 5" --do "at 4s restart 5"\n
    lab run bully --t 1s --do "when all normal kill coordinator" --record first.jsonl\n
    lab run bully --sim --do freeze   (then . lets one event happen, and c chooses which)\n
    lab run bully --sim --speed 0.1 --do "on send EnterElection freeze"\n
    lab run bully --sim --headless --for 10m --do "at 1m kill coordinator" --nodes 100 --seed 7\n
    lab run my_election.py:MyElection   (how to write one: lab guide your-own-protocol)\n
    lab run coordinator-dies   (a scenario; which there are: lab scenario list)\n
    lab run my.scenario   (one of yours; how to write it: lab guide scenarios)""",
)
def run(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PROTOCOL|SCENARIO",
            help="A protocol: bully, or FILE.py:CLASS for your own; or a scenario, by name or FILE.scenario.",
            autocompletion=complete_target,
        ),
    ],
    nodes: Annotated[
        str | None,
        typer.Option(
            help="How many (5), from-to (0-7), or which (1,3,5). The id is the priority.  "
            r"\[default: 5]"
        ),
    ] = None,
    t: RequestBound = None,
    tm: Annotated[str | None, typer.Option(help="Tm, the bound of a message's journey; with --tp.")] = None,
    tp: Annotated[str | None, typer.Option(help="Tp, the bound of a node's handling of it; with --tm.")] = None,
    latency: Annotated[
        str | None,
        typer.Option(help=r"How long every message takes, but for the jitter.  \[default: 0s; with --sim Tm/4]"),
    ] = None,
    jitter: Annotated[
        str | None, typer.Option(help=r"By how much that varies, either way.  \[default: 0s; with --sim Tm/8]")
    ] = None,
    sim: Annotated[
        bool,
        typer.Option(
            "--sim",
            help="In virtual time: freeze it, step it, choose what happens next; a seed brings the same again.",
        ),
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="On processes, as is usual; of a scenario, if it is for that.")
    ] = False,
    speed: Annotated[
        str | None,
        typer.Option(metavar="FACTOR", help="With --sim, virtual over real time at the start: 0.1, 10, max."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the protocol; lab list protocols NAME says which there are.",
        ),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help='A command, mostly with a trigger: "at 2s kill 5", "when all normal partition 1 2 | 3 4 5", '
            '"on send EnterElection 4->1 kill 4". May be given several times. All commands: lab ctl --help',
        ),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More commands, a line each; # begins a remark.")
    ] = None,
    record: Record = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="For losses and jitter; drawn if not given, and recorded."),
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Without the interface; needs --for, but for a scenario.")
    ] = False,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="End the run after this long: 6s, 2m.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="With --headless: print one JSON object at the end, and nothing else.")
    ] = False,
) -> int:
    """Run a protocol or a scenario, on real processes or simulated, with the interface in front or headless."""
    from lab.cli.running import run_headless, run_with_interface  # noqa: PLC0415
    from lab.cli.scenario_running import run_scenario, scenario_named  # noqa: PLC0415
    from lab.cli.settings import check_headless, run_config, world_of  # noqa: PLC0415

    if json and not headless:
        raise UsageError("--json goes with --headless")
    if sim and live:
        raise UsageError("--sim and --live: write one of them")
    scenario = scenario_named(target)
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
