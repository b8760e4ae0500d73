"""``lab scale``: how the cost of an election grows with the cluster."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app

__all__ = ["scale"]


@app.command(
    epilog="""Examples:\n
    lab scale bully\n
    lab scale bully --nodes 5,50,500 -o bully.svg\n
    lab scale my_election.py:MyElection --nodes 3,10,30 --json""",
)
def scale(
    protocol: Annotated[str, typer.Argument(help="Which: bully, or your own: my_election.py:MyElection.")],
    nodes: Annotated[
        str, typer.Option(metavar="N,N,…", help="How many nodes, one cluster after the other; up to 2,000.")
    ] = "3,10,30,100,300,1000",
    t: Annotated[
        str | None, typer.Option(help="T, the bound of a request with its answer: 2·Tm + Tp.  [default: 200ms]")
    ] = None,
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
    heartbeats apart. A thousand nodes take about half a minute; Ctrl-C ends with what was measured so far.
    """
    from lab.cli.scales import ScaleRequest, run_scale  # noqa: PLC0415 - only where it is used

    return run_scale(ScaleRequest.of(protocol, nodes, t, seed, output, json))
