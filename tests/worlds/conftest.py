"""What the tests of the live world share: a short folder for runs, and the means to start hosts in it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of running hosts, of this test alone; short, as it holds Unix sockets. Empty at the end."""
    base = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep))
    yield base / "lab"
    shutil.rmtree(base, ignore_errors=True)
