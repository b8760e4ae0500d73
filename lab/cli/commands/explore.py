"""``lab explore``: every order of what may happen, up to a bound."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from lab.cli.app import app
from lab.cli.commands.options import Parameters, Target

__all__ = ["explore"]


@app.command(
    epilog="""Examples:\n
    lab explore bully\n
    lab explore bully --timeouts any --out two-coordinators.jsonl\n
    lab explore my_election.py:MyElection --kills 2 --from start""",
)
def explore(
    target: Target,
    nodes: Annotated[
        int, typer.Option(min=1, max=7, help="How many nodes; more than 4 is a great many states.")
    ] = 3,
    kills: Annotated[int, typer.Option(min=0, help="So many kills at most, of any node at any moment.")] = 1,
    restarts: Annotated[int, typer.Option(min=0, help="So many restarts at most of killed nodes.")] = 0,
    timeouts: Annotated[
        Literal["synchronous", "ordered", "any"],
        typer.Option(help="The model of time, as told above: which assumptions hold."),
    ] = "synchronous",
    from_: Annotated[
        Literal["normal", "start"],
        typer.Option(
            "--from", help="Begin where all are Normal under one coordinator, or where all have just come up."
        ),
    ] = "normal",
    states: Annotated[
        int, typer.Option(min=1, help="Stop at so many states; a million take about half a gigabyte.")
    ] = 1_000_000,
    depth: Annotated[
        int | None, typer.Option(min=1, help=r"Stop after so many moves.  \[default: no bound]")
    ] = None,
    set_: Parameters = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to record the shortest violation; a .jsonl file."),
    ] = None,
) -> int:
    """Try every order of deliveries, timeouts and kills, and look at every state that comes of it.

    Breadth first, so the violation that is recorded is a shortest one. A kill strikes also between two messages
    of one step. Links keep their order and lose nothing. T is 300 ms, and Tm a third of it.

    \b
    synchronous  messages arrive within Tm, timers fire on time: no assumption is broken
    ordered      messages take as long as they like (8 is broken)
    any          and a timer may fire at any moment, as if its node or the others were slow (8 and 9)

    It is exhaustive when nothing new is left to look at before a bound is met; what protocols count, such as
    versions, may grow for ever. A2 is violated where nothing can happen any more, or, if synchronous and
    exhaustive, where the same can happen again and again for ever, without agreement.

    Exit status: 0 nothing found, 1 found, 2 a mistake in the call, 130 Ctrl-C (with what was covered so far).
    """
    from lab.cli.exploring import Options, run_explore  # noqa: PLC0415

    return run_explore(
        Options(target, nodes, kills, restarts, timeouts, from_ == "normal", states, depth, set_ or [], out)
    )
