"""What all tests share: transcripts, which are rewritten with ``pytest --rewrite``, and hypothesis' settings."""

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TRANSCRIPTS = Path(__file__).parent / "transcripts"

# the same examples in every run, and no files left behind: a failure is in the message, not in a database
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
    """``--rewrite``: take what the program says now as right; read the diff before you commit it."""
    parser.addoption("--rewrite", action="store_true", help="rewrite the files in tests/transcripts")


@pytest.fixture
def transcript(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``transcript(name, text)``: the text must be what ``tests/transcripts/name.txt`` holds."""
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
