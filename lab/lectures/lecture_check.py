"""Check a lecture before it is given: its runs pass, every stop is reached, and every answer follows from its run.

A lecture is simulated, so it is the same in every hall, with the seed of its scenarios. But an answer that follows
from the algorithm follows under other seeds too; one that does not is an accident of this run.
"""

from collections.abc import Callable, Iterator

from lab.exercises.answer_keys import answer_problems
from lab.lectures.lecture import Lecture, Step
from lab.lectures.recorded_lecture import RecordedLecture, RecordedRun
from lab.scenario.report import ScenarioFinding
from lab.text import sanitize
from lab.units import format_rounded, format_us

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


def _run_problems(lecture: Lecture, recorded: RecordedRun, steps: tuple[Step, ...]) -> Iterator[str]:
    own = {step.stop for step in steps}
    for finding in recorded.report.findings:
        if finding.line not in own:
            yield f"{_place(lecture, recorded, finding)}: {finding.expected}: {finding.was}"
    before: Step | None = None
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


def _question_problems(recorded: RecordedLecture, step: Step) -> Iterator[str]:
    question = step.question
    assert question is not None
    scenario = recorded.run_of(step).run.scenario
    seeds = range(scenario.seed, scenario.seed + SEEDS)
    for problem in answer_problems(question, scenario, seeds):
        yield f"{recorded.lecture.path}:{step.question_line}: step {step.number}: {problem}"
