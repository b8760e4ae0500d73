"""``lab list``, ``lab attach`` and ``lab ctl``: list, watch and control active runs."""

import contextlib
import sys
from typing import Annotated

import msgspec
import typer
from rich.markup import escape

from lab.cli.list_protocols import print_protocols
from lab.cli.options import one_of
from lab.cli.program import app
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError, require_terminal
from lab.protocols import PROTOCOLS, TASKS
from lab.script.commands import VERBS, CommandError
from lab.script.parse import parse
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.predicates import COUNTS, STATES
from lab.script.protocol_commands import bare_commands
from lab.text import sanitize
from lab.units import format_ranges
from lab.worlds.host.launch import FeedClient
from lab.worlds.host.runs import NoSuchRunError, RunInfo, find_run, list_runs

_LISTED = ("runs", "protocols")


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(metavar="[runs|protocols]", help="What to list.")] = "runs",
    protocol: Annotated[
        str | None,
        typer.Argument(metavar="[PROTOCOL]", help="Describe this protocol in detail: a name, or FILE.py:CLASS."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """List the active runs, or describe the protocols.

    lab list also removes leftovers of crashed runs.
    """
    if one_of("lab list", what, _LISTED) == "protocols":
        return print_protocols(protocol, json)
    if protocol is not None:
        raise UsageError(f"lab list runs takes no name; leave out {protocol}")

    return print_runs(json)


@app.command()
def attach(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="A run, as named by lab list. May be omitted if there is only one."),
    ] = None,
    viewer: Annotated[bool, typer.Option("--viewer", help="Watch only: give no commands.")] = False,
) -> int:
    """Open the interface on an active run.

    Any number of interfaces can be attached to the same run.
    """
    return open_interface(run, viewer)


def _ctl_help() -> str:

    verbs = (*VERBS.values(), *bare_commands().values())
    rows = [escape(f"  {verb.usage:36} {verb.help}") for verb in verbs]  # usage texts contain brackets
    return (
        "Give commands to an active run.\n\n"
        "\b\nCommands:\n" + "\n".join(rows) + "\n\n"
        "\b\nNODES   5 · 1 2 · 1,2 · all · coordinator · coordinators (every node that leads)\n"
        "LINKS   2->3 · 2<->3 · 5 (all links from and to 5) · all\n"
        "TIME    400ms · 2s          PERCENT  30%\n" + _triggers_help()
    )


def _triggers_help() -> str:

    return (
        "\n\b\nTriggers, written before a command; several are awaited in turn:\n"
        + "\n".join(f"  {example}" for example in TRIGGERS.values())
        + "\n\n\b\nPredicates, combined with and, or, not and parentheses:\n"
        f"  4 normal · all normal · any leads   {' '.join(STATES)}\n"
        "  4 suspects 5 · 2->3 cut\n"
        "  all.coordinator == 4 · 4.status != Normal\n"
        f"  groups <= 2 · messages(Accept) > 3   {' '.join(COUNTS)}\n\n"
        "\b\nExpectations, written instead of a command:\n"
        + "\n".join(f"  {example}" for example in EXPECTATIONS.values())
        + "\n\n\b\nFull reference: lab guide commands, lab guide predicates."
    )


@app.command(
    help=_ctl_help(),
    epilog='Example: lab ctl "partition 1 2 | 3 4 5"   (exit status 1 if a command has no effect)',
)
def ctl(
    words: Annotated[list[str], typer.Argument(metavar="[RUN] COMMAND…", help="Commands, each in quotes.")],
) -> int:
    """Give commands to an active run (``_ctl_help`` is the help)."""
    return control(words)


def _run_named(name: str | None) -> RunInfo:
    """Return the run with that name; without a name, the only run. Raises UsageError."""
    try:
        return find_run(name)
    except NoSuchRunError as error:
        raise UsageError(str(error)) from None


def print_runs(as_json: bool) -> int:
    """Print the active runs and the protocols; as JSON, only the runs."""
    running, removed = list_runs()
    if as_json:
        print(msgspec.json.encode({"runs": running, "removed": removed}).decode())
        return 0
    for name in removed:
        print(f"removed the files of {name}, whose host has crashed")
    if not running:
        print("no active runs")
    for info in running:
        world = "" if info.world == "live" else f" {info.world},"
        nodes = f"{world} nodes {format_ranges(info.nodes)}"
        print(f"{info.run}  {info.protocol},{nodes}, since {info.began}, process {info.pid}")
        print(f'    lab attach {info.run}    lab ctl {info.run} "kill {info.nodes[-1]}"')
    print("protocols:")
    known = {**PROTOCOLS, **TASKS}
    longest = max(map(len, known))
    for name, protocol in sorted(known.items()):
        print(f"  {name.ljust(longest)}  {(protocol.__doc__ or '').partition(chr(10))[0]}")
    print("details: lab list protocols")
    return 0


def open_interface(name: str | None, viewer: bool) -> int:
    """Open the interface on an active run."""
    require_terminal('lab ctl "COMMAND"')
    info = _run_named(name)
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415 - loads the interface

    def interface() -> int:
        from lab.tui.apps.runs_app import show_feed  # noqa: PLC0415

        return show_feed(info.socket, info.run, "viewer" if viewer else "driver")

    return run_guarded(interface)


def control(words: list[str]) -> int:
    """Give commands to a run and return the exit status; the first word may be the run's name."""
    named = len(words) > 1 and " " not in words[0].strip() and not _is_command(words[0])
    name, commands = (words[0], words[1:]) if named else (None, words)
    for command in commands:
        try:
            parse(command)
        except CommandError as error:
            raise UsageError(_likely_mistake(words) or f"{command!r}: {error}") from None
    info = _run_named(name)
    status = 0
    try:
        client = FeedClient(info.socket, start="end")
        for command in commands:
            reply = client.command(command)
            if reply.ok:
                print(sanitize(reply.text))
                status = max(status, 0 if reply.changed else EXIT_NOT_AS_EXPECTED)
            else:
                print(f"lab: {sanitize(reply.text)}", file=sys.stderr)
                status = EXIT_USAGE
        client.close()
    except OSError as error:
        raise UsageError(f"cannot reach the run {info.run}: {error}") from None
    return status


def _is_command(word: str) -> bool:
    try:
        parse(word)
    except CommandError:
        return False
    return True


def _likely_mistake(words: list[str]) -> str | None:
    """Return a hint if quotes or the command are missing; it is clearer than the grammar's error."""
    for run, command in ([], words), (words[:1], words[1:]):
        with contextlib.suppress(CommandError):
            if len(command) > 1 and parse(" ".join(command)):
                text = " ".join(command)
                return f'{text} is one command; put it in quotes: {" ".join(["lab ctl", *run])} "{text}"'
    if len(words) == 1 and words[0] in [info.run for info in list_runs()[0]]:
        return f'{words[0]} is a run; add a command: lab ctl {words[0]} "kill 5"'
    return None
