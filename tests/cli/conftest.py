"""``lab``: the command, with folders of its own, which are empty of hosts at the end."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calling import Lab


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path, because a Unix socket's path must be."""
    path = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def lab(tmp_path: Path, home: Path) -> Iterator[Lab]:
    """The command, called in ``tmp_path``."""
    command = Lab(tmp_path, home)
    yield command
    assert command.left() == []
