"""Starting the interface over the exercises."""

import gc
from collections.abc import Sequence

from lab.exercises.clusters import Clusters
from lab.exercises.exercise import Exercise
from lab.exercises.home import Home
from lab.exercises.teacher import Teacher
from lab.tui.classroom.app import ClassroomApp
from lab.tui.teacher.taught import TaughtApp

__all__ = ["show_classroom"]


def show_classroom(
    home: Home, clusters: Clusters, exercises: Sequence[Exercise], first: str = "", teacher: Teacher | None = None
) -> int:
    """The list of exercises, or ``first`` the one that is called so; the exit status.

    ``teacher``: it is for a student of a class, without a shell on this machine. A cluster then goes on after
    that, as it is the server's.
    """
    is_served = teacher is not None
    if teacher is None:
        app = ClassroomApp(home, clusters, exercises, is_served, first)
    else:
        app = TaughtApp(home, clusters, exercises, teacher, first)
    gc.freeze()
    try:
        app.run()
    finally:
        if not is_served:
            clusters.end()
    for recording in app.recorded:
        print(f"branch recorded: {recording}")
    return app.return_code or 0
