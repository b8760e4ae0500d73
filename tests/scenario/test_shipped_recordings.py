"""The built-in recordings are those of the built-in scenarios, record by record, whatever their format.

``pytest tests/scenario/test_shipped_recordings.py --rewrite`` writes them again.
"""

from contextlib import closing
from pathlib import Path

import pytest

from lab.recording.reader import open_recording
from lab.replay.divergence import find_divergence, header_differences
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
    with closing(open_recording(wanted)) as made, closing(open_recording(path)) as shipped:
        assert header_differences(made.header, shipped.header) == []
        assert not find_divergence(made, shipped).diverges, f"pytest {Path(__file__).name} --rewrite"
