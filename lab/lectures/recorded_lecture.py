"""Simulate the runs of a lecture, find the records at which its steps stop, and check it before it is given.

A lecture is simulated, so it is the same in every hall, with the seed of its scenarios. It is checked that its
runs pass, that every stop is reached, and that every answer follows from its run. An answer that follows from the
algorithm follows under other seeds too; one that does not is an accident of this run.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct

from lab.analysis.script_log import line_result
from lab.exercises.answer_keys import answer_problems
from lab.export.excerpt import Excerpt, ExportOptions, read_excerpt
from lab.export.figure_options import FigureOptions
from lab.lectures.lecture import Lecture, LectureRun, LectureStep
from lab.lectures.presentation import Presentation, PresentedRun, Stop
from lab.recording.reader import open_recording
from lab.scenario.report import ScenarioFinding, ScenarioReport
from lab.scenario.run_scenario import run_simulated
from lab.text import sanitize
from lab.units import format_rounded, format_us


class RecordedRun(Struct, frozen=True):
    """A run of a lecture, simulated: its recording, its report, and the stops of its steps by their numbers.

    A stop that the run did not reach is not among them.
    """

    run: LectureRun
    file: Path
    report: ScenarioReport
    stops: dict[int, Stop]


class RecordedLecture(Struct, frozen=True):
    """A lecture with the recordings of its runs."""

    lecture: Lecture
    runs: tuple[RecordedRun, ...]

    def run_of(self, step: LectureStep) -> RecordedRun:
        """Return the run that a step shows, or the first one if none has begun."""
        return self.runs[step.run or 0]

    @property
    def presentation(self) -> Presentation:
        """The summary that is shown."""
        lecture = self.lecture
        runs = (PresentedRun(str(each.file), each.stops, each.run.scenario.protocol) for each in self.runs)
        return Presentation(lecture.name, lecture.title, lecture.steps, tuple(runs), lecture.digest)

    @contextmanager
    def excerpt_of(self, step: LectureStep, figure: FigureOptions) -> Iterator[Excerpt | None]:
        """Open what a step shows of its run: from where the step before stopped to where this one stops.

        It is None if the step shows no run. Raises ExportError.
        """
        presentation = self.presentation
        stop = presentation.stop_of(step)
        if stop is None:
            yield None
            return
        options = ExportOptions(presentation.begin_of(step).at_us or None, stop.at_us, figure=figure)
        with closing(open_recording(self.run_of(step).file)) as store:
            yield read_excerpt(store, options)


def record_lecture(
    lecture: Lecture, folder: Path, report_progress: Callable[[int], None] = lambda done: None
) -> RecordedLecture:
    """Simulate all runs of the lecture, and write their recordings into this folder.

    ``report_progress`` is called with the number of runs done. Raises NotRunnableError and OSError.
    """
    runs = []
    for number, run in enumerate(lecture.runs):
        file = folder / f"{lecture.name}-{number + 1}.jsonl"
        report = run_simulated(run.scenario, file)
        runs.append(RecordedRun(run, file, report, _stops_in(file, lecture.steps_of(number))))
        report_progress(number + 1)
    return RecordedLecture(lecture, tuple(runs))


def _stops_in(file: Path, steps: tuple[LectureStep, ...]) -> dict[int, Stop]:
    by_line = {step.stop: step.number for step in steps}
    found: dict[int, Stop] = {}
    with closing(open_recording(file)) as store:
        for number, record in enumerate(store.records()):
            result = line_result(number, record)
            if result is not None and result.line in by_line:
                found[by_line[result.line]] = Stop(number, result.at_us)
    return found


SEEDS = 3
"""Seeds that each answer must follow under."""


def lecture_problems(
    recorded: RecordedLecture, report_progress: Callable[[int], None] = lambda done: None
) -> Iterator[str]:
    """Yield the problems of a lecture, each with its file and line.

    ``report_progress`` is called with the number of questions checked.
    """
    yield from run_problems(recorded)
    for done, step in enumerate(recorded.lecture.questions, 1):
        yield from _question_problems(recorded, step)
        report_progress(done)


def choices_without_condition(lecture: Lecture) -> Iterator[str]:
    """Yield what is not judged of the questions: their choices without a condition, with file and line."""
    for step in lecture.questions:
        question = step.question
        assert question is not None
        without = [each for each in question.options if question.key.holds and each not in question.key.holds]
        if without:
            named = ", ".join(repr(sanitize(each, 60)) for each in without)
            where = f"{lecture.path}:{step.question_line}: step {step.number}"
            yield f"{where}: not judged: holds has no condition for {named}"


def run_problems(recorded: RecordedLecture) -> Iterator[str]:
    """Yield the problems of its runs and of their stops: without them, every step can be shown."""
    lecture = recorded.lecture
    for number, run in enumerate(recorded.runs):
        yield from _run_problems(lecture, run, lecture.steps_of(number))


def _run_problems(lecture: Lecture, recorded: RecordedRun, steps: tuple[LectureStep, ...]) -> Iterator[str]:
    own = {step.stop for step in steps}
    for finding in recorded.report.findings:
        if finding.line not in own:
            yield f"{_place(lecture, recorded, finding)}: {finding.expected}: {finding.was}"
    before: LectureStep | None = None
    for step in steps:
        stop = recorded.stops.get(step.number)
        where = f"{lecture.path}:{step.stop_line}: step {step.number}"
        if stop is None:
            end = format_us(recorded.run.scenario.ends_us)
            yield f"{where} never stops: nothing it waits for happened within {end}; correct stop, or change for"
            return  # the stops after it wait for this one
        if before is not None and stop.at_us == recorded.stops[before.number].at_us:
            when = format_rounded(stop.at_us)
            yield f"{where} stops where step {before.number} stopped, at {when}; name a later moment"
        before = step


def _place(lecture: Lecture, recorded: RecordedRun, finding: ScenarioFinding) -> str:
    run = recorded.run
    if not finding.line:
        return f"{lecture.path}:{run.line}"
    return f"{run.scenario.path if run.named else lecture.path}:{finding.line}"


def _question_problems(recorded: RecordedLecture, step: LectureStep) -> Iterator[str]:
    question = step.question
    assert question is not None
    scenario = recorded.run_of(step).run.scenario
    seeds = range(scenario.seed, scenario.seed + SEEDS)
    for problem in answer_problems(question, scenario, seeds):
        yield f"{recorded.lecture.path}:{step.question_line}: step {step.number}: {problem}"
