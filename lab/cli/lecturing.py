"""``lab serve watch`` and ``lab serve lecture``: the teacher's screens, beside the server that runs."""

import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from lab.cli.errors import UsageError
from lab.cli.files import recording_path
from lab.cli.scenario_running import scenario_named
from lab.cli.serving import data_folder
from lab.cli.settings import run_config, world_of
from lab.cli.teaching import told_by_server
from lab.cli.terminal import need_terminal
from lab.exercises.exercise import Exercise
from lab.exercises.library import SHIPPED, exercise_called, names
from lab.exercises.reading import ExerciseError
from lab.scenario.running import config_of
from lab.serve.admin_line import AdminLine
from lab.text import sanitize
from lab.worlds.config import RunConfig
from lab.worlds.host.launch import HostFailedError, HostProcess

__all__ = ["give_lecture", "watch_class"]


def watch_class(exercises: Path | None, data: Path | None) -> int:
    """Show the class, until the teacher leaves; the exit status. UsageError."""
    folder = data_folder(data)
    with told_by_server(), AdminLine(folder) as line:
        line.report()
    need_terminal("lab serve status")
    from lab.serve.office import ServerOffice  # noqa: PLC0415 - only where it is used
    from lab.tui.teacher.main import show_class  # noqa: PLC0415
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415

    def exercise(name: str) -> Exercise | None:
        try:
            return exercise_called(name, exercises or SHIPPED)
        except ExerciseError:
            return None

    def lecture(named: str) -> str:
        try:
            _config(named, sim=False)
        except UsageError as error:
            return str(error)
        call = [sys.executable, "-m", "lab", "serve", "lecture", named, "--data", str(folder.path)]
        status = subprocess.run(call, check=False).returncode
        return f"the lecture ended with status {status}; lab serve lecture {named} says why" if status else ""

    return run_guarded(lambda: show_class(ServerOffice(folder), exercise, lecture))


def give_lecture(named: str, sim: bool, data: Path | None) -> int:
    """Run this, with the class as viewers, until the teacher leaves; the exit status. UsageError."""
    folder = data_folder(data)
    config = _config(named, sim)
    with told_by_server(), AdminLine(folder) as line:
        need_terminal("lab serve tell")
        host = HostProcess(config)
        try:
            feed = host.ready().socket
            line.begin_lecture(feed, named)
            status = _shown(feed, named, line)
        except HostFailedError as error:
            print(f"lab: {sanitize(str(error))}", file=sys.stderr)
            status = 1
        finally:
            host.end()
            host.close()
    return status


def _shown(feed: str, named: str, line: AdminLine) -> int:
    from lab.tui.teacher.main import show_lecture  # noqa: PLC0415 - only where it is used
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415

    return run_guarded(lambda: show_lecture(feed, named, line))


def _config(named: str, sim: bool) -> RunConfig:
    """A scenario, or what an exercise begins with, goes on after its end, as long as the teacher talks."""
    scenario = exercise_called(named).setup if named in names() else scenario_named(named)
    if scenario is None:
        world = world_of(sim, None, headless=False)
        return run_config(named, "5", None, None, None, None, None, [], [], None, None, None, None, world)
    is_live = "live" in scenario.worlds and not sim
    config = config_of(scenario, "live" if is_live else "simulated", Path())
    return replace(config, recording=str(recording_path(None, config.run)), end_us=None)
