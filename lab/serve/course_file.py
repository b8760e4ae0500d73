"""The course in the server's data folder: ``course.toml``, which the teacher may edit while the server runs.

The last valid version is kept beside it. Students see that one while ``course.toml`` has a mistake, and every
change is logged against it, also one that was made while no server ran.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lab.durable import write_durably
from lab.exercises.course import Course, CourseError, describe_changes, parse_course, read_course
from lab.exercises.exercise import Exercise
from lab.foreign_file import read_foreign_text
from lab.serve.data_folder import DataFolder, FileVersion, ServerLog, file_version

_NOT_READ = (-1, -1, -1)


def store_course(folder: DataFolder, file: Path, exercises: Mapping[str, Exercise]) -> None:
    """Copy this course file into the data folder, if it is valid, and loses no changes made there.

    Raises CourseError or OSError.
    """
    read_course(file, exercises)
    text = read_foreign_text(file)
    if folder.course.exists() and read_foreign_text(folder.course) != text:
        raise CourseError(
            f"{folder.course} differs from {file}, and may have extensions that this has not: leave out --course "
            f"to go on with it, or delete it to begin with {file}"
        )
    write_durably(folder.course, text.encode())


class CourseFile:
    """The current course. A version with a mistake is announced once, and does not replace the one before.

    Raises CourseError if there is a mistake in ``course.toml`` at the start, and no valid version before it.
    """

    def __init__(self, folder: DataFolder, exercises: Mapping[str, Exercise], log: ServerLog) -> None:
        self._path = folder.course
        self._kept = folder.valid_course
        self._exercises = exercises
        self._log = log
        self._version: FileVersion | None = _NOT_READ
        self.course = Course()
        if self._path.exists():  # else it was deleted on purpose, or there never was one
            with suppress(OSError, CourseError):  # none yet, or its exercises are gone
                self.course = parse_course(read_foreign_text(self._kept), str(self._kept), exercises)
            if self.course == Course():
                read_course(self._path, exercises)
        self.update()

    def update(self) -> bool:
        """Read the file again if it has changed; return whether the course has."""
        try:
            version = file_version(self._path)
            if version == self._version:
                return False
            self._version = version
            text = read_foreign_text(self._path) if version is not None else ""
            course = Course() if version is None else parse_course(text, str(self._path), self._exercises)
        except (OSError, CourseError) as error:
            self._log.announce("unreadable", f"{error}; students see the version before it")
            return False
        if course == self.course:
            return False
        for change in describe_changes(self.course, course):
            self._log.write("course", change)
        self.course = course
        if version is None:
            self._log.announce(
                "course", f"{self._path} is gone: there is no course; {self._kept} is its last version"
            )
            return True
        try:
            write_durably(self._kept, text.encode())
        except OSError as error:
            self._log.write("fault", f"{self._kept} cannot be written: {error.strerror}")
        return True
