"""``lab explore``: every order of what may happen, up to a bound."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from lab.cli.app import app
from lab.cli.commands.options import Json, Parameters, Target

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
        str, typer.Option(metavar="NUMBER", help="How many nodes, 1 to 7; more than 4 is a great many states.")
    ] = "3",
    kills: Annotated[
        str, typer.Option(metavar="NUMBER", help="So many kills at most, of any node at any moment.")
    ] = "1",
    restarts: Annotated[
        str, typer.Option(metavar="NUMBER", help="So many restarts at most of killed nodes.")
    ] = "0",
    cuts: Annotated[
        str,
        typer.Option(
            metavar="NUMBER", help="So many cuts at most, one after the other, each of which may be healed."
        ),
    ] = "0",
    timeouts: Annotated[
        str,
        typer.Option(
            metavar="|".join(_TIMEOUTS), help="The model of time, as told above: which assumptions hold."
        ),
    ] = "synchronous",
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="|".join(_BEGINNINGS),
            help="Begin where all are Normal under one coordinator, or where all have just come up. "
            r"\[default: normal, where the protocol elects]",
        ),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help='A command of the protocol\'s own, given before anything else happens: "tell 3 withdraw 350". '
            "May be given several times. none: no command. "
            r"\[default: where commands keep the protocol busy, the first of these, to the highest node]",
        ),
    ] = None,
    states: Annotated[
        str, typer.Option(metavar="NUMBER", help="Stop at so many states; a million take about half a gigabyte.")
    ] = "1000000",
    depth: Annotated[
        str | None, typer.Option(metavar="NUMBER", help=r"Stop after so many moves.  \[default: no bound]")
    ] = None,
    set_: Parameters = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to record the shortest violation; a .jsonl file."),
    ] = None,
    json: Json = False,
) -> int:
    """Try every order of deliveries, timeouts, kills and cuts, and look at every state that comes of it.

    Breadth first, so the violation that is recorded is a shortest one. A kill strikes also between two messages
    of one step. Links keep their order and lose nothing but by a cut. T is 300 ms, and Tm a third of it.

    A cut parts the nodes into two sides, or two nodes from each other, at any moment, and may be healed at any
    later one, or never. It is looked at where it stops a message, and its end where one passes again. It breaks
    assumption 8; A4 is asked of each side of it, A2 once it is healed.

    \b
    synchronous  messages arrive within Tm, timers fire on time: nothing is broken
    prompt       the same, but messages take no time: far fewer states
    ordered      messages take as long as they like (8 is broken)
    any          and a timer may fire at any moment, as if nodes were slow (8 and 9)

    What can be explored is any protocol whose states come again; a task such as the field cannot: what it knows
    grows for ever.

    It is exhaustive when nothing new is left to look at before a bound is met; what protocols count, such as
    versions, may grow for ever. A2 and A4 are violated where nothing can happen any more, or, if exhaustive,
    and synchronous or prompt, where the same can happen again and again for ever, without agreement.

    Exit status: 0 nothing found, 1 found, 2 a mistake in the call, 130 Ctrl-C (with what was covered so far).
    """
    from lab.cli.exploring import Options, run_explore  # noqa: PLC0415
    from lab.cli.settings import one_of, target_of, whole_number  # noqa: PLC0415

    return run_explore(
        Options(
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
