"""The options of ``lab export --to cast``."""

import re

from msgspec import Struct

from lab.cli.usage_errors import UsageError
from lab.export.film import Film
from lab.units import parse_us

__all__ = ["FilmOptions"]

_SIZE = re.compile(r"(\d{1,4})[x×](\d{1,4})")
_COLUMNS, _ROWS = range(40, 501), range(12, 201)
_FRAMES_PER_S = range(1, 61)
_SLOWEST, _FASTEST = 0.01, 1000.0
_LEAST_IDLE_US = 100_000


class FilmOptions(Struct, frozen=True):
    """The options as given."""

    view: str
    size: str
    speed: str
    fps: int
    idle: str

    def film(self) -> Film:
        """Return the parsed options. Raises UsageError; an unknown view is only found when filming."""
        if self.fps not in _FRAMES_PER_S:
            raise UsageError(f"--fps {self.fps}: expected a whole number from 1 to {_FRAMES_PER_S[-1]}")
        return Film(*self._size(), self.fps, self._speed(), self.view, self._idle_us())

    def _size(self) -> tuple[int, int]:
        size = _SIZE.fullmatch(self.size)
        columns, rows = (int(size[1]), int(size[2])) if size is not None else (0, 0)
        if columns not in _COLUMNS or rows not in _ROWS:
            raise UsageError(
                f"--size {self.size}: expected columns and rows, such as 120x40, from "
                f"{_COLUMNS[0]}x{_ROWS[0]} to {_COLUMNS[-1]}x{_ROWS[-1]}"
            )
        return columns, rows

    def _speed(self) -> float:
        try:
            speed = float(self.speed.removesuffix("x"))
        except ValueError:
            speed = 0.0
        if not _SLOWEST <= speed <= _FASTEST:
            raise UsageError(
                f"--speed {self.speed}: expected a factor from {_SLOWEST} to {_FASTEST:g}, such as 0.5"
            )
        return speed

    def _idle_us(self) -> int:
        try:
            idle_us = parse_us(self.idle)
        except ValueError as error:
            raise UsageError(f"--idle: {error}") from None
        if idle_us < _LEAST_IDLE_US:
            raise UsageError(f"--idle {self.idle}: expected 100ms or more")
        return idle_us
