"""Carrying out ``lab check``: from its options to a campaign, and to what it found."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from lab.cli.campaign_report import as_json, nothing_found, report, report_finding
from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, fail
from lab.cli.settings import parameters_of, protocol_named, timing_of
from lab.journal import Link, NotARecordingError, open_recording
from lab.properties import RAISES
from lab.protocols import Election
from lab.worlds.campaign.campaign import Campaign, Table, Wanted, WorkerDiedError, default_workers, outcomes
from lab.worlds.campaign.draw import FAULTS, plan_of
from lab.worlds.campaign.finding import Finding, again, shrunk, write
from lab.worlds.campaign.trial import RunawayError
from lab.worlds.config import RunConfig, header_of
from lab.worlds.targets import absolute_target

__all__ = ["Options", "run_check"]

_MOST_NODES = 100


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
    protocol = protocol_named(options.target)
    campaign = _campaign(options, protocol)
    out = _out(options.out)
    table, first, interrupted = _run(options, campaign)
    finding = None
    if first is not None and not interrupted:
        finding, interrupted = _shrink(options, protocol, campaign, first)
    files: list[Path] = []
    command = ""
    if finding is not None:
        name = f"{protocol.name}-{finding.violation.assertion}-seed{finding.drawn.seed}.jsonl"
        path = out or Path(name)
        command = again(options.target, campaign.base, finding.least, path.with_suffix(".script"))
        files = [path, write(protocol, campaign.base, finding, path, command)]
    if options.json:
        print(as_json(table, protocol, finding, files, command))
    else:
        report(table, protocol, campaign)
        if finding is not None:
            report_finding(finding, files, command)
        elif first is None:
            print(nothing_found(protocol, table, options.find))
    if interrupted:
        return EXIT_INTERRUPTED
    return 0 if first is None else EXIT_NOT_AS_EXPECTED


# from options to a campaign


def _campaign(options: Options, protocol: type[Election]) -> Campaign:
    timing = timing_of(options.t, None, None)
    faults = tuple(FAULTS) if options.faults == "all" else tuple(options.faults.replace(" ", "").split(","))
    for fault in faults:
        if fault not in FAULTS:
            raise UsageError(f"--faults {options.faults}: {fault!r} is none of {', '.join(FAULTS)}")
    promised = (*protocol.promises, RAISES.id)
    if options.find is not None and options.find not in promised:
        raise UsageError(f"--find {options.find}: {protocol.name} promises {', '.join(promised)}")
    config = RunConfig(
        "", options.target, (), timing, parameters_of(protocol, options.settings), Link(), 0, "", world="simulated"
    )
    return Campaign(
        absolute_target(options.target),
        header_of(config, protocol),
        plan_of(protocol, _range(options.nodes), faults, timing),
        Wanted(options.find or "", options.strict),
        options.seed,
        options.runs,
    )


def _range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not low.isdecimal() or (dash and not high.isdecimal()):
        raise UsageError(f"--nodes {text}: write how many (5), or from-to (3-7)")
    least, most = int(low), int(high or low)
    if not 1 <= least <= most <= _MOST_NODES:
        raise UsageError(f"--nodes {text}: write the lower number first, from 1 to {_MOST_NODES}")
    return least, most


def _out(path: Path | None) -> Path | None:
    """The file to record a finding in; found fault with now, not when a long campaign has been run."""
    folder = Path.cwd() if path is None else path.absolute().parent
    if path is not None and path.suffix != ".jsonl":
        raise UsageError(f"--out {path}: name a .jsonl file; the script goes beside it")
    if not folder.is_dir():
        raise UsageError(f"--out {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"you may not write in {folder}, where a finding would be recorded; name another: --out")
    if path is not None and path.exists():
        try:
            open_recording(path).close()
        except (NotARecordingError, OSError):
            raise UsageError(f"--out {path} exists and is no recording; it is left alone") from None
    return path


# running


def _run(options: Options, campaign: Campaign) -> tuple[Table, int | None, bool]:
    """(the sums, the seed of the first finding, whether Ctrl-C came)."""
    table, first = Table(), None
    workers = options.workers or default_workers()
    for_s = None if options.minutes is None else options.minutes * 60.0
    with contextlib.closing(_outcomes(campaign, workers, options.cluster, for_s)) as coming, _bar(options) as bar:
        try:
            for outcome in coming:
                table.add(outcome)
                if outcome.found and first is None:
                    first = outcome.seed
                bar(table, first)
                if outcome.found and not options.keep_going:
                    break
        except KeyboardInterrupt:
            return table, first, True
    return table, first, False


def _outcomes(campaign: Campaign, workers: int, cluster: str, for_s: float | None) -> Any:
    try:
        yield from outcomes(campaign, workers, cluster, for_s)
    except ImportError:
        raise UsageError("--cluster needs the extra: pip install 'coordinator-lab[cluster]'") from None
    except (RunawayError, WorkerDiedError) as error:
        fail(str(error), EXIT_NOT_AS_EXPECTED)
    except OSError as error:
        raise UsageError(f"--cluster {cluster}: {error}; is a scheduler there?") from None


@contextlib.contextmanager
def _bar(options: Options) -> Iterator[Any]:
    """A progress bar on a terminal; called with the table so far."""
    if options.json or not sys.stderr.isatty():
        yield lambda table, first: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:2], TextColumn("{task.fields[said]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(options.target, total=options.runs or None, said="")

        def show(table: Table, first: int | None) -> None:
            found = "" if first is None else f"  found with seed {first}"
            said = f"{table.runs:,} runs, {table.steps:,} steps{found}"
            progress.update(task, completed=table.runs, said=said)

        yield show


def _shrink(
    options: Options, protocol: type[Election], campaign: Campaign, seed: int
) -> tuple[Finding | None, bool]:
    show = not options.json and sys.stderr.isatty()

    def progress(tried: int) -> None:
        if show:
            print(f"\rshrinking what seed {seed} found: {tried} runs", end="", file=sys.stderr, flush=True)

    try:
        return shrunk(protocol, campaign, seed, progress), False
    except KeyboardInterrupt:
        return None, True
    finally:
        if show:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
