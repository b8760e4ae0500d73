"""``lab attach`` and ``lab ctl``: watch and control active runs."""

import contextlib
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from rich.markup import escape
from typer import Argument, Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.program import app
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError, require_terminal
from lab.output import print_error, print_line
from lab.recording.reader import NotARecordingError, open_recording
from lab.script.parse import parse
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.scope import CommandError, NodeNames
from lab.script.verbs import VERBS, bare_commands
from lab.script.vocabulary import described_counts, described_states
from lab.tui.terminal.guard import run_guarded
from lab.worlds.host.runs import NoSuchRunError, find_run, list_runs
from lab.worlds.launch import FeedClient


@app.command()
def attach(
    run: Annotated[
        str | None,
        Argument(metavar="[RUN]", help="The name of a run, from lab list. May be omitted if only one is active."),
    ] = None,
    viewer: Annotated[bool, Option("--viewer", help="Watch only: give no commands.")] = False,
) -> int:
    """Open the interface on an active run.

    Any number of interfaces can be attached to the same run.
    """
    require_terminal('lab ctl "COMMAND"')
    info = find_run(run)

    def interface() -> int:
        from lab.tui.apps.runs_app import show_feed  # noqa: PLC0415 - only the child loads the interface

        return show_feed(info.socket, info.run, "viewer" if viewer else "driver")

    return run_guarded(interface)


class CommandReply(Struct, frozen=True):
    """The reply to a command. ``valid``: the run takes it; ``changed``: it has changed something, or waits."""

    command: str
    valid: bool
    changed: bool
    text: str


class CtlDocument(Document, frozen=True):
    """The commands given to a run, each with its reply, in order."""

    run: str
    replies: tuple[CommandReply, ...]


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
        "\n\b\nTriggers, written before a command; several are waited for one after the other:\n"
        + "\n".join(f"  {example}" for example in TRIGGERS.values())
        + "\n\n\b\nPredicates, combined with and, or, not and parentheses:\n"
        f"  4 normal · all normal · any leads   {' '.join(described_states())}\n"
        "  4 suspects 5 · 2->3 cut\n"
        "  all.coordinator == 4 · 4.status != Normal\n"
        f"  groups <= 2 · messages(Accept) > 3   {' '.join(described_counts())}\n\n"
        "\b\nExpectations, written instead of a command:\n"
        + "\n".join(f"  {example}" for example in EXPECTATIONS.values())
        + "\n\n\b\nFull reference: lab guide commands, lab guide predicates."
    )


@app.command(
    help=_ctl_help(),
    epilog='Example: lab ctl "partition 1 2 | 3 4 5"   (exit status 1 if a command has no effect)',
)
def ctl(
    words: Annotated[list[str], Argument(metavar="[RUN] COMMAND…", help="One or more commands, each in quotes.")],
    json: Json = False,
) -> int:
    """Give commands to an active run (``_ctl_help`` is the help)."""
    named = len(words) > 1 and " " not in words[0].strip() and not _is_command(words[0])
    name, commands = (words[0], words[1:]) if named else (None, words)
    for command in commands:
        try:
            _check(command, name)
        except CommandError as error:
            raise UsageError(_likely_mistake(words) or f"{command!r}: {error}") from None
    info = find_run(name)
    status = 0
    replies: list[CommandReply] = []
    try:
        client = FeedClient(info.socket, start="end")
        for command in commands:
            reply = client.command(command)
            replies.append(CommandReply(command, reply.ok, reply.changed, reply.text))
            if not reply.ok:
                status = EXIT_USAGE
            elif not reply.changed:
                status = max(status, EXIT_NOT_AS_EXPECTED)
            if not json:
                (print_line if reply.ok else print_error)(reply.text)
        client.close()
    except OSError as error:
        raise UsageError(f"cannot reach the run {info.run}: {error}") from None
    if json:
        print_json(CtlDocument(info.run, tuple(replies)))
    return status


def _check(command: str, run: str | None) -> None:
    """Raise CommandError if the command cannot be read, not even with the names of nodes in the run."""
    try:
        parse(command)
    except CommandError:
        names = _names_in(run)
        if names is None:
            raise
        parse(command, names=names)


def _names_in(run: str | None) -> NodeNames | None:
    """Return the names of the nodes of an active run; None if there is no such run."""
    try:
        with contextlib.closing(open_recording(Path(find_run(run).recording))) as store:
            return NodeNames.of(store.header)
    except (NoSuchRunError, NotARecordingError):
        return None


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
