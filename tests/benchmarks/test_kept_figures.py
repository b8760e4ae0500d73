"""The command of the benchmarks: one that fails does not take the others along, and what is worse is reported."""

from pathlib import Path

import pytest

from lab import __version__
from tests.benchmarks.__main__ import Measure, main
from tests.benchmarks.figures import Figure
from tests.benchmarks.kept_figures import read_kept


def _measuring(rate: float, time: float, seconds: float = 1.0) -> dict[str, Measure]:
    figures = [
        Figure("rate over that of a peer", rate, "×", 1, "more"),
        Figure("time over that of a peer", time, "×", 10, "less"),
        Figure("time", seconds, "s", 100, "less"),
    ]
    return {"good": lambda folder, quick: figures}


def _fail(folder: Path, quick: bool) -> list[Figure]:
    raise RuntimeError("it has ended")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_RUNTIME_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, "")  # the command sets them: they are restored at the end
    return tmp_path / "kept.json"


def test_one_that_fails_is_reported_and_the_others_go_on(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], {"bad": _fail, **_measuring(2, 3)}, kept) == 1
    done = capsys.readouterr()
    assert "rate over that of a peer" in done.out
    assert "RuntimeError: it has ended" in done.err
    assert done.err.endswith("failed: bad\n")


def test_ratios_are_kept_by_version_and_times_are_not(kept: Path) -> None:
    assert main(["--keep"], _measuring(2, 3), kept) == 0
    (figures,) = read_kept(kept)
    assert figures.version == __version__
    assert figures.ratios == {"rate over that of a peer": 2, "time over that of a peer": 3}
    assert main(["--keep"], _measuring(2.5, 3), kept) == 0
    assert [each.ratios["rate over that of a peer"] for each in read_kept(kept)] == [2.5]


@pytest.mark.parametrize(
    ("rate", "time", "worse"),
    [(1.9, 3.1, []), (1.5, 3, ["rate"]), (2, 4, ["time"]), (1, 6, ["rate", "time"]), (9, 1, [])],
)
def test_what_is_worse_by_more_than_the_share(
    rate: float, time: float, worse: list[str], kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slower by a machine ten times as slow is no ratio."""
    main(["--keep"], _measuring(2, 3), kept)
    assert main(["--compare", "0.1"], _measuring(rate, time, seconds=10), kept) == (1 if worse else 0)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("worse by")]
    assert [line.split(": ")[1].split()[0] for line in lines] == worse


def test_a_missed_target_is_status_1_and_an_unknown_name_2(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["good"], _measuring(0.5, 3), kept) == 1
    with pytest.raises(SystemExit, match="2"):
        main(["god"], _measuring(2, 3), kept)
    assert "there is no benchmark god; there is: good" in capsys.readouterr().err
