"""``lab list``, ``lab attach`` and ``lab ctl``: list, show and control active runs."""

import contextlib
import sys

import msgspec

from lab.cli.terminal import require_terminal
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError
from lab.protocols import PROTOCOLS, TASKS
from lab.script import CommandError, parse
from lab.text import sanitize
from lab.units import format_ranges
from lab.worlds.host.launch import FeedClient
from lab.worlds.runs import NoSuchRunError, RunInfo, find_run, list_runs

__all__ = ["attach", "control", "print_runs"]


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


def attach(name: str | None, viewer: bool) -> int:
    """Open the interface on an active run."""
    require_terminal('lab ctl "COMMAND"')
    info = _run_named(name)
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415 - loads the interface

    def interface() -> int:
        from lab.tui.show import show_feed  # noqa: PLC0415

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
