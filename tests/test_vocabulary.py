"""The project's vocabulary holds: in identifiers, in docstrings, and in the help of every command."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab.cli.program import app
from tests.cli.invocation import build_options_once
from tests.guide.generated import command_names
from tests.vocabulary import CLAUSE, WORDS, is_banned, may_violate, python_files, violations_in

ROOT = Path(__file__).parent.parent
ORDINARY_WORDS = {"tell", "say", "look"}
"""``tell`` and ``say`` are commands of the language, and stand in recorded scripts; *look* is English."""
PHRASES = ("outside the promise", "drawn fault", "too late", "so-manieth", "stands still", "the word to all")


def test_no_identifier_uses_a_replaced_word() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in python_files([ROOT / "lab", ROOT / "tests"])
        if may_violate(path)
        for line, what in violations_in(path)
        if not what.startswith("docstring")
    ]
    assert found == []


def test_the_check_finds_a_replaced_word() -> None:
    """In each part of a name, and in whole names alone where a longer name may hold the word."""
    for name in ("_said", "deeds_of", "PupilRows", "hunting", "FlightOffice", "Cluster", "_take", "TOLD"):
        assert is_banned(name), name
    for name in ("ClusterState", "take_snapshot", "retold", "outlook", "gateway", "belong"):
        assert not is_banned(name), name


def test_the_check_reads_every_file_that_binds_a_replaced_word(tmp_path: Path) -> None:
    """Wherever it is bound; a comment or a string binds nothing."""
    path = tmp_path / "example.py"
    for text in ("told = 1", "def f(told): ...", 'f"{[told for told in x]}"', "import x as told", "x.told = '#'"):
        path.write_text(f'"""Example, told."""\n{text}\n', "utf-8")
        assert may_violate(path), text
        assert [what for _, what in violations_in(path)] == ["name told"], text
    path.write_text('"""Told."""\nx = "told"  # told\n', "utf-8")
    assert not may_violate(path)
    assert list(violations_in(path)) == []


def test_docstrings_do_not_open_with_a_relative_clause() -> None:
    """Under two in a hundred: *Return the causal past of a record*, not *What can have led to it*."""
    openings = [
        opening
        for path in python_files([ROOT / "lab"])
        for opening in re.findall(r'(?:\A|:)\s*r?"""(.*?)(?:"""|\n)', path.read_text("utf-8"))
    ]
    clauses = [text for text in openings if CLAUSE.match(text)]
    assert len(openings) > 1000
    assert len(clauses) < len(openings) / 50, clauses


def test_help_uses_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every command."""
    build_options_once(monkeypatch)
    for command in ("", *command_names()):
        done = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
        assert done.exit_code == 0, done.output
        words = set(re.findall(r"[a-z]+", done.output.lower()))
        assert len(words) > 20, command
        assert words & (WORDS - ORDINARY_WORDS) == set(), command
        text = " ".join(done.output.lower().split())
        assert [phrase for phrase in PHRASES if phrase in text] == [], command
