"""A lecture, as read from its file: its steps, the runs that they show, and the questions that they ask."""

from functools import cached_property

from msgspec import Struct, field

from lab.exercises.exercise import AnswerKey
from lab.exercises.handout import normalize_answer
from lab.scenario.file import Scenario

LONGEST_TITLE = 80
"""In characters."""


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """A question to the audience, and what its answer follows from; see ``AnswerKey``.

    ``explanation`` is Markdown; it is shown once the question has been answered.
    """

    text: str = field(name="question")
    options: tuple[str, ...] = field(name="choices")
    answer: str
    explanation: str = field(name="explains")
    key: AnswerKey

    @property
    def accepted_answers(self) -> tuple[str, ...]:
        return (self.answer,)

    def accepts(self, answer: str) -> bool:
        """Return whether this is the answer."""
        return normalize_answer(answer) == normalize_answer(self.answer)


class LectureStep(Struct, frozen=True):
    """A step. ``number`` counts from 1; ``text`` and ``notes``, which are for the teacher alone, are Markdown.

    ``run`` is the place of its run in the lecture, None before the first one begins; a step without a stop shows
    its text alone. ``stop`` is the number of the line of the run's script that is executed where the step stops,
    0 without one. ``view`` is the view to show, ``node`` the node to select; a step that names none goes on with
    those of the step before it, if it goes on with its run.

    ``line`` is the line of its heading in the file, ``question_line`` that of its question.
    """

    number: int
    title: str
    text: str
    notes: str
    line: int
    run: int | None = None
    stop: int = 0
    stop_line: int = 0
    view: str = ""
    node: int | None = None
    question: Question | None = None
    question_line: int = 0

    @property
    def shows_run(self) -> bool:
        """True if a run goes on to where this step stops."""
        return self.stop > 0


class LectureRun(Struct, frozen=True):
    """A run that one or several steps show. Its ``scenario`` marks where each of them stops.

    ``line`` is where it begins in the file of the lecture. ``named`` is the scenario that it was taken from; empty
    if it is written in the lecture, so that the lines of its script are those of the file.
    """

    scenario: Scenario
    line: int
    named: str = ""


class Lecture(Struct, frozen=True, dict=True):
    """A lecture. ``intro`` is the text before its steps, in Markdown: what it is about, and for whom.

    ``digest`` is that of the file's text.
    """

    name: str
    path: str
    title: str
    intro: str
    steps: tuple[LectureStep, ...]
    runs: tuple[LectureRun, ...]
    digest: str

    @cached_property
    def questions(self) -> tuple[LectureStep, ...]:
        """The steps that ask a question."""
        return tuple(step for step in self.steps if step.question is not None)

    def steps_of(self, run: int) -> tuple[LectureStep, ...]:
        """Return the steps that show this run."""
        return tuple(step for step in self.steps if step.run == run and step.shows_run)
