"""``lab check``: randomized testing of a protocol.

The options become a campaign; its first finding is shrunk, reported and recorded.
"""

import contextlib
import signal
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from msgspec import Struct

from lab.cli.check_report import as_json, format_no_findings, report, report_finding
from lab.cli.options import (
    Faults,
    Json,
    Parameters,
    RequestBound,
    Target,
    Workers,
    find_protocol,
    parameters_of,
    timing_of,
    whole_number,
    writable,
    writable_recording,
)
from lab.cli.program import app
from lab.cli.terminal import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, fail, print_wrapped, progress_line
from lab.properties.assertions import RAISES
from lab.protocols import Algorithm
from lab.recording.records import Link
from lab.units import format_count
from lab.worlds.campaign.campaign import Campaign, CampaignTotals, RunOutcome, SearchGoal, run_campaign
from lab.worlds.campaign.finding import Finding, format_rerun, shrink_finding, write_finding
from lab.worlds.campaign.schedule import FAULTS, plan_of
from lab.worlds.campaign.trial import RunawayError
from lab.worlds.campaign.workers import WorkerDiedError, default_workers
from lab.worlds.loading.config import RunConfig, header_of
from lab.worlds.loading.settings import target_of
from lab.worlds.loading.targets import absolute_target


@app.command(
    epilog="""Examples:\n
    lab check bully --runs 1000 --faults kill\n
    lab check bully --faults kill,pause --find A1.1 --out paused.jsonl\n
    lab check my_election.py:MyElection --minutes 5""",
)
def check(
    target: Target,
    runs: Annotated[
        str | None, typer.Option(help=r"Number of runs; 0: until interrupted.  \[default: 1000]")
    ] = None,
    seed: Annotated[str, typer.Option(help="Seed of the first run; each run uses the next seed.")] = "1",
    nodes: Annotated[str, typer.Option(help="Number of nodes: 5, or a range to draw from: 3-7.")] = "3-7",
    faults: Faults = "kill",
    find: Annotated[
        str | None,
        typer.Option(metavar="ASSERTION", help="Look for a violation of this assertion, excused or not."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Count excused violations as findings.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Continue after the first finding.")] = False,
    minutes: Annotated[
        str | None,
        typer.Option(help="Stop after this many minutes. Replaces the default limit on runs."),
    ] = None,
    workers: Workers = None,
    cluster: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Run on a dask.distributed scheduler: tcp://host:8786 ([cluster] extra)."
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

    A violation is excused, and only counted, if a fault breaks an assumption that the protocol relies on. With all
    these assumptions intact it is a failure. To search all executions up to a bound instead: lab explore.

    Exit status: 0 nothing found, 1 a finding, 2 usage error, 130 Ctrl-C.
    """
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


_MOST_NODES = 100
_PROBE = "finding.jsonl"
"""A name to test whether the folder is writable: the real name depends on the finding."""


class CheckOptions(Struct, frozen=True):
    """The options of ``lab check``, as given, with numbers parsed."""

    target: str
    runs: int
    seed: int
    nodes: str
    faults: str
    find: str | None
    strict: bool
    keep_going: bool
    minutes: int | None
    workers: int | None
    cluster: str
    out: Path | None
    t: str | None
    settings: list[str]
    json: bool


def run_check(options: CheckOptions) -> int:
    """Run the campaign, shrink the first finding, report, and return the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    protocol = find_protocol(options.target)
    campaign = _campaign(options, protocol)
    out = _out(options.out)
    table, first, interrupted = _run(options, campaign)
    if not options.json:
        report(table, protocol, campaign)
    finding = None
    if first is not None and not interrupted:
        finding, interrupted = _shrink(protocol, campaign, first)
    files: list[Path] = []
    command = ""
    if finding is not None:
        if not options.json:
            report_finding(finding)
        name = f"{protocol.name}-{finding.violation.assertion}-seed{finding.drawn.seed}.jsonl"
        path = out or Path(name)
        command = format_rerun(options.target, campaign.base, finding.least, path.with_suffix(".script"))
        files = [path, write_finding(protocol, campaign.base, finding, path, command)]
    if options.json:
        print(as_json(table, protocol, finding, files, command))
    elif finding is not None:
        print(f"recorded: {files[0]}\nscript:   {files[1]}\nreplay:   lab replay {files[0]}\nagain:    {command}")
    elif first is not None:
        print(f"found with seed {first}; interrupted before shrinking: lab check … --seed {first} --runs 1")
    else:
        print_wrapped(format_no_findings(protocol, table, options.find, interrupted))
    if interrupted:
        return EXIT_INTERRUPTED
    return 0 if first is None else EXIT_NOT_AS_EXPECTED


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


# from options to a campaign


def _campaign(options: CheckOptions, protocol: type[Algorithm]) -> Campaign:
    timing = timing_of(options.t, None, None)
    faults = fault_kinds(options.faults)
    promised = (*protocol.promises, RAISES.id)
    if options.find is not None and options.find not in promised:
        raise UsageError(f"--find {options.find}: the assertions of {protocol.name} are {', '.join(promised)}")
    least, most = _range(options.nodes)
    config = RunConfig(
        "",
        options.target,
        tuple(range(1, most + 1)),
        timing,
        parameters_of(protocol, options.settings),
        Link(),
        0,
        "",
        world="simulated",
    )
    return Campaign(
        absolute_target(options.target),
        header_of(config, protocol),
        plan_of(protocol, (least, most), faults, timing),
        SearchGoal(options.find or "", options.strict),
        options.seed,
        options.runs,
    )


def fault_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of faults given with ``--faults``. Raises UsageError."""
    faults = tuple(FAULTS) if text == "all" else tuple(text.replace(" ", "").split(","))
    for fault in faults:
        if fault not in FAULTS:
            raise UsageError(f"--faults {text}: unknown fault {fault!r}; expected {', '.join(FAULTS)}, or all")
    return faults


def _range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not low.isdecimal() or (dash and not high.isdecimal()):
        raise UsageError(f"--nodes {text}: write a number (5) or a range (3-7)")
    least, most = int(low), int(high or low)
    if not 1 <= least <= most <= _MOST_NODES:
        raise UsageError(f"--nodes {text}: expected 1 to {_MOST_NODES} nodes, the lower number first: 3-7")
    return least, most


def _out(path: Path | None) -> Path | None:
    """Return the file for the finding. Raises UsageError now, and not after a long campaign."""
    if path is None:
        writable("--out", Path(_PROBE))
        return None
    if path.suffix != ".jsonl":
        raise UsageError(f"--out {path}: name a .jsonl file; the script is written next to it")
    writable_recording("--out", path)
    return path


# running


def _run(options: CheckOptions, campaign: Campaign) -> tuple[CampaignTotals, int | None, bool]:
    """Return the totals, the seed of the first finding, and whether Ctrl-C was pressed."""
    table, first = CampaignTotals(), None
    workers = options.workers or default_workers()
    for_s = None if options.minutes is None else options.minutes * 60.0
    began_s = time.monotonic()
    with (
        contextlib.closing(_outcomes(campaign, workers, options.cluster, for_s)) as coming,
        progress_line() as progress,
    ):
        progress(f"starting {workers} processes" if workers > 1 else "running")
        try:
            for outcome in coming:
                table.add(outcome)
                if outcome.found and first is None:
                    first = outcome.seed
                progress(_progress_text(table, options.runs, first, time.monotonic() - began_s))
                if outcome.found and not options.keep_going:
                    break
        except KeyboardInterrupt:
            return table, first, True
    return table, first, False


def _outcomes(
    campaign: Campaign, workers: int, cluster: str, for_s: float | None
) -> Generator[RunOutcome, None, None]:
    try:
        yield from run_campaign(campaign, workers, cluster, for_s)
    except ImportError:
        raise UsageError("--cluster requires the extra: pip install 'coordinator-lab[cluster]'") from None
    except (RunawayError, WorkerDiedError) as error:
        fail(str(error), EXIT_NOT_AS_EXPECTED)
    except OSError as error:
        raise UsageError(f"--cluster {cluster}: {error}; is a scheduler running there?") from None


def _progress_text(table: CampaignTotals, runs: int, first: int | None, seconds: float) -> str:
    done = f"{table.runs:,} of {format_count(runs, 'run')}" if runs else format_count(table.runs, "run")
    found = "" if first is None else f", found with seed {first}"
    return f"{done}, {table.steps:,} steps, {seconds:.0f} s{found}"


def _shrink(protocol: type[Algorithm], campaign: Campaign, seed: int) -> tuple[Finding | None, bool]:
    try:
        with progress_line() as progress:
            text = f"shrinking what seed {seed} found"
            return shrink_finding(
                protocol, campaign, seed, lambda tried: progress(f"{text}: {format_count(tried, 'run')}")
            ), False
    except KeyboardInterrupt:
        return None, True
