"""The teacher's screen's way to the server."""

from lab.exercises.teacher import ClassReport
from lab.serve.admin_line import AdminLine
from lab.serve.folder import DataFolder

__all__ = ["ServerOffice"]


class ServerOffice:
    """That of the server of this folder. Each question has a connection of its own; what is held keeps one."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder

    def report(self) -> ClassReport:
        """How the class stands. OfficeError."""
        with AdminLine(self._folder) as line:
            return line.report()

    def tell(self, students: tuple[str, ...], text: str) -> list[str]:
        """Tell these, or all who are on; who was told. OfficeError."""
        with AdminLine(self._folder) as line:
            return line.tell(students, text)

    def take_keys(self, student: str) -> AdminLine:
        """Let the student know that the teacher gives commands, too, until it is closed. OfficeError."""
        line = AdminLine(self._folder)
        try:
            line.take_keys(student)
        except BaseException:
            line.close()
            raise
        return line
