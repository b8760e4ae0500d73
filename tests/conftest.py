"""Shared by all tests: transcripts, rewritten with ``pytest --rewrite``, and settings of hypothesis."""

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TRANSCRIPTS = Path(__file__).parent / "transcripts"

# the same examples in every run, and no database: the failing example is in the message
settings.register_profile(
    "lab",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("lab")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--rewrite``: accept the present output as right. Read the diff before committing."""
    parser.addoption("--rewrite", action="store_true", help="rewrite the files in tests/transcripts")


@pytest.fixture
def transcript(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``transcript(name, text)``: compare the text with ``tests/transcripts/name.txt``."""
    rewrite = bool(request.config.getoption("--rewrite"))

    def compare(name: str, text: str) -> None:
        path = TRANSCRIPTS / f"{name}.txt"
        text = text.rstrip("\n") + "\n"
        if rewrite:
            path.write_text(text, "utf-8")
            return
        if not path.exists():
            pytest.fail(
                f"there is no transcript {name}.txt; if the following is right, run pytest --rewrite\n{text}"
            )
        kept = path.read_text("utf-8")
        if kept != text:
            lines = difflib.unified_diff(kept.splitlines(), text.splitlines(), "expected", "got", lineterm="", n=3)
            pytest.fail(f"transcript {name}.txt differs:\n" + "\n".join(lines), pytrace=False)

    return compare
