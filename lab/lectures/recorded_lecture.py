"""Simulate the runs of a lecture, and find the records at which its steps stop."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct

from lab.analysis.script_log import line_result
from lab.export.excerpt import Excerpt, ExportOptions, read_excerpt
from lab.export.figure_options import FigureOptions
from lab.lectures.lecture import Lecture, LectureRun, Step
from lab.lectures.presentation import Presentation, PresentedRun, Stop
from lab.recording.reader import open_recording
from lab.scenario.report import Report
from lab.scenario.run_scenario import run_simulated


class RecordedRun(Struct, frozen=True):
    """A run of a lecture, simulated: its recording, its report, and the stops of its steps by their numbers.

    A stop that the run did not reach is not among them.
    """

    run: LectureRun
    file: Path
    report: Report
    stops: dict[int, Stop]


class RecordedLecture(Struct, frozen=True):
    """A lecture with the recordings of its runs."""

    lecture: Lecture
    runs: tuple[RecordedRun, ...]

    def run_of(self, step: Step) -> RecordedRun:
        """Return the run that a step shows, or the first one if none has begun."""
        return self.runs[step.run or 0]

    @property
    def presentation(self) -> Presentation:
        """The summary that is shown."""
        lecture = self.lecture
        runs = (PresentedRun(str(each.file), each.stops, each.run.scenario.protocol) for each in self.runs)
        return Presentation(lecture.name, lecture.title, lecture.steps, tuple(runs), lecture.digest)

    @contextmanager
    def excerpt_of(self, step: Step, figure: FigureOptions) -> Iterator[Excerpt | None]:
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


def _stops_in(file: Path, steps: tuple[Step, ...]) -> dict[int, Stop]:
    by_line = {step.stop: step.number for step in steps}
    found: dict[int, Stop] = {}
    with closing(open_recording(file)) as store:
        for number, record in enumerate(store.records()):
            result = line_result(number, record)
            if result is not None and result.line in by_line:
                found[by_line[result.line]] = Stop(number, result.at_us)
    return found
