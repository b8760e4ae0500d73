"""``lab scenario check``: from its options to the runs, and what they came to."""

import contextlib
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import FrameType

from msgspec import Struct
from msgspec.structs import replace

from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, fail
from lab.cli.files import writable
from lab.cli.progress import progress_line
from lab.cli.scenario_report import print_reports
from lab.cli.scenarios import find_named, read_all
from lab.cli.settings import whole_number
from lab.places import new_recording_path
from lab.scenario.file import SUFFIX, Scenario, World
from lab.scenario.junit import as_junit
from lab.scenario.library import shipped
from lab.scenario.many import Job, jobs_of, live_takes_s, run_all
from lab.scenario.report import Report
from lab.units import count_of
from lab.worlds.campaign.workers import WorkerDiedError, default_workers
from lab.worlds.config import new_run_name

__all__ = ["CheckRequest", "check_scenarios"]

_BOTH: tuple[World, ...] = ("simulated", "live")


class CheckRequest(Struct, frozen=True):
    """What is to be run, and where the result goes."""

    scenarios: list[Scenario]
    worlds: tuple[World, ...]
    runs: int
    workers: int
    junit: Path | None
    keep: Path | None

    @classmethod
    def of(
        cls,
        named: list[str],
        sim: bool,
        live: bool,
        runs: str,
        workers: str | None,
        junit: Path | None,
        keep: Path | None,
    ) -> "CheckRequest":
        """What the options ask for. Every mistake is a UsageError, or is said and ends the command."""
        worlds: tuple[World, ...] = (
            ("simulated",) if sim and not live else ("live",) if live and not sim else _BOTH
        )
        scenarios = read_all(_files(named))
        if not any(set(each.worlds) & set(worlds) for each in scenarios):
            raise UsageError(f"none of them is for a {worlds[0]} run; leave out --{'sim' if sim else 'live'}")
        return cls(
            scenarios,
            worlds,
            whole_number("--runs", runs, 1),
            default_workers() if workers is None else whole_number("--workers", workers, 1),
            None if junit is None else writable("--junit", junit),
            None if keep is None else _folder(keep),
        )


def _folder(keep: Path) -> Path:
    """The folder, made where it is not there yet. UsageError."""
    try:
        keep.mkdir(exist_ok=True)
    except OSError as error:
        said = f"the folder cannot be made ({error.strerror})"
        raise UsageError(f"--keep {keep}: {said}; name one in a folder that is there") from None
    return keep.absolute()


def _files(named: list[str]) -> list[Path]:
    """The files that are meant, each once; folders stand for the scenarios in them."""
    found: dict[str, Path] = {}
    for name in named:
        folder = Path(name)
        here = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else [find_named(name)]
        if not here:
            raise UsageError(f"{name} has no scenario in it; they are files that end in {SUFFIX}")
        for path in here:
            other = found.setdefault(path.stem, path)
            if other.resolve() != path.resolve():
                raise UsageError(f"{other} and {path} have the same name; check one of them at a time")
    return list(found.values()) if named else shipped()


def check_scenarios(request: CheckRequest) -> int:
    """Run them, and report; the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        jobs = jobs_of(request.scenarios, request.worlds, request.runs, request.keep or Path(folder))
        _announce(jobs, request.workers)
        reports, interrupted = _run(jobs, request)
    places = {each.name: place for place, each in enumerate(request.scenarios)}
    reports.sort(key=lambda report: (places[report.name], report.world == "live", report.seed))
    print_reports(reports, Counter((job.scenario.name, job.world) for job in jobs))
    if request.junit is not None:
        request.junit.write_text(as_junit(reports), "utf-8")
    failed = sum(not report.passed for report in reports)
    if interrupted:
        them = f"{failed} of them" if failed else "none of them"
        print(f"\ninterrupted: {len(reports):,} of {count_of(len(jobs), 'run')}, {them} failed")
        return EXIT_INTERRUPTED
    print(f"\n{count_of(len(reports), 'run')}, {failed or 'none'} failed")
    return EXIT_NOT_AS_EXPECTED if failed else 0


def _announce(jobs: list[Job], workers: int) -> None:
    live = sum(job.world == "live" for job in jobs)
    takes = f", {live:,} of them live: about {live_takes_s(jobs, workers):.0f} s" if live else ""
    print(f"{count_of(len(jobs), 'run')}{takes}", file=sys.stderr)


def _run(jobs: list[Job], request: CheckRequest) -> tuple[list[Report], bool]:
    """(what came of each that is done, whether Ctrl-C came)."""
    reports: list[Report] = []
    kept: set[tuple[str, World]] = set()
    began_s = time.monotonic()
    with contextlib.closing(_coming(jobs, request.workers)) as coming, progress_line() as tell:
        tell(f"0 of {count_of(len(jobs), 'run')}")
        try:
            for report in coming:
                reports.append(report if request.keep else _kept(report, kept))
                failed = sum(not each.passed for each in reports)
                found = f", {failed} failed" if failed else ""
                tell(f"{len(reports)} of {count_of(len(jobs), 'run')}{found}, {time.monotonic() - began_s:.0f} s")
        except KeyboardInterrupt:
            return reports, True
    return reports, False


def _coming(jobs: list[Job], workers: int) -> Generator[Report, None, None]:
    try:
        yield from run_all(jobs, workers)
    except WorkerDiedError as error:
        fail(str(error), EXIT_NOT_AS_EXPECTED)


def _kept(report: Report, kept: set[tuple[str, World]]) -> Report:
    """Of each scenario in each world, the recording of one failed run goes to those that lab keeps."""
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


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
