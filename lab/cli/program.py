"""The ``lab`` program: its commands, each loaded when it runs, error handling, and the home screen."""

import contextlib
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from lab.cli.terminal import (
    EXIT_CLOSED_PIPE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    fail,
    has_terminal,
    set_output_encoding,
)
from lab.output import print_error, print_line, print_text
from lab.text import UserError

COMMANDS = {
    "run": ("Run a protocol or a scenario.", "run"),
    "tour": ("Take a guided tour of the interface, in five steps.", "run"),
    "replay": ("Open a recording in the interface.", "recordings"),
    "verify": ("Re-execute recordings and check the protocol's assertions.", "recordings"),
    "show": ("Print a recording as text.", "show"),
    "history": ("Show the history of groups in a recording.", "history"),
    "consistency": (
        "Check a history of client operations: linearizability, anomalies of transactions.",
        "consistency",
    ),
    "export": ("Export a recording as a diagram, film, trace or table.", "export"),
    "branch": ("Continue a recording from any record, with new commands.", "branch"),
    "branches": ("Show recordings and their branches as a tree.", "branch"),
    "diff": ("Find the first difference between two recordings.", "branch"),
    "convert": ("Rewrite a recording of an earlier version in the present format.", "convert"),
    "check": ("Test a protocol with random faults, in many simulated runs.", "check"),
    "campaign": (
        "Show, merge and tabulate campaigns of lab check, compare, scale and explore.",
        "campaign",
    ),
    "mutate": ("Test the tests: mutate a protocol, and see which mutants no property notices.", "mutate"),
    "explore": ("Model-check a protocol: explore all executions up to a bound.", "explore"),
    "compare": ("Compare the cost and failures of protocols under the same faults.", "compare"),
    "scale": ("Measure the cost of an election as the cluster grows.", "scale"),
    "list": ("List the active runs, or describe the protocols.", "list"),
    "attach": ("Open the interface on an active run.", "attach"),
    "ctl": ("Give commands to an active run.", "attach"),
    "schema": ("Print the JSON Schema of a document that --json prints.", "schema"),
    "guide": ("Read the guide: first steps, teaching a class, your own protocol, and the reference.", "guide"),
    "scenario": ("List, print, check and create scenarios.", "scenario"),
    "exercise": ("Solve and grade exercises.", "exercise"),
    "lecture": ("Rehearse, check and export lectures.", "lecture"),
    "serve": (
        "Serve the laboratory to a class, over SSH and in browsers.",
        "serve",
        "serve_class",
        "serve_lecture",
    ),
}
"""The first line of each command's help, and the modules of ``lab.cli`` that define the command."""


class LazyCommands(TyperGroup):
    """The commands, listed from the table. A command's modules are imported when it runs or explains itself.

    This keeps ``lab --help`` and shell completion fast, and a command's module can import what it needs.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=text) for name, (text, *_) in COMMANDS.items()} | dict(
            self.commands
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the command, with its modules imported, and the remaining arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import the modules of a command and return it."""
    for module in COMMANDS[name][1:]:
        import_module(f"lab.cli.{module}")
    command: Any = typer.main.get_group(app).commands[name]
    for each in (command, *getattr(command, "commands", {}).values()):
        each.help = _unwrap_paragraphs(each.help or "")
    return command


app = typer.Typer(
    name="lab",
    cls=LazyCommands,
    no_args_is_help=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A laboratory for coordinator election and atomic commit, in the terminal.\n\n"
    "    Run protocols on real processes or in simulation. Watch every message; kill and pause "
    "nodes, and partition the network, from the keyboard. Every run is recorded: replay it, "
    "step backwards, verify it.\n\n    Begin with: [bold]lab run bully[/bold]\n"
    "    then press [bold]5[/bold] and [bold]k[/bold] to kill node 5. To learn more: [bold]lab "
    "tour[/bold], [bold]lab guide[/bold].",
    epilog="Exit status: 0 success · 1 a check failed · 2 usage error · 130 Ctrl-C.",
)


_MAELSTROM = {
    "-w": "--workload",
    "--bin": "--program",
    "--node-count": "--nodes",
    "--time-limit": "--for 20s",
    "--concurrency": "--clients",
    "--nemesis": "--do 'at 5s partition 1 | 2 3', or lab check --faults partition",
    "--consistency-models": "--model",
}
"""The options of Maelstrom that have another name here."""


def run_commands() -> int:
    """Run the command in ``sys.argv`` and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            set_output_encoding(stream)
    try:
        status = app(standalone_mode=False, prog_name="lab")
        sys.stdout.flush()
    except UserError as error:
        for mistake in error.mistakes:
            print_error(mistake)
        return EXIT_USAGE
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = " ".join(["lab", *sys.argv[1:2]]) if context is None else context.command_path
        message, meant = error.format_message().rstrip("."), _MAELSTROM.get(getattr(error, "option_name", ""), "")
        if meant:
            message = f"{message.partition(' (Possible')[0]}; what Maelstrom calls so is {meant} here"
        fail(f"{message} (see: {command} --help)")
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer's reaction to a closed pipe: lab show … | head
            _discard_output()
            return EXIT_CLOSED_PIPE
        raise
    except BrokenPipeError:
        _discard_output()
        return EXIT_CLOSED_PIPE
    except UnicodeEncodeError as error:  # only names of files can hold such characters
        fail(f"{error.object} is not valid UTF-8, so it cannot be recorded; rename the file")
    except OSError as error:
        with contextlib.suppress(OSError):  # show earlier output, unless writing it is what failed
            sys.stdout.flush()
        _discard_output()
        place = "" if error.filename is None else f"{error.filename}: "
        fail(f"{place}{error.strerror or error}")
    return status if isinstance(status, int) else 0


def _unwrap_paragraphs(text: str) -> str:
    """Join the lines of each paragraph, so that typer wraps it. A backspace at its start prevents that."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(each if each.startswith("\b") else " ".join(each.split()) for each in paragraphs)


def _discard_output() -> None:
    """Redirect standard output to the null device.

    Otherwise the interpreter reports the broken pipe when it exits.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _version(wanted: bool) -> None:
    if wanted:
        from lab import __version__  # noqa: PLC0415

        print_line(__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def home(
    context: typer.Context,
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> int:
    """Show the home screen, from which everything can be started."""
    if context.invoked_subcommand is not None:
        return 0
    if not has_terminal():
        print_text(context.get_help())
        return 0
    from lab.cli.home import run_home  # noqa: PLC0415

    return run_home()
