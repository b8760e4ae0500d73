"""``lab check``: a campaign."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.commands.options import Faults, Json, Parameters, RequestBound, Target, Workers

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
        str | None, typer.Option(help=r"How many runs; 0: until you stop it.  \[default: 1000]")
    ] = None,
    seed: Annotated[str, typer.Option(help="The seed of the first run; the next ones follow.")] = "1",
    nodes: Annotated[str, typer.Option(help="How many nodes: 5, or 3-7 for as many as the seed draws.")] = "3-7",
    faults: Faults = "kill",
    find: Annotated[
        str | None,
        typer.Option(metavar="ASSERTION", help="Look for a violation of this one, in or outside the promise."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Violations outside the promise count too.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Go on after the first finding.")] = False,
    minutes: Annotated[
        str | None, typer.Option(help="Run for so many minutes, however many runs that is.")
    ] = None,
    workers: Workers = None,
    cluster: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="A dask.distributed scheduler, tcp://host:8786 (extra: cluster)."),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to record what is found, shrunk; a .jsonl file.")
    ] = None,
    t: RequestBound = None,
    set_: Parameters = None,
    json: Json = False,
) -> int:
    """Run a protocol many times in simulation under drawn faults, and judge every run.

    The faults strike where it hurts: around elections, between two messages of one step, and again while the
    last one is being mended. The first failure is shrunk to the few events that matter, and written as a
    recording and as a script that gives it again.

    A violation while a fault breaks an assumption that the protocol relies on is outside its promise, and
    counted; one with all assumptions intact is a failure.

    Exit status: 0 nothing found, 1 found, 2 a mistake in the call, 130 Ctrl-C.
    """
    from lab.cli.checking import Options, run_check  # noqa: PLC0415
    from lab.cli.settings import target_of, whole_number  # noqa: PLC0415

    if runs is None and minutes is None:
        runs = "1000"
    return run_check(
        Options(
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
