"""``lab scale``: how the cost of an election grows with the cluster."""

from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import Json, Picture, RequestBound, Targets

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
            help="How many nodes, one cluster after the other; up to 2,000. "
            r"\[default: 3,10,30,100,300,1000; of several protocols 3,10,30,100]",
        ),
    ] = None,
    t: RequestBound = None,
    seed: Annotated[
        str, typer.Option(metavar="NUMBER", help="For the moment, between two heartbeats, of the crash.")
    ] = "1",
    output: Picture = None,
    json: Json = False,
) -> int:
    """Measure what an election costs as the cluster grows, in simulation, beside the formula from the literature.

    In each cluster the coordinator crashes, and what the election sends is counted, heartbeats apart: first with
    everybody left to notice by itself; then, where the protocol has formulas of other cases, with the nodes made
    to notice one after the other or all at once, so that best and worst case are both measured. Several protocols
    are measured in the same clusters, and shown side by side.

    A thousand nodes of the bully's take about half a minute; what would take more than 10,000 messages by its
    formula is measured in the first case only. Ctrl-C ends with what was measured so far.
    """
    from lab.cli.scaling import ScaleRequest, run_scale  # noqa: PLC0415

    return run_scale(ScaleRequest.of(protocols, nodes, t, seed, output, json))
