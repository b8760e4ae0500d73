"""The course of a campaign of ``lab check``, from its first run to its exit status.

It is the same in simulation and on a program: runs are made, counted and written to the campaign's file; the first
finding is shrunk and kept; the report follows, as text, JSON or JUnit XML. Ctrl-C ends the runs or the shrinking,
and what there is by then is reported. ``check`` and ``check_programs`` have what the two kinds differ in.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Generic, TypeVar

from lab.cli.campaign_file import CampaignFile, append, describe_file
from lab.cli.campaign_report import (
    KeptFinding,
    format_no_findings,
    judged_counts,
    junit_cases,
    print_kept,
    violation_counts,
)
from lab.cli.check_options import LEAST_SHRINKING_S, CheckOptions
from lab.cli.documents import Document, print_json
from lab.cli.junit import JUnitSuite, write_junit
from lab.cli.options import (
    exit_if_workers_fail,
    whole_number,
    why_unwritable,
    worker_count,
    writable_recording,
    writable_report,
)
from lab.cli.progress import Progress
from lab.cli.recording_report import format_errors
from lab.cli.terminal import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, print_wrapped
from lab.durable import temporary_name
from lab.output import print_error, print_remark
from lab.protocols import Algorithm
from lab.worlds.campaign.campaign import Campaign, CampaignTotals, RunOutcome, unjudged
from lab.worlds.campaign.campaign_recording import CampaignWriter
from lab.worlds.interruption import interrupted_between_steps
from lab.worlds.loading.sandboxed_protocol import describe_left_out, leaves_out_properties

Run = TypeVar("Run")
"""A run as it was made, from which a finding is shrunk."""
Kept = TypeVar("Kept", bound=KeptFinding)


class CheckSession(ABC, Generic[Run, Kept]):
    """A campaign of ``protocol``, named ``title`` in its progress, of which this file is to have the ``part``.

    ``again`` is the command line that goes on with it, but for the file. ``totals`` are those of the runs so far,
    of which ``found`` are findings. ``interrupted``: Ctrl-C was pressed. ``problems`` are files that could not be
    written, each as an error for the user: what was found is reported all the same.
    """

    def __init__(
        self,
        options: CheckOptions,
        campaign: Campaign,
        protocol: type[Algorithm],
        title: str,
        again: list[str],
        part: int = 0,
    ) -> None:
        self.options = options
        self.campaign = campaign
        self.protocol = protocol
        self.totals = CampaignTotals()
        self.found = 0
        self.interrupted = False
        self.problems = list[str]()
        self.workers = worker_count(options.workers)
        self.for_s = None if options.minutes is None else whole_number("--minutes", options.minutes, 1) * 60.0
        self._title = title
        self._again = [*again, *["--keep-going"] * options.keep_going]
        self.part = part
        self._file = campaign_file(options)
        self._junit = writable_report(options.junit)
        self._leaves_out = leaves_out_properties(protocol)
        _check_out(options.out)

    def run(self) -> int:
        """Make the runs, shrink and report the first finding; return the exit status."""
        with self._file.writing(self.campaign, self._again, self.part) as writer:
            now_s = time.monotonic()
            began_s = now_s - (0.0 if writer is None else writer.recording.took_us / 1e6)
            ends_s = None if self.for_s is None else now_s + self.for_s
            first = self._make_runs(writer, now_s)
        if not self.options.json:
            self.print_totals(time.monotonic() - began_s)
        kept = None
        if first is not None:
            kept = self.shrink(
                first, None if ends_s is None else max(ends_s, time.monotonic() + LEAST_SHRINKING_S)
            )
        self._report(kept)
        try:
            write_junit(self._junit, [self._junit_suite(kept, time.monotonic() - began_s)])
        except OSError as error:
            self.problems.append(f"--junit {self._junit} cannot be written: {error.strerror}")
        for line in self.problems:
            print_error(line)
        for line in format_errors(self.totals.errors):
            print_error(line)
        if left_out := describe_left_out(self.protocol):
            print_error(left_out)
        if writer is not None:
            print_remark(describe_file(writer, self._again))
        if self.interrupted:
            return EXIT_INTERRUPTED
        is_incomplete = (
            self.totals.errors
            or self.problems
            or unjudged(self.campaign.promises, self.totals)
            or (self._leaves_out and self.options.properties is None)
        )
        return EXIT_NOT_AS_EXPECTED if self.found or is_incomplete else 0

    # what the kinds of campaigns differ in

    @abstractmethod
    def outcomes(self, writer: CampaignWriter | None) -> Generator[tuple[RunOutcome, Run | None], None, None]:
        """Yield the outcomes of all runs, first of those in the file; of a new finding, its run, too."""

    @abstractmethod
    def describe_progress(self, first: Run | None) -> str:
        """Return what the line of progress ends with; ``first`` is the first finding."""

    @abstractmethod
    def shrink(self, first: Run, ends_s: float | None) -> Kept:
        """Shrink a finding, until this monotonic time in seconds or Ctrl-C, and write what is left of it."""

    @abstractmethod
    def print_totals(self, seconds: float) -> None:
        """Print what was tried and judged within this time."""

    @abstractmethod
    def document(self, kept: Kept | None) -> Document:
        """Return the report as a document."""

    # running

    def _make_runs(self, writer: CampaignWriter | None, began_s: float) -> Run | None:
        """Make the runs that are missing; return the first that is a finding."""
        totals, first = self.totals, None
        known = 0 if writer is None else len(writer.recording)
        outcomes = self.outcomes(writer)
        progress = Progress(self._title, "run", self._planned, known)
        try:
            with exit_if_workers_fail(), closing(outcomes), progress, interrupted_between_steps():
                for outcome, run in outcomes:
                    totals.add(outcome)
                    self.found += outcome.found
                    if writer is not None and totals.runs > known:
                        append(writer, outcome)
                    if outcome.found:
                        first = first or run
                    progress(totals.runs, self.describe_progress(first), self._share(began_s))
                    if first is not None and not self.options.keep_going:
                        break
        except KeyboardInterrupt:
            self.interrupted = True
        return first

    @property
    def _planned(self) -> int:
        """Return the number of runs to make; 0: until interrupted."""
        return len(self.campaign.runs_of(self.part)) if self.part else self.campaign.runs

    def _share(self, began_s: float) -> float | None:
        """Return the share of the runs or of the time that is over; None without bounds."""
        runs = self.totals.runs / self._planned if self._planned else None
        return runs if self.for_s is None else max(runs or 0.0, (time.monotonic() - began_s) / self.for_s)

    # reporting

    def _report(self, kept: Kept | None) -> None:
        if self.options.json:
            print_json(self.document(kept))
        elif kept is None:
            find = self.campaign.goal.assertion or None
            nothing = ("its own properties are not judged in a sandbox",) if self._leaves_out else ()
            promises = self.campaign.promises
            print_wrapped(format_no_findings(promises, self.totals, find, self.interrupted, *nothing))
        else:
            print_kept(kept)
        if kept is not None and kept.unwritten:
            print_error(kept.unwritten)

    def _junit_suite(self, kept: Kept | None, seconds: float) -> JUnitSuite:
        totals, promises = self.totals, self.campaign.promises
        shown = dict[str, tuple[str, ...]]()
        if kept is not None:
            finding = kept.finding
            remark = kept.remark or f"seed: {finding.drawn.seed}"
            files = [f"recorded: {kept.recording}", f"again: {kept.rerun}"]
            if kept.unwritten:
                files = [kept.unwritten]
            text = (str(finding.violation), remark, *map(str, finding.least.faults), *files)
            shown[finding.violation.assertion] = text
        info, seed = self.campaign.base.protocol, str(self.campaign.seed)
        cases = junit_cases(info.name, judged_counts(totals, promises), violation_counts(totals), shown)
        again = ("seed", seed) if self.campaign.live is None else ("program", info.parameters["program"])
        return JUnitSuite("check", cases, seconds, (again, ("runs", str(totals.runs))))


def campaign_file(options: CheckOptions) -> CampaignFile:
    """Return the campaign's file, as the options have it."""
    return CampaignFile(options.record, options.resume)


def write_files(path: Path, write: Callable[[], object]) -> str:
    """Call ``write``, which writes a finding to ``path``; return why that fails, if it does, for the user."""
    try:
        write()
    except OSError as error:
        return (
            f"{error.filename or path} cannot be written: {error.strerror}; make room, or name a file elsewhere "
            "with --out, and check again"
        )
    return ""


def _check_out(path: Path | None) -> None:
    """Raise UsageError now, and not after a long campaign, if the finding cannot be written."""
    if path is not None and path.suffix != ".jsonl":
        raise UsageError(f"--out {path}: name a .jsonl file; the script is written next to it")
    if path is not None:
        writable_recording("--out", path)
    elif why := why_unwritable(temporary_name(Path.cwd() / "finding")):  # its real name depends on the finding
        raise UsageError(
            f"what is found is recorded in this folder, which cannot be written ({why}); name a file elsewhere: "
            "--out FILE.jsonl"
        )
