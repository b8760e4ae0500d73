"""``python -m tests.benchmarks [NAME…]``: run all or some benchmarks, and print one table of ratios."""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import (
    bank,
    campaigns,
    elections,
    exploring,
    frames,
    interface,
    judging,
    kernel,
    messages,
    recordings,
    scaling,
    serving,
    simulation,
    starting,
)
from tests.benchmarks.figures import Figure, table

__all__ = ["ALL", "main"]

ROOT = Path(__file__).parents[2]

ALL: dict[str, Callable[[Path, bool], list[Figure]]] = {
    "messages": messages.measure,
    "elections": elections.measure,
    "starting": starting.measure,
    "kernel": kernel.measure,
    "recordings": recordings.measure,
    "judging": judging.measure,
    "simulation": simulation.measure,
    "exploring": exploring.measure,
    "scaling": scaling.measure,
    "campaigns": campaigns.measure,
    "bank": bank.measure,
    "interface": interface.measure,
    "frames": frames.measure,
    "serving": serving.measure,
}
"""Each takes a folder, and whether a short look will do."""


def main(names: list[str]) -> int:
    """Measure; return status 1 if a target is missed."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"there is no benchmark {unknown[0]}; there is: {', '.join(ALL)}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="lab", dir="/tmp") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        os.environ["PYTHONPATH"] = str(ROOT)
        for name in names or ALL:
            print(f"measuring: {name} …", file=sys.stderr)
            figures += ALL[name](Path(folder), False)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.partition(' ')[0]}\n")
    print(table(figures))
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
