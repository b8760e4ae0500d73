"""Format reports as JUnit XML, for continuous integration servers."""

from collections.abc import Sequence
from xml.etree import ElementTree

from lab.scenario.report import Report, ScenarioFinding
from lab.text import sanitize

__all__ = ["as_junit"]


def as_junit(reports: Sequence[Report]) -> str:
    """Return a test suite per world with a test case per run."""
    top = ElementTree.Element("testsuites")
    for world in sorted({report.world for report in reports}):
        cases = [report for report in reports if report.world == world]
        suite = ElementTree.SubElement(
            top,
            "testsuite",
            name=world,
            tests=str(len(cases)),
            failures=str(sum(not report.passed for report in cases)),
            errors="0",
            time=f"{sum(report.took_s for report in cases):.3f}",
        )
        for report in cases:
            _add(suite, report)
    ElementTree.indent(top)
    return ElementTree.tostring(top, "unicode", xml_declaration=True) + "\n"


def _add(suite: ElementTree.Element, report: Report) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=sanitize(f"scenarios.{report.name}"),
        name=f"seed {report.seed}",
        file=sanitize(report.path),
        time=f"{report.took_s:.3f}",
    )
    if not report.passed:
        lines = [_line(report, finding) for finding in report.findings]
        failure = ElementTree.SubElement(case, "failure", message=lines[0])
        if report.recording:
            lines.append(sanitize(f"recorded: {report.recording}"))
        if report.too_slow:
            lines.append(sanitize(report.too_slow))
        failure.text = "\n".join(lines)


def _line(report: Report, finding: ScenarioFinding) -> str:
    place = f"{report.path}:{finding.line}: " if finding.line else ""
    return sanitize(f"{place}{finding.expected}: {finding.was}")
