"""``lab list``, ``lab attach`` and ``lab ctl``: what is to be done with runs that are going on."""

import contextlib
import sys

import msgspec

from lab.cli.errors import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError
from lab.cli.terminal import need_terminal
from lab.protocols import PROTOCOLS, TASKS
from lab.script import CommandError, parse
from lab.text import sanitize
from lab.units import listed
from lab.worlds.host.launch import FeedClient
from lab.worlds.runs import NoSuchRunError, RunInfo, find_run, list_runs

__all__ = ["attach", "control", "print_runs"]


def _the_run(name: str | None) -> RunInfo:
    """The run that is meant. UsageError."""
    try:
        return find_run(name)
    except NoSuchRunError as error:
        raise UsageError(str(error)) from None


def print_runs(as_json: bool) -> int:
    """The running hosts, and what is there to be run."""
    running, removed = list_runs()
    if as_json:
        print(msgspec.json.encode({"runs": running, "removed": removed}).decode())
        return 0
    for name in removed:
        print(f"removed what the dead host of {name} had left")
    if not running:
        print("no run is going on")
    for info in running:
        world = "" if info.world == "live" else f" {info.world},"
        nodes = f"{world} nodes {listed(info.nodes)}"
        print(f"{info.run}  {info.protocol},{nodes}, since {info.began}, process {info.pid}")
        print(f'    lab attach {info.run}    lab ctl {info.run} "kill {info.nodes[-1]}"')
    print("protocols:")
    known = {**PROTOCOLS, **TASKS}
    longest = max(map(len, known))
    for name, protocol in sorted(known.items()):
        print(f"  {name.ljust(longest)}  {(protocol.__doc__ or '').partition(chr(10))[0]}")
    print("more about them: lab list protocols")
    return 0


def attach(name: str | None, viewer: bool) -> int:
    """The interface over a run that is going on."""
    need_terminal('lab ctl "COMMAND"')
    info = _the_run(name)
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415 - only where it is used

    def interface() -> int:
        from lab.tui.main import show_feed  # noqa: PLC0415

        return show_feed(info.socket, info.run, "viewer" if viewer else "driver")

    return run_guarded(interface)


def control(words: list[str]) -> int:
    """Give commands to a run; the first word may be its name."""
    named = len(words) > 1 and " " not in words[0].strip() and not _is_command(words[0])
    name, commands = (words[0], words[1:]) if named else (None, words)
    for command in commands:
        try:
            parse(command)
        except CommandError as error:
            raise UsageError(_likely_mistake(words) or f"{command!r}: {error}") from None
    info = _the_run(name)
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
        raise UsageError(f"run {info.run} cannot be reached: {error}") from None
    return status


def _is_command(word: str) -> bool:
    try:
        parse(word)
    except CommandError:
        return False
    return True


def _likely_mistake(words: list[str]) -> str | None:
    """What to say where quotes or a command are missing, rather than what the grammar makes of it."""
    for run, command in ([], words), (words[:1], words[1:]):
        with contextlib.suppress(CommandError):
            if len(command) > 1 and parse(" ".join(command)):
                said = " ".join(command)
                return f'{said} is one command, so put it in quotes: {" ".join(["lab ctl", *run])} "{said}"'
    if len(words) == 1 and words[0] in [info.run for info in list_runs()[0]]:
        return f'{words[0]} is a run; say what is to be done with it: lab ctl {words[0]} "kill 5"'
    return None
