"""``lab serve lecture``: give a lecture to the class, from a file or freely with a cluster of the teacher's."""

import re
import signal
from datetime import datetime
from pathlib import Path
from typing import Annotated

from msgspec.structs import replace
from typer import Argument, Option

from lab.cli.lecture import complete_lecture, simulate_runs
from lab.cli.options import recording_path
from lab.cli.run import RunOptions, find_scenario, run_config
from lab.cli.serve import Data, data_folder, group
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, UsageError, require_terminal
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.exercise_reader import names as exercise_names
from lab.lectures.lecture import Lecture
from lab.lectures.lecture_reader import SUFFIX, find_lecture, names, read_lecture
from lab.lectures.presentation import Presentation, read_presentation, read_progress, write_presentation
from lab.output import print_error, print_line
from lab.scenario.run_scenario import config_of
from lab.serve.admin_client import AdminConnection, LectureConnection
from lab.serve.data_folder import DataFolder
from lab.serve.given_lectures import (
    edited_lecture,
    interrupted_lecture,
    new_folder,
    remove_folder,
    replace_lecture,
)
from lab.text import UserError, did_you_mean, sanitize
from lab.tui.terminal.guard import run_guarded
from lab.worlds.launch import HostFailedError, HostProcess
from lab.worlds.loading.config import RunConfig


@group.command(
    epilog="""Examples:\n
    lab serve lecture bully-and-its-price\n
    lab serve lecture my-lecture.md --step 4\n
    lab serve lecture two-coordinators\n
    lab serve lecture bully --sim\n
    during a lecture with a cluster: ask "who leads next?" | 4 | 5   (after :)"""
)
def lecture(
    target: Annotated[
        str,
        Argument(
            metavar="LECTURE|FILE|SCENARIO|PROTOCOL|EXERCISE",
            help="A lecture by name, or your own: FILE.md. Or what your cluster runs: a scenario, a protocol, or "
            "an exercise (its setup).",
            autocompletion=complete_lecture,
        ),
    ],
    step: Annotated[
        int | None,
        Option(
            "--step",
            metavar="NUMBER",
            help="Begin with this step of a lecture. Default: the first, or where it was interrupted.",
        ),
    ] = None,
    sim: Annotated[bool, Option("--sim", help="Run a cluster in simulation, as lectures always are.")] = False,
    data: Data = None,
) -> int:
    """Give a lecture to the class.

    A lecture from a file has the screen and the keys of lab lecture rehearse; your notes are on your screen alone.
    Everyone logged in sees the step that you show, with its run where you have it, or looks around in what was
    shown so far, and follows you again with Ctrl+G. Ctrl+G or Page Down asks the question of a step: votes are
    counted as they arrive, and everyone sees the result and the answer when you close the vote. What was shown
    stays in the students' list. If your connection drops, the same command goes on at the same step.

    Otherwise everyone can watch your cluster, and move through its timeline independently; Ctrl+G lets you type a
    question.

    Students who are logged in when the lecture begins are notified, and join with Ctrl+G; for those who log in
    later, the lecture opens at log-in. If the server was started with --lecture, it opens on every screen.
    """
    folder = data_folder(data)
    if _is_lecture(target):
        if sim:
            raise UsageError("--sim: the runs of a lecture are simulated already; leave it out")
        return _teach(folder, read_lecture(find_lecture(target)), step)
    if step is not None:
        raise UsageError(f"--step: {target} has no steps; name a lecture (lab lecture list), or FILE{SUFFIX}")
    return _show_cluster(folder, target, _config(target, sim))


def require_lecture(target: str) -> None:
    """Raise UserError if this cannot be given as a lecture."""
    if _is_lecture(target):
        read_lecture(find_lecture(target))
    else:
        _config(target, sim=False)


def _is_lecture(target: str) -> bool:
    return target.endswith(SUFFIX) or target in names()


# a lecture from a file


def _teach(data: DataFolder, lecture: Lecture, step: int | None) -> int:
    if step is not None and not 1 <= step <= len(lecture.steps):
        raise UsageError(f"--step {step}: this lecture has the steps 1 to {len(lecture.steps)}")
    with AdminConnection(data) as connection:
        if running := connection.report().lecture:  # before the runs are simulated
            raise UsageError(f"a lecture is already in progress: {running}; end it with q")
    require_terminal("lab serve notify")
    now = datetime.now()
    folder = interrupted_lecture(data, lecture.digest, now)
    presentation: Presentation | None
    notice = ""
    if folder is None:
        before = edited_lecture(data, lecture.name, lecture.title, now)
        folder = new_folder(data, lecture.name, now)
        presentation = _simulated(lecture, folder)
        if presentation is not None and before is not None:
            given = replace_lecture(before, folder)
            notice = _after_edit(presentation, given.position.place) if step is None else ""
    else:
        presentation = replace(read_presentation(folder), steps=lecture.steps)  # with the notes
    if presentation is None:
        return EXIT_NOT_AS_EXPECTED
    progress = read_progress(folder)
    place = progress.position.place if step is None else step - 1
    with LectureConnection(data, folder, lecture.title) as class_:
        from lab.tui.apps.teaching import give_lecture  # noqa: PLC0415 - loads the interface

        status = run_guarded(lambda: give_lecture(presentation, progress, place, class_, notice))
    after = read_progress(folder)
    if not status and after.is_over:
        print_line("the lecture is over; students find it in their list with F3")
    elif status in (0, 128 + signal.SIGINT):
        print_line(f"the same command goes on with step {after.position.place + 1}, within twelve hours")
    return status


def _after_edit(presentation: Presentation, place: int) -> str:
    return f"the lecture has changed; it goes on at step {place + 1}, {sanitize(presentation.steps[place].title)}"


def _simulated(lecture: Lecture, folder: Path) -> Presentation | None:
    """Simulate the runs into this folder; if a step cannot be shown, print why, and remove the folder."""
    presentation = None
    try:
        if (recorded := simulate_runs(lecture, folder)) is not None:
            write_presentation(recorded.presentation, folder)
            presentation = recorded.presentation
    finally:
        if presentation is None:
            remove_folder(folder)
    return presentation


# a cluster


def _show_cluster(data: DataFolder, target: str, config: RunConfig) -> int:
    with AdminConnection(data) as connection:
        require_terminal("lab serve notify")
        from lab.tui.apps.lecture import show_lecture  # noqa: PLC0415 - loads the interface

        host = HostProcess(config)
        try:
            feed = host.ready().socket
            connection.begin_lecture(feed, target)
            status = run_guarded(lambda: show_lecture(feed, target, connection))
        except HostFailedError as error:
            print_error(str(error))
            status = 1
        finally:
            host.end()
            host.close()
    return status


def _config(named: str, sim: bool) -> RunConfig:
    """Return the run's configuration.

    A scenario, or the setup of an exercise, continues after its end until the teacher leaves. Raises UsageError.
    """
    try:
        scenario = find_exercise(named).setup if named in exercise_names() else find_scenario(named)
    except UserError as error:
        if meant := did_you_mean(named, names()):
            raise UsageError(f"{named}: no lecture has this name{meant} (lab lecture list)") from None
        is_name = re.fullmatch(r"[\w-]+", named) and "did you mean" not in str(error)
        raise UsageError(f"{error}{', or a lecture: lab lecture list' if is_name else ''}") from None
    if scenario is None:
        return run_config(RunOptions(protocol=named, sim=sim))
    is_live = "live" in scenario.worlds and not sim
    config = config_of(scenario, "live" if is_live else "simulated", Path())
    return replace(config, recording=str(recording_path(None, config.run)), end_us=None)
