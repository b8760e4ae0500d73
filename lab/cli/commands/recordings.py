"""``lab replay``, ``lab verify`` and ``lab show``: a recording on the screen, put to the test, as text."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import OwnProtocol

__all__ = ["replay", "show", "verify"]


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A recording; lab keeps those of runs without --record too.")],
    beside: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Another recording, to be seen beside it as of the same moment."),
    ] = None,
) -> int:
    """Open a recording in the interface: play, step forward and back, jump from fault to fault.

    What is noted there with M is kept beside it, in FILE.bookmarks.
    """
    from lab.cli.reading import opened  # noqa: PLC0415
    from lab.cli.terminal import need_terminal  # noqa: PLC0415

    for each in (file, beside):
        if each is not None:
            opened(each).close()
    need_terminal(f"lab show {file}")
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415

    def interface() -> int:
        from lab.tui.main import show_recording  # noqa: PLC0415

        return show_recording(file, beside)

    return run_guarded(interface)


@app.command()
def verify(
    files: Annotated[list[Path], typer.Argument(help="Recordings.")],
    protocol: OwnProtocol = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Violations outside the promise, too, make the exit status 1.")
    ] = False,
) -> int:
    """Re-execute and judge recordings: recorded inputs, fed to fresh nodes, must give the recorded steps, and
    whatever the protocol promises must hold in every consistent state.

    A violation while an assumption is broken that the protocol relies on is outside its promise; one with all
    of them intact is a failure. The first violation of each assertion is told with how it came about.

    Exit status: 0 all hold, 1 one differs (it was edited, or the protocol has changed since) or fails,
    2 no recording.
    """
    from lab.cli.reading import verify as verify_files  # noqa: PLC0415

    return verify_files(files, protocol, strict)


@app.command(epilog="Example: lab show run.jsonl --node 4 --kind EnterElection --kind SetCoordinator")
def show(
    file: Annotated[Path, typer.Argument(help="A recording.")],
    node: Annotated[
        list[str] | None, typer.Option(metavar="NODE", help="Only what this node sends, gets or does.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only messages whose kind begins so.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Only: message, status, process, command, caption, mark, expectation, told, log, note, failure, "
            "end.",
        ),
    ] = None,
    heartbeats: Annotated[bool, typer.Option("--heartbeats", help="With the messages that keep coming.")] = False,
    blocked: Annotated[
        bool, typer.Option("--blocked", help="Instead: the open transactions of a bank, and why each is open.")
    ] = False,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --blocked: as of then; as it ended by default.")
    ] = None,
) -> int:
    """Print a recording as text: messages with their fates, changes of status, faults and commands."""
    if blocked or at is not None:
        from lab.cli.blocked import BlockedRequest, show_blocked  # noqa: PLC0415

        return show_blocked(BlockedRequest.of(file, blocked, at, bool(node or kind or only or heartbeats)))
    from lab.cli.reading import show as show_file  # noqa: PLC0415

    return show_file(file, node or [], kind or [], only or [], heartbeats)
