"""The film of a lecture for GIF and MP4: its cards and runs, in their order, each long enough to be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.export.film_files import encode_gif
from lab.export.film_frames import FilmFrame
from lab.lectures.lecture_film import LectureFilm, lines_of, paragraphs_of
from lab.lectures.presentation import THINKING_US
from lab.lectures.recorded_lecture import record_lecture
from tests.lectures.lecture_files import make_lecture

pillow: Any = pytest.importorskip("PIL.Image")


class Cards(LectureFilm):
    """A film that notes its cards, each with the place at which it comes."""

    noted: list[tuple[str, list[str], int]]

    def _card(self, title: str, paragraphs: list[str], lasts_us: int) -> FilmFrame:
        self.noted.append((title, paragraphs, lasts_us))
        return super()._card(title, paragraphs, lasts_us)


def test_each_step_has_its_text_its_run_and_its_answer(tmp_path: Path) -> None:
    """A card shows something, and a run of the interface's colours follows it; the notes are for the teacher."""
    done = list[int]()
    film = Cards(record_lecture(make_lecture(tmp_path), tmp_path), 1, done.append)
    film.noted = []
    cards, runs = list[FilmFrame](), 0
    for frame in film:
        assert frame.image.size == film.size
        assert frame.lasts_us > 0
        is_card = len(film.noted) > len(cards)
        runs += not is_card
        if is_card:
            cards.append(frame)
            assert frame.image.getextrema() != ((255, 255),) * 3, "it is empty"
    titles = [title for title, _, _ in film.noted]
    paused = "The coordinator is paused"
    assert titles == ["A pause", "Only a text", paused, paused, paused, "Two coordinators"]
    assert runs > 10
    assert done == [1, 2, 3]
    (_, first, reading_us), (_, asked, asked_us), (_, answered, _) = film.noted[1], film.noted[3], film.noted[4]
    assert first == ["Silence proves nothing."]
    assert asked == ["Who leads now?", "•  only 5", "•  4 and 5"]
    assert answered == [*asked, "The answer: only 5", "The others wait longer than a second."]
    assert asked_us > reading_us + THINKING_US // 2
    assert "A minute" not in str(film.noted)


class Blinking:
    """A film of two frames."""

    size = 4, 2

    def __init__(self, film: LectureFilm) -> None:
        self.theme = film.theme

    def __iter__(self) -> Iterator[FilmFrame]:
        for colour in (self.theme.paper, self.theme.ink):
            yield FilmFrame(pillow.new("RGB", self.size, colour), 2_000_000)


def test_it_is_encoded_like_every_film(tmp_path: Path) -> None:
    """With the time for which each frame is shown."""
    film = LectureFilm(record_lecture(make_lecture(tmp_path), tmp_path), 1)
    path = tmp_path / "film.gif"
    with path.open("wb") as out:
        encode_gif(Blinking(film), out)
    with pillow.open(path) as image:
        assert (image.size, image.n_frames, image.info["duration"]) == ((4, 2), 2, 2_000)


def test_markdown_is_plain_on_a_card() -> None:
    text = "One *of*\n`two`, [three](x.md).\n\n- four\n- five\n\n```\nkill 5\n  heal\n```\n"
    assert paragraphs_of(text) == ["One of two, three.", "•  four", "•  five", "kill 5", "  heal"]


def test_letters_are_as_large_as_fits() -> None:
    """A long text has smaller ones, down to a bound; each line is within the card."""
    short, long = lines_of(["a few words"], 1000, 100, 600), lines_of(["many words " * 90], 1000, 100, 600)
    assert short[0][2] == 34
    assert 12 < long[0][2] < 34
    assert max(y for _, y, _ in long) <= 600
    assert lines_of(["too many words " * 90] * 12, 1000, 100, 600)[0][2] == 12
