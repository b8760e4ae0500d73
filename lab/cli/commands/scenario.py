"""``lab scenario``: list, print, check and create scenarios."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import Json, OwnProtocol, Workers
from lab.cli.completion import complete_scenario
from lab.cli.program import app

__all__ = ["scenario"]

scenario = typer.Typer()
app.add_typer(
    scenario,
    name="scenario",
    help="List, print, check and create scenarios.\n\nA scenario is a scripted run that checks its outcome. "
    "[bold]lab run NAME[/bold] runs one; [bold]lab guide scenarios[/bold] explains how to write one.",
)

Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A scenario by name, or your own: FILE.scenario.",
        autocompletion=complete_scenario,
    ),
]


@scenario.callback(invoke_without_command=True)
def scenario_alone(context: typer.Context) -> None:
    """Print the help if there is no command."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@scenario.command("list")
def list_(
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD", help="List only scenarios with this text in their name, title or protocol."
        ),
    ] = "",
    json: Json = False,
) -> int:
    """List the built-in scenarios, grouped by protocol."""
    from lab.cli.scenarios import print_list  # noqa: PLC0415

    return print_list(word, json)


@scenario.command()
def show(name: Named) -> int:
    """Print a scenario: its description, settings and script."""
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
            help="Scenarios, or folders of them. Default: all built-in scenarios.",
            autocompletion=complete_scenario,
        ),
    ] = None,
    sim: Annotated[bool, typer.Option("--sim", help="Check in simulation only.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Check on real processes only.")] = False,
    runs: Annotated[
        str, typer.Option(metavar="NUMBER", help="Runs of each scenario; each run uses the next seed.")
    ] = "1",
    workers: Workers = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the result as JUnit XML, for CI.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep all recordings in this folder. Default: keep only those of failed runs."
        ),
    ] = None,
) -> int:
    """Run scenarios and report failures.

    Each scenario runs in simulation, on real processes, or both, as it declares. It fails if an expectation is not
    met; if a line of its script is never reached, is refused or has no effect; if a fault touches no message and
    no node; if a node raises an error; or if an assertion that no line expects to be violated fails with all its
    assumptions intact.

    Exit status: 0 all passed, 1 one failed, 2 usage error or a mistake in a file, 130 Ctrl-C.
    """
    from lab.cli.scenario_checks import CheckRequest, check_scenarios  # noqa: PLC0415

    return check_scenarios(CheckRequest.of(named or [], sim, live, runs, workers, junit, keep))


@scenario.command(
    "from",
    epilog="""Examples:\n
    lab scenario from run.jsonl -o my.scenario\n
    lab scenario from run.jsonl --shrink --title "A pause makes two coordinators" -o pause.scenario""",
)
def from_(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="Any recording, live or simulated.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this new FILE.scenario. Default: print it."),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Keep only the commands and nodes that the outcome needs.")
    ] = False,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title. Default: generated from the events.")
    ] = None,
    protocol: OwnProtocol = None,
) -> int:
    """Create a scenario from a recording.

    The scenario gives the commands of the recording, and expects the same outcome. Each command is triggered by
    the event that preceded it, such as all nodes being Normal again. Simulated runs test whether this reproduces
    the outcome; where it does not, the command is given at a fixed time. Commands without effect are left out, and
    so are commands that control time. Differences from the recording are reported.

    Exit status: 0 the scenario reproduces the outcome, 1 it does not, 2 usage error, 130 Ctrl-C.
    """
    from lab.cli.scenario_writer import write_scenario  # noqa: PLC0415

    return write_scenario(recording, output, shrink, title or "", protocol or "")
