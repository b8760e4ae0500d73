"""``lab replay``, ``lab verify`` and ``lab show``: view, verify and print recordings."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import OwnProtocol
from lab.cli.program import app

__all__ = ["replay", "show", "verify"]


@app.command()
def replay(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A recording. Runs without --record are kept in lab's data folder."),
    ],
    other: Annotated[
        Path | None,
        typer.Option("--compare", metavar="FILE", help="Show this recording next to it, at the same moment."),
    ] = None,
) -> int:
    """Open a recording in the interface.

    Play it, step forward and back, jump from fault to fault. Bookmarks set with M are saved in FILE.bookmarks.
    """
    from lab.cli.recording_report import open_or_exit  # noqa: PLC0415
    from lab.cli.terminal import require_terminal  # noqa: PLC0415

    for each in (file, other):
        if each is not None:
            open_or_exit(each).close()
    require_terminal(f"lab show {file}")
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415

    def interface() -> int:
        from lab.tui.show import show_recording  # noqa: PLC0415

        return show_recording(file, other)

    return run_guarded(interface)


@app.command()
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="The recordings.")],
    protocol: OwnProtocol = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 for excused violations too.")
    ] = False,
) -> int:
    """Re-execute recordings and check the protocol's assertions.

    Fresh nodes get the recorded inputs and must make the recorded steps. The assertions must hold in every
    consistent global state. A violation is excused if an assumption that the assertion relies on was broken;
    otherwise it is a failure. The first violation of each assertion is printed with the events that led to it.

    Exit status: 0 all recordings hold, 1 one differs (it was edited, or the protocol has changed) or has a
    failure, 2 a file is not a recording.
    """
    from lab.cli.recording_report import verify as verify_files  # noqa: PLC0415

    return verify_files(files, protocol, strict)


@app.command(epilog="Example: lab show run.jsonl --node 4 --kind EnterElection --kind SetCoordinator")
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording.")],
    node: Annotated[
        list[str] | None, typer.Option(metavar="NODE", help="Show only events of this node, and its messages.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Show only messages whose kind begins with KIND.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Show only lines of this type: message, status, process, command, caption, mark, expectation, "
            "protocol-command, log, note, failure or end.",
        ),
    ] = None,
    heartbeats: Annotated[bool, typer.Option("--heartbeats", help="Include heartbeats.")] = False,
    blocked: Annotated[
        bool, typer.Option("--blocked", help="Show the open transactions instead, and why each is open.")
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --blocked: the state at this time. Default: at the end."),
    ] = None,
) -> int:
    """Print a recording as text.

    One line per message, status change, fault and command. A line must match all filters given; a filter given
    several times matches any of its values.
    """
    if blocked or at is not None:
        from lab.cli.blocked import BlockedRequest, show_blocked  # noqa: PLC0415

        return show_blocked(BlockedRequest.of(file, blocked, at, bool(node or kind or only or heartbeats)))
    from lab.cli.recording_report import show as show_file  # noqa: PLC0415

    return show_file(file, node or [], kind or [], only or [], heartbeats)
