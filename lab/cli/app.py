"""The program: what holds for all commands, and the home screen where none is given."""

import contextlib
import inspect
import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from lab.cli.errors import EXIT_INTERRUPTED, UsageError, fail
from lab.cli.terminal import has_terminal, write_what_it_shows

__all__ = ["app", "run_commands"]

app = typer.Typer(
    name="lab",
    no_args_is_help=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""A laboratory for coordinator election, in the terminal.

    Real node processes on localhost sockets; you watch every message, kill, pause, delay and partition them \
from the keyboard; what happened is a recording that can be replayed, stepped backwards and verified.

    Begin with: [bold]lab run bully[/bold]
    then press [bold]5[/bold] and [bold]k[/bold] to kill node 5, and watch. \
What is to happen can be written down, too: [bold]lab guide scenarios[/bold].""",
    epilog="Exit status: 0 done · 1 something expected does not hold · 2 a mistake in the call · 130 Ctrl-C.",
)


def run_commands() -> int:
    """Run the command that ``sys.argv`` asks for; the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            write_what_it_shows(stream)
    groups = [app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)]
    for each in (command for group in groups for command in group.registered_commands):
        each.help = _prose(each.help or inspect.getdoc(each.callback) or "")
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
        if isinstance(end.__context__, BrokenPipeError):  # so typer ends when nobody reads on: lab show … | head
            _drop_output()
            return 0
        raise
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        with contextlib.suppress(OSError):  # what was said before is to be read, unless that is what failed
            print(end="", flush=True)
        _drop_output()
        place = "" if error.filename is None else f"{error.filename}: "
        fail(f"{place}{error.strerror or error}")
    return status if isinstance(status, int) else 0


def _prose(text: str) -> str:
    """The text with each paragraph in one line, to be wrapped; but for those that begin with ``\\b``."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(each if each.startswith("\b") else " ".join(each.split()) for each in paragraphs)


def _drop_output() -> None:
    """Nobody takes the rest of the output; without this, the interpreter would complain of it at its end."""
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
    """Without a command: a home screen, from which everything can be started."""
    if context.invoked_subcommand is not None:
        return 0
    if not has_terminal():
        print(context.get_help())
        return 0
    from lab.cli.home import run_home  # noqa: PLC0415

    return run_home()
