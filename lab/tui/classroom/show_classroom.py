"""Show the interface of the exercises."""

import gc
from collections.abc import Sequence

from lab.exercises.attempt import Clusters
from lab.exercises.exercise import Exercise
from lab.exercises.student_folder import StudentFolder
from lab.exercises.teacher import Teacher
from lab.tui.classroom.classroom_app import ClassroomApp
from lab.tui.classroom.student_app import StudentApp


def show_classroom(
    home: StudentFolder,
    clusters: Clusters,
    exercises: Sequence[Exercise],
    first: str = "",
    teacher: Teacher | None = None,
) -> int:
    """Show the list of exercises, or the exercise ``first``; return the exit status.

    ``teacher`` is given for a student on a server, who has no shell. The cluster then belongs to the server and
    continues after the interface has ended.
    """
    is_served = teacher is not None
    if teacher is None:
        app = ClassroomApp(home, clusters, exercises, is_served, first)
    else:
        app = StudentApp(home, clusters, exercises, teacher, first)
    gc.freeze()
    try:
        app.run()
    finally:
        if not is_served:
            clusters.end()
    for recording in app.recorded:
        print(f"branch recorded: {recording}")
    return app.return_code or 0
