"""Each benchmark, reduced: it measures something. Tests do not check targets."""

from pathlib import Path

import pytest

from tests.benchmarks.__main__ import ALL
from tests.benchmarks.figures import table

LIVE = ("messages", "elections", "starting", "recordings", "judging", "bank", "interface", "frames")
MARKS = {"serving": pytest.mark.serve} | dict.fromkeys(LIVE, pytest.mark.live)


@pytest.mark.benchmark
@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in ALL])
def test_benchmark(tmp_path: Path, name: str) -> None:
    """The figures are positive; the table has a line for each."""
    figures = ALL[name](tmp_path, True)
    assert figures
    assert all(figure.value > 0 for figure in figures)
    assert len(table(figures).splitlines()) == len(figures) + 1
