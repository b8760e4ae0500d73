"""``lab serve``, commands for the teacher: watch the class, notify students, print the log and the grades."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import Json
from lab.cli.commands.serve import Data, serve

__all__ = ["export", "lecture", "log", "notify", "status", "watch"]

Folder = Annotated[
    Path | None,
    typer.Option(
        "--exercises", metavar="DIR", help="The folder given to lab serve --exercises. Default: the built-in ones."
    ),
]


@serve.command()
def status(data: Data = None, json: Json = False) -> int:
    """Print the state of the class.

    One line per student: how long they have been logged in, their exercise, the tasks done in it, how long they
    have been stuck (the time since they last solved a task), and their points. Those who have been stuck longest
    come first. lab serve watch shows the same, live.
    """
    from lab.cli.class_admin import print_status  # noqa: PLC0415

    return print_status(data, json)


@serve.command()
def watch(exercises: Folder = None, data: Data = None) -> int:
    """Watch the class live.

    The screen shows the table of lab serve status, live. Enter opens the cluster of the selected student; you can
    move through its timeline independently. t also lets you give commands to it; the student is notified, and can
    still give commands. m sends a message to the selected student, M to all. L gives a lecture.
    """
    from lab.cli.teacher_screens import watch_class  # noqa: PLC0415

    return watch_class(exercises, data)


@serve.command(
    epilog="""Examples:\n
    lab serve lecture bully\n
    lab serve lecture two-coordinators\n
    during the lecture: ask "who leads next?" | 4 | 5   (after :)"""
)
def lecture(
    target: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|PROTOCOL|EXERCISE",
            help="A scenario, a protocol, or an exercise, of which the initial state is run.",
        ),
    ],
    sim: Annotated[bool, typer.Option("--sim", help="Run it in simulation.")] = False,
    data: Data = None,
) -> int:
    """Give a lecture to the class.

    Everyone logged in can watch your cluster, and move through its timeline independently. Students who are logged
    in when the lecture begins are notified, and join with Ctrl+L; those who log in later see it at once. If the
    server was started with --lecture, the lecture opens on every screen. During the lecture, Ctrl+L lets you ask
    the class a question: votes are counted as they arrive, and everyone sees the result when you close the vote.
    """
    from lab.cli.teacher_screens import give_lecture  # noqa: PLC0415

    return give_lecture(target, sim, data)


@serve.command(
    epilog="""Examples:\n
    lab serve notify anna ben "look at node 3 in the diagram"\n
    lab serve notify --all "five minutes to go\""""
)
def notify(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[NAME…] TEXT", help="The names of the recipients, then the text in quotes."),
    ],
    all_: Annotated[bool, typer.Option("--all", help="Notify everyone logged in.")] = False,
    data: Data = None,
) -> int:
    """Send a message to students.

    The message is a line on their screens that stays until they dismiss it.
    """
    from lab.cli.class_admin import notify_students  # noqa: PLC0415

    *names, text = words
    return notify_students(names, all_, text, data)


@serve.command(
    epilog="""Examples:\n
    lab serve log\n
    lab serve log anna --commands"""
)
def log(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print only events of this student.")
    ] = None,
    commands: Annotated[
        bool, typer.Option("--commands", help="Include each command, answer and hint, read from the recordings.")
    ] = False,
    data: Data = None,
) -> int:
    """Print the server's log.

    The log contains log-ins, refused requests, attempts, messages, and each time you took control; oldest first.
    """
    from lab.cli.class_admin import print_log  # noqa: PLC0415

    return print_log(name, commands, data)


@serve.command(
    epilog="""Examples:\n
    lab serve export\n
    lab serve export --csv grades.csv\n
    lab serve export --gradescope results/   (results/NAME.json for each student)\n
    lab serve export --csv all.csv --every"""
)
def export(
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the grades as a spreadsheet.")] = None,
    gradescope: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write Gradescope results to this folder: NAME.json for each student."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Grade every attempt, not only the best of each student.")
    ] = False,
    exercises: Folder = None,
    data: Data = None,
) -> int:
    """Grade the whole class.

    Every recording is re-executed, and the points of each student are printed. When a run ends, the server seals
    its recording: it stores a digest. A recording that does not match its seal, belongs to another student or is
    missing is refused, and the reason is printed. An active run is graded as far as it is recorded.

    Exit status: 0 all were graded, 1 one was refused or the seals were edited, 2 usage error, 130 Ctrl-C.
    """
    from lab.cli.class_admin import export_grades  # noqa: PLC0415

    return export_grades(csv, gradescope, every, exercises, data)
