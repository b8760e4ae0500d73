"""The cost of a frame of the interface under a thousand records a second, at every size, in every view."""

import os
from pathlib import Path

from tests.benchmarks.figures import Figure, median, p99
from tests.benchmarks.interface import BUSY
from tests.benchmarks.terminal import OnTerminal

__all__ = ["measure"]

_SIZES = ((60, 20), (80, 24), (120, 40), (200, 60))
_VIEWS = {"diagram": "s", "code": "c", "network": "l", "inspect": "i", "assertions": "a"}
"""The views that there are in every run, and their keys."""


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Measure the log at each size; each other view at one."""
    os.environ["XDG_DATA_HOME"] = os.environ["XDG_CONFIG_HOME"] = str(folder / "data")
    settles_s, for_s = (0.3, 1.0) if quick else (1.0, 6.0)
    sizes = _SIZES[:1] if quick else _SIZES
    views = {} if quick else _VIEWS
    figures = []
    for columns, rows in sizes:
        figures += _figures(f"{columns}x{rows}", _frames_ms(folder, (columns, rows), "", settles_s, for_s))
    for view, key in views.items():
        figures += _figures(f"120x40, {view}", _frames_ms(folder, (120, 40), key, settles_s, for_s))
    return figures


def _figures(what: str, spent_ms: list[float]) -> list[Figure]:
    timings = f"99th {p99(spent_ms):.1f} ms, of {len(spent_ms)} frames"
    return [Figure(f"interface: a frame under load, {what}", median(spent_ms), "ms", 20, "less", timings)]


def _frames_ms(folder: Path, size: tuple[int, int], keys: str, settles_s: float, for_s: float) -> list[float]:
    file = folder / "frames.txt"
    with OnTerminal(*BUSY, size=size, module=("tests.benchmarks.framed", str(file))) as terminal:
        terminal.until("Normal")
        terminal.press(keys)
        terminal.read_for(settles_s)
        before = len(file.read_text().splitlines())
        terminal.read_for(for_s)
        return [float(line) for line in file.read_text().split("\n")[before:-1]]
