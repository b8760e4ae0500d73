"""What is said of runs of scenarios: a table, and below it what was not as it should be."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from lab.cli.terminal import print_table
from lab.scenario.report import Finding, Report
from lab.text import sanitize
from lab.units import count_of, listed

__all__ = ["print_reports", "report_lines"]

_LONGEST = 60


def print_reports(reports: Sequence[Report], wanted: Mapping[tuple[str, str], int]) -> None:
    """The table, and, of each scenario in each world, the findings of one run that failed.

    ``wanted``: of each scenario in each world, how many runs there should be.
    """
    rows: dict[tuple[str, str], list[Report]] = {}
    for report in reports:
        rows.setdefault((report.name, report.world), []).append(report)
    table = Table(box=None, pad_edge=False)
    for column in ("scenario", "world", "", "time", "what failed"):
        table.add_column(column, no_wrap=column != "what failed")
    for (name, world), runs in rows.items():
        failed = [report for report in runs if not report.passed]
        result = "FAILED" if failed else "passed"
        if len(runs) > 1:
            result += f" {len(failed or runs)} of {len(runs)}"
        if wanted[name, world] > len(runs):
            result += f", {wanted[name, world] - len(runs):,} not run"
        took = f"{sum(report.took_s for report in runs):.1f} s"
        what = sanitize(_in_short(failed[0]), _LONGEST) if failed else ""
        table.add_row(sanitize(name), world, result, took, what, style="bold red" if failed else "")
    print_table(table)
    for runs in rows.values():
        failed = [report for report in runs if not report.passed]
        for report in sorted(failed, key=lambda report: not report.recording)[:1]:
            print("", *report_lines(report), sep="\n")
        if len(failed) > 1:
            print(
                f"  and {count_of(len(failed) - 1, 'more run')}; seeds: {listed([each.seed for each in failed])}"
            )


def _in_short(report: Report) -> str:
    finding = report.findings[0]
    where = f"line {finding.line}: " if finding.line else ""
    return f"{where}{finding.was}"


def report_lines(report: Report) -> list[str]:
    """Whether it passed; if not, all that was not as it should be, and how to look at it."""
    if report.passed:
        return [f"{report.name}, {report.world}, seed {report.seed}: passed"]
    said = [f"{report.name}, {report.world}, seed {report.seed}: FAILED"]
    for finding in report.findings:
        place = f"{report.path}:{finding.line}" if finding.line else "expected"
        said += [f"  {place}: {finding.expected}", f"      {finding.was}"]
        said += _shown_by(finding)
    if report.recording:
        said += [f"  recorded: {report.recording}", f"  replay:   lab replay {report.recording}"]
    if report.too_slow:
        said.append(f"  {report.too_slow}")
    return [sanitize(line) for line in said]


def _shown_by(finding: Finding) -> list[str]:
    if finding.line_of_recording is None:
        return []
    return [f"      line {finding.line_of_recording} of the recording, at {finding.at_us / 1e6:.3f} s"]
