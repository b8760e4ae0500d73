"""``lab check``: randomized testing of a protocol."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.commands.options import Faults, Json, Parameters, RequestBound, Target, Workers
from lab.cli.program import app

__all__ = ["check"]


@app.command(
    epilog="""Examples:\n
    lab check bully --runs 1000 --faults kill\n
    lab check bully --faults kill,pause --find A1.1 --out paused.jsonl\n
    lab check my_election.py:MyElection --minutes 5""",
)
def check(
    target: Target,
    runs: Annotated[
        str | None, typer.Option(metavar="NUMBER", help=r"Number of runs; 0: until interrupted.  \[default: 1000]")
    ] = None,
    seed: Annotated[
        str, typer.Option(metavar="NUMBER", help="Seed of the first run; each run uses the next seed.")
    ] = "1",
    nodes: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="Number of nodes: 5, or a range, from which each run draws one: 3-7."),
    ] = "3-7",
    faults: Faults = "kill",
    find: Annotated[
        str | None,
        typer.Option(
            metavar="ASSERTION", help="Count as findings all violations of this assertion, and no others."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Count excused violations as findings.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Continue after the first finding.")] = False,
    minutes: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Stop after this many minutes. Without --runs, the number of runs is not limited.",
        ),
    ] = None,
    workers: Workers = None,
    cluster: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a dask.distributed cluster; the address of its scheduler: tcp://host:8786. "
            r"Requires: pip install 'coordinator-lab\[cluster]'",
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record the shrunk finding to this .jsonl file.")
    ] = None,
    t: RequestBound = None,
    set_: Parameters = None,
    json: Json = False,
) -> int:
    """Test a protocol with random faults, in many simulated runs.

    Every run is checked against the protocol's assertions. Faults are injected at sensitive moments: around
    elections, between two messages of one step, and during recovery from the previous fault. The first failure is
    shrunk to the few events that matter, and written as a recording and as a script that reproduces it.

    A violation is excused if an assumption that the assertion relies on was broken; it is then counted, but is no
    finding. Otherwise it is a failure. To search all executions up to a bound instead: lab explore.

    Exit status: 0 nothing found, 1 a finding, 2 usage error, 130 Ctrl-C.
    """
    from lab.cli.campaign_runner import CheckOptions, run_check  # noqa: PLC0415
    from lab.cli.run_options import target_of, whole_number  # noqa: PLC0415

    if runs is None and minutes is None:
        runs = "1000"
    return run_check(
        CheckOptions(
            target_of(target, set_ or []),
            whole_number("--runs", runs, 0) if runs is not None else 0,
            whole_number("--seed", seed, 0),
            nodes,
            faults,
            find,
            strict,
            keep_going,
            whole_number("--minutes", minutes, 1) if minutes is not None else None,
            whole_number("--workers", workers, 1) if workers is not None else None,
            cluster,
            out,
            t,
            set_ or [],
            json,
        )
    )
