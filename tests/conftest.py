"""Shared by all tests: the profile, transcripts (``pytest --rewrite``), the end of what tests start."""

import contextlib
import difflib
import gc
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler.worksteal import WorkStealingScheduling

from lab.worlds.watchdog import stop_watching
from tests import reaper
from tests.profile import SOAK, load_hypothesis_profile

TESTS = Path(__file__).parent
ROOT = TESTS.parent
TRANSCRIPTS = TESTS / "transcripts"
_SERVED = {"server", "school"}
"""Fixtures with a server, or with the keys to log in at one."""
_running: list[pytest.Item] = []

if "PYTEST_XDIST_WORKER" not in os.environ:
    _caches = tempfile.TemporaryDirectory(prefix="lab-tests-")  # deleted at the end
    os.environ["XDG_CACHE_HOME"] = _caches.name
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the tests start hundreds of interpreters
sys.dont_write_bytecode = False
reaper.default_signals()
reaper.start()
load_hypothesis_profile()


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers: two more than there are cores, since many tests wait for processes."""
    return (os.cpu_count() or 1) + 2


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WorkStealingScheduling:
    """Give each worker neighbouring tests, so that few of them start the same server or simulate the same run."""
    return WorkStealingScheduling(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Lift the time limit of a test in the profile ``soak``."""
    if SOAK:
        config.option.timeout = 0


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage, nor later among what was collected: it lives as long as the process."""
    gc.disable()
    try:
        _import_tests(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000)  # simulated runs and drawn screens make thousands of objects a second
        gc.enable()


def _import_tests(config: pytest.Config) -> None:
    """Import all tests, each worker beginning elsewhere: the first to come compiles a file, the others read it."""
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted(TESTS.rglob("test_*.py"))]
    first = len(names) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in names[first:] + names[:first]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collection will say so
            importlib.import_module(name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that log in at a server; leave out those that are only for the profile ``soak``."""
    for item in items:
        if _SERVED.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.serve)
    if not SOAK:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("soak")])
        items[:] = [item for item in items if not item.get_closest_marker("soak")]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember the test, for ``_refuse_nodes``."""
    _running[:] = [item]


def pytest_runtest_teardown() -> None:
    """Stop watching the steps of this process: the signal could come while the next test closes its event loop."""
    stop_watching()


def _refuse_nodes(event: str, arguments: tuple[Any, ...]) -> None:
    """Fail a test that starts a live host, and is not marked: others rely on ``-m "not live"``."""
    if _running and (
        (event == "subprocess.Popen" and _is_live_host(list(map(str, arguments[1]))))
        or (event == "tests.host" and arguments == ("live",))
    ):
        (item,) = _running
        assert any(map(item.get_closest_marker, ("live", "serve", "benchmark"))), (
            f"{item.nodeid} is not marked live"
        )


def _is_live_host(words: list[str]) -> bool:
    """Return whether this starts a host of node processes: ``python -P -m lab.worlds live``."""
    return words[1:3] == ["-P", "-m"] and words[-1] == "live"


sys.addaudithook(_refuse_nodes)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--rewrite``: accept the present output as right. Read the diff before committing."""
    parser.addoption("--rewrite", action="store_true", help="rewrite the files in tests/transcripts")


@pytest.fixture
def transcript(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``transcript(name, text)``: compare the text with ``tests/transcripts/name.txt``."""
    rewrite = bool(request.config.getoption("--rewrite"))

    def compare(name: str, text: str) -> None:
        path = TRANSCRIPTS / f"{name}.txt"
        text = text.rstrip("\n") + "\n"
        if rewrite:
            path.write_text(text, "utf-8")
            return
        if not path.exists():
            pytest.fail(
                f"there is no transcript {name}.txt; if the following is right, run pytest --rewrite\n{text}"
            )
        kept = path.read_text("utf-8")
        if kept != text:
            lines = difflib.unified_diff(kept.splitlines(), text.splitlines(), "expected", "got", lineterm="", n=3)
            pytest.fail(f"transcript {name}.txt differs:\n" + "\n".join(lines), pytrace=False)

    return compare
