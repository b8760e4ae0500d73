"""Reports of scenario runs: a table, and the details of failures below it."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from lab.cli.terminal import print_table
from lab.scenario.report import Report, ScenarioFinding
from lab.text import sanitize
from lab.units import format_count, format_ranges

__all__ = ["format_report", "print_reports"]

_LONGEST = 60


def print_reports(reports: Sequence[Report], wanted: Mapping[tuple[str, str], int]) -> None:
    """Print the table, and the findings of one failed run for each scenario and world.

    ``wanted`` is the number of planned runs, by scenario and world.
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
        what = sanitize(_first_failure(failed[0]), _LONGEST) if failed else ""
        table.add_row(sanitize(name), world, result, took, what, style="bold red" if failed else "")
    print_table(table)
    for runs in rows.values():
        failed = [report for report in runs if not report.passed]
        for report in sorted(failed, key=lambda report: not report.recording)[:1]:
            print("", *format_report(report), sep="\n")
        if len(failed) > 1:
            print(
                f"  and {format_count(len(failed) - 1, 'more run')}; "
                f"seeds: {format_ranges([each.seed for each in failed])}"
            )


def _first_failure(report: Report) -> str:
    finding = report.findings[0]
    where = f"line {finding.line}: " if finding.line else ""
    return f"{where}{finding.was}"


def format_report(report: Report) -> list[str]:
    """Return whether the scenario passed; if not, all findings, and how to replay the run."""
    if report.passed:
        return [f"{report.name}, {report.world}, seed {report.seed}: passed"]
    lines = [f"{report.name}, {report.world}, seed {report.seed}: FAILED"]
    for finding in report.findings:
        place = f"{report.path}:{finding.line}" if finding.line else "expected"
        lines += [f"  {place}: {finding.expected}", f"      {finding.was}"]
        lines += _recording_place(finding)
    if report.recording:
        lines += [f"  recorded: {report.recording}", f"  replay:   lab replay {report.recording}"]
    if report.too_slow:
        lines.append(f"  {report.too_slow}")
    return [sanitize(line) for line in lines]


def _recording_place(finding: ScenarioFinding) -> list[str]:
    if finding.line_of_recording is None:
        return []
    return [f"      line {finding.line_of_recording} of the recording, at {finding.at_us / 1e6:.3f} s"]
