"""``lab scale``: measure how the cost of an election grows with the cluster."""

from typing import Annotated

import typer

from lab.cli.commands.options import Json, Picture, RequestBound, Targets
from lab.cli.program import app

__all__ = ["scale"]


@app.command(
    epilog="""Examples:\n
    lab scale bully\n
    lab scale bully bully-tanenbaum ring invitation\n
    lab scale bully --nodes 5,50,500 -o bully.svg\n
    lab scale my_election.py:MyElection --nodes 3,10,30 --json""",
)
def scale(
    protocols: Targets,
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Cluster sizes, up to 2,000 nodes. "
            r"\[default: 3,10,30,100,300,1000; for several protocols 3,10,30,100]",
        ),
    ] = None,
    t: RequestBound = None,
    seed: Annotated[
        str, typer.Option(metavar="NUMBER", help="Seed of the moment of the crash, between two heartbeats.")
    ] = "1",
    output: Picture = None,
    json: Json = False,
) -> int:
    """Measure the cost of an election as the cluster grows.

    The clusters are simulated, and the results are compared with the formulas from the literature. In each cluster
    the coordinator crashes, and the messages of the election are counted, without heartbeats. In the first case,
    each node detects the crash by itself. If the protocol has formulas for other cases, the nodes then detect it
    one after the other, or all at once, to measure the best and the worst case. Several protocols are measured in
    clusters of the same sizes, and shown side by side.

    Bully with 1,000 nodes takes about half a minute. Later cases whose formula exceeds 10,000 messages are
    skipped. Ctrl-C stops and shows the results so far.
    """
    from lab.cli.scale_runner import ScaleRequest, run_scale  # noqa: PLC0415

    return run_scale(ScaleRequest.of(protocols, nodes, t, seed, output, json))
