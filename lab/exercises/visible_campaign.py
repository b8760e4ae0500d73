"""The campaigns that students run themselves, as often as they like: those of a lab's stages, and of a grade.

Each stage is tried in turn, up to the first that is not passed. What broke it is written as a recording; a run of
a protocol is first shrunk to the few events that matter. The runs are those of a fixed seed, and the file is
executed as it is for the grade, in sandboxes where the answer is not. So what passes here fails there only by
another network or seed, or, as the runs of a program are live, by other times.
"""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise, Task
from lab.exercises.program_grading import LiveEvidence, ProgramCampaigns, confined_program
from lab.exercises.protocol_grading import (
    CampaignResult,
    ReportProgress,
    Shortfall,
    TaskCampaigns,
    results_in_order,
    sandboxed,
)
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.worlds.campaign.finding import Finding, shrink_finding, write_run
from lab.worlds.campaign.rerun import format_rerun
from lab.worlds.campaign.schedule import Schedule
from lab.worlds.campaign.trial import RunawayError, SearchGoal, run_trial
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.targets import split_target
from lab.worlds.loading.user_module import TargetError


class Evidence(Struct, frozen=True):
    """A run that breaks a task: its files, ``recording`` and ``script``, and the command ``again``.

    It was shrunk to the ``finding``; None if it violates no assertion, but sends too many messages.
    """

    finding: Finding | None
    recording: Path
    script: Path
    again: str


class TriedStage(Struct, frozen=True):
    """The visible campaign of a stage: ``result`` is None if it was not run, as an earlier stage is not passed."""

    task: Task
    result: CampaignResult | None
    evidence: Evidence | LiveEvidence | None = None

    @property
    def is_passed(self) -> bool:
        """True if all runs were made and nothing was missing."""
        return self.result is not None and self.result.shortfall is None

    @property
    def points(self) -> int:
        """The points of the stage, if the hidden campaign finds nothing either."""
        return self.task.points if self.is_passed else 0


def try_stages(
    exercise: Exercise, file: Path, seed: int, to: Path, report_progress: ReportProgress = lambda text: None
) -> Iterator[TriedStage]:
    """Yield each stage when its visible campaign has been run; what breaks one is recorded to the folder ``to``.

    Raises TargetError if the file cannot be loaded, NotRepeatedError if its protocol is not deterministic.
    """
    with sandboxed(exercise, file, str(seed)) as handed_in:
        campaigns = TaskCampaigns(exercise, handed_in, seed, report_progress, visible=True)
        passed = True
        for task in exercise.tasks:
            if not passed:
                yield TriedStage(task, None)
                continue
            result = campaigns.run(task)
            shortfall = result.shortfall
            passed = shortfall is None
            evidence = None
            if shortfall is not None and shortfall.schedule is not None:
                evidence = _record(exercise, task, file, handed_in, shortfall, to, report_progress)
            yield TriedStage(task, result, evidence)


def grade_with_evidence(
    exercise: Exercise, file: Path, seed: int, to: Path, report_progress: ReportProgress = lambda text: None
) -> tuple[tuple[Result, ...], Evidence | None]:
    """Grade a protocol like ``grade_protocol``; return also the run that breaks it, recorded to the folder ``to``.

    There is none if no task is broken, or no run of its campaign shows why.
    """
    found: list[Evidence | None] = []
    try:
        with sandboxed(exercise, file, str(seed)) as handed_in:
            campaigns = TaskCampaigns(exercise, handed_in, seed, report_progress)

            def run(task: Task) -> CampaignResult:
                result = campaigns.run(task)
                shortfall = result.shortfall
                if shortfall is not None and shortfall.schedule is not None:
                    found.append(_record(exercise, task, file, handed_in, shortfall, to, report_progress))
                return result

            results = results_in_order(exercise, run, campaigns.why_it_does_not_work())
    except TargetError as error:
        results = results_in_order(exercise, None, str(error))
    return results, next(iter(found), None)


def try_program_stages(
    exercise: Exercise, file: Path, seed: int, to: Path, report_progress: ReportProgress = lambda text: None
) -> Iterator[TriedStage]:
    """Yield each stage of a program like ``try_stages``. Raises TargetError, and UnjudgedError."""
    with confined_program(exercise, file) as handed_in:
        campaigns = ProgramCampaigns(exercise, handed_in, seed, report_progress, to)
        passed = True
        for task in exercise.tasks:
            result, evidence = campaigns.run(task) if passed else (None, None)
            passed = result is not None and result.shortfall is None
            yield TriedStage(task, result, evidence)


def _record(
    exercise: Exercise,
    task: Task,
    file: Path,
    handed_in: type[Algorithm],
    shortfall: Shortfall,
    to: Path,
    report_progress: ReportProgress,
) -> Evidence | None:
    """Write the run as a recording and as a script, shrunk if it violates something; None if it does not end."""
    assert shortfall.base is not None
    assert shortfall.schedule is not None
    base, least, finding = _with_source_of(handed_in, shortfall.base), shortfall.schedule, None
    if shortfall.assertion:
        report_progress(f"shrinking the violation of {shortfall.assertion}")
        finding, interrupted = shrink_finding(handed_in, base, SearchGoal(), least)
        if interrupted:
            raise KeyboardInterrupt
        least = finding.least
    elif not _ends(handed_in, base, least):
        return None
    given, properties = split_target(exercise.setup.protocol)
    target = f"{file}:{given.rpartition(':')[2]}"
    what = finding.violation.assertion if finding is not None else f"run-{shortfall.run}"
    path = to / f"{exercise.name}-{task.number}-{what}.jsonl"
    again = format_rerun(target, base, least, path.with_suffix(".script"))
    again += f" --properties {quote(properties)}" if properties else ""
    shows = str(finding.violation) if finding is not None else shortfall.why
    script = write_run(handed_in, base, least, path, (shows, again))
    return Evidence(finding, path, script, again)


def _ends(handed_in: type[Algorithm], base: Header, schedule: Schedule) -> bool:
    """Return whether the run ends, without an error in the file and without messages that multiply."""
    try:
        return not run_trial(handed_in, base, schedule).given_up
    except (RunawayError, TargetError):
        return False


def _with_source_of(handed_in: type[Algorithm], base: Header) -> Header:
    """Return the header with the source of the student's file, as the recording shows it."""
    own = simulation_header(handed_in, base.nodes, base.timing, {}).protocol
    return replace(
        base, protocol=replace(base.protocol, source=own.source, file=own.file, heartbeats=own.heartbeats)
    )
