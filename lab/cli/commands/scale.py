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
        str,
        typer.Option(
            metavar="NUMBER", help="Seed that determines when, between two heartbeats, the crash happens."
        ),
    ] = "1",
    output: Picture = None,
    json: Json = False,
) -> int:
    """Measure the cost of an election as the cluster grows.

    The clusters are simulated, and the results are compared with the formulas from the literature. In each cluster
    the coordinator crashes, and the messages of the election are counted, without heartbeats. First, each node
    detects the crash by its own timeout. If the protocol has formulas for a best and a worst case, these are
    measured, too: the nodes detect the crash one after the other, or all at once. Several protocols are measured
    in clusters of the same sizes, and shown side by side.

    Bully with 1,000 nodes takes about half a minute. A best or worst case is skipped if its formula exceeds 10,000
    messages. Ctrl-C stops and shows the results so far.
    """
    from lab.cli.scale_runner import ScaleRequest, run_scale  # noqa: PLC0415

    return run_scale(ScaleRequest.of(protocols, nodes, t, seed, output, json))
