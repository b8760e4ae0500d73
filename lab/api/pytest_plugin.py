"""The pytest plugin: the fixtures ``lab_check`` and ``lab_run``, and what a test that fails leaves behind.

Pytest imports this module wherever the package is installed, for tests of anything. So it imports nothing of the
laboratory, and has no hook in the course of a test, before a test asks for one of the fixtures.
"""

import argparse
import functools
import os
import re
import shlex
import zlib
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pytest

if TYPE_CHECKING:
    from lab.api.run import Run
    from lab.api.search import Checked
    from lab.properties.verdicts import Violation

P = ParamSpec("P")
T = TypeVar("T")

_RUNS = 100
"""The runs of ``lab_check`` without an option or argument: some seconds."""
_FOLDER = ".lab"
_RECORDER = "lab-recorder"
"""The name of the plugin with the hooks, which a session has from the first test on that asks for a fixture."""
_MOST_KEPT = 5
"""The last runs of a test that are kept; of a test that hypothesis calls, the last one, which is the smallest."""
_LONGEST_NAME = 120


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("lab", "distributed protocols under faults (lab)")
    group.addoption(
        "--lab-runs",
        type=_whole_number(1),
        metavar="N",
        help=f"Runs of each lab_check, whatever the test says; {_RUNS} if neither does.",
    )
    group.addoption(
        "--lab-seed",
        type=_whole_number(0),
        metavar="N",
        help="Seed of each lab_check and lab_run, whatever the test says; 1 if neither does.",
    )
    group.addoption(
        "--lab-recordings",
        metavar="DIR",
        help=f"Folder for the recordings of failed tests; by default {_FOLDER} in pytest's rootdir.",
    )


def _whole_number(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r}: write a whole number from {least}")
        return int(text)

    return parse


@pytest.fixture(scope="session")
def lab_check(pytestconfig: pytest.Config) -> "Callable[..., Checked]":
    """Test a protocol with random faults, as ``lab.check`` does; the test fails if it does not hold."""
    from lab.api.search import check  # noqa: PLC0415 - see above

    return _recorder(pytestconfig).checking(check)


@pytest.fixture(scope="session")
def lab_run(pytestconfig: pytest.Config) -> "Callable[..., Run]":
    """Simulate a run, as ``lab.simulate`` does; if the test fails, its recording is kept."""
    from lab.api.run import simulate  # noqa: PLC0415 - see above

    return _recorder(pytestconfig).running(simulate)


def _recorder(config: pytest.Config) -> "_Recorder":
    """Return the recorder of this session, registered when it is first asked for."""
    found = config.pluginmanager.get_plugin(_RECORDER)
    if found is None:
        found = _Recorder(config)
        config.pluginmanager.register(found, _RECORDER)
    assert isinstance(found, _Recorder)
    return found


class _Recorder:
    """Keeps what the fixtures found in the present test; if that fails, writes the recordings and says where.

    The fixtures live as long as the session, so that they serve a test that hypothesis calls many times.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        given = config.getoption("lab_recordings")
        self._is_default = given is None
        self._started_in = config.invocation_params.dir  # a test may go elsewhere
        self._folder = config.rootpath / _FOLDER if given is None else self._started_in / given
        self._runs: deque[Run] = deque(maxlen=_MOST_KEPT)
        self._found: dict[Path, Checked] = {}
        self._count = 0

    # the fixtures

    def checking(self, check: "Callable[P, Checked]") -> "Callable[P, Checked]":
        """Return the function with the options, which raises AssertionError if the protocol does not hold."""

        @functools.wraps(check)
        def checked(*args: P.args, **kwargs: P.kwargs) -> "Checked":
            __tracebackhide__ = True
            found = self._call(check, args, {"runs": _RUNS, **kwargs, **self._given("runs", "seed")})
            if not found.holds:
                raise AssertionError(self._describe(found))
            return found

        return checked

    def running(self, simulate: "Callable[P, Run]") -> "Callable[P, Run]":
        """Return the function with the options, which keeps the runs."""

        @functools.wraps(simulate)
        def run(*args: P.args, **kwargs: P.kwargs) -> "Run":
            __tracebackhide__ = True
            found = self._call(simulate, args, {**kwargs, **self._given("seed")})
            self._runs.append(found)
            return found

        return run

    def _given(self, *names: str) -> dict[str, int]:
        """Return the options that are given."""
        values = {name: self._config.getoption(f"lab_{name}") for name in names}
        return {name: value for name, value in values.items() if value is not None}

    @staticmethod
    def _call(function: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object]) -> T:
        """Call the function; a user's mistake is shown where the test makes it."""
        from lab.script.scope import CommandError  # noqa: PLC0415 - see above
        from lab.text import UserError  # noqa: PLC0415

        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (UserError, CommandError) as error:
            raise error.with_traceback(None) from None

    # the report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Write the recordings of a test that failed, and add to its report which runs they are."""
        report = yield
        if report.failed:
            lines: list[str] = []
            properties: list[tuple[str, object]] = []
            for path, found in self._found.items():
                properties.append(("lab_again", found.rerun_with(self._shown(path))))
                lines += self._write(path, found, properties)
            is_hypothesis_test = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
            for run in [*self._runs][-1 if is_hypothesis_test else 0 :]:
                path = self._new_path(item.nodeid)
                lines += [*self._describe_run(run, path), *self._write(path, run, properties)]
            report.sections += [("lab", "\n".join(lines))] if lines else []
            report.user_properties += properties
            item.user_properties += properties  # a JUnit report has those of the teardown
        if report.failed or call.when == "teardown":
            self._runs.clear()
            self._found.clear()
            self._count = 0
        return report

    def _write(self, path: Path, found: "Checked | Run", properties: list[tuple[str, object]]) -> list[str]:
        """Write a recording, as a property of the test; return why that failed."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self._is_default:
                path.with_name(".gitignore").write_text("*\n", "utf-8")
            found.save(path)
        except OSError as error:
            return [f"the recording cannot be written to {self._shown(path)}: {error.strerror}"]
        properties.append(("lab_recording", str(self._shown(path))))
        return []

    def _describe(self, found: "Checked") -> str:
        """Describe why a protocol does not hold: the schedule, the witness, and how to see it again."""
        if found.run is None or found.finding is None:
            return str(found)
        path = self._new_path(_present_test())
        self._found[path] = found
        return "\n".join(
            (
                found.summary,
                *_explain(found.run, found.finding.violation),
                *self._describe_files(path),
                f"again:    {found.rerun_with(self._shown(path))}",
            )
        )

    def _describe_run(self, run: "Run", path: Path) -> list[str]:
        failed = next((verdict.first for verdict in run.verdicts if verdict.word == "fails"), None)
        return [
            f"{run}, seed {run.header.seed}",
            *(f"  {command}" for command in run.commands),
            *([] if failed is None else [str(failed), *_explain(run, failed)]),
            *self._describe_files(path),
        ]

    def _describe_files(self, path: Path) -> list[str]:
        shown = self._shown(path)
        options = "".join(f" --lab-{name} {value}" for name, value in self._given("runs", "seed").items())
        test = shlex.quote(self._config.cwd_relative_nodeid(_present_test()))
        return [
            f"recorded: {shown}",
            f"replay:   lab replay {shlex.quote(str(shown))}",
            f"test:     pytest {test}{options}",
        ]

    def _shown(self, path: Path) -> Path:
        """Return the path as seen from where pytest was started."""
        return path.relative_to(self._started_in) if path.is_relative_to(self._started_in) else path

    def _new_path(self, nodeid: str) -> Path:
        """Return a file for a recording of the test, which no other of this test has."""
        self._count += 1
        name = re.sub(r"[^\w.=]+", "-", nodeid)[-_LONGEST_NAME:].strip("-")
        values = nodeid.partition("[")[2].removesuffix("]")
        if re.search(r"[^\w.=-]", values) or len(nodeid) > _LONGEST_NAME:  # other tests may have the same name
            name += f"-{zlib.crc32(nodeid.encode()):08x}"
        return self._folder / (f"{name}.jsonl" if self._count == 1 else f"{name}-{self._count}.jsonl")


def _present_test() -> str:
    """Return the node id of the test that runs now."""
    return os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]


def _explain(run: "Run", violation: "Violation") -> list[str]:
    """Return the witness, as lines: the events that led to a violation."""
    events = run.explain(violation)
    return ["events that led to it (seconds):", *(f"{each.at_us / 1e6:12.6f}  {each.text}" for each in events)]
