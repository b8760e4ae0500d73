"""Grade a file that is handed in, a protocol or a program, or try its stages.

The grade comes from the hidden campaigns. Students run the visible ones themselves, as often as they like. Each
stage is tried in turn, up to the first that is not passed. What broke it is written as a recording; a run of a
protocol is first shrunk to the few events that matter. The runs are those of a fixed seed, and the file is
executed as it is for the grade, in sandboxes where the answer is not. So what passes here fails there only by
another network or seed, or, as the runs of a program are live, by other times.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise, ExerciseTask
from lab.exercises.program_grading import LiveEvidence, ProgramCampaigns, confined_program
from lab.exercises.protocol_grading import (
    BreakingRun,
    CampaignResult,
    ProtocolCampaigns,
    ReportProgress,
    sandboxed,
)
from lab.worlds.loading.user_module import TargetError

_EARLIER = "an earlier task is not done"


class FileGrade(Struct, frozen=True):
    """The results of the tasks for a file.

    ``evidence`` is the recorded run that breaks the first task that is missed; None if no run shows why.
    """

    results: tuple[Result, ...]
    evidence: BreakingRun | LiveEvidence | None = None

    @property
    def points(self) -> int:
        return sum(result.points for result in self.results)


class TriedStage(Struct, frozen=True):
    """The visible campaign of a stage: ``result`` is None if it was not run, as an earlier stage is not passed."""

    task: ExerciseTask
    result: CampaignResult | None
    evidence: BreakingRun | LiveEvidence | None = None

    @property
    def is_passed(self) -> bool:
        """True if all runs were made and nothing was missing."""
        return self.result is not None and self.result.shortfall is None

    @property
    def points(self) -> int:
        """The points of the stage, if the hidden campaign finds nothing either."""
        return self.task.points if self.is_passed else 0


def grade_file(
    exercise: Exercise,
    file: Path,
    seed: int,
    report_progress: ReportProgress = lambda text: None,
    to: Path | None = None,
) -> FileGrade:
    """Run the hidden campaigns that follow from the ``seed``, up to the first that has a shortfall.

    The tasks after it are missed. If there is a folder ``to``, the run that breaks a protocol is recorded to it.
    ``report_progress`` is called with a line of text. Raises UnjudgedError.
    """
    try:
        with _opened(exercise, file, seed, report_progress, to) as campaigns:
            results = list[Result]()
            evidence: BreakingRun | LiveEvidence | None = None
            why = campaigns.why_it_does_not_work()
            for task in exercise.tasks:
                if not why:
                    found, evidence = campaigns.run(task)
                    why = "" if found.shortfall is None else found.shortfall.why
                results.append(
                    Result(task.number, "missed" if why else "done", 0 if why else task.points, why=why)
                )
                why = why and _EARLIER
            return FileGrade(tuple(results), evidence)
    except TargetError as error:
        return FileGrade(tuple(Result(task.number, "missed", 0, why=str(error)) for task in exercise.tasks))


def try_stages(
    exercise: Exercise, file: Path, seed: int, to: Path, report_progress: ReportProgress = lambda text: None
) -> Iterator[TriedStage]:
    """Yield each stage when its visible campaign has been run; what breaks one is recorded to the folder ``to``.

    Raises TargetError if the file cannot be loaded, NotRepeatedError if its protocol is not deterministic, and
    UnjudgedError.
    """
    with _opened(exercise, file, seed, report_progress, to, visible=True) as campaigns:
        passed = True
        for task in exercise.tasks:
            result, evidence = campaigns.run(task) if passed else (None, None)
            passed = result is not None and result.shortfall is None
            yield TriedStage(task, result, evidence)


@contextmanager
def _opened(
    exercise: Exercise,
    file: Path,
    seed: int,
    report_progress: ReportProgress,
    to: Path | None,
    visible: bool = False,
) -> Iterator[ProtocolCampaigns | ProgramCampaigns]:
    """Load the file, for as long as its campaigns are run. Raises TargetError."""
    if exercise.is_program:
        with confined_program(exercise, file) as program:
            yield ProgramCampaigns(exercise, program, seed, report_progress, to, visible)
    else:
        with sandboxed(exercise, file, str(seed)) as protocol:
            yield ProtocolCampaigns(exercise, file, protocol, seed, report_progress, to, visible)
