"""``lab serve``, the teacher's side: who is on, messages, the log, grades; the server goes on meanwhile."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import Json
from lab.cli.commands.serve import Data, serve

__all__ = ["export", "lecture", "log", "status", "tell", "watch"]

Folder = Annotated[
    Path | None,
    typer.Option("--exercises", metavar="DIR", help="The exercises of the server, where it has others."),
]


@serve.command()
def status(data: Data = None, json: Json = False) -> int:
    """Print how the class stands: who is on, at which exercise, the points, and for how long nothing was solved.

    Those for whom that is longest come first. lab serve watch shows the same as it changes.
    """
    from lab.cli.teaching import print_status  # noqa: PLC0415

    return print_status(data, json)


@serve.command()
def watch(exercises: Folder = None, data: Data = None) -> int:
    """Watch the class, look over a shoulder, take the keys, too, send messages, give a lecture.

    It shows what lab serve status prints, as it changes. Enter looks over a student's shoulder, with a cursor in
    time of your own; t takes the keys, too, which the student sees, and whose keys go on working; m and M send a
    message to one, or to all; L gives a lecture.
    """
    from lab.cli.lecturing import watch_class  # noqa: PLC0415

    return watch_class(exercises, data)


@serve.command(
    epilog="""Examples:\n
    lab serve lecture bully\n
    lab serve lecture two-coordinators\n
    in it, after a colon: ask "who leads next?" | 4 | 5"""
)
def lecture(
    target: Annotated[
        str, typer.Argument(metavar="NAME|PROTOCOL", help="A scenario, a protocol, or an exercise, as it begins.")
    ],
    sim: Annotated[bool, typer.Option("--sim", help="In simulation.")] = False,
    data: Data = None,
) -> int:
    """Give a lecture: all who are on see your cluster, each with a cursor in time of their own.

    Who is on is told, and comes with Ctrl+L; who logs in meanwhile sees it at once, and so do all where the server
    was started with --lecture. In it Ctrl+L asks the class: the votes are counted as they come, and once you close
    the vote all see how it went.
    """
    from lab.cli.lecturing import give_lecture  # noqa: PLC0415

    return give_lecture(target, sim, data)


@serve.command(
    epilog="""Examples:\n
    lab serve tell anna ben "look at the line of node 3"\n
    lab serve tell --all "five minutes to go\""""
)
def tell(
    words: Annotated[
        list[str], typer.Argument(metavar="[NAME…] TEXT", help="To whom, and last the text, in quotes.")
    ],
    all_: Annotated[bool, typer.Option("--all", help="To all who are on.")] = False,
    data: Data = None,
) -> int:
    """Show students a message: a line on their screens that stays until they put it away."""
    from lab.cli.teaching import tell_class  # noqa: PLC0415

    *names, text = words
    return tell_class(names, all_, text, data)


@serve.command(
    epilog="""Examples:\n
    lab serve log\n
    lab serve log anna --commands"""
)
def log(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of this student alone.")] = None,
    commands: Annotated[
        bool, typer.Option("--commands", help="With every command given, answer and hint, from the recordings.")
    ] = False,
    data: Data = None,
) -> int:
    """Print what happened, the oldest first: log-ins, who was refused, attempts, messages, whose keys you took."""
    from lab.cli.teaching import print_log  # noqa: PLC0415

    return print_log(name, commands, data)


@serve.command(
    epilog="""Examples:\n
    lab serve export\n
    lab serve export --csv grades.csv\n
    lab serve export --gradescope results/   (results/NAME.json for each student)\n
    lab serve export --csv all.csv --every"""
)
def export(
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a table for a spreadsheet.")] = None,
    gradescope: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write Gradescope's results, NAME.json for each student.")
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="Every attempt, not each student's best.")] = False,
    exercises: Folder = None,
    data: Data = None,
) -> int:
    """Grade the whole class, by running every recording again, and print what each student has.

    When a run ends the server seals its recording. One that differs from its seal, is another student's, or is
    gone, is not graded, and the table says why. A run that goes on is graded as far as it has come.

    Exit status: 0 all were graded, 1 one was not, or the seals were edited, 2 a mistake in the call, 130 Ctrl-C.
    """
    from lab.cli.teaching import export_grades  # noqa: PLC0415

    return export_grades(csv, gradescope, every, exercises, data)
