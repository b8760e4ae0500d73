"""Starting the teacher's screens. Each returns the exit status."""

import gc
import sys
from collections.abc import Callable

from lab.exercises.exercise import Exercise
from lab.places import settings_file
from lab.tui.teacher.lecture import LectureApp, Podium
from lab.tui.teacher.watch import Office, WatchApp

__all__ = ["show_class", "show_lecture"]


def show_class(office: Office, exercises: Callable[[str], Exercise | None], lecture: Callable[[str], str]) -> int:
    """The class; ``exercises`` finds one by its name, ``lecture`` gives one and returns what went wrong."""
    return _run(WatchApp(office, exercises, lecture, settings_file()))


def show_lecture(socket: str, title: str, podium: Podium) -> int:
    """The run whose feed is on this socket, which the class sees."""
    return _run(LectureApp(socket, title, podium, settings_file()))


def _run(app: WatchApp | LectureApp) -> int:
    gc.freeze()
    app.run()
    if app.failure:
        print(f"lab: {app.failure}", file=sys.stderr)
        return 1
    return app.return_code or 0
