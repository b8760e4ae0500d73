"""The report of ``lab check``: tables of the totals, and the shrunk finding; or both as JSON."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Rows

from lab.cli.recording_report import format_explanation_line
from lab.cli.terminal import print_wrapped
from lab.properties.assertions import ASSERTIONS, ASSUMPTIONS
from lab.properties.witness import explain_violation
from lab.protocols import Algorithm
from lab.units import format_count
from lab.worlds.campaign.campaign import Campaign, CampaignTotals, lines_of_code
from lab.worlds.campaign.finding import Finding

_MOST_ROWS = 3
"""At most this many rows per assertion, one for each set of broken assumptions; one more row sums up the rest."""
_FAILURES = "FAILURES: all relevant assumptions intact"


def print_totals(totals: CampaignTotals, protocol: type[Algorithm], campaign: Campaign) -> None:
    """Print the totals: faults, violations, and the covered lines of the protocol."""
    console = Console(highlight=False)
    console.print(
        f"[bold]{protocol.name}[/bold]: {format_count(totals.runs, 'run')} from seed {campaign.seed} on, "
        f"{format_count(totals.steps, 'step')}, "
        f"{totals.virtual_us / 1e6:,.0f} s of virtual time"
    )
    if totals.transactions:
        console.print(f"  {_transactions(totals)}")
    faults = Rows("fault", "injected", "with effect", box=None, pad_edge=True)
    for kind, count in sorted(totals.faults.items()):
        faults.add_row(kind, f"{count.faults:,}", f"{count.touched:,}")
    console.print(faults)
    found = Rows("assertion", "violations", "", box=None, pad_edge=True)
    names = dict.fromkeys([*protocol.promises, *(name for name, _ in totals.violations)])
    for name in names:
        for times, text in _violation_rows(totals, name) or [("none", ASSERTIONS[name].short)]:
            found.add_row(name, times, text, style="bold red" if text == _FAILURES else "")
            name = ""  # noqa: PLW2901 - only in the first row
    console.print(found)
    console.print(f"  {_coverage(totals, protocol)}")


def _transactions(totals: CampaignTotals) -> str:
    """Return the number of transactions by outcome, as text."""
    committed, aborted, still = (totals.transactions.get(how, 0) for how in ("committed", "aborted", None))
    transactions = format_count(committed + aborted + still, "transaction")
    return f"{transactions}: {committed:,} committed, {aborted:,} aborted, {still:,} still open"


def _violation_rows(totals: CampaignTotals, name: str) -> list[tuple[str, str]]:
    """Return rows (count, broken assumptions) for an assertion: failures first, then the most frequent ones."""
    found = [(broken, times) for (which, broken), times in totals.violations.items() if which == name]
    found.sort(key=lambda sort: (bool(sort[0]), -sort[1], sort[0]))
    rows = [(f"{times:,}", _describe_broken(broken)) for broken, times in found[:_MOST_ROWS]]
    rest = [times for _, times in found[_MOST_ROWS:]]
    return rows + ([(f"{sum(rest):,}", f"excused: {len(rest)} more sets of assumptions")] if rest else [])


def _describe_broken(broken: tuple[int, ...]) -> str:
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
    held = f"{', '.join(protocol.promises)} held in every consistent state with the assumptions intact"
    text = f"{so_far}no failure: {held}"
    return text + (f" ({format_count(excused, 'excused violation')}: see --strict, --find)" if excused else "")


def print_finding(finding: Finding) -> None:
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


def as_json(
    totals: CampaignTotals, protocol: type[Algorithm], finding: Finding | None, files: list[Path], rerun: str
) -> dict[str, Any]:
    """Return the report as a JSON object."""
    lines = lines_of_code(protocol)
    result: dict[str, Any] = {
        "protocol": protocol.name,
        "runs": totals.runs,
        "steps": totals.steps,
        "virtual_us": totals.virtual_us,
        "transactions": {how or "open": times for how, times in totals.transactions.items()},
        "faults": totals.faults,
        "violations": [
            {"assertion": name, "broken": broken, "times": times}
            for (name, broken), times in sorted(totals.violations.items())
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
