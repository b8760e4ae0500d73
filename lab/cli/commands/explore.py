"""``lab explore``: model checking, the search of all executions up to a bound."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from lab.cli.commands.options import Json, Parameters, Target
from lab.cli.program import app

__all__ = ["explore"]

_TIMEOUTS: tuple[Literal["synchronous", "prompt", "ordered", "any"], ...] = (
    "synchronous",
    "prompt",
    "ordered",
    "any",
)
_BEGINNINGS = ("normal", "start")


@app.command(
    epilog="""Examples:\n
    lab explore bully\n
    lab explore bully --timeouts any --out two-coordinators.jsonl\n
    lab explore invitation --cuts 1 --timeouts prompt\n
    lab explore 2pc --restarts 1 --do "tell 3 transfer 100 savings checking"\n
    lab explore my_election.py:MyElection --kills 2 --from start""",
)
def explore(
    target: Target,
    nodes: Annotated[
        str, typer.Option(metavar="NUMBER", help="Number of nodes, 1 to 7. More than 4 gives very many states.")
    ] = "3",
    kills: Annotated[
        str, typer.Option(metavar="NUMBER", help="Maximum number of kills, of any node at any moment.")
    ] = "1",
    restarts: Annotated[
        str, typer.Option(metavar="NUMBER", help="Maximum number of restarts of killed nodes.")
    ] = "0",
    cuts: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="Maximum number of cuts; only one is in force at a time."),
    ] = "0",
    timeouts: Annotated[
        str,
        typer.Option(metavar="|".join(_TIMEOUTS), help="Timing model, as described above."),
    ] = "synchronous",
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="|".join(_BEGINNINGS),
            help="Initial state: all nodes Normal under one coordinator, or all just started. "
            r"\[default: normal for elections, else start]",
        ),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help='Give a command of the protocol in the initial state: "tell 3 withdraw 350". Repeatable. With '
            "--do none, no command is given. "
            r"\[default: if commands drive the protocol, the first of them, to the highest node]",
        ),
    ] = None,
    states: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="Stop after this many states; a million need about half a gigabyte."),
    ] = "1000000",
    depth: Annotated[
        str | None, typer.Option(metavar="NUMBER", help=r"Maximum depth, in transitions.  \[default: no bound]")
    ] = None,
    set_: Parameters = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record the shortest counterexample to this .jsonl file."),
    ] = None,
    json: Json = False,
) -> int:
    """Model-check a protocol: explore all executions up to a bound.

    Every order of deliveries, timeouts, kills, restarts and cuts is explored, and the assertions are checked in
    every state. The search is breadth first, so the recorded counterexample is a shortest one. A kill can also
    interrupt a step between two messages. Links are FIFO and lose messages only during a cut. T is 300 ms, Tm is
    T/3.

    A cut separates the nodes into two sides, or two nodes from each other. It can begin at any moment, and heal at
    any later moment or never. Cuts that stop no message are not explored. A cut breaks assumption 8. A4 is checked
    on each side of a cut, and A2 after the cut has healed.

    \b
    Timing models:
    synchronous  messages arrive within Tm, timers fire on time: no assumption is broken
    prompt       as synchronous, but messages take no time: far fewer states
    ordered      message delays are unbounded (breaks assumption 8)
    any          as ordered, and timers can fire at any moment (breaks 8 and 9)

    The search is exhaustive if it visits all reachable states before a bound stops it. A protocol with unbounded
    counters, such as versions, may have infinitely many. A task such as field cannot be explored, because its
    knowledge grows without bound.

    The liveness properties A2 and A4 are violated by a state without agreement in which nothing more can happen.
    After an exhaustive search with synchronous or prompt, they are also violated by a cycle without agreement.

    Exit status: 0 nothing found, 1 a violation, 2 usage error, 130 Ctrl-C (reports what was covered).
    """  # noqa: D301 - typer keeps the lines of a paragraph that begins so
    from lab.cli.exploration_runner import ExploreOptions, run_explore  # noqa: PLC0415
    from lab.cli.run_options import one_of, target_of, whole_number  # noqa: PLC0415

    return run_explore(
        ExploreOptions(
            target_of(target, set_ or []),
            whole_number("--nodes", nodes, 1, 7),
            whole_number("--kills", kills, 0),
            whole_number("--restarts", restarts, 0),
            whole_number("--cuts", cuts, 0),
            one_of("--timeouts", timeouts, _TIMEOUTS),
            None if from_ is None else one_of("--from", from_, _BEGINNINGS) == "normal",
            do or [],
            whole_number("--states", states, 1),
            None if depth is None else whole_number("--depth", depth, 1),
            set_ or [],
            out,
            json,
        )
    )
