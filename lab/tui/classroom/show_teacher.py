"""Show the teacher's screens; each function returns the exit status."""

import gc
import sys
from collections.abc import Callable

from lab.exercises.exercise import Exercise
from lab.places import settings_file
from lab.tui.classroom.class_app import ServerAdmin, WatchApp
from lab.tui.classroom.lecture import LectureApp, LectureControl


def show_class(
    admin: ServerAdmin, exercises: Callable[[str], Exercise | None], lecture: Callable[[str], str]
) -> int:
    """Show the class.

    ``exercises`` finds an exercise by name. ``lecture`` runs a lecture and returns an error, if any.
    """
    return _run(WatchApp(admin, exercises, lecture, settings_file()))


def show_lecture(socket: str, title: str, control: LectureControl) -> int:
    """Show the lecture whose feed is on this socket."""
    return _run(LectureApp(socket, title, control, settings_file()))


def _run(app: WatchApp | LectureApp) -> int:
    gc.freeze()
    app.run()
    if app.failure:
        print(f"lab: {app.failure}", file=sys.stderr)
        return 1
    return app.return_code or 0
