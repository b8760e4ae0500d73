"""A lecture as a film, for GIF and MP4: of each step its text, its run, its question and the answer.

Texts are cards; a run is its space-time diagram, from where the step before stopped to where this one stops.
"""

import io
from collections.abc import Callable, Iterator
from typing import Any

import drawsvg
from markdown_it import MarkdownIt

from lab.export.annotations import printable
from lab.export.figure_options import FONT, THEMES, FigureOptions, Theme
from lab.export.film_frames import FilmFrame, FilmFrames, load_pillow
from lab.export.placement import wrap_to_width
from lab.export.svg_diagram import load_cairosvg
from lab.export.svg_shapes import text
from lab.lectures.lecture import LectureStep, Question
from lab.lectures.presentation import THINKING_US, reading_us
from lab.lectures.recorded_lecture import RecordedLecture

_THEME = "slide"
_SIZE = 1280, 720
_MARGIN, _TITLE, _LARGEST, _SMALLEST = 70.0, 44.0, 34.0, 12.0
_LINE, _GAP = 1.35, 0.7
"""The heights of a line, and of the gap after a paragraph, in sizes of its letters."""


class LectureFilm:
    """The frames of the film of a lecture, each an image with the time for which it is shown.

    ``report_progress`` is called with the number of steps filmed. Raises ExportError without the extra.
    """

    size = _SIZE

    def __init__(
        self,
        recorded: RecordedLecture,
        frames_per_s: int,
        report_progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        self._recorded = recorded
        self._frames_per_s = frames_per_s
        self._report_progress = report_progress
        self._pillow, self._cairosvg = load_pillow(), load_cairosvg()

    @property
    def theme(self) -> Theme:
        return THEMES[_THEME]

    def __iter__(self) -> Iterator[FilmFrame]:
        lecture = self._recorded.lecture
        intro = paragraphs_of(lecture.intro)
        yield self._card(lecture.title, intro, reading_us(" ".join(intro)))
        for step in lecture.steps:
            words = paragraphs_of(step.text)
            yield self._card(step.title, words, reading_us(" ".join(words)))
            yield from self._run(step)
            if step.question is not None:
                yield from self._question(step, step.question)
            self._report_progress(step.number)

    def _run(self, step: LectureStep) -> Iterator[FilmFrame]:
        """Yield the diagram of what the step shows of its run."""
        title = printable(self._recorded.run_of(step).run.scenario.title, 100)
        figure = FigureOptions(title=step.title, caption=title, theme=_THEME)
        with self._recorded.excerpt_of(step, figure) as excerpt:
            if excerpt is not None:
                yield from FilmFrames(excerpt, self._frames_per_s)

    def _question(self, step: LectureStep, question: Question) -> Iterator[FilmFrame]:
        asked = [*paragraphs_of(question.text), *(f"•  {option}" for option in question.options)]
        yield self._card(step.title, asked, reading_us(" ".join(asked)) + THINKING_US)
        answer = [f"The answer: {question.answer}", *paragraphs_of(question.explanation)]
        yield self._card(step.title, [*asked, *answer], reading_us(" ".join(answer)))

    # cards

    def _card(self, title: str, paragraphs: list[str], lasts_us: int) -> FilmFrame:
        width, height = self.size
        drawing = drawsvg.Drawing(width, height, font_family=FONT)
        drawing.append(drawsvg.Rectangle(0, 0, width, height, fill=self.theme.paper))
        y = _MARGIN
        for words in wrap_to_width(printable(title, 200), _TITLE, (width - 2 * _MARGIN) / 1.1, 2):
            drawing.append(text(words, _TITLE, (_MARGIN, y + _TITLE), self.theme.ink, font_weight="bold"))
            y += _LINE * _TITLE
        y += _GAP * _TITLE
        for words, at_y, size in lines_of(paragraphs, width - 2 * _MARGIN, y, height - _MARGIN):
            drawing.append(text(words, size, (_MARGIN, at_y), self.theme.ink))
        png = self._cairosvg.svg2png(bytestring=str(drawing.as_svg()).encode())
        image: Any = self._pillow.open(io.BytesIO(png)).convert("RGB")
        return FilmFrame(image, lasts_us)


def lines_of(paragraphs: list[str], width: float, top: float, bottom: float) -> list[tuple[str, float, float]]:
    """Return lines of text with their base line and size, as large as fits; the smallest letters may not."""
    size = _LARGEST
    while True:
        found, y = [], top
        for paragraph in paragraphs:
            for words in wrap_to_width(printable(paragraph, 2_000), size, width):
                y += _LINE * size
                found.append((words, y, size))
            y += _GAP * size
        if y - _GAP * size <= bottom or size <= _SMALLEST:
            return found
        size -= 1


def paragraphs_of(markdown: str) -> list[str]:
    """Return the paragraphs, list items and lines of code of Markdown as plain text."""
    found = []
    for token in MarkdownIt("commonmark", {"html": False}).parse(markdown):
        if token.type == "inline":
            words = "".join(
                " " if child.type in ("softbreak", "hardbreak") else child.content
                for child in token.children or ()
            )
            found.append(f"•  {words}" if token.level > 1 else words)
        elif token.type in ("fence", "code_block"):
            found += token.content.rstrip().splitlines()
    return [words for words in found if words]
