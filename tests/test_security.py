"""SECURITY.md: each line of its tables names tests that exist, or is a warning."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINES = [line for line in (ROOT / "SECURITY.md").read_text("utf-8").splitlines() if line.startswith("| ")]
CLAIMS = [line for line in LINES if not re.fullmatch(r"\| what \|.*", line)]


def paths_in(line: str) -> list[str]:
    """The paths in a line, each of a file of tests or of one test."""
    return re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", line)


@pytest.mark.parametrize("line", CLAIMS)
def test_each_line_has_its_tests(line: str) -> None:
    """A line without tests warns, in bold type."""
    named = paths_in(line)
    assert named or "**what you can do**" in line
    for name in named:
        path, _, function = name.partition("::")
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert any(each.startswith("test_") for each in tests)
        assert not function or function in tests, f"{path} has no {function}"


def test_most_lines_are_found() -> None:
    assert len(CLAIMS) > 25
