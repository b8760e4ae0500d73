"""``lab exercise``: solve and grade exercises."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import Json
from lab.cli.completion import complete_exercise
from lab.cli.program import app

__all__ = ["exercise"]

exercise = typer.Typer()
app.add_typer(
    exercise,
    name="exercise",
    help="Solve and grade exercises.\n\nEach exercise gives you a cluster of your own, and asks you to bring "
    "about, predict, find, repair or explain a behaviour. [bold]lab exercise list[/bold] shows them all. "
    "To host them for a class: [bold]lab serve[/bold].",
)

Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME|./DIR",
        help="An exercise by name, or the folder of your own: ./DIR.",
        autocompletion=complete_exercise,
    ),
]
Student = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the student. Default: your login name.")
]
HomeFolder = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Folder for attempts and progress. Default: in lab's data folder."),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--exercises", metavar="DIR", help="Use the exercises in this folder instead of the built-in ones."
    ),
]


@exercise.callback(invoke_without_command=True)
def exercise_alone(context: typer.Context) -> None:
    """Print the help if there is no command."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@exercise.command("list")
def list_(exercises: Folder = None, json: Json = False) -> int:
    """List the exercises: level, task, topics and points of each."""
    from lab.cli.exercises import print_list  # noqa: PLC0415

    return print_list(exercises, json)


@exercise.command()
def show(
    name: Named, solution: Annotated[bool, typer.Option("--solution", help="Print the solution too.")] = False
) -> int:
    """Print an exercise: its tasks, the allowed commands, and the points of each task."""
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
            metavar="[NAME|./DIR]",
            help="An exercise. Default: choose from a list.",
            autocompletion=complete_exercise,
        ),
    ] = None,
    student: Student = None,
    home: HomeFolder = None,
    exercises: Folder = None,
) -> int:
    """Start an attempt at an exercise.

    The text is shown next to a cluster of your own. Tasks are ticked off as you complete them. Hints are given one
    at a time; each states its cost in points. Every attempt is recorded, and the best one counts: hand in the
    recording, which lab exercise grade re-executes.

    If the exercise is to repair a protocol, the faulty file is copied to the current folder.
    """
    from lab.cli.exercises import start_exercise  # noqa: PLC0415

    return start_exercise(name, student, home, exercises)


@exercise.command()
def status(student: Student = None, home: HomeFolder = None, exercises: Folder = None, json: Json = False) -> int:
    """Print your progress in each exercise."""
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
        typer.Argument(metavar="RECORDING|FILE.py|DIR…", help="The submissions: files, or folders of them."),
    ],
    exercise_: Annotated[
        str | None,
        typer.Option(
            "--exercise",
            metavar="NAME",
            help="The exercise that FILE.py repairs.",
            autocompletion=complete_exercise,
        ),
    ] = None,
    student: Annotated[
        str | None, typer.Option(metavar="NAME", help="Grade only submissions of this student.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Grade every attempt, not only the best of each student.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the grades as a spreadsheet.")
    ] = None,
    gradescope: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write Gradescope's results.json, for one student.")
    ] = None,
    exercises: Folder = None,
) -> int:
    """Grade submissions by re-executing them.

    A recording is refused if its inputs do not reproduce its steps, if it contains an effect without a command, if
    a command is not allowed in the exercise, or if two students submit the same run. The last is only detected if
    all students are graded in one call. To grade one student alone, as Gradescope does, --student NAME refuses the
    recordings of others. Whoever made a recording on their own machine could have forged it; recordings that
    lab serve keeps cannot be edited by students.

    Exit status: 0 all were graded, 1 one was refused, 2 usage error, 130 Ctrl-C.
    """
    from lab.cli.grade_request import GradeRequest, grade_all  # noqa: PLC0415

    return grade_all(GradeRequest(named, exercise_, every, student, csv, gradescope, exercises))


@exercise.command()
def check(
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME|./DIR]…", help="Exercises. Default: all.", autocompletion=complete_exercise),
    ] = None,
) -> int:
    """Check that exercises are correct.

    The solution must earn all points. An empty attempt and each wrong attempt in the exercise's folder must earn
    none, and random commands must not solve it.

    Exit status: 0 all are correct, 1 one is not, 2 usage error, 130 Ctrl-C.
    """
    from lab.cli.exercises import check_exercises  # noqa: PLC0415

    return check_exercises(named or [])
