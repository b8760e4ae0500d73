"""The cost of the interface on a real terminal, and its response time."""

import os
from pathlib import Path

from tests.benchmarks.figures import Figure, median, p95
from tests.benchmarks.terminal import OnTerminal

__all__ = ["measure"]

BUSY = ("run", "bully", "--nodes", "8", "--t", "60ms", "--set", "check_every=13ms")
"""Eight nodes that make about a thousand records a second."""


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Measure the first screen, a busy run with keys, a quiet run, and a paused recording."""
    os.environ["XDG_DATA_HOME"] = str(folder / "data")
    recording = folder / "busy.jsonl"
    for_s = 0.6 if quick else 8.0
    calm_s = 0.1 if quick else 1.0
    first = []
    for _ in range(0 if quick else 8):
        with OnTerminal("run", "bully") as terminal:
            first.append(terminal.until("nodes"))
    with OnTerminal(*BUSY, "--record", str(recording)) as terminal:
        terminal.until("Normal")
        terminal.read_for(calm_s)
        before = recording.read_bytes().count(b"\n")
        busy, written = _cost(terminal, for_s)
        rate = (recording.read_bytes().count(b"\n") - before) / for_s
        keys = [_answered_ms(terminal, str(place % 8 + 1)) for place in range(3 if quick else 48)]
    with OnTerminal("run", "bully") as terminal:
        first.append(terminal.until("nodes"))
        terminal.until("Normal")
        terminal.read_for(calm_s)
        quiet, _ = _cost(terminal, for_s)
    with OnTerminal("replay", str(recording)) as terminal:
        terminal.until("nodes")
        terminal.press(" ")
        terminal.read_for(calm_s)
        still, _ = _cost(terminal, for_s)
    return [
        Figure(
            "interface: first screen after the command", median(first), "s", 0.6, "less", f"p95 {p95(first):.2f}"
        ),
        Figure(
            "interface: 8 nodes, busy",
            busy,
            "% of a core",
            40,
            "less",
            f"{rate:,.0f} records/s, {written / 1000:.0f} KB/s drawn",
        ),
        Figure("interface: a key answered, p95", p95(keys), "ms", 100, "less", f"median {median(keys):.0f}"),
        Figure("interface: 5 nodes, only heartbeats", max(quiet, 0.01), "% of a core", 3, "less"),
        Figure("interface: a recording that stands still", max(still, 0.01), "% of a core", 3, "less"),
    ]


def _cost(terminal: OnTerminal, for_s: float) -> tuple[float, float]:
    """Return (percentage of a core used by the interface, bytes per second that it writes)."""
    before = terminal.interface_cpu_s()
    written = terminal.read_for(for_s)
    return (terminal.interface_cpu_s() - before) / for_s * 100, written / for_s


def _answered_ms(terminal: OnTerminal, digit: str) -> float:
    terminal.press(digit)
    answered_s = terminal.until(f"node {digit} selected")
    terminal.read_for(0.11)
    return answered_s * 1000
