"""``lab exercise``: exercises to be solved with a cluster of one's own, and their grades."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import Json
from lab.cli.completion import complete_exercise

__all__ = ["exercise"]

exercise = typer.Typer()
app.add_typer(
    exercise,
    name="exercise",
    help="Exercises: bring something about, predict it, find it, repair it, with a cluster of your own. "
    "[bold]lab exercise start[/bold] shows which there are; for a class, over SSH: [bold]lab serve[/bold].",
)

Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME|./DIR",
        help="An exercise: by name, or the folder of one of your own, ./DIR.",
        autocompletion=complete_exercise,
    ),
]
Student = Annotated[
    str | None, typer.Option(metavar="NAME", help="Whose attempts these are; without it, your log-in name.")
]
HomeFolder = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", help="Where attempts and progress are kept; without it, with your data."
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--exercises", metavar="DIR", help="A folder of exercises of your own, in place of the program's."
    ),
]


@exercise.callback(invoke_without_command=True)
def exercise_alone(context: typer.Context) -> None:
    """Without a command: what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@exercise.command("list")
def list_(exercises: Folder = None, json: Json = False) -> int:
    """List the exercises: how hard each is, what is to be done, what it teaches, how many points it brings."""
    from lab.cli.exercises import print_list  # noqa: PLC0415

    return print_list(exercises, json)


@exercise.command()
def show(
    name: Named, solution: Annotated[bool, typer.Option("--solution", help="Its solution, too.")] = False
) -> int:
    """Print an exercise: what is asked, what may be done, and how many points each task brings."""
    from lab.cli.exercises import print_exercise  # noqa: PLC0415

    return print_exercise(name, solution)


@exercise.command(
    epilog="""Examples:\n
    lab exercise start\n
    lab exercise start two-coordinators\n
    lab exercise start two-coordinators --student anna --home anna"""
)
def start(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|./DIR]", help="Which; without it, choose in a list.", autocompletion=complete_exercise
        ),
    ] = None,
    student: Student = None,
    home: HomeFolder = None,
    exercises: Folder = None,
) -> int:
    """Begin an attempt at an exercise: its text stands beside a cluster that is yours.

    Tasks are ticked as they are done. Hints come one at a time, and cost what they say. Every attempt is recorded,
    and the best one counts: hand in the recording, which lab exercise grade runs again.

    To repair a protocol there is a file to be mended: it is copied to where you are, with what to do.
    """
    from lab.cli.exercises import start_exercise  # noqa: PLC0415

    return start_exercise(name, student, home, exercises)


@exercise.command()
def status(student: Student = None, home: HomeFolder = None, exercises: Folder = None, json: Json = False) -> int:
    """Print how far you have come, exercise by exercise."""
    from lab.cli.exercises import print_status  # noqa: PLC0415

    return print_status(student, home, exercises, json)


@exercise.command(
    epilog="""Examples:\n
    lab exercise grade two-coordinators-001.jsonl\n
    lab exercise grade handed-in/ --csv grades.csv\n
    lab exercise grade submission/ --student anna --gradescope results.json\n
    lab exercise grade bully.py --exercise mend-the-bully"""
)
def grade(
    named: Annotated[
        list[Path],
        typer.Argument(metavar="RECORDING|FILE.py|DIR…", help="What was handed in; of a folder, all of it."),
    ],
    exercise_: Annotated[
        str | None,
        typer.Option(
            "--exercise",
            metavar="NAME",
            help="Which exercise a FILE.py repairs.",
            autocompletion=complete_exercise,
        ),
    ] = None,
    student: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose they are to be: another's is not graded.")
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="Every attempt, not each student's best.")] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write them for a spreadsheet, too.")] = None,
    gradescope: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write Gradescope's results.json, of one student.")
    ] = None,
    exercises: Folder = None,
) -> int:
    """Grade what was handed in, by running it again from its inputs.

    A recording is not graded where it is not what its inputs give, where something was done in it that no command
    did, where a command is not allowed in the exercise, or where two students have handed in the same run: give
    those of all in one call. Where each student is graded alone, as by Gradescope, --student NAME refuses what is
    another's. Made on a student's own machine a recording is as good as that machine is: what lab serve keeps
    itself cannot be edited.

    Exit status: 0 all were graded, 1 one was not, 2 a mistake in the call, 130 Ctrl-C.
    """
    from lab.cli.grading import GradeRequest, grade_all  # noqa: PLC0415

    return grade_all(GradeRequest(named, exercise_, every, student, csv, gradescope, exercises))


@exercise.command()
def check(
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME|./DIR]…", help="Which; without any, all.", autocompletion=complete_exercise),
    ] = None,
) -> int:
    """Check exercises: the solution brings all points; nothing, what is known to be wrong, and chance do not.

    Exit status: 0 all are in order, 1 one is not, 2 a mistake in the call, 130 Ctrl-C.
    """
    from lab.cli.exercises import check_exercises  # noqa: PLC0415

    return check_exercises(named or [])
