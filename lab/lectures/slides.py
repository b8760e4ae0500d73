"""The slides of a lecture: one HTML file that needs no network, with the picture of each step in it.

A picture is the space-time diagram of what the step shows of its run: from where the step before stopped to where
this one stops. It is an image of its own in the page, and the content security policy allows only the page's own
script, so foreign text in a lecture runs no code.
"""

import base64
import hashlib
from collections.abc import Callable
from html import escape
from importlib.resources import files
from string import Template

from markdown_it import MarkdownIt

from lab.export.figure_options import FigureOptions
from lab.export.svg_diagram import diagram_of
from lab.lectures.lecture import Lecture, LectureStep, Question
from lab.lectures.recorded_lecture import RecordedLecture
from lab.text import sanitize

_WIDTH_PX = 620.0
_KEYS = "Arrow keys turn the slides; a shows an answer, n the notes for the teacher."


def draw_step(recorded: RecordedLecture, step: LectureStep) -> str:
    """Return the picture of what a step shows of its run, as SVG; empty if it shows none. Raises ExportError."""
    title = sanitize(recorded.run_of(step).run.scenario.title, 100)
    figure = FigureOptions(title=title, theme="paper", zoom="page", width=_WIDTH_PX)
    with recorded.excerpt_of(step, figure) as excerpt:
        return "" if excerpt is None else diagram_of(excerpt, medium="print")


def format_slides(
    recorded: RecordedLecture,
    with_notes: bool = True,
    report_progress: Callable[[int], None] = lambda done: None,
) -> str:
    """Return the slides as an HTML page; ``with_notes``: with what is for the teacher alone.

    ``report_progress`` is called with the number of steps drawn. Raises ExportError.
    """
    lecture = recorded.lecture
    slides = [_title_slide(lecture)]
    for step in lecture.steps:
        slides.append(_slide(step, draw_step(recorded, step), with_notes))
        report_progress(step.number)
    folder = files("lab.lectures")
    script = (folder / "slides.js").read_text("utf-8")
    return Template((folder / "slides.html").read_text("utf-8")).substitute(
        title=escape(sanitize(lecture.title)),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=(folder / "slides.css").read_text("utf-8"),
        slides="\n".join(slides),
        script=script,
    )


def _title_slide(lecture: Lecture) -> str:
    return (
        f'<section class="title"><div><h1>{escape(sanitize(lecture.title))}</h1>\n'
        f"{_html(lecture.intro)}<p class=keys>{escape(_KEYS)}</p></div></section>"
    )


def _slide(step: LectureStep, picture: str, with_notes: bool) -> str:
    parts = [f"<h2>{escape(sanitize(step.title))}</h2>"]
    asked = _question(step.question) if step.question is not None else ""
    parts.append(f'<div class="text{"" if picture else " alone"}">{_html(step.text)}{asked}</div>')
    if picture:
        image = base64.b64encode(picture.encode()).decode()
        alt = escape(f"Space-time diagram: {sanitize(step.title)}")
        parts.append(f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{image}"></figure>')
    if with_notes and step.notes:
        parts.append(f"<aside>{_html(step.notes)}</aside>")
    return f"<section>{''.join(parts)}</section>"


def _question(question: Question) -> str:
    options = "".join(
        f"<li{' class=right' if question.accepts(option) else ''}>{escape(sanitize(option))}</li>"
        for option in question.options
    )
    return (
        f'<div class="question"><p>{escape(sanitize(question.text))}</p><ol>{options}</ol>'
        f'<div class="answer">{_html(question.explanation)}</div></div>'
    )


def _html(markdown: str) -> str:
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    return html
