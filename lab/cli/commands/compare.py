"""``lab compare``: several protocols under the same faults."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import Faults, Json, Picture, RequestBound, Targets, Workers
from lab.cli.errors import UsageError

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
        typer.Option(metavar="FILE", help="What is to happen, a command a line, instead of drawn faults."),
    ] = None,
    faults: Faults = "kill,pause",
    runs: Annotated[str, typer.Option(help="How many runs of each protocol.")] = "200",
    nodes: Annotated[str, typer.Option(help="How many nodes.")] = "5",
    seed: Annotated[str, typer.Option(help="The seed of the first run; the next ones follow.")] = "1",
    task: Annotated[
        str, typer.Option(help="What runs above each election: field, whose lost work is counted, or none.")
    ] = "field",
    t: RequestBound = None,
    workers: Workers = None,
    output: Picture = None,
    json: Json = False,
) -> int:
    """Compare protocols: what they take, and what goes wrong, under the same faults, in simulation.

    Each seed draws one course of events: the links, and faults at certain times. Every protocol goes through
    exactly that, and every run is judged. With a script the seeds draw the links alone. 200 runs of four
    protocols take some minutes; Ctrl-C ends with what there is.

    A node leads while it runs, is Normal, and is its own coordinator. The cluster is without a coordinator, once
    it had one, while nobody leads, and while a node that runs is Normal under another one that does not lead: it
    has died, or stands still. An election is what happens from when the nodes that run no longer agree on a
    coordinator to when they do again, if anything is sent in it but heartbeats. Of the readings of the field, one
    is lost that no running node knows in the end, and one is made twice whose region had been read already.

    Commit protocols (2pc, 3pc) get transactions, and what those come to is shown: messages and forced writes
    beside the formula, times, how long nodes were blocked and locks were held. Without a script, the coordinator
    crashes amid the votes, another one has a load, and it comes back; with --faults, faults are drawn. A node is
    blocked while it
    runs and has voted YES, from when the coordinator is down or stands still, or it says that it has to wait,
    until it knows the outcome.
    """
    from lab.cli.comparing import CompareRequest, run_compare  # noqa: PLC0415

    given = [name for name in ("faults", "task") if _is_given(context, name)]
    if script is not None and "faults" in given:
        raise UsageError(f"--script {script} says what happens, so no --faults are drawn; leave out one of them")

    return run_compare(
        CompareRequest.of(protocols, script, faults, runs, nodes, seed, task, t, workers, output, json, given)
    )


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
