"""Fixtures for the ``lab`` command, with its own folders, which must be empty of hosts at the end."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.invocation import Lab


@pytest.fixture
def home() -> Iterator[Path]:
    """Yield a short path, because the path of a Unix socket must be short."""
    path = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def lab(tmp_path: Path, home: Path) -> Iterator[Lab]:
    """Yield the command, called in ``tmp_path``."""
    command = Lab(tmp_path, home)
    yield command
    assert command.left() == []
