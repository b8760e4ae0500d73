"""``lab show`` of a run with a script: captions, marks and expectations are lines of their own."""

from pathlib import Path

import pytest

from lab.cli.reading import show
from tests.tui.scripted import scripted_file


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("caption", ["caption: 5 is gone", "caption: 4 takes over"]),
        (
            "expectation",
            [
                "expectation: expect always live == 5 · NOT MET",
                "expectation: then expect 5 leads within 300ms · NOT MET: its time is up",
                "expectation: expect 4 leads · met",
            ],
        ),
        ("mark", ["mark: here", "mark: a second"]),
    ],
)
def test_only_names_what_a_script_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], only: str, said: list[str]
) -> None:
    """In words, each with its time."""
    path = scripted_file(tmp_path / "run.jsonl")
    assert show(path, [], [], [only], heartbeats=False) == 0
    rows = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert list(dict.fromkeys(rows)) == said
