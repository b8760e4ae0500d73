"""Films of the space-time diagram: their shots, and the GIF and MP4 as a viewer decodes them."""

import io
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

import pytest
from PIL import Image, ImageChops, ImageStat

import lab
from lab.export.excerpt import DiagramFilm, Excerpt, ExportError, ExportOptions, read_excerpt
from lab.export.figure_options import FigureOptions
from lab.export.film import chapters_of
from lab.export.film_files import encode_gif, write_gif, write_mp4
from lab.export.film_frames import FilmFrame, FilmFrames
from lab.export.placement import text_width
from lab.recording.reader import FileRecords, open_recording
from tests.export.test_printed import needs_cairo
from tests.export.windows import RECORDINGS
from tests.profile import SOAK

pytestmark = needs_cairo
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg: apt-get install ffmpeg")

SMALL = DiagramFilm(480, 270, 8)
_ELECTION = (1_600_000, 1_700_000)
"""The window of the recording in which node 4 is elected."""


@pytest.fixture(scope="module")
def store() -> Iterator[FileRecords]:
    opened = open_recording(RECORDINGS / "two-coordinators.jsonl")
    yield opened
    opened.close()


def _excerpt(store: FileRecords, film: DiagramFilm = SMALL, theme: str = "auto", **figure: Any) -> Excerpt:
    from_us, until_us = figure.pop("window", _ELECTION)
    options = FigureOptions(theme=theme, **figure)
    return read_excerpt(
        store, ExportOptions(from_us=from_us, until_us=until_us, diagram_film=film, figure=options)
    )


def _written(write: Callable[[Excerpt, TextIO], None], excerpt: Excerpt) -> bytes:
    out = io.TextIOWrapper(io.BytesIO())
    write(excerpt, out)
    return out.buffer.getvalue()


def _difference(one: Any, other: Any) -> float:
    """Return the mean difference of two images, of 255."""
    return max(ImageStat.Stat(ImageChops.difference(one.convert("RGB"), other.convert("RGB"))).mean)


def _distinct(film: FilmFrames) -> list[tuple[Any, int]]:
    """Return the frames that differ from the one before, and for how long each is shown."""
    found: list[tuple[Any, int]] = []
    for frame in film:
        if found and _difference(found[-1][0], frame.image) == 0:
            found[-1] = found[-1][0], found[-1][1] + frame.lasts_us
        else:
            found.append((frame.image, frame.lasts_us))
    return found


@pytest.mark.parametrize("theme", ["auto", "dark"])
def test_a_gif_shows_every_frame_for_its_time(store: FileRecords, theme: str) -> None:
    """Decoded, each of its frames is the one that was drawn, also where only a part of it is in the file."""
    excerpt = _excerpt(store, theme=theme, title="Node 5 crashes")
    drawn = _distinct(FilmFrames(excerpt, 8))
    gif: Any = Image.open(io.BytesIO(_written(write_gif, excerpt)))
    assert (gif.format, gif.size, gif.info["loop"]) == ("GIF", (480, 270), 0)
    assert gif.n_frames == len(drawn) > 30
    passed_us = passed_ms = 0
    for number, (image, lasts_us) in enumerate(drawn):
        gif.seek(number)
        assert _difference(gif, image) < 2, number
        passed_us, passed_ms = passed_us + lasts_us, passed_ms + gif.info["duration"]
        assert passed_ms == pytest.approx(passed_us / 1000, abs=10)
    ground = gif.convert("RGB").getpixel((470, 5))
    assert ground == ((22, 24, 28) if theme == "dark" else (255, 255, 255))


def test_the_last_frame_shows_the_end(store: FileRecords) -> None:
    """The diagram up to the end of the window; at the beginning there is none yet."""
    excerpt = _excerpt(store)
    film = FilmFrames(excerpt, 8)
    assert film.shots[-1].place == film.frame.axis.end
    frames = [frame.image for frame in film]
    coloured = [_coloured(image.crop((190, 60, 480, 225))) for image in frames]
    assert coloured[0] < 0.02
    assert coloured[-1] > 0.05
    gif: Any = Image.open(io.BytesIO(_written(write_gif, excerpt)))
    gif.seek(gif.n_frames - 1)
    assert _difference(gif, frames[-1]) < 2


def _coloured(image: Any) -> float:
    """Return the share of the pixels that are clearly neither light nor dark grey."""
    saturation = image.convert("HSV").getchannel("S").point([0] * 80 + [255] * 176)
    return float(ImageStat.Stat(saturation).mean[0]) / 255


def test_nothing_is_seen_before_it_happens(store: FileRecords) -> None:
    """Right of the cursor there is only what begins at it: the rest of a label."""
    film = FilmFrames(_excerpt(store), 8)
    left, top, far = round(film.left), round(film.top), round(film.band)
    reach = round(film._longest_text + 2 * film.theme.size)
    for shot in film.shots[:: max(1, len(film.shots) // 12)]:
        begin = left + round(shot.place - shot.camera) + reach
        if begin < 480:
            ahead = film._drawn(shot).crop((begin, top + 20, 480, top + far))
            assert ahead.getcolors() == [(ahead.width * ahead.height, (255, 255, 255))]


@pytest.mark.parametrize("speed", [None, 0.2, 5.0])
def test_the_cursor_is_always_on_the_screen_and_never_goes_back(store: FileRecords, speed: float | None) -> None:
    """Nor does the camera; every chapter is shown long enough to read it."""
    excerpt = _excerpt(store, DiagramFilm(480, 270, 8, speed), window=(0, 5_000_000))
    film = FilmFrames(excerpt, 8)
    room = 480 - film.left
    assert all(one.place <= other.place and one.camera <= other.camera for one, other in pairwise(film.shots))
    assert all(0 <= shot.place - shot.camera <= room for shot in film.shots)
    assert len({shot.camera for shot in film.shots}) > 2
    shown_us = dict.fromkeys(range(len(chapters_of(excerpt))), 0)
    for shot in film.shots:
        if shot.chapter >= 0:
            shown_us[shot.chapter] += shot.lasts_us
    assert len(shown_us) > 5
    assert min(shown_us.values()) > 900_000
    assert film.shots[-1].chapter == len(shown_us) - 1


def test_at_a_speed_the_film_takes_the_recorded_time(store: FileRecords) -> None:
    """Twice as fast takes half as long, but for the stops and turns."""
    moving_us = []
    for speed in (0.05, 0.1):
        film = DiagramFilm(480, 270, 10, speed, idle_us=60_000_000)
        shots = FilmFrames(_excerpt(store, film), 10).shots
        moves = [other for one, other in pairwise(shots) if other.place > one.place and other.camera == one.camera]
        moving_us.append(sum(each.lasts_us for each in moves if each.lasts_us == 100_000))
    assert moving_us[1] == pytest.approx(1_000_000, rel=0.4)
    assert moving_us[0] == pytest.approx(2 * moving_us[1], rel=0.4)


def test_a_film_of_hours_is_refused(store: FileRecords) -> None:
    with pytest.raises(ExportError, match=r"would last \d+ minutes \(10 at most\): choose a shorter window"):
        FilmFrames(_excerpt(store, DiagramFilm(480, 270, 8, 0.001, 600_000_000), window=(0, 9_000_000)), 8)


def test_a_diagram_that_takes_too_much_memory_is_refused(
    store: FileRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.export.film_frames._MOST_PIXELS", 10_000)
    with pytest.raises(ExportError, match=r"pixels long.*a smaller --size"):
        FilmFrames(_excerpt(store), 8)


def test_letters_are_large(store: FileRecords) -> None:
    """On a screen of 720 lines: a label has 17, the caption 33 pixels, whatever the theme."""
    for theme in ("auto", "paper", "dark"):
        film = FilmFrames(_excerpt(store, DiagramFilm(1280, 720), theme), 10)
        assert film.theme.size == 17
        sizes = [float(each.args["font-size"]) for each in film._caption(0)]
        assert min(sizes) == 33


def test_every_text_fits_the_screen(store: FileRecords) -> None:
    """The longest titles of chapters too, and a long title of the film."""
    film = FilmFrames(_excerpt(store, DiagramFilm(1280, 720), title="A long title " * 9, window=(0, 9_000_000)), 8)
    texts = [*film._head(), *(text for number in range(len(film.chapters)) for text in film._caption(number))]
    assert len(texts) > 30
    for each in texts:
        is_bold = each.args.get("font-weight") == "bold"
        wide = text_width(each.escaped_text, each.args["font-size"], bold=is_bold)
        assert each.args["x"] + wide < 1280, each.escaped_text


def test_a_gif_has_the_colours_of_the_theme(store: FileRecords) -> None:
    """Those of large areas exactly: the background, the lanes, and the shade of a partition."""
    with closing(open_recording(RECORDINGS / "scenarios" / "partition-in-two.jsonl")) as partition:
        excerpt = _excerpt(partition, window=(1_400_000, 1_450_000))
        drawn = FilmFrames(excerpt, 8)
        image = drawn._drawn(drawn.shots[-1])
        gif: Any = Image.open(io.BytesIO(_written(write_gif, excerpt)))
    gif.seek(gif.n_frames - 1)
    pairs = Counter(zip(_pixels(image), _pixels(gif), strict=True))
    common = {drawn_as: shown_as for (drawn_as, shown_as), count in pairs.items() if count > 200}
    assert any(red > green + 5 > 230 for red, green, _ in common), "the shade of the partition"
    assert len(common) >= 4
    for drawn_as, shown_as in common.items():
        assert max(abs(one - other) for one, other in zip(drawn_as, shown_as, strict=True)) <= 2


def _pixels(image: Any) -> list[tuple[int, ...]]:
    return [*zip(*[iter(image.convert("RGB").tobytes())] * 3, strict=True)]


@needs_ffmpeg
def test_an_mp4_is_the_same_film(store: FileRecords, tmp_path: Path) -> None:
    """As long as its shots, in colours that every player knows; its last frame is the last one drawn."""
    excerpt = _excerpt(store)
    film = FilmFrames(excerpt, 8)
    file = tmp_path / "film.mp4"
    file.write_bytes(_written(write_mp4, excerpt))
    asked = "codec_name,width,height,pix_fmt,r_frame_rate,nb_frames"
    words = ("ffprobe", "-v", "error", "-show_entries", f"stream={asked}", "-of", "default=noprint_wrappers=1")
    probed = subprocess.run([*words, str(file)], capture_output=True, text=True, check=True).stdout
    known = dict(line.split("=") for line in probed.split())
    lasts_us = sum(shot.lasts_us for shot in film.shots)
    assert int(known.pop("nb_frames")) == pytest.approx(lasts_us * 8 / 1e6, abs=2)
    assert known == {
        "codec_name": "h264",
        "width": "480",
        "height": "270",
        "pix_fmt": "yuv420p",
        "r_frame_rate": "8/1",
    }
    last = tmp_path / "last.png"
    subprocess.run(["ffmpeg", "-v", "error", "-sseof", "-0.5", "-i", file, "-update", "1", last], check=True)
    assert _difference(Image.open(last), film._drawn(film.shots[-1])) < 4


def test_without_ffmpeg_the_error_has_the_next_step(store: FileRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ExportError, match="apt install ffmpeg"):
        _written(write_mp4, _excerpt(store))


@pytest.mark.parametrize(
    "script", ["echo no such encoder >&2; exit 3", "cat >/dev/null; echo full disk >&2; exit 1"]
)
def test_an_error_of_ffmpeg_is_passed_on(
    store: FileRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """It may end at once, or after the last frame."""
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    with pytest.raises(
        ExportError, match=r"ffmpeg could not encode the film: (no such encoder|full disk); export to gif"
    ):
        _written(write_mp4, _excerpt(store))


def test_an_interrupted_film_leaves_no_ffmpeg(store: FileRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is ended, whatever it is doing."""
    started: list[Any] = []
    popen = subprocess.Popen

    def start(words: list[str], **settings: Any) -> Any:
        started.append(popen(["sleep", "600"], **settings))
        return started[0]

    def interrupt(film: FilmFrames) -> Iterator[Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "which", lambda name: "ffmpeg")
    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(FilmFrames, "__iter__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _written(write_mp4, _excerpt(store))
    assert started[0].returncode is not None


def test_ctrl_c_waits_for_the_frame_that_is_drawn(store: FileRecords) -> None:
    """Pillow takes it for an error of the font, where it comes while letters are drawn."""
    film, begun, done = FilmFrames(_excerpt(store), 12), 0, 0

    class Struck:
        size, theme = film.size, film.theme

        def __iter__(self) -> Iterator[FilmFrame]:
            nonlocal begun, done
            for frame in film:
                begun += 1
                if begun == 2:
                    signal.raise_signal(signal.SIGINT)
                done += 1
                yield frame

    with pytest.raises(KeyboardInterrupt):
        encode_gif(Struck(), io.BytesIO())
    assert (begun, done) == (2, 2)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_pillow_the_error_has_the_next_step(store: FileRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("lab.export.film_frames.importlib.import_module", refuse)
    with pytest.raises(ExportError, match="pip install 'coordinator-lab"):
        _written(write_gif, _excerpt(store))


def test_forty_nodes_fit_the_screen() -> None:
    """Each has its lane and its row at the left, in letters that can be read."""
    run = lab.simulate("bully", nodes=40, seed=1, script=("at 1s kill 40",), for_="6s" if SOAK else "2s")
    excerpt = read_excerpt(run._store, ExportOptions(diagram_film=DiagramFilm(1280, 720)))
    film = FilmFrames(excerpt, 12)
    lanes = [*film.frame.layout.lanes.values()]
    assert len(lanes) == 40
    assert 0 < lanes[0] < lanes[-1] < film.band
    assert film.theme.size >= 7
    column = film._column(round(film.shots[-1].place))
    rows = [column.crop((0, round(lane) - 5, column.width, round(lane) + 5)).getcolors(9999) for lane in lanes]
    assert all(row is not None and len(row) > 5 for row in rows)
