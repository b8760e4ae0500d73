"""The connection of the teacher's screen to the server."""

from lab.exercises.teacher import ClassReport
from lab.serve.admin_connection import AdminConnection
from lab.serve.folder import DataFolder

__all__ = ["AdminClient"]


class AdminClient:
    """A client of the server with this data folder; each request has its own connection."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder

    def report(self) -> ClassReport:
        """Return the state of the class. Raises ServerAdminError."""
        with AdminConnection(self._folder) as line:
            return line.report()

    def notify(self, students: tuple[str, ...], text: str) -> list[str]:
        """Send a message to these students, or to all; return who received it. Raises ServerAdminError."""
        with AdminConnection(self._folder) as line:
            return line.notify(students, text)

    def take_control(self, student: str) -> AdminConnection:
        """Share control of the student's cluster until the returned connection is closed.

        Raises ServerAdminError.
        """
        line = AdminConnection(self._folder)
        try:
            line.take_control(student)
        except BaseException:
            line.close()
            raise
        return line
