"""What ``lab check`` says: a table of the sums, the finding at its smallest, and the same as JSON."""

from pathlib import Path
from typing import Any

import msgspec

from lab.analysis.assumptions import ASSUMPTIONS
from lab.cli.judging import moment_line
from lab.cli.terminal import print_wrapped
from lab.properties import ASSERTIONS, account
from lab.protocols import Algorithm
from lab.units import count_of
from lab.worlds.campaign.campaign import Campaign, Table
from lab.worlds.campaign.coverage import lines_of_code
from lab.worlds.campaign.finding import Finding

__all__ = ["as_json", "nothing_found", "report", "report_finding"]

_MOST_SORTS = 3
"""So many sorts of violations of an assertion have a row of their own."""
_FAILURES = "FAILURES: all assumptions that matter intact"


def report(table: Table, protocol: type[Algorithm], campaign: Campaign) -> None:
    """The sums: faults, violations, and which lines of the protocol were reached."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Rows  # noqa: PLC0415

    console = Console(highlight=False)
    console.print(
        f"[bold]{protocol.name}[/bold]: {count_of(table.runs, 'run')} from seed {campaign.seed} on, "
        f"{count_of(table.steps, 'step')}, "
        f"{table.virtual_us / 1e6:,.0f} s of virtual time"
    )
    if table.transactions:
        console.print(f"  {_transactions(table)}")
    faults = Rows("fault", "times", "touched something", box=None, pad_edge=True)
    for kind, count in sorted(table.faults.items()):
        faults.add_row(kind, f"{count.faults:,}", f"{count.touched:,}")
    console.print(faults)
    found = Rows("assertion", "violations", "", box=None, pad_edge=True)
    names = dict.fromkeys([*protocol.promises, *(name for name, _ in table.violations)])
    for name in names:
        for times, said in _sorts(table, name) or [("none", ASSERTIONS[name].short)]:
            found.add_row(name, times, said, style="bold red" if said == _FAILURES else "")
            name = ""  # noqa: PLW2901 - said once
    console.print(found)
    console.print(f"  {_coverage(table, protocol)}")


def _transactions(table: Table) -> str:
    """How many there were, and what became of them."""
    committed, aborted, still = (table.transactions.get(how, 0) for how in ("committed", "aborted", None))
    transactions = count_of(committed + aborted + still, "transaction")
    return f"{transactions}: {committed:,} committed, {aborted:,} aborted, {still:,} still open"


def _sorts(table: Table, name: str) -> list[tuple[str, str]]:
    """(how many, under which broken assumptions) of the violations of this assertion; failures and many first."""
    found = [(broken, times) for (which, broken), times in table.violations.items() if which == name]
    found.sort(key=lambda sort: (bool(sort[0]), -sort[1], sort[0]))
    rows = [(f"{times:,}", _under(broken)) for broken, times in found[:_MOST_SORTS]]
    rest = [times for _, times in found[_MOST_SORTS:]]
    return rows + ([(f"{sum(rest):,}", f"outside: {len(rest)} sorts more")] if rest else [])


def _under(broken: tuple[int, ...]) -> str:
    if not broken:
        return _FAILURES
    if len(broken) == 1:
        return f"outside: broken {broken[0]} ({ASSUMPTIONS[broken[0]]})"
    return f"outside: broken {', '.join(map(str, broken))}"


def _coverage(table: Table, protocol: type[Algorithm]) -> str:
    lines = lines_of_code(protocol)
    missed = sorted(lines - table.lines)
    said = f"lines of the protocol reached: {len(lines) - len(missed)} of {len(lines)}"
    return said + (f"; not {_ranges(missed)}" if missed else "")


def _ranges(lines: list[int]) -> str:
    """1, 2, 3, 7 as ``1-3, 7``."""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def nothing_found(protocol: type[Algorithm], table: Table, find: str | None, interrupted: bool) -> str:
    """What holds, as far as was looked."""
    if not table.runs:
        return "stopped before the first run was finished: nothing is known"
    so_far = f"stopped after {count_of(table.runs, 'run')}; " if interrupted else ""
    if find is not None:
        return f"{so_far}no violation of {find} was found"
    outside = sum(table.violations.values())
    held = f"{', '.join(protocol.promises)} held in every consistent state while the assumptions did"
    said = f"{so_far}no failure: {held}"
    return said + (f" ({count_of(outside, 'violation')} outside the promise: --strict, --find)" if outside else "")


def report_finding(finding: Finding) -> None:
    """What was found, what is left of it, and how it came about."""
    drawn, least = finding.drawn, finding.least
    print()
    print_wrapped(f"seed {drawn.seed}: {finding.violation}")
    print_wrapped(
        f"shrunk in {count_of(finding.tried, 'run')}, from {count_of(len(drawn.nodes), 'node')} and "
        f"{count_of(len(drawn.strikes), 'command')} to {len(least.nodes)} and {len(least.strikes)}:"
    )
    for strike in least.strikes:
        print(f"    {strike}")
    print("how it came about (line of the recording, seconds):")
    for moment in account(finding.records, finding.violation):
        print(f"    {moment_line(moment)}")


def as_json(
    table: Table, protocol: type[Algorithm], finding: Finding | None, files: list[Path], command: str
) -> str:
    """The same as one JSON object."""
    lines = lines_of_code(protocol)
    result: dict[str, Any] = {
        "protocol": protocol.name,
        "runs": table.runs,
        "steps": table.steps,
        "virtual_us": table.virtual_us,
        "transactions": {how or "open": times for how, times in table.transactions.items()},
        "faults": table.faults,
        "violations": [
            {"assertion": name, "broken": broken, "times": times}
            for (name, broken), times in sorted(table.violations.items())
        ],
        "lines": {"all": len(lines), "not_reached": sorted(lines - table.lines)},
        "finding": None,
    }
    if finding is not None:
        result["finding"] = {
            "seed": finding.drawn.seed,
            "assertion": finding.violation.assertion,
            "failure": finding.violation.is_failure,
            "text": str(finding.violation),
            "nodes": finding.least.nodes,
            "commands": [str(strike) for strike in finding.least.strikes],
            "recording": str(files[0]),
            "script": str(files[1]),
            "again": command,
        }
    return msgspec.json.encode(result).decode()
