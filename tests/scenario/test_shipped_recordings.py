"""The built-in recordings are those of the built-in scenarios, byte for byte.

``pytest tests/scenario/test_shipped_recordings.py --rewrite`` writes them again.
"""

from pathlib import Path

import pytest

from lab.scenario.file import find, read_scenario
from lab.scenario.run_scenario import run_simulated

SHIPPED = sorted((Path(__file__).parents[2] / "recordings" / "scenarios").glob("*.jsonl"))


def test_there_are_some() -> None:
    assert len(SHIPPED) >= 10


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_it_is_the_recording_of_the_scenario(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """In simulation, where the seed determines everything."""
    wanted = path if request.config.getoption("--rewrite") else tmp_path / "run.jsonl"
    wanted.unlink(missing_ok=True)
    assert run_simulated(read_scenario(find(path.stem)), wanted).passed
    assert wanted.read_bytes() == path.read_bytes(), f"pytest {Path(__file__).name} --rewrite"
