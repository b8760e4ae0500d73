"""The output of commands fits the terminal: ASCII if it has nothing else, and wrapped at its width."""

import sys

import pytest

from lab.charts import Axis, Chart, Series
from lab.cli.chart import plot
from lab.cli.terminal import print_wrapped
from tests.cli.invocation import Lab

ASCII = {"LC_ALL": "C", "LANG": "C"}
CALLS = (
    ("list", "protocols"),
    ("scale", "bully", "--nodes", "3,5"),
    ("compare", "bully", "ring", "--runs", "2", "--nodes", "3", "--task", "none", "--workers", "1"),
    ("explore", "--help"),
)


@pytest.mark.parametrize("words", CALLS, ids=lambda words: " ".join(words[:2]))
def test_a_terminal_without_unicode_gets_ascii(lab: Lab, words: tuple[str, ...]) -> None:
    """Boxes, curves and formulas have replacements; none becomes a question mark."""
    done = lab(*words, environment=ASCII)
    assert (done.status, done.err) == (0, "")
    assert len(done.out) > 100
    assert {letter for letter in done.out if not letter.isascii()} == set()
    assert "?" not in done.out
    usual = lab(*words)
    assert {letter for letter in usual.out if not letter.isascii()}


def test_formulas_in_ascii(lab: Lab) -> None:
    """A square is not printed as a 2."""
    assert "n^2 - n " in lab("list", "protocols", "bully-tanenbaum", environment=ASCII).out


def test_names_keep_their_letters(lab: Lab) -> None:
    """The printed path of a recording can be opened."""
    run = ("run", "bully", "--sim", "--headless", "--for", "1s", "--record", "Läufe.jsonl")
    assert f"recorded in {lab.folder / 'Läufe.jsonl'}\n" in lab(*run, environment=ASCII).out


def test_marks_in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of points, of curves, and in the legend."""
    for name, value in ASCII.items():
        monkeypatch.setenv(name, value)
    axis = Axis("n", (0, 10), logarithmic=False)
    ends = ((0.0, 0.0), (10.0, 10.0))
    chart = Chart("both", axis, axis, (Series("counted", ends), Series("formula", ends, curve=True, hue=1)))
    drawn = plot(chart, 60, 16, colours=False).splitlines()
    assert drawn[-1] == "  o counted  :: formula"
    assert sum(line.count("o") for line in drawn[:-1]) >= 2
    assert sum(line.count(":") for line in drawn[:-1]) > 10


def test_no_line_ends_within_a_word(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal; output to a file or pipe is not wrapped."""
    text = "  34,077 states, 105,190 transitions, 2,000 replays; 1.0 s, 34,077 states/s"
    monkeypatch.setenv("COLUMNS", "50")
    print_wrapped(text)
    assert capsys.readouterr().out == f"{text}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_wrapped(text)
    assert capsys.readouterr().out == (
        "  34,077 states, 105,190 transitions, 2,000\n  replays; 1.0 s, 34,077 states/s\n"
    )
