"""Fixtures of the interface tests: the same environment on every machine, and separate folders."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked_hosts import fork_hosts
from tests.tui.idle import hasten

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def unwatched() -> None:
    """Stop the step watchdog that a campaign test may have left running in this process."""
    # its signal may arrive while an event loop closes the socket that signals are written to
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@pytest.fixture(autouse=True)
def quick_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the hosts of runs."""
    fork_hosts(monkeypatch)


@pytest.fixture(autouse=True)
def quick_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the effect of a key by looking at the interface, not at the clock."""
    hasten(monkeypatch)


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set up a terminal with colours and UTF-8, and a folder for hosts with a path short enough for sockets."""
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
