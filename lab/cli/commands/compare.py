"""``lab compare``: compare protocols under the same faults."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import Faults, Json, Picture, RequestBound, Targets, Workers
from lab.cli.program import app
from lab.cli.usage_errors import UsageError

__all__ = ["compare"]


@app.command(
    epilog="""Examples:\n
    lab compare bully invitation\n
    lab compare bully ring --faults kill,partition --runs 50 -o elections.svg\n
    lab compare bully my_election.py:MyElection --script lecture.script --task none\n
    lab compare 2pc 3pc --script blocking.script --runs 20\n
    lab compare 2pc 3pc "3pc above ring" --faults partition""",
)
def compare(
    context: typer.Context,
    protocols: Targets,
    script: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Give these commands, one per line, instead of random faults."),
    ] = None,
    faults: Faults = "kill,pause",
    runs: Annotated[str, typer.Option(metavar="NUMBER", help="Number of runs of each protocol.")] = "200",
    nodes: Annotated[str, typer.Option(metavar="NUMBER", help="Number of nodes.")] = "5",
    seed: Annotated[
        str, typer.Option(metavar="NUMBER", help="Seed of the first run; each run uses the next seed.")
    ] = "1",
    task: Annotated[
        str,
        typer.Option(
            metavar="field|none", help="Task that runs above each election. With field, lost work is counted, too."
        ),
    ] = "field",
    t: RequestBound = None,
    workers: Workers = None,
    output: Picture = None,
    json: Json = False,
) -> int:
    """Compare the cost and failures of protocols under the same faults.

    The runs are simulated. The seed of a run determines the latencies of its links and its random faults; they are
    the same for every protocol. Every run is checked against the protocol's assertions. With --script, the script
    replaces the random faults. 200 runs of four protocols take some minutes; Ctrl-C stops and shows the results so
    far.

    A node leads while it is running, is Normal, and is its own coordinator. A cluster that has had a coordinator
    is without one while no node leads, and while a running node is Normal under a node that does not lead because
    it is down or paused. An election lasts from the moment when the running nodes no longer agree on a coordinator
    until they agree again; it counts only if messages other than heartbeats are sent. A reading of the field is
    lost if no running node knows it at the end of the run, and made twice if its region had already been read.

    Commit protocols (2pc, 3pc) run transactions. The report shows messages and forced writes next to the formulas,
    times, and how long nodes were blocked and locks were held. Without a script, the coordinator crashes during
    the vote, another node begins many transactions, and the coordinator recovers; with --faults, faults are
    random. A running node that has voted YES is blocked from the moment when the coordinator is down or paused, or
    the node reports that it must wait, until it knows the outcome.
    """
    from lab.cli.comparison_runner import CompareRequest, run_compare  # noqa: PLC0415

    given = [name for name in ("faults", "task") if _is_given(context, name)]
    if script is not None and "faults" in given:
        raise UsageError(f"--script {script} and --faults exclude each other; leave out one of them")

    return run_compare(
        CompareRequest.of(protocols, script, faults, runs, nodes, seed, task, t, workers, output, json, given)
    )


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
