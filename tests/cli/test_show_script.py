"""``lab show`` of a run with a script: captions, marks and expectations have lines of their own."""

from pathlib import Path

import pytest

from lab.cli.show import ShowOptions, show
from tests.tui.scripted import scripted_file


@pytest.mark.parametrize(
    ("only", "output"),
    [
        ("caption", ["caption: 5 is gone", "caption: 4 takes over"]),
        (
            "expectation",
            [
                "expectation: expect always live == 5 · NOT MET",
                "expectation: then expect 5 leads within 300ms · NOT MET: timed out",
                "expectation: expect 4 leads · met",
            ],
        ),
        ("mark", ["mark: here", "mark: a second"]),
    ],
)
def test_only_filters_script_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], only: str, output: list[str]
) -> None:
    """Each has its text and time."""
    path = scripted_file(tmp_path / "run.jsonl")
    assert show(ShowOptions(path, only=[only])) == 0
    rows = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert list(dict.fromkeys(rows)) == output
