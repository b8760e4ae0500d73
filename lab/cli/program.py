"""The ``lab`` program: options of all commands, error handling, and the home screen."""

import contextlib
import inspect
import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from lab.cli.terminal import has_terminal, set_output_encoding
from lab.cli.usage_errors import EXIT_INTERRUPTED, UsageError, fail

__all__ = ["app", "run_commands"]

app = typer.Typer(
    name="lab",
    no_args_is_help=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""A laboratory for coordinator election and atomic commit, in the terminal.

    Run protocols on real processes or in simulation. Watch every message; kill and pause nodes, and \
partition the network, from the keyboard. Every run is recorded: replay it, step backwards, verify it.

    Begin with: [bold]lab run bully[/bold]
    then press [bold]5[/bold] and [bold]k[/bold] to kill node 5. \
To learn more: [bold]lab tour[/bold], [bold]lab guide[/bold].""",
    epilog="Exit status: 0 success · 1 a check failed · 2 usage error · 130 Ctrl-C.",
)


def run_commands() -> int:
    """Run the command in ``sys.argv`` and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            set_output_encoding(stream)
    groups = [app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)]
    for each in (command for group in groups for command in group.registered_commands):
        each.help = _unwrap_paragraphs(each.help or inspect.getdoc(each.callback) or "")
    try:
        status = app(standalone_mode=False, prog_name="lab")
        print(end="", flush=True)
    except UsageError as error:
        fail(str(error))
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = " ".join(["lab", *sys.argv[1:2]]) if context is None else context.command_path
        fail(f"{error.format_message().rstrip('.')} (see: {command} --help)")
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer's reaction to a closed pipe: lab show … | head
            _discard_output()
            return 0
        raise
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:
        with contextlib.suppress(OSError):  # show earlier output, unless writing it is what failed
            print(end="", flush=True)
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

        print(__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def home(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> int:
    """Show the home screen, from which everything can be started."""
    if context.invoked_subcommand is not None:
        return 0
    if not has_terminal():
        print(context.get_help())
        return 0
    from lab.cli.home_entries import run_home  # noqa: PLC0415

    return run_home()
