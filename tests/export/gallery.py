"""Make the figures of the guide: ``python -m tests.export.gallery`` draws them all anew.

A test draws them again and compares, so they are never out of date.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

import lab

RECORDINGS = Path(__file__).parents[2] / "recordings"
FOLDER = RECORDINGS / "figures"
RAFT = str(Path(lab.__file__).parent / "guide" / "build" / "raft.py")


class Drawn(Struct, frozen=True):
    """A figure: how to get the run, the window, and the options of ``Run.svg``."""

    run: Callable[[], lab.Run]
    window: tuple[str | None, str | None]
    options: dict[str, Any]


def _shipped(name: str) -> Callable[[], lab.Run]:
    return partial(lab.load, RECORDINGS / f"{name}.jsonl")


FIGURES = {
    "election": Drawn(
        partial(lab.simulate, "bully", nodes=5, seed=7, script="at 2s kill 5", for_="4s"),
        ("1.9s", None),
        {"title": "Bully: node 5 crashes, node 4 takes over", "scale": "broken"},
    ),
    "partition": Drawn(
        _shipped("scenarios/partition-in-two"),
        (None, "4s"),
        {"title": "Bully: a partition makes two groups", "scale": "broken"},
    ),
    "blocked": Drawn(
        partial(
            lab.simulate,
            "3pc",
            nodes=4,
            seed=1,
            script=(
                "when all normal: withdraw 350",
                "on send PreCommit 4->1: kill 3 4",
                "then after 1s: restart 3",
            ),
            for_="4s",
        ),
        ("440ms", "2.6s"),
        {"title": "Three-phase commit: blocked until a majority is up", "scale": "broken"},
    ),
    "load": Drawn(
        partial(
            lab.simulate,
            "2pc",
            nodes=4,
            seed=3,
            script=("at 200ms transactions 12 at 10/s", "when committed >= 3: kill 4", "then after 1s: restart 4"),
            for_="3s",
        ),
        (None, "2.2s"),
        {"title": "Two-phase commit under load: the coordinator crashes", "zoom": "page"},
    ),
    "forty": Drawn(
        partial(
            lab.simulate, "bully", nodes=40, seed=1, script=("at 20s kill 40", "at 40s restart 40"), for_="60s"
        ),
        (None, None),
        {"title": "Bully: forty nodes, a minute", "zoom": "page"},
    ),
    "raft": Drawn(
        partial(lab.simulate, f"{RAFT}:Raft", nodes=5, seed=1, script="at 2s kill coordinator", for_="4s"),
        ("1.9s", None),
        {"title": "Raft: the leader crashes", "scale": "broken"},
    ),
    "token": Drawn(
        _shipped("scenarios/token-lost-on-its-way"),
        (None, None),
        {"title": "Token ring: the token is lost on its way", "scale": "broken"},
    ),
    "groups": Drawn(
        _shipped("scenarios/figure-10-9"),
        ("19.2s", "20.25s"),
        {"title": "Invitation: three groups merge", "scale": "broken"},
    ),
}


def draw(name: str) -> str:
    """Return the figure of this name, as SVG of the width of a page."""
    figure = FIGURES[name]
    return figure.run().svg(*figure.window, theme="paper", **figure.options)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in FIGURES:
        (FOLDER / f"figure-{each}.svg").write_text(draw(each), "utf-8")
