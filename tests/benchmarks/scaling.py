"""``lab scale bully`` for a thousand nodes: two elections, of a million messages each, in one process."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.benchmarks.figures import Figure

__all__ = ["measure"]

MB = 1024 if sys.platform == "linux" else 1 << 20
"""Of the unit in which the system counts memory."""


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Measure time and memory, and check the count against the formula."""
    nodes = 30 if quick else 1_000
    progress = folder / "scale.json"
    with progress.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab", "scale", "bully", "--nodes", str(nodes), "--json"], stdout=out
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    election = msgspec.json.decode(progress.read_bytes())["protocols"][0]["elections"][0]
    counted, expected = election["messages"], election["formulas"][0]
    shown = f"{counted:,} messages in the election, and about as many before"
    return [
        Figure(f"an election among {nodes:,} simulated nodes", election["seconds"], "s", 180, "less", shown),
        Figure(f"memory for {nodes:,} simulated nodes", used.ru_maxrss / MB, "MB", 4_000, "less"),
        Figure("messages counted, by the formula", counted / expected, "×", 1, "less"),
    ]
