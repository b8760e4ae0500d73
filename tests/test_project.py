"""The project as a whole: checks that are programs of their own, and what the packages may import."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "lab").rglob("*.py"))


def _run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{' '.join(arguments)}\n{done.stdout}{done.stderr}", pytrace=False)


def test_ruff_finds_nothing() -> None:
    """Run ``ruff check .``."""
    _run("-m", "ruff", "check", "--no-cache", ".")


def test_the_code_is_formatted() -> None:
    """``ruff format .`` changes nothing."""
    _run("-m", "ruff", "format", "--no-cache", "--check", ".")


def test_the_types_are_right(tmp_path_factory: pytest.TempPathFactory) -> None:
    """``mypy``, strict, over lab and tests."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    _run("-m", "mypy", "--cache-dir", str(ROOT / ".mypy_cache"))


def test_imports_point_down() -> None:
    """``lint-imports``: no package imports one above it, and the lower ones do no I/O."""
    _run("-c", "from importlinter.cli import lint_imports_command as run; run(['--no-cache'])")


@pytest.mark.parametrize(
    ("rooms", "strangers"),
    [
        ("lab.kernel lab.network lab.protocols", "asyncio textual trio lark"),
        ("lab.recording lab.replay lab.analysis lab.script", "asyncio textual trio"),
    ],
)
def test_the_lower_rooms_bring_nothing_along(rooms: str, strangers: str) -> None:
    """In a fresh interpreter, imported by themselves: they can be used without any event loop."""
    code = f"import sys, {rooms.replace(' ', ', ')}; print(sorted(set(sys.modules) & set('{strangers}'.split())))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_file_has_a_docstring() -> None:
    assert len(FILES) > 40
    assert not [str(path) for path in FILES if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
