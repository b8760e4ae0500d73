"""The film of a lecture: its chapters, texts, stops and answers."""

import io
from pathlib import Path

import msgspec
import pyte

from lab.export.excerpt import Film
from lab.lectures.recorded_lecture import record_lecture
from lab.tui.apps.cast import write_lecture_cast
from tests.lectures.lecture_files import make_lecture


def test_a_film_shows_each_step_its_run_and_the_answer(tmp_path: Path) -> None:
    """A chapter begins with the text of the step; the question comes at the stop, and the answer after it."""
    presentation = record_lecture(make_lecture(tmp_path), tmp_path).presentation
    out, done = io.StringIO(), list[int]()
    write_lecture_cast(presentation, out, Film(columns=120, rows=40, frames_per_s=1), done.append)
    head, *events = map(msgspec.json.decode, out.getvalue().splitlines())
    assert (head["width"], head["height"], head["title"]) == (120, 40, "A pause")
    screen = pyte.Screen(120, 40)
    stream = pyte.Stream(screen)
    chapters, pictures = dict[str, int](), list[str]()
    for _, kind, data in events:
        if kind == "m":
            chapters[data] = len(pictures) - 1
        else:
            stream.feed(data)
            pictures.append("\n".join(screen.display))
    assert list(chapters) == ["1. Only a text", "2. The coordinator is paused", "3. Two coordinators"]
    assert done == [1, 2, 3]
    first, second, third = chapters.values()
    assert "Silence proves nothing." in pictures[first]
    assert "A minute, at most." not in "".join(pictures), "the notes are for the teacher"
    assert "Five nodes." in pictures[second]
    assert "Nobody has noticed" not in pictures[second]
    asked = [place for place, text in enumerate(pictures) if "Who leads now?" in text]
    answered = [place for place, text in enumerate(pictures) if "The answer: only 5" in text]
    assert second < min(asked) < min(answered) < third
    assert "Nobody has noticed" in pictures[min(asked)]
    assert "4 leads" in pictures[-1]
    times_s = [at_s for at_s, _, _ in events]
    assert times_s == sorted(times_s)
    assert times_s[-1] > 20
