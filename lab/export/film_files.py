"""A film of the space-time diagram as GIF, written by Pillow (extra ``figures``), and as MP4, encoded by ffmpeg.

A frame of the GIF has only the pixels that differ from the frame before; all have the same colours: those of the
theme, and their blends with the background. Frames are written as they are drawn, so a long film takes no memory.
"""

import importlib
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, Protocol, TextIO

from lab.export.excerpt import Excerpt, ExportError
from lab.export.figure_options import Theme
from lab.export.film_frames import FilmFrame, FilmFrames, load_pillow
from lab.export.svg_diagram import fault_opacity

_COLOURS = ("green", "orange", "sky", "vermilion", "purple", "yellow")
_BLENDS, _APART = 24, 8
"""The most steps to a colour, and how far apart they are at least: Pillow confuses colours that are closer."""
_TRANSPARENT = 255
GIF_FRAMES_PER_S, MP4_FRAMES_PER_S = 12, 25
_GIF_TICK_US = 10_000
_MOST_GIF_FRAMES_PER_S = 50
"""Viewers show faster films much slower."""
_NO_FFMPEG = "this requires the program ffmpeg: apt install ffmpeg, or brew install ffmpeg; or export to gif"


class Frames(Protocol):
    """A film: images of one size, with few colours, and how long each is shown."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""

    @property
    def theme(self) -> Theme:
        """The theme that has its colours."""

    def __iter__(self) -> Iterator[FilmFrame]:
        """Yield the images, once."""


def write_gif(excerpt: Excerpt, out: TextIO) -> None:
    """Write to the binary file below ``out``. Raises ExportError without the extra."""
    frames_per_s = excerpt.options.diagram_film.frames_per_s or GIF_FRAMES_PER_S
    if frames_per_s > _MOST_GIF_FRAMES_PER_S:
        raise ExportError(f"--fps {frames_per_s}: a GIF has {_MOST_GIF_FRAMES_PER_S} frames a second at most")
    encode_gif(FilmFrames(excerpt, frames_per_s), out.buffer)


def encode_gif(film: Frames, out: BinaryIO) -> None:
    """Write a film as GIF."""
    gif = _GifWriter(out, film.theme)
    for frame in _interrupted_between(film):
        gif.add(frame)
    gif.close()


def _interrupted_between(film: Frames) -> Iterator[FilmFrame]:
    """Yield the frames, and raise KeyboardInterrupt at Ctrl-C once the frame that is being drawn is finished.

    Where Pillow draws letters it takes KeyboardInterrupt for an error of the font.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield from film
        return
    is_interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        is_interrupted = True

    frames = iter(film)
    while True:
        signal.signal(signal.SIGINT, note)
        try:
            drawn = next(frames, None)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if is_interrupted:
            raise KeyboardInterrupt
        if drawn is None:
            return
        yield drawn


class _GifWriter:
    """Writes frames to a binary file, each as its difference to the one before."""

    def __init__(self, out: Any, theme: Theme) -> None:
        self._out = out
        self._image = load_pillow()
        self._chops = importlib.import_module("PIL.ImageChops")
        self._gif = importlib.import_module("PIL.GifImagePlugin")
        self._palette = self._image.new("P", (1, 1))
        self._palette.putpalette([*b"".join(_palette(theme))])
        self._shown: Any = None
        """The pixels of the last frame, as RGB and as numbers of colours."""
        self._waiting: FilmFrame | None = None
        self._passed_us = 0

    def add(self, frame: FilmFrame) -> None:
        """Add a frame; one that is the same as the last only makes that one last longer."""
        before = self._waiting
        if before is not None and self._chops.difference(before.image, frame.image).getbbox() is None:
            self._waiting = FilmFrame(before.image, before.lasts_us + frame.lasts_us)
            return
        self._flush()
        self._waiting = frame

    def close(self) -> None:
        self._flush()
        self._out.write(b";")

    def _flush(self) -> None:
        if self._waiting is None:
            return
        frame = self._waiting
        begin, end = ((self._passed_us + us) // _GIF_TICK_US for us in (0, frame.lasts_us))
        self._passed_us += frame.lasts_us
        lasts_ms = (end - begin) * _GIF_TICK_US // 1000
        if self._shown is None:
            numbers = self._numbers(frame.image)
            header, _ = self._gif.getheader(self._with_colours(numbers), info={"loop": 0})
            self._out.write(b"".join(header))
            box = 0, 0, *frame.image.size
            self._write(numbers, box, lasts_ms)
            self._shown = frame.image, numbers
            return
        image, numbers = self._shown
        box = self._chops.difference(image, frame.image).getbbox()
        part = self._numbers(frame.image.crop(box))
        changed = self._chops.difference(numbers.crop(box), part).point([0, *[255] * 255])
        shown = self._image.new("L", part.size, _TRANSPARENT)
        shown.paste(part, mask=changed)
        self._write(shown, box, lasts_ms, transparency=_TRANSPARENT)
        numbers.paste(part, box[:2])
        self._shown = frame.image, numbers

    def _numbers(self, image: Any) -> Any:
        """Return the numbers of the nearest colours, as a grey image."""
        found = image.quantize(palette=self._palette, dither=self._image.Dither.NONE)
        return self._image.frombytes("L", found.size, found.tobytes())

    def _with_colours(self, numbers: Any) -> Any:
        image = self._image.frombytes("P", numbers.size, numbers.tobytes())
        image.putpalette(self._palette.getpalette())
        return image

    def _write(self, numbers: Any, box: tuple[int, int, int, int], lasts_ms: int, **settings: int) -> None:
        image = self._with_colours(numbers)
        self._out.write(b"".join(self._gif.getdata(image, box[:2], duration=lasts_ms, disposal=1, **settings)))


def _palette(theme: Theme) -> list[bytes]:
    """Return at most 255 colours: those of the theme, and steps from the background to them."""
    paper = bytes.fromhex(theme.paper[1:])
    names = [theme.ink, theme.faint, theme.rule, *(theme.palette.named(name) for name in _COLOURS)]
    full = [bytes.fromhex(name[1:]) for name in names]
    fault = bytes.fromhex(theme.palette.mark("fault")[1:])
    found = [paper, *full, _mixed(paper, fault, fault_opacity(theme))]
    for colour in full:
        for step in range(1, _BLENDS):
            mixed = _mixed(paper, colour, step / _BLENDS)
            if all(_apart(mixed, other) >= _APART for other in found):
                found.append(mixed)
    return found[:_TRANSPARENT]


def _mixed(paper: bytes, colour: bytes, share: float) -> bytes:
    return bytes(round(low + (high - low) * share) for low, high in zip(paper, colour, strict=True))


def _apart(one: bytes, other: bytes) -> int:
    return max(abs(part - other_part) for part, other_part in zip(one, other, strict=True))


def write_mp4(excerpt: Excerpt, out: TextIO) -> None:
    """Write to the binary file below ``out``. Raises ExportError without the extra, or without ffmpeg."""
    ffmpeg = find_ffmpeg()
    frames_per_s = excerpt.options.diagram_film.frames_per_s or MP4_FRAMES_PER_S
    encode_mp4(ffmpeg, FilmFrames(excerpt, frames_per_s), frames_per_s, out.buffer)


def find_ffmpeg() -> str:
    """Return the path of ffmpeg. Raises ExportError."""
    found = shutil.which("ffmpeg")
    if found is None:
        raise ExportError(_NO_FFMPEG)
    return found


def encode_mp4(ffmpeg: str, film: Frames, frames_per_s: int, out: BinaryIO) -> None:
    """Write a film as MP4. Raises ExportError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "film.mp4")  # ffmpeg goes back in its output, which may be a pipe
        _encode(ffmpeg, film, frames_per_s, path)
        with path.open("rb") as encoded:
            shutil.copyfileobj(encoded, out)


def _encode(ffmpeg: str, film: Frames, frames_per_s: int, path: Path) -> None:
    width, height = film.size
    raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{frames_per_s}", "-i", "-")
    # yuv420p and the index at the front: what every browser and presentation program plays
    coded = (
        "-c:v",
        "libx264",
        "-preset",
        "veryfast",
        "-crf",
        "18",
        "-pix_fmt",
        "yuv420p",
        "-movflags",
        "+faststart",
    )
    process = subprocess.Popen(
        [ffmpeg, "-loglevel", "error", "-y", *raw, *coded, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that Ctrl-C ends it through us, and once
    )
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        passed_us = shown = 0
        with suppress(BrokenPipeError):  # its error says why
            for frame in _interrupted_between(film):
                passed_us += frame.lasts_us
                pixels, until = frame.image.tobytes(), max(shown + 1, passed_us * frames_per_s // 1_000_000)
                for _ in range(shown, until):
                    process.stdin.write(pixels)
                shown = until
            process.stdin.close()
        error = process.stderr.read().decode("utf-8", "replace").strip()
        if process.wait() != 0:
            raise ExportError(f"ffmpeg could not encode the film: {error.rpartition(chr(10))[2]}; export to gif")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        with suppress(BrokenPipeError):
            process.stdin.close()
