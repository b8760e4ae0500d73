"""The project as a whole: what the rooms may bring along. Style, types and layers: ``.ci/lint``."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "lab").rglob("*.py"))


@pytest.mark.parametrize(
    ("rooms", "strangers"),
    [
        ("lab.kernel lab.network lab.protocols", "asyncio textual trio lark"),
        ("lab.histories.workloads lab.histories.history_files", "asyncio textual trio lark lab.kernel"),
        ("lab.recording lab.replay lab.analysis lab.script", "asyncio textual trio"),
        ("lab.scenario.from_recording lab.scenario.run_scenario", "asyncio textual trio multiprocessing"),
    ],
)
def test_the_rooms_bring_nothing_along(rooms: str, strangers: str) -> None:
    """In a fresh interpreter, imported by themselves: they can be used without any event loop."""
    code = f"import sys, {rooms.replace(' ', ', ')}; print(sorted(set(sys.modules) & set('{strangers}'.split())))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_file_has_a_docstring() -> None:
    assert len(FILES) > 40
    texts = {path: path.read_text("utf-8") for path in FILES}
    others = [path for path, text in texts.items() if not re.match(r'"""\w', text)]
    assert not [str(path) for path in others if not ast.get_docstring(ast.parse(texts[path]))]
