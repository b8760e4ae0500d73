"""Simulate the runs of a lecture, and find the records at which its steps stop."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from lab.analysis.script_log import line_result
from lab.lectures.lecture import Lecture, LectureRun, Step
from lab.recording.reader import open_recording
from lab.scenario.report import Report
from lab.scenario.run_scenario import run_simulated


class Stop(Struct, frozen=True):
    """A point at which a run stops: the number of a record, and its time."""

    record: int
    at_us: int


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

    def stop_of(self, step: Step) -> Stop | None:
        """Return where this step stops; None if it shows no run."""
        return self.run_of(step).stops.get(step.number) if step.shows_run else None

    def begin_of(self, step: Step) -> Stop:
        """Return where a step begins to show its run: where the step before stopped, or at its start."""
        stops = [stop for number, stop in self.run_of(step).stops.items() if number < step.number]
        return max(stops, key=lambda stop: stop.record, default=Stop(0, 0))


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
