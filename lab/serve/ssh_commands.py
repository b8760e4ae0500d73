"""The commands after ``ssh HOST``: the lab's own, in one table. Nothing else is executed."""

from collections.abc import Callable

from msgspec import Struct

from lab.serve.server_context import ServerContext
from lab.text import did_you_mean, sanitize
from lab.units import format_count

__all__ = ["COMMANDS", "SSHCommand", "first_exercise", "run_command"]

_USAGE_ERROR = 2


class SSHCommandError(Exception):
    """Wrong arguments of a command, described for the student."""


class SSHCommand(Struct, frozen=True):
    """A command. ``run`` gets the server's context, the student and the arguments; it returns the output.

    It raises SSHCommandError.
    """

    help: str
    run: Callable[[ServerContext, str, list[str]], str]


def _help(context: ServerContext, student: str, arguments: list[str]) -> str:
    rows = "\n".join(f"  {name:10} {command.help}" for name, command in COMMANDS.items())
    return f"Connect without a command for the laboratory itself. Commands after ssh HOST:\n{rows}"


def _status(context: ServerContext, student: str, arguments: list[str]) -> str:
    sessions = len(context.presence.of(student))
    run = context.clusters.running(student)
    cluster = (
        "no cluster" if run is None else f"a cluster: {run.protocol}, {len(run.nodes)} nodes, since {run.began}"
    )
    return f"{student}: {format_count(sessions, 'session')}, {cluster}"


def _exercises(context: ServerContext, student: str, arguments: list[str]) -> str:
    home = context.student_folder(student)
    width = max((len(name) for name in context.exercises), default=0)
    rows = []
    for exercise in context.exercises.values():
        if exercise.repairs is None:
            points = f"{home.progress_of(exercise.name).points:2} of {exercise.points:2}"
            rows.append(f"  {exercise.name:{width}}  {points}  {sanitize(exercise.title, 60)}")
    return "\n".join(["Your points; start an exercise with ssh -t HOST start NAME:", *rows])


def _start(context: ServerContext, student: str, arguments: list[str]) -> str:
    """Refuse: a valid name begins a session and never gets here."""
    if len(arguments) != 1:
        raise SSHCommandError("usage: start NAME; ssh HOST exercises lists the exercises")
    meant = did_you_mean(arguments[0], list(context.exercises)) or "; ssh HOST exercises lists the exercises"
    raise SSHCommandError(f"unknown exercise {sanitize(arguments[0], 40)} on this server{meant}")


COMMANDS: dict[str, SSHCommand] = {
    "help": SSHCommand("list these commands", _help),
    "exercises": SSHCommand("list the exercises, and your points", _exercises),
    "start": SSHCommand("start NAME: attempt this exercise; needs ssh -t", _start),
    "status": SSHCommand("show your sessions and your cluster", _status),
}


def run_command(command: str, context: ServerContext, student: str) -> tuple[str, int]:
    """Run a command and return (its output, its exit status)."""
    first, *rest = command.split() or ["help"]
    if first not in COMMANDS:
        meant = did_you_mean(first, list(COMMANDS))
        known = ", ".join(COMMANDS)
        return f"lab: unknown command {sanitize(first, 40)}; available are: {known}{meant}", _USAGE_ERROR
    try:
        return COMMANDS[first].run(context, student, rest), 0
    except SSHCommandError as error:
        return f"lab: {error}", _USAGE_ERROR


def first_exercise(command: str | None, context: ServerContext) -> str | None:
    """Return the exercise that a session begins with, empty for the list; None if the command wants no session."""
    if command is None:
        return ""
    word, _, name = " ".join(command.split()).partition(" ")
    exercise = context.exercises.get(name) if word == "start" else None
    return None if exercise is None or exercise.repairs is not None else name
