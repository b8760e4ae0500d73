"""``lab check``: randomized testing of a protocol.

The options become a campaign; its first finding is shrunk, reported and recorded.
"""

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct
from rich.console import Console
from rich.table import Table
from typer import Option

from lab.cli.options import (
    Faults,
    Json,
    OwnProperties,
    Parameters,
    RequestBound,
    Target,
    Workers,
    base_header,
    command,
    exit_if_workers_fail,
    fault_kinds,
    whole_number,
    worker_count,
    writable,
    writable_recording,
)
from lab.cli.recording_report import format_explanation_line
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    interrupt_on_signals,
    print_json,
    print_wrapped,
    progress_line,
)
from lab.properties.assertions import ASSERTIONS, ASSUMPTIONS, RAISES
from lab.properties.witness import explain_violation
from lab.protocols import Algorithm
from lab.tasks.extension import analysis_of, built_in_extensions, extension_class
from lab.units import format_count
from lab.worlds.campaign.campaign import (
    Campaign,
    CampaignTotals,
    SearchGoal,
    lines_of_code,
    run_campaign,
)
from lab.worlds.campaign.finding import Finding, format_rerun, shrink_finding, write_finding
from lab.worlds.campaign.repetition import require_repeatable
from lab.worlds.campaign.schedule import draw, plan_of
from lab.worlds.loading.settings import parameters_of, target_of, timing_of
from lab.worlds.loading.targets import absolute_target, load_protocol

_MOST_NODES = 100
_DEFAULT_RUNS = "1000"
_REPEATED = 2
"""The number of first runs of a user's own protocol that are executed twice."""
_PROBE = "finding.jsonl"
"""A name to test whether the folder is writable: the real name depends on the finding."""


class CheckOptions(Struct, frozen=True):
    """The options of ``lab check``."""

    protocol: Target
    runs: Annotated[
        str | None, Option(metavar="NUMBER", help=r"Number of runs; 0: until interrupted.  \[default: 1000]")
    ] = None
    seed: Annotated[str, Option(metavar="NUMBER", help="Seed of the first run; each run uses the next seed.")] = (
        "1"
    )
    nodes: Annotated[
        str, Option(metavar="NUMBER", help="Number of nodes: 5, or a range, from which each run draws one: 3-7.")
    ] = "3-7"
    faults: Faults = "kill"
    find: Annotated[
        str | None,
        Option(metavar="ASSERTION", help="Count as findings all violations of this assertion, and no others."),
    ] = None
    strict: Annotated[bool, Option("--strict", help="Count excused violations as findings.")] = False
    keep_going: Annotated[bool, Option("--keep-going", help="Continue after the first finding.")] = False
    minutes: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help="Stop after this many minutes. Without --runs, the number of runs is not limited.",
        ),
    ] = None
    workers: Workers = None
    cluster: Annotated[
        str,
        Option(
            metavar="ADDRESS",
            help="Run on a dask.distributed cluster; the address of its scheduler: tcp://host:8786. Requires: pip "
            "install 'coordinator-lab\\[cluster]'",
        ),
    ] = ""
    out: Annotated[
        Path | None,
        Option(metavar="FILE", help="Record the shrunk finding to this .jsonl file."),
    ] = None
    t: RequestBound = None
    set_: Parameters = []
    properties: OwnProperties = None
    json: Json = False


@command(
    epilog="""Examples:\n
    lab check bully --runs 1000 --faults kill\n
    lab check bully --faults kill,pause --find A1.1 --out paused.jsonl\n
    lab check my_election.py:MyElection --minutes 5"""
)
def check(options: CheckOptions) -> int:
    """Test a protocol with random faults, in many simulated runs.

    Every run is checked against the protocol's assertions. Faults are injected at sensitive moments: around
    elections, between two messages of one step, and during recovery from the previous fault. The first failure is
    shrunk to the few events that matter, and written as a recording and as a script that reproduces it.

    A violation is excused if an assumption that the assertion relies on was broken; it is then counted, but is no
    finding. Otherwise it is a failure. To search all executions up to a bound instead: lab explore.

    An assertion is judged in a run if there was something to judge it by: two nodes that were Normal, or a
    transaction that was decided. What was judged in no run does not hold.

    The first runs of your own protocol, and every finding, are executed twice, in two processes: if they differ,
    it is not deterministic, and nothing that was found can be trusted.

    Exit status: 0 nothing found, 1 a finding or an assertion that was judged in no run, 2 usage error, 130 Ctrl-C.
    """
    target = target_of(options.protocol, options.set_, options.properties)
    protocol = load_protocol(target)
    campaign = _campaign(options, target, protocol)
    _check_out(options.out)
    interrupt_on_signals()
    is_own = not protocol.__module__.startswith("lab.")
    if is_own:
        seeds = range(campaign.seed, campaign.seed + min(campaign.runs or _REPEATED, _REPEATED))
        require_repeatable(campaign.target, campaign.base, [draw(campaign.plan, seed) for seed in seeds])
    totals, first, interrupted = _run(options, campaign)
    if not options.json:
        _print_totals(totals, protocol, campaign)
    finding = None
    if first is not None and not interrupted:
        finding, interrupted = _shrink(protocol, campaign, first)
    files: list[Path] = []
    rerun = ""
    if finding is not None:
        if is_own:
            require_repeatable(campaign.target, campaign.base, [finding.least])
        if not options.json:
            _print_finding(finding)
        path = options.out or Path(f"{protocol.name}-{finding.violation.assertion}-seed{finding.drawn.seed}.jsonl")
        rerun = format_rerun(target, campaign.base, finding.least, path.with_suffix(".script"))
        files = [path, write_finding(protocol, campaign.base, finding, path, rerun)]
    if options.json:
        print_json(_as_json(totals, protocol, finding, files, rerun))
    elif finding is not None:
        print(f"recorded: {files[0]}\nscript:   {files[1]}\nreplay:   lab replay {files[0]}\nagain:    {rerun}")
    elif first is not None:
        print(f"found with seed {first}; interrupted before shrinking: lab check … --seed {first} --runs 1")
    else:
        print_wrapped(format_no_findings(protocol, totals, options.find, interrupted))
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_NOT_AS_EXPECTED if first is not None or unjudged(protocol, totals) else 0


# from the options to a campaign


def _campaign(options: CheckOptions, target: str, protocol: type[Algorithm]) -> Campaign:
    runs = options.runs or (_DEFAULT_RUNS if options.minutes is None else "0")
    timing = timing_of(options.t)
    faults = fault_kinds(options.faults)
    promised = (*protocol.promises, RAISES.id)
    if options.find is not None and options.find not in promised:
        raise UsageError(f"--find {options.find}: the assertions of {protocol.name} are {', '.join(promised)}")
    least, most = _range(options.nodes)
    return Campaign(
        absolute_target(target),
        base_header(protocol, most, timing, parameters_of(protocol, options.set_)),
        plan_of(protocol, (least, most), faults, timing),
        SearchGoal(options.find or "", options.strict),
        whole_number("--seed", options.seed, 0),
        whole_number("--runs", runs, 0),
    )


def _range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not low.isdecimal() or (dash and not high.isdecimal()):
        raise UsageError(f"--nodes {text}: write a number (5) or a range (3-7)")
    least, most = int(low), int(high or low)
    if not 1 <= least <= most <= _MOST_NODES:
        raise UsageError(f"--nodes {text}: expected 1 to {_MOST_NODES} nodes, the lower number first: 3-7")
    return least, most


def _check_out(path: Path | None) -> None:
    """Raise UsageError now, and not after a long campaign, if the finding cannot be written."""
    if path is not None and path.suffix != ".jsonl":
        raise UsageError(f"--out {path}: name a .jsonl file; the script is written next to it")
    if path is None:
        writable("--out", Path(_PROBE))
    else:
        writable_recording("--out", path)


# running


def _run(options: CheckOptions, campaign: Campaign) -> tuple[CampaignTotals, int | None, bool]:
    """Return the totals, the seed of the first finding, and whether Ctrl-C was pressed."""
    totals, first = CampaignTotals(), None
    workers = worker_count(options.workers)
    for_s = None if options.minutes is None else whole_number("--minutes", options.minutes, 1) * 60.0
    began_s = time.monotonic()
    outcomes = run_campaign(campaign, workers, options.cluster, for_s)
    try:
        with exit_if_workers_fail(), closing(outcomes), progress_line() as progress:
            progress(f"starting {workers} processes" if workers > 1 else "running")
            for outcome in outcomes:
                totals.add(outcome)
                if outcome.found and first is None:
                    first = outcome.seed
                progress(_progress_text(totals, campaign.runs, first, time.monotonic() - began_s))
                if outcome.found and not options.keep_going:
                    break
    except KeyboardInterrupt:
        return totals, first, True
    except ImportError:
        raise UsageError("--cluster requires the extra: pip install 'coordinator-lab[cluster]'") from None
    except OSError as error:
        raise UsageError(f"--cluster {options.cluster}: {error}; is a scheduler running there?") from None
    return totals, first, False


def _progress_text(totals: CampaignTotals, runs: int, first: int | None, seconds: float) -> str:
    done = f"{totals.runs:,} of {format_count(runs, 'run')}" if runs else format_count(totals.runs, "run")
    found = "" if first is None else f", found with seed {first}"
    return f"{done}, {totals.steps:,} steps, {seconds:.0f} s{found}"


def _shrink(protocol: type[Algorithm], campaign: Campaign, seed: int) -> tuple[Finding | None, bool]:
    try:
        with progress_line() as progress:
            text = f"shrinking what seed {seed} found"
            return shrink_finding(
                protocol, campaign, seed, lambda tried: progress(f"{text}: {format_count(tried, 'run')}")
            ), False
    except KeyboardInterrupt:
        return None, True


# reporting

_MOST_ROWS = 3
"""At most this many rows per assertion, one for each set of broken assumptions; one more row sums up the rest."""
_FAILURES = "FAILURES: all relevant assumptions intact"


def _print_totals(totals: CampaignTotals, protocol: type[Algorithm], campaign: Campaign) -> None:
    """Print the totals: faults, violations, and the covered lines of the protocol."""
    console = Console(highlight=False)
    console.print(
        f"[bold]{protocol.name}[/bold]: {format_count(totals.runs, 'run')} from seed {campaign.seed} on, "
        f"{format_count(totals.steps, 'step')}, "
        f"{totals.virtual_us / 1e6:,.0f} s of virtual time"
    )
    if totals.outcomes:
        console.print(f"  {_outcomes(totals, protocol)}")
    faults = Table("fault", "injected", "with effect", box=None, pad_edge=True)
    for kind, count in sorted(totals.faults.items()):
        faults.add_row(kind, f"{count.faults:,}", f"{count.touched:,}")
    console.print(faults)
    found = Table("assertion", "judged in", "violations", "", box=None, pad_edge=True)
    names = dict.fromkeys([*protocol.promises, *(name for name, _ in totals.violations)])
    for name in names:
        judged = _judged_cell(totals, name) if name in protocol.promises else ""
        for times, text in _violation_rows(totals, name) or [("none", ASSERTIONS[name].short)]:
            found.add_row(name, judged, times, text, style="bold red" if text == _FAILURES else "")
            name = judged = ""  # noqa: PLW2901 - only in the first row
    console.print(found)
    console.print(f"  {_coverage(totals, protocol)}")


def _judged_cell(totals: CampaignTotals, name: str) -> str:
    runs = totals.judged_runs[name]
    return f"{runs:,} of {format_count(totals.runs, 'run')}" if runs else "no run"


def unjudged(protocol: type[Algorithm], totals: CampaignTotals) -> list[str]:
    """Return the promised assertions that were judged in no run."""
    return [name for name in protocol.promises if not totals.judged_runs[name]]


def _outcomes(totals: CampaignTotals, protocol: type[Algorithm]) -> str:
    """Return what the analysis of the protocol counts, as text: of a bank, its transactions by outcome."""
    analysis = analysis_of(extension_class(protocol))
    counts = ", ".join(f"{totals.outcomes[how]:,} {words}" for how, words in analysis.outcomes.items())
    return f"{format_count(totals.outcomes.total(), analysis.noun)}: {counts}"


def _outcomes_json(totals: CampaignTotals, protocol: type[Algorithm]) -> dict[str, Any]:
    """Return the same by the name of what is counted; of other protocols, what built-in ones count is empty."""
    counted: dict[str, Any] = {
        f"{noun}s": {} for each in built_in_extensions() if (noun := analysis_of(each).noun)
    }
    noun = analysis_of(extension_class(protocol)).noun
    return counted | ({f"{noun}s": dict(totals.outcomes)} if noun else {})


def _violation_rows(totals: CampaignTotals, name: str) -> list[tuple[str, str]]:
    """Return rows (count, broken assumptions) for an assertion: failures first, then the most frequent ones."""
    found = [(broken, times) for (which, broken), times in totals.violations.items() if which == name]
    found.sort(key=lambda sort: (bool(sort[0]), -sort[1], sort[0]))
    rows = [(f"{times:,}", _describe_broken(broken)) for broken, times in found[:_MOST_ROWS]]
    rest = [times for _, times in found[_MOST_ROWS:]]
    return rows + ([(f"{sum(rest):,}", f"excused: {len(rest)} more sets of assumptions")] if rest else [])


def _describe_broken(broken: tuple[int | str, ...]) -> str:
    if not broken:
        return _FAILURES
    if len(broken) == 1:
        return f"excused: assumption {broken[0]} broken ({ASSUMPTIONS[broken[0]]})"
    return f"excused: assumptions {', '.join(map(str, broken))} broken"


def _coverage(totals: CampaignTotals, protocol: type[Algorithm]) -> str:
    lines = lines_of_code(protocol)
    missed = sorted(lines - totals.lines)
    text = f"line coverage of the protocol: {len(lines) - len(missed)} of {len(lines)}"
    return text + (f"; missed {_ranges(missed)}" if missed else "")


def _ranges(lines: list[int]) -> str:
    """Format 1, 2, 3, 7 as ``1-3, 7``."""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def format_no_findings(
    protocol: type[Algorithm], totals: CampaignTotals, find: str | None, interrupted: bool
) -> str:
    """Return the result of a campaign that has found nothing."""
    if not totals.runs:
        return "stopped before the first run was finished: no result"
    so_far = f"stopped after {format_count(totals.runs, 'run')}; " if interrupted else ""
    if find is not None:
        return f"{so_far}no violation of {find} was found"
    excused = sum(totals.violations.values())
    not_judged = unjudged(protocol, totals)
    judged = [name for name in protocol.promises if name not in not_judged]
    text = f"{so_far}no failure"
    if judged:
        text += f": {', '.join(judged)} held in every consistent state with the assumptions intact"
    if excused:
        text += f" ({format_count(excused, 'excused violation')}: see --strict, --find)"
    if not_judged:
        text += f"; judged in no run: {', '.join(not_judged)}"
    return text if protocol.promises else f"{text}; the protocol promises nothing, so only its errors were judged"


def _print_finding(finding: Finding) -> None:
    """Print the finding, its shrunk form, and the events that led to it."""
    drawn, least = finding.drawn, finding.least
    print()
    print_wrapped(f"seed {drawn.seed}: {finding.violation}")
    print_wrapped(
        f"shrunk in {format_count(finding.tried, 'run')}, from {format_count(len(drawn.nodes), 'node')} and "
        f"{format_count(len(drawn.faults), 'command')} to {len(least.nodes)} and {len(least.faults)}:"
    )
    for fault in least.faults:
        print(f"    {fault}")
    print("events that led to it (line of the recording, seconds):")
    for line in explain_violation(finding.records, finding.violation):
        print(f"    {format_explanation_line(line)}")


def _as_json(
    totals: CampaignTotals, protocol: type[Algorithm], finding: Finding | None, files: list[Path], rerun: str
) -> dict[str, Any]:
    """Return the report as a JSON object."""
    lines = lines_of_code(protocol)
    result: dict[str, Any] = {
        "protocol": protocol.name,
        "runs": totals.runs,
        "steps": totals.steps,
        "virtual_us": totals.virtual_us,
        **_outcomes_json(totals, protocol),
        "faults": totals.faults,
        "violations": [
            {"assertion": name, "broken": broken, "times": times}
            for (name, broken), times in sorted(totals.violations.items())
        ],
        "judged": [
            {"assertion": name, "runs": totals.judged_runs[name], "count": totals.judged[name]}
            for name in protocol.promises
        ],
        "lines": {"all": len(lines), "not_reached": sorted(lines - totals.lines)},
        "finding": None,
    }
    if finding is not None:
        result["finding"] = {
            "seed": finding.drawn.seed,
            "assertion": finding.violation.assertion,
            "failure": finding.violation.is_failure,
            "text": str(finding.violation),
            "nodes": finding.least.nodes,
            "commands": [str(fault) for fault in finding.least.faults],
            "recording": str(files[0]),
            "script": str(files[1]),
            "again": rerun,
        }
    return result
