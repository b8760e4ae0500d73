"""How many runs a campaign needs until it finds a known counterexample: drawn blindly, and guided.

``python -m tests.benchmarks.counterexamples [WORD…] [--seeds 9] [--most 300]`` leaves out each repair, or
chooses each reading, for which ``recordings/holes`` has a counterexample, and runs ``lab check`` from several
seeds. Of 3pc, the reading in which a coordinator commits with everyone alive is violated by a partition. Words
choose rows.

It prints the table of ``lab guide checking``: the median number of runs until the first failure. The seeds of a
row are 100,000, 200,000 and so on, so that no two campaigns share a run.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from msgspec import Struct

from lab.kernel import Timing
from lab.worlds.campaign.campaign import Campaign, run_campaign
from lab.worlds.campaign.schedule import STRONGEST, plan_of
from lab.worlds.campaign.trial import SearchGoal
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.settings import parameters_of
from lab.worlds.loading.targets import load_protocol
from tests.holes.cases import HOLES

__all__ = ["CASES", "Case", "main", "median_runs"]

TIMING = Timing(80_000, 40_000)
NODES = (3, 7)
_APART = 100_000


class Case(Struct, frozen=True):
    """A protocol with a known counterexample: the settings that open it, the faults, and what is to be found."""

    protocol: str
    settings: tuple[str, ...]
    faults: tuple[str, ...] = STRONGEST
    goal: SearchGoal = SearchGoal()

    @property
    def options(self) -> str:
        """The options of ``lab check``."""
        faults = "" if self.faults == STRONGEST else f" --faults {','.join(self.faults)}"
        find = f" --find {self.goal.assertion}" if self.goal.assertion else ""
        return f"{self.protocol} {' '.join(f'--set {each}' for each in self.settings)}{faults}{find}"

    def campaign(self, seed: int, runs: int, guided: bool) -> Campaign:
        """Return the campaign from this seed."""
        protocol = load_protocol(self.protocol)
        parameters = parameters_of(protocol, list(self.settings))
        base = simulation_header(protocol, tuple(range(1, NODES[1] + 1)), TIMING, parameters)
        plan = plan_of(protocol, NODES, self.faults, TIMING)
        return Campaign(self.protocol, base, plan, self.goal, seed, runs, guided)


def _cases() -> Iterator[Case]:
    yield Case("3pc", ("commit_after=everyone_alive",), ("partition",), SearchGoal("A6"))
    for hole in HOLES:
        if hole.assertion:  # no assertion is violated by the others
            opened = {name: value for name, value in hole.parameters.items() if name == "without"} | hole.opened_by
            yield Case(hole.protocol.name, tuple(f"{name}={_text(value)}" for name, value in opened.items()))


def _text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list | tuple) else str(value)


CASES = tuple(dict.fromkeys(_cases()))
"""The known counterexamples; some have two recordings."""


def median_runs(case: Case, seeds: Sequence[int], most: int, guided: bool) -> int | None:
    """Return after how many runs most of the campaigns have found it; None if it takes more than ``most``.

    The campaigns from these seeds, of an odd number, take turns, so none is longer than it need be.
    """
    campaigns = [run_campaign(case.campaign(seed, most, guided)) for seed in seeds]
    found = 0
    for runs in range(1, most + 1):
        for campaign in tuple(campaigns):
            if next(campaign).found:
                campaigns.remove(campaign)
                campaign.close()
                found += 1
        if 2 * found > len(seeds):
            return runs
    return None


def _row(case: Case, blind: int | None, guided: int | None, most: int) -> str:
    """Return the row of a case in Markdown."""
    medians = " | ".join(f"> {most:,}" if each is None else f"{each:,}" for each in (blind, guided))
    share = "" if guided is None else f"{'< ' if blind is None else ''}{guided / (blind or most):.2f}"
    return f"| `{case.options}` | {medians} | {share} |"


def main(arguments: Sequence[str]) -> int:
    """Measure and print a row for each case; return the exit status."""
    parser = argparse.ArgumentParser("python -m tests.benchmarks.counterexamples")
    parser.add_argument("words", nargs="*", metavar="WORD", help="measure the cases whose options contain it")
    parser.add_argument("--seeds", type=int, default=9, help="the number of campaigns of a case, an odd one")
    parser.add_argument("--most", type=int, default=300, help="the number of runs after which a campaign ends")
    parser.add_argument("--workers", type=int, default=2, help="the number of cases measured at a time")
    options = parser.parse_args(arguments)
    chosen = [case for case in CASES if not options.words or any(word in case.options for word in options.words)]
    if not chosen:
        known = "; ".join(case.options for case in CASES)
        parser.error(f"no case contains {' or '.join(options.words)}; the cases: {known}")
    seeds = [_APART * number for number in range(1, options.seeds + 1)]
    print("| `lab check …` | blind | guided | guided / blind |\n| --- | --- | --- | --- |", flush=True)
    with ProcessPoolExecutor(options.workers) as pool:
        for case in chosen:
            blind, guided = (
                pool.submit(median_runs, case, seeds, options.most, guided) for guided in (False, True)
            )
            print(_row(case, blind.result(), guided.result(), options.most), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
