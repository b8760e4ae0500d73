"""``lab scenario check``: run scenarios, and report the results as a table, with the details of failures."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace
from rich.table import Table
from typer import Argument, Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.junit import JUnitCase, JUnitSuite, write_junit
from lab.cli.options import (
    Junit,
    Sandbox,
    Workers,
    announce_sandbox,
    complete_scenario,
    exit_if_workers_fail,
    is_same_file,
    whole_number,
    worker_count,
    writable_report,
)
from lab.cli.progress import Progress
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    interrupt_on_signals,
    print_table,
)
from lab.output import print_line, print_remark
from lab.places import new_recording_path
from lab.scenario.file import SUFFIX, Scenario, ScenarioError, World, find, read_scenario, shipped
from lab.scenario.report import ScenarioFinding, ScenarioReport
from lab.scenario.run_scenario import Job, jobs_of, live_duration_s, run_all
from lab.text import sanitize
from lab.units import format_count, format_ranges
from lab.worlds.interruption import interrupted_between_steps
from lab.worlds.loading.config import new_run_name


class ScenarioCheckOptions(Struct, frozen=True):
    """The options of ``lab scenario check``."""

    named: Annotated[
        list[str],
        Argument(
            metavar="[NAME|FILE|DIR]…",
            help="Scenarios, or folders of them. Default: all built-in scenarios.",
            autocompletion=complete_scenario,
        ),
    ] = []
    sim: Annotated[bool, Option("--sim", help="Check in simulation only.")] = False
    live: Annotated[bool, Option("--live", help="Check on real processes only.")] = False
    runs: Annotated[str, Option(metavar="NUMBER", help="Runs of each scenario; each run uses the next seed.")] = (
        "1"
    )
    sandbox: Sandbox = False
    workers: Workers = None
    junit: Junit = None
    keep: Annotated[
        Path | None,
        Option(metavar="DIR", help="Keep all recordings in this folder. Default: keep only those of failed runs."),
    ] = None
    json: Json = False

    @property
    def worlds(self) -> tuple[World, ...]:
        """The worlds to check in, both by default."""
        if self.sim == self.live:
            return ("simulated", "live")
        return ("simulated",) if self.sim else ("live",)


class ScenarioCheckDocument(Document, frozen=True):
    """The reports on the runs that ended, of those ``planned``; a run without findings has passed."""

    runs: tuple[ScenarioReport, ...]
    planned: int
    failed: int
    interrupted: bool


def check_scenarios(options: ScenarioCheckOptions) -> int:
    """Run the scenarios, report, and return the exit status."""
    interrupt_on_signals()
    if options.sandbox:
        announce_sandbox()
    scenarios = _read_all(_files(options.named), options.sandbox)
    if not any(set(each.worlds) & set(options.worlds) for each in scenarios):
        raise UsageError(
            f"none of these scenarios supports {options.worlds[0]} runs; "
            f"leave out --{'sim' if options.sim else 'live'}"
        )
    runs, workers = whole_number("--runs", options.runs, 1), worker_count(options.workers)
    junit = writable_report(options.junit)
    keep = None if options.keep is None else _folder(options.keep)
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        jobs = jobs_of(scenarios, options.worlds, runs, keep or Path(folder))
        _announce(jobs, workers)
        reports, interrupted = _run(jobs, workers, keep is not None)
    places = {each.name: place for place, each in enumerate(scenarios)}
    reports.sort(key=lambda report: (places[report.name], report.world == "live", report.seed))
    if not options.json:
        print_reports(reports, Counter((job.scenario.name, job.world) for job in jobs))
    write_junit(junit, junit_suites(reports))
    failed = sum(not report.passed for report in reports)
    if options.json:
        print_json(ScenarioCheckDocument(tuple(reports), len(jobs), failed, interrupted))
    else:
        _print_counts(len(reports), len(jobs), failed, interrupted)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_NOT_AS_EXPECTED if failed else 0


def _print_counts(done: int, planned: int, failed: int, interrupted: bool) -> None:
    print_line()
    if interrupted:
        them = f"{failed} of them" if failed else "none of them"
        print_line(f"interrupted: {done:,} of {format_count(planned, 'run')}, {them} failed")
        return
    print_line(f"{format_count(done, 'run')}, {failed or 'none'} failed")


def _read_all(paths: list[Path], sandbox: bool) -> list[Scenario]:
    """Return these scenarios. Raises ScenarioError with the mistakes of all."""
    found, mistakes = list[Scenario](), list[str]()
    for path in paths:
        try:
            found.append(read_scenario(path, sandbox))
        except ScenarioError as error:
            mistakes += error.mistakes
    if mistakes:
        raise ScenarioError(mistakes)
    return found


def _folder(keep: Path) -> Path:
    """Return the folder, created if necessary. Raises UsageError."""
    try:
        keep.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        text = f"cannot create the folder ({error.strerror})"
        raise UsageError(f"--keep {keep}: {text}; name a folder in an existing one") from None
    return keep.absolute()


def _files(named: list[str]) -> list[Path]:
    """Return the files of these scenarios, each once; a folder stands for the scenarios in it."""
    found: dict[str, Path] = {}
    for name in named:
        folder = Path(name)
        here = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else [find(name)]
        if not here:
            raise UsageError(f"{name} contains no scenarios: files that end in {SUFFIX}")
        for path in here:
            other = found.setdefault(path.stem, path)
            if not is_same_file(other, path):
                raise UsageError(f"{other} and {path} have the same name; check them one at a time")
    return list(found.values()) if named else shipped()


def _announce(jobs: list[Job], workers: int) -> None:
    live = sum(job.world == "live" for job in jobs)
    takes = f", {live:,} of them live: about {live_duration_s(jobs, workers):.0f} s" if live else ""
    print_remark(f"{format_count(len(jobs), 'run')}{takes}")


def _run(jobs: list[Job], workers: int, keep: bool) -> tuple[list[ScenarioReport], bool]:
    """Return the reports of the finished runs, and whether the check was interrupted."""
    reports: list[ScenarioReport] = []
    kept: set[tuple[str, World]] = set()
    progress = Progress("checking scenarios", "run", len(jobs))
    with exit_if_workers_fail(), closing(run_all(jobs, workers)) as coming, progress:
        try:
            with interrupted_between_steps():
                for report in coming:
                    reports.append(report if keep else _keep_or_delete_recording(report, kept))
                    failed = sum(not each.passed for each in reports)
                    progress(len(reports), f"{failed} failed" if failed else "")
        except KeyboardInterrupt:
            return reports, True
    return reports, False


def _keep_or_delete_recording(report: ScenarioReport, kept: set[tuple[str, World]]) -> ScenarioReport:
    """Keep one recording of a failed run for each scenario and world; delete the others."""
    row = (report.name, report.world)
    if not report.recording:
        return report
    if report.passed or row in kept:
        Path(report.recording).unlink()
        return replace(report, recording="")
    kept.add(row)
    file = new_recording_path(new_run_name(report.name))
    shutil.move(report.recording, file)
    return replace(report, recording=str(file))


def junit_suites(reports: Sequence[ScenarioReport]) -> list[JUnitSuite]:
    """Return a suite for each world, with a case for each run."""
    worlds = sorted({report.world for report in reports})
    return [JUnitSuite(world, [_case(each) for each in reports if each.world == world]) for world in worlds]


def _case(report: ScenarioReport) -> JUnitCase:
    lines = []
    for finding in report.findings:
        place = f"{report.path}:{finding.line}: " if finding.line else ""
        lines.append(f"{place}{finding.expected}: {finding.was}")
    if lines and report.recording:
        lines.append(f"recorded: {report.recording}")
    if lines and report.too_slow:
        lines.append(report.too_slow)
    return JUnitCase(
        f"scenarios.{report.name}",
        f"seed {report.seed}",
        tuple(lines),
        "nothing was judged, so nothing holds" if report.proves_nothing else "",
        report.took_s,
        report.path,
        (("seed", str(report.seed)), *(("not judged", text) for text in report.not_judged)),
    )


_LONGEST = 60


def print_reports(reports: Sequence[ScenarioReport], wanted: Mapping[tuple[str, str], int]) -> None:
    """Print the table, and the findings of one failed run for each scenario and world.

    ``wanted`` is the number of planned runs, by scenario and world.
    """
    rows: dict[tuple[str, str], list[ScenarioReport]] = {}
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
            print_line()
            for line in format_report(report):
                print_line(line)
        if len(failed) > 1:
            print_line(
                f"  and {format_count(len(failed) - 1, 'more run')}; "
                f"seeds: {format_ranges([each.seed for each in failed])}"
            )


def _first_failure(report: ScenarioReport) -> str:
    finding = report.findings[0]
    where = f"line {finding.line}: " if finding.line else ""
    return f"{where}{finding.was}"


def format_report(report: ScenarioReport) -> list[str]:
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
