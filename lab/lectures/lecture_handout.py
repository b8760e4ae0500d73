"""The hand-out of a lecture, in Markdown: texts, questions, how to see each run, and the answers at the end."""

from collections.abc import Iterator
from pathlib import Path
from string import ascii_uppercase

from lab.lectures.lecture import Lecture, LectureStep, Question
from lab.lectures.lecture_reader import SHIPPED
from lab.protocols import CURRICULUM
from lab.scenario.file import is_path


def format_handout(lecture: Lecture) -> str:
    """Return the hand-out for students; the notes for the teacher are not in it."""
    parts = [f"# {lecture.title}", lecture.intro]
    for step in lecture.steps:
        parts += _step(lecture, step)
    if lecture.questions:
        parts.append("## Answers")
        parts += (_answer(number, step) for number, step in enumerate(lecture.questions, 1))
    return "\n\n".join(filter(None, parts)) + "\n"


def _step(lecture: Lecture, step: LectureStep) -> Iterator[str]:
    yield f"## {step.number}. {step.title}"
    yield step.text
    if step.shows_run:
        run = lecture.runs[step.run or 0]
        if run.named and not is_path(run.named):
            yield f"To see it: `lab run {run.named}`"
        elif Path(lecture.path).parent == SHIPPED:
            yield f"To see it: `lab lecture rehearse {lecture.name} --step {step.number}`"
        elif run.scenario.protocol in CURRICULUM:
            yield f"To see a run of this protocol: `lab run {run.scenario.protocol} --sim`"
    if step.question is not None:
        yield _question(lecture.questions.index(step) + 1, step.question)


def _question(number: int, question: Question) -> str:
    lettered = zip(ascii_uppercase, question.options, strict=False)
    options = "\n".join(f"- {letter}. {option}" for letter, option in lettered)
    return f"**Question {number}.** {' '.join(question.text.split())}\n\n{options}"


def _answer(number: int, step: LectureStep) -> str:
    question = step.question
    assert question is not None
    letter = ascii_uppercase[next(map(question.options.index, filter(question.accepts, question.options)))]
    explanation = " ".join(question.explanation.split())
    return f"**Question {number}** (step {step.number}): {letter}, *{question.answer}*. {explanation}"
