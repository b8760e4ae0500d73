"""``lab branch``, ``lab branches`` and ``lab diff``: continue recordings differently, and compare them."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import Headless, OwnProtocol, Record
from lab.cli.program import app

__all__ = ["branch", "branches", "diff"]


@app.command(
    epilog="""Examples:\n
    lab branch run.jsonl --at 2.5s\n
    lab branch run.jsonl --at 312 --headless --for 5s --do "after 1s resume 5" --record resumed.jsonl""",
)
def branch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any recording: live, simulated, or a branch.")],
    at: Annotated[
        str,
        typer.Option(
            metavar="RECORD|TIME",
            help="Branch after this record, or at this time: 312, 2.5s. The interface shows record numbers; the "
            "line number of a record in the file is one higher.",
        ),
    ],
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help='Give a command, usually with a trigger, as in lab run. "at 3s heal": at that time of the run; '
            '"after 500ms kill 5": after the branch begins. Repeatable.',
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help="End this long after the branch begins, in virtual time: 6s, 2m."
        ),
    ] = None,
    record: Record = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Seed of message loss and jitter in the branch. Default: that of the recording."
        ),
    ] = None,
    headless: Headless = False,
    protocol: OwnProtocol = None,
) -> int:
    """Continue a recording from any record, with new commands.

    The branch is simulated, and begins in exactly the state of the recording after that record. To restore this
    state, the recording is re-executed, which fails if lab verify finds a difference up to there. The new
    recording begins with the same records. lab diff shows where two recordings diverge; lab branches shows the
    tree of branches.
    """
    from lab.cli.branches import branch_run  # noqa: PLC0415
    from lab.cli.runner import run_headless, run_with_interface  # noqa: PLC0415

    config = branch_run(file, at, do or [], for_, record, seed, headless, protocol)
    return run_headless(config, as_json=False) if headless else run_with_interface(config)


@app.command()
def branches(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A recording. Default: the recordings in lab's data folder."),
    ] = None,
) -> int:
    """Show recordings and their branches as a tree.

    The tree contains the recordings in the folder of FILE, each below the recording that it branched from.
    """
    from lab.cli.branches import print_tree  # noqa: PLC0415

    return print_tree(file)


@app.command(epilog="Example: lab diff run.jsonl branch.jsonl")
def diff(
    one: Annotated[Path, typer.Argument(metavar="A", help="A recording.")],
    other: Annotated[Path, typer.Argument(metavar="B", help="Another recording.")],
) -> int:
    """Find the first difference between two recordings.

    It prints the log lines before and after the difference. The name of the run, its start date and its parent are
    not compared. lab replay A --compare B shows both recordings at the same moment.

    Exit status: 0 no difference, 1 they differ, 2 one is not a recording.
    """
    from lab.cli.recording_diff import diff as show_difference  # noqa: PLC0415

    return show_difference(one, other)
