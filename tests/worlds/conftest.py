"""Fixtures of the live tests: a short folder for runs, and starting hosts in it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of running hosts, of this test alone. Its path is short, for Unix sockets; it must end empty."""
    base = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep))
    yield base / "lab"
    shutil.rmtree(base, ignore_errors=True)
