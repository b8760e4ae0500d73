"""``lab serve watch`` and ``lab serve lecture``: the teacher's screens, in a process of their own."""

import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from lab.cli.class_admin import server_errors_as_usage
from lab.cli.output_files import recording_path
from lab.cli.run_options import run_config, world_of
from lab.cli.scenario_runner import find_scenario
from lab.cli.server_runner import data_folder
from lab.cli.terminal import require_terminal
from lab.cli.usage_errors import UsageError
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_library import SHIPPED, find_exercise, names
from lab.exercises.reading import ExerciseError
from lab.scenario.run_scenario import config_of
from lab.serve.admin_connection import AdminConnection
from lab.text import sanitize
from lab.worlds.config import RunConfig
from lab.worlds.host.launch import HostFailedError, HostProcess

__all__ = ["give_lecture", "watch_class"]


def watch_class(exercises: Path | None, data: Path | None) -> int:
    """Show the class until the teacher leaves, and return the exit status. Raises UsageError."""
    folder = data_folder(data)
    with server_errors_as_usage(), AdminConnection(folder) as connection:
        connection.report()
    require_terminal("lab serve status")
    from lab.serve.admin_client import AdminClient  # noqa: PLC0415 - loads the interface
    from lab.tui.teacher.show_teacher import show_class  # noqa: PLC0415
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415

    def exercise(name: str) -> Exercise | None:
        try:
            return find_exercise(name, exercises or SHIPPED)
        except ExerciseError:
            return None

    def lecture(named: str) -> str:
        try:
            _config(named, sim=False)
        except UsageError as error:
            return str(error)
        call = [sys.executable, "-m", "lab", "serve", "lecture", named, "--data", str(folder.path)]
        status = subprocess.run(call, check=False).returncode
        return (
            f"the lecture ended with status {status}; for the reason run: lab serve lecture {named}"
            if status
            else ""
        )

    return run_guarded(lambda: show_class(AdminClient(folder), exercise, lecture))


def give_lecture(named: str, sim: bool, data: Path | None) -> int:
    """Run the target, with the class as viewers, until the teacher leaves. Raises UsageError.

    Returns the exit status.
    """
    folder = data_folder(data)
    config = _config(named, sim)
    with server_errors_as_usage(), AdminConnection(folder) as connection:
        require_terminal("lab serve notify")
        host = HostProcess(config)
        try:
            feed = host.ready().socket
            connection.begin_lecture(feed, named)
            status = _show_lecture(feed, named, connection)
        except HostFailedError as error:
            print(f"lab: {sanitize(str(error))}", file=sys.stderr)
            status = 1
        finally:
            host.end()
            host.close()
    return status


def _show_lecture(feed: str, named: str, connection: AdminConnection) -> int:
    from lab.tui.teacher.show_teacher import show_lecture  # noqa: PLC0415 - loads the interface
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415

    return run_guarded(lambda: show_lecture(feed, named, connection))


def _config(named: str, sim: bool) -> RunConfig:
    """Return the run's configuration.

    A scenario, or the setup of an exercise, continues after its end until the teacher leaves.
    """
    scenario = find_exercise(named).setup if named in names() else find_scenario(named)
    if scenario is None:
        world = world_of(sim, None, headless=False)
        return run_config(named, "5", None, None, None, None, None, [], [], None, None, None, None, world)
    is_live = "live" in scenario.worlds and not sim
    config = config_of(scenario, "live" if is_live else "simulated", Path())
    return replace(config, recording=str(recording_path(None, config.run)), end_us=None)
