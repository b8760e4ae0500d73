"""Run a scenario in a world to its end, and report on it."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from lab.recording.reader import open_recording
from lab.scenario.file import Scenario, World
from lab.scenario.report import Report, report_of
from lab.worlds.config import RunConfig, new_run_name
from lab.worlds.host.launch import HostProcess
from lab.worlds.settings import usual_link
from lab.worlds.simulated.execution import run_to_end

__all__ = ["LiveRun", "config_of", "report_on", "run_live", "run_simulated"]


def config_of(scenario: Scenario, world: World, recording: Path) -> RunConfig:
    """Return the configuration for a run of the scenario in this world."""
    return RunConfig(
        new_run_name(scenario.name),
        scenario.protocol,
        scenario.nodes,
        scenario.timing,
        scenario.parameters,
        scenario.link or usual_link(scenario.timing, world == "simulated"),
        scenario.seed,
        str(recording),
        end_us=scenario.ends_us,
        world=world,
        script=scenario.script,
        first_line=scenario.first_line,
        remark=scenario.title,
        scenario=scenario.text,
    )


def run_simulated(scenario: Scenario, recording: Path | None = None) -> Report:
    """Run the scenario in virtual time in this process, as fast as possible.

    If ``recording`` is None, the recording is not kept. Raises NotRunnableError and OSError.
    """
    began_s = time.monotonic()
    with _file(recording) as file:
        run_to_end(config_of(scenario, "simulated", file), scenario.ends_us, lambda now_us: "")
        return report_on(scenario, file, began_s, keep=recording is not None)


def run_live(scenario: Scenario, recording: Path | None = None) -> Report:
    """Run the scenario on processes in real time. Raises HostFailedError."""
    with _file(recording) as file:
        run = LiveRun(scenario, file)
        try:
            return replace(run.report(), recording="" if recording is None else str(file))
        finally:
            run.end()


class LiveRun:
    """A live run in the background; it ends by itself, or by ``end``."""

    def __init__(
        self, scenario: Scenario, recording: Path, start: Callable[[RunConfig], HostProcess] = HostProcess
    ) -> None:
        self._scenario = scenario
        self._recording = recording
        self._began_s = time.monotonic()
        self._host = start(config_of(scenario, "live", recording))

    @property
    def is_over(self) -> bool:
        """True if the run is over, so that ``report`` does not wait."""
        return self._host.process.poll() is not None

    def report(self) -> Report:
        """Wait for the end of the run and return the report. Raises HostFailedError."""
        self._host.ready()
        self._host.wait()
        return report_on(self._scenario, self._recording, self._began_s)

    def end(self) -> None:
        """End the run if it is in progress, and release all its resources but the recording."""
        self._host.end()
        self._host.close()


def report_on(scenario: Scenario, file: Path, began_s: float, keep: bool = True) -> Report:
    """Return the report on a recording of a run that began at ``began_s``. Raises NotARecordingError."""
    with contextlib.closing(open_recording(file)) as lines:
        report = report_of(scenario, lines)
    return replace(report, recording=str(file) if keep else "", took_s=time.monotonic() - began_s)


@contextlib.contextmanager
def _file(recording: Path | None) -> Iterator[Path]:
    if recording is not None:
        yield recording
        return
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        yield Path(folder) / "run.jsonl"
