"""The visible campaigns of an exercise in stages: what students run themselves, as often as they like.

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

from lab.exercises.exercise import Exercise, Task
from lab.exercises.program_grading import LiveEvidence, ProgramCampaigns, confined_program
from lab.exercises.protocol_grading import CampaignResult, ReportProgress, Shortfall, TaskCampaigns, sandboxed
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.worlds.campaign.finding import Finding, shrink_finding, write_finding
from lab.worlds.campaign.rerun import format_rerun
from lab.worlds.campaign.trial import SearchGoal
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.targets import split_target


class Evidence(Struct, frozen=True):
    """A shrunk run that breaks a stage: its files, ``recording`` and ``script``, and the command ``again``."""

    finding: Finding
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
            if shortfall is not None and shortfall.assertion:
                report_progress(f"shrinking the violation of {shortfall.assertion}")
                evidence = _record(exercise, task, file, handed_in, shortfall, to)
            yield TriedStage(task, result, evidence)


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
    exercise: Exercise, task: Task, file: Path, handed_in: type[Algorithm], shortfall: Shortfall, to: Path
) -> Evidence:
    """Shrink the run, and write it as a recording and as a script."""
    assert shortfall.base is not None
    assert shortfall.schedule is not None
    base = _with_source_of(handed_in, shortfall.base)
    finding, interrupted = shrink_finding(handed_in, base, SearchGoal(), shortfall.schedule)
    if interrupted:
        raise KeyboardInterrupt
    given, properties = split_target(exercise.setup.protocol)
    target = f"{file}:{given.rpartition(':')[2]}"
    path = to / f"{exercise.name}-{task.number}-{finding.violation.assertion}.jsonl"
    again = format_rerun(target, base, finding.least, path.with_suffix(".script"))
    again += f" --properties {quote(properties)}" if properties else ""
    return Evidence(finding, path, write_finding(handed_in, base, finding, path, again), again)


def _with_source_of(handed_in: type[Algorithm], base: Header) -> Header:
    """Return the header with the source of the student's file, as the recording shows it."""
    own = simulation_header(handed_in, base.nodes, base.timing, {}).protocol
    return replace(
        base, protocol=replace(base.protocol, source=own.source, file=own.file, heartbeats=own.heartbeats)
    )
