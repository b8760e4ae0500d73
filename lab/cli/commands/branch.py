"""``lab branch``, ``lab branches`` and ``lab diff``: other ways for a run to go, and where they part."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import Headless, OwnProtocol, Record

__all__ = ["branch", "branches", "diff"]


@app.command(
    epilog="""Examples:\n
    lab branch run.jsonl --at 2.5s\n
    lab branch run.jsonl --at 312 --headless --for 5s --do "after 1s resume 5" --record resumed.jsonl""",
)
def branch(
    file: Annotated[Path, typer.Argument(help="A recording of any run, live or simulated, or of a branch.")],
    at: Annotated[
        str,
        typer.Option(
            metavar="RECORD|TIME",
            help="The last record that is kept, by its number in the interface (in verify: its line less one), or "
            "a time: 312, 2.5s.",
        ),
    ],
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help='A command, mostly with a trigger, as in lab run: "at 3s heal" in the time of the run, '
            '"after 500ms kill 5" from the branch on. May be given several times.',
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="End so much virtual time after the branch: 6s, 2m."),
    ] = None,
    record: Record = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="For losses and jitter from there on; the recording's if not given."),
    ] = None,
    headless: Headless = False,
    protocol: OwnProtocol = None,
) -> int:
    """Go on from any record of a recording, in simulation: from exactly that state, but with other commands.

    The recording is re-executed up to there, so its steps must hold. The new recording begins with its records;
    lab diff shows where the two part, lab branches the tree of them.
    """
    from lab.cli.branching import wanted_branch  # noqa: PLC0415
    from lab.cli.running import run_headless, run_with_interface  # noqa: PLC0415

    config = wanted_branch(file, at, do or [], for_, record, seed, headless, protocol)
    return run_headless(config, as_json=False) if headless else run_with_interface(config)


@app.command()
def branches(
    file: Annotated[
        Path | None, typer.Argument(help="A recording; without it, those that lab keeps are looked at.")
    ] = None,
) -> int:
    """Show which recordings are branches of which, among those in the file's folder, as a tree."""
    from lab.cli.branching import print_tree  # noqa: PLC0415

    return print_tree(file)


@app.command(epilog="Example: lab diff run.jsonl branch.jsonl")
def diff(
    one: Annotated[Path, typer.Argument(metavar="A", help="A recording.")],
    other: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
) -> int:
    """Find the first record in which two recordings part, with what comes before and after it.

    lab replay A --beside B shows both on the screen, as of any moment.

    Exit status: 0 they are the same, 1 they differ, 2 one is no recording. It does not count which run it was,
    when it began, and what it is a branch of.
    """
    from lab.cli.differing import diff as show_difference  # noqa: PLC0415

    return show_difference(one, other)
