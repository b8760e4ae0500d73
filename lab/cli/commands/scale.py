"""``lab scale``: how the cost of an election grows with the cluster."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import RequestBound

__all__ = ["scale"]


@app.command(
    epilog="""Examples:\n
    lab scale bully\n
    lab scale bully bully-tanenbaum ring invitation\n
    lab scale bully --nodes 5,50,500 -o bully.svg\n
    lab scale my_election.py:MyElection --nodes 3,10,30 --json""",
)
def scale(
    protocols: Annotated[
        list[str], typer.Argument(metavar="PROTOCOL", help="By name, or FILE.py:CLASS for your own.")
    ],
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="How many nodes, one cluster after the other; up to 2,000. "
            r"\[default: 3,10,30,100,300,1000; of several protocols 3,10,30,100]",
        ),
    ] = None,
    t: RequestBound = None,
    seed: Annotated[
        str, typer.Option(metavar="NUMBER", help="For the moment, between two heartbeats, of the crash.")
    ] = "1",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.svg", help="Draw the charts into this file too.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object at the end, and nothing else.")
    ] = False,
) -> int:
    """Measure what an election costs as the cluster grows, in simulation, beside the formula from the literature.

    In each cluster the coordinator crashes, and what is sent until all others are Normal again is counted,
    heartbeats apart. Several protocols are measured in the same clusters, and shown side by side.

    A thousand nodes take about half a minute; Ctrl-C ends with what was measured so far.
    """
    from lab.cli.scaling import ScaleRequest, run_scale  # noqa: PLC0415

    return run_scale(ScaleRequest.of(protocols, nodes, t, seed, output, json))
