"""``python -m tests.benchmarks [NAME…]``: run all or some benchmarks, each in turn, and print its figures.

``--compare 0.1`` also compares the ratios with those that were kept last, and reports which are worse by more than
a tenth; ``--keep`` keeps them in ``kept.json``, for the version that is measured.

Exit status: 0 all targets reached, nothing worse; 1 a target was missed, a ratio is worse, or a benchmark failed;
2 usage error.
"""

import argparse
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from lab import __version__
from tests.benchmarks import (
    bank,
    campaigns,
    elections,
    exploring,
    frames,
    histories,
    interface,
    judging,
    kernel,
    messages,
    recordings,
    scaling,
    serving,
    simulation,
    sizes,
    starting,
)
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.kept_figures import KeptFigures, compare, keep, read_kept

__all__ = ["ALL", "main"]

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("kept.json")

Measure = Callable[[Path, bool], list[Figure]]
"""It takes a folder, and whether a short look will do."""

ALL: dict[str, Measure] = {
    "messages": messages.measure,
    "elections": elections.measure,
    "starting": starting.measure,
    "kernel": kernel.measure,
    "recordings": recordings.measure,
    "sizes": sizes.measure,
    "judging": judging.measure,
    "histories": histories.measure,
    "simulation": simulation.measure,
    "exploring": exploring.measure,
    "scaling": scaling.measure,
    "campaigns": campaigns.measure,
    "bank": bank.measure,
    "interface": interface.measure,
    "frames": frames.measure,
    "serving": serving.measure,
}


def main(arguments: list[str], benchmarks: dict[str, Measure] = ALL, kept: Path = KEPT) -> int:
    """Measure, print, and return the exit status."""
    options = _read_options(arguments, benchmarks)
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.partition(' ')[0]}",
        flush=True,
    )
    figures, failed = _measure({name: benchmarks[name] for name in options.names or benchmarks})
    worse = [] if options.compare is None else compare(figures, read_kept(kept), options.compare)
    for line in worse:
        print(line)
    if options.keep:
        keep(kept, KeptFigures(__version__, {each.what: each.value for each in figures if each.is_ratio}))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if worse or failed or not all(figure.reached for figure in figures) else 0


def _read_options(arguments: list[str], benchmarks: dict[str, Measure]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description="Measure, in ratios of one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(benchmarks)}; all without one")
    parser.add_argument(
        "--compare", type=float, metavar="SHARE", help="report the ratios that are worse by more than this share"
    )
    parser.add_argument("--keep", action="store_true", help="keep the ratios, to compare later ones with them")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in benchmarks:
            parser.error(f"there is no benchmark {name}; there is: {', '.join(benchmarks)}")
    return options


def _measure(benchmarks: dict[str, Measure]) -> tuple[list[Figure], list[str]]:
    """Return the figures, and the names of the benchmarks that failed; print each table as soon as it is there."""
    figures: list[Figure] = []
    failed = []
    with tempfile.TemporaryDirectory(prefix="lab", dir="/tmp") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        os.environ["PYTHONPATH"] = str(ROOT)
        for name, measure in benchmarks.items():
            print(f"measuring: {name} …", file=sys.stderr)
            try:
                found = measure(Path(folder), False)
            except Exception:  # the others are measured all the same
                failed.append(name)
                traceback.print_exc()
                continue
            figures += found
            print(f"\n{name}\n{table(found)}", flush=True)
    return figures, failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
