"""What the tests of the interface share: the same surroundings on every machine, and folders of their own."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def unwatched() -> None:
    """The interface is never in one process with a watchdog over steps, which a test of campaigns may have left.

    Its signal would now and then come while an event loop closes the socket that signals are written to.
    """
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A terminal with colours and UTF-8, and the folder of this test's running hosts, short for Unix sockets."""
    base = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))
    given = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
    for name in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        given[name] = str(base)
    given["PYTHONPATH"] = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    yield base / "lab"
    shutil.rmtree(base, ignore_errors=True)
