"""Carrying out ``lab check``: from its options to a campaign, and to what it found."""

import contextlib
import signal
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType

from msgspec import Struct

from lab.cli.campaign_report import as_json, nothing_found, report, report_finding
from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, fail
from lab.cli.files import writable, writable_recording
from lab.cli.progress import progress_line
from lab.cli.settings import parameters_of, protocol_named, timing_of
from lab.cli.terminal import print_wrapped
from lab.properties import RAISES
from lab.protocols import Algorithm
from lab.recording.records import Link
from lab.units import count_of
from lab.worlds.campaign.campaign import Campaign, Outcome, Table, Wanted, outcomes
from lab.worlds.campaign.draw import FAULTS, plan_of
from lab.worlds.campaign.finding import Finding, again, shrunk, write
from lab.worlds.campaign.trial import RunawayError
from lab.worlds.campaign.workers import WorkerDiedError, default_workers
from lab.worlds.config import RunConfig, header_of
from lab.worlds.targets import absolute_target

__all__ = ["Options", "fault_kinds", "run_check"]

_MOST_NODES = 100
_PROBE = "finding.jsonl"
"""Whether a finding can be written here is looked at with this name; the real one tells what was found."""


class Options(Struct, frozen=True):
    """The options of ``lab check``, as they were written, the numbers read."""

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


def run_check(options: Options) -> int:
    """Run the campaign, shrink what it finds, and report; the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    protocol = protocol_named(options.target)
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
        command = again(options.target, campaign.base, finding.least, path.with_suffix(".script"))
        files = [path, write(protocol, campaign.base, finding, path, command)]
    if options.json:
        print(as_json(table, protocol, finding, files, command))
    elif finding is not None:
        print(f"recorded: {files[0]}\nscript:   {files[1]}\nreplay:   lab replay {files[0]}\nagain:    {command}")
    elif first is not None:
        print(f"found with seed {first}; stopped before it was shrunk: lab check … --seed {first} --runs 1")
    else:
        print_wrapped(nothing_found(protocol, table, options.find, interrupted))
    if interrupted:
        return EXIT_INTERRUPTED
    return 0 if first is None else EXIT_NOT_AS_EXPECTED


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


# from options to a campaign


def _campaign(options: Options, protocol: type[Algorithm]) -> Campaign:
    timing = timing_of(options.t, None, None)
    faults = fault_kinds(options.faults)
    promised = (*protocol.promises, RAISES.id)
    if options.find is not None and options.find not in promised:
        raise UsageError(f"--find {options.find}: {protocol.name} promises {', '.join(promised)}")
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
        Wanted(options.find or "", options.strict),
        options.seed,
        options.runs,
    )


def fault_kinds(text: str) -> tuple[str, ...]:
    """The faults that ``--faults`` names; UsageError."""
    faults = tuple(FAULTS) if text == "all" else tuple(text.replace(" ", "").split(","))
    for fault in faults:
        if fault not in FAULTS:
            raise UsageError(f"--faults {text}: {fault!r} is none of {', '.join(FAULTS)}")
    return faults


def _range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not low.isdecimal() or (dash and not high.isdecimal()):
        raise UsageError(f"--nodes {text}: write how many (5), or from-to (3-7)")
    least, most = int(low), int(high or low)
    if not 1 <= least <= most <= _MOST_NODES:
        raise UsageError(f"--nodes {text}: a campaign has 1 to {_MOST_NODES} nodes, the lower number first: 3-7")
    return least, most


def _out(path: Path | None) -> Path | None:
    """The file to record a finding in; found fault with now, not when a long campaign has been run."""
    if path is None:
        writable("--out", Path(_PROBE))
        return None
    if path.suffix != ".jsonl":
        raise UsageError(f"--out {path}: name a .jsonl file; the script goes beside it")
    writable_recording("--out", path)
    return path


# running


def _run(options: Options, campaign: Campaign) -> tuple[Table, int | None, bool]:
    """(the sums, the seed of the first finding, whether Ctrl-C came)."""
    table, first = Table(), None
    workers = options.workers or default_workers()
    for_s = None if options.minutes is None else options.minutes * 60.0
    began_s = time.monotonic()
    with (
        contextlib.closing(_outcomes(campaign, workers, options.cluster, for_s)) as coming,
        progress_line() as tell,
    ):
        tell(f"starting {workers} processes" if workers > 1 else "running")
        try:
            for outcome in coming:
                table.add(outcome)
                if outcome.found and first is None:
                    first = outcome.seed
                tell(_told(table, options.runs, first, time.monotonic() - began_s))
                if outcome.found and not options.keep_going:
                    break
        except KeyboardInterrupt:
            return table, first, True
    return table, first, False


def _outcomes(
    campaign: Campaign, workers: int, cluster: str, for_s: float | None
) -> Generator[Outcome, None, None]:
    try:
        yield from outcomes(campaign, workers, cluster, for_s)
    except ImportError:
        raise UsageError("--cluster needs the extra: pip install 'coordinator-lab[cluster]'") from None
    except (RunawayError, WorkerDiedError) as error:
        fail(str(error), EXIT_NOT_AS_EXPECTED)
    except OSError as error:
        raise UsageError(f"--cluster {cluster}: {error}; is a scheduler there?") from None


def _told(table: Table, runs: int, first: int | None, seconds: float) -> str:
    """How far it has come, in a line."""
    done = f"{table.runs:,} of {count_of(runs, 'run')}" if runs else count_of(table.runs, "run")
    found = "" if first is None else f", found with seed {first}"
    return f"{done}, {table.steps:,} steps, {seconds:.0f} s{found}"


def _shrink(protocol: type[Algorithm], campaign: Campaign, seed: int) -> tuple[Finding | None, bool]:
    try:
        with progress_line() as tell:
            said = f"shrinking what seed {seed} found"
            return shrunk(protocol, campaign, seed, lambda tried: tell(f"{said}: {count_of(tried, 'run')}")), False
    except KeyboardInterrupt:
        return None, True
