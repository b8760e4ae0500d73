"""``lab scenario``: the library of scenarios, and whether they come out as they say."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import Json, OwnProtocol, Workers
from lab.cli.completion import complete_scenario

__all__ = ["scenario"]

scenario = typer.Typer()
app.add_typer(
    scenario,
    name="scenario",
    help="What happens in a run, and what is to come of it, as a file: list them, read them, check them. "
    "[bold]lab run NAME[/bold] shows one; how to write one: [bold]lab guide scenarios[/bold].",
)

Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A scenario: by name, or FILE.scenario for your own.",
        autocompletion=complete_scenario,
    ),
]


@scenario.callback(invoke_without_command=True)
def scenario_alone(context: typer.Context) -> None:
    """Without a command: what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@scenario.command("list")
def list_(
    word: Annotated[
        str, typer.Argument(metavar="WORD", help="Only those with it in their name, title or protocol.")
    ] = "",
    json: Json = False,
) -> int:
    """List the scenarios that come with the program; how to write one of your own: lab guide scenarios."""
    from lab.cli.scenarios import print_list  # noqa: PLC0415

    return print_list(word, json)


@scenario.command()
def show(name: Named) -> int:
    """Print a scenario: what it shows, in which setting, and its script."""
    from lab.cli.scenarios import print_scenario  # noqa: PLC0415

    return print_scenario(name)


@scenario.command(
    epilog="""Examples:\n
    lab scenario check\n
    lab scenario check coordinator-dies --live --runs 10\n
    lab scenario check my.scenario folder --sim --junit report.xml"""
)
def check(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE|DIR]…",
            help="Which; without any, all that come with the program.",
            autocompletion=complete_scenario,
        ),
    ] = None,
    sim: Annotated[bool, typer.Option("--sim", help="Only in simulation.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Only on processes.")] = False,
    runs: Annotated[str, typer.Option(help="How often each; every run has the next seed.")] = "1",
    workers: Workers = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result as JUnit's XML too, for CI.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep all recordings here; without it, those of failed runs are kept."),
    ] = None,
) -> int:
    """Run scenarios in each world that they are for, and report what was not as it should be.

    A scenario fails when an expectation is not met, when a line of it never came, was refused or changed nothing,
    when a fault of it touched nothing, when a node fails by an error of its own, and when an assertion fails with
    all assumptions intact, and no line expects that.

    How to write one is in lab guide scenarios.

    Exit status: 0 all passed, 1 one failed, 2 a mistake in the call or in a file, 130 Ctrl-C.
    """
    from lab.cli.scenario_checking import CheckRequest, check_scenarios  # noqa: PLC0415

    return check_scenarios(CheckRequest.of(named or [], sim, live, runs, workers, junit, keep))


@scenario.command(
    "from",
    epilog="""Examples:\n
    lab scenario from run.jsonl -o my.scenario\n
    lab scenario from run.jsonl --shrink --title "A pause makes two coordinators" -o pause.scenario""",
)
def from_(
    recording: Annotated[Path, typer.Argument(help="A recording of any run, live or simulated.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A new FILE.scenario; without it, it is printed."),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Keep only the commands and the nodes that the outcome needs.")
    ] = False,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Its title; without it, one drawn from what happened.")
    ] = None,
    protocol: OwnProtocol = None,
) -> int:
    """Write what happened in a recording as a scenario, with what came of it as its expectations.

    Each command waits for what had happened before it, such as all being normal again, and for the clock only
    where nothing else comes to the same, which is found out in simulation. What does not come out as it should is
    said. Commands that changed or touched nothing are left out, as are those of time.

    Exit status: 0 it comes to the same, 1 it does not, 2 a mistake in the call, 130 Ctrl-C.
    """
    from lab.cli.scenario_recording import write_scenario  # noqa: PLC0415

    return write_scenario(recording, output, shrink, title or "", protocol or "")
