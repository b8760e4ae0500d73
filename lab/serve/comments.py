"""The teacher's comments on attempts, a JSON file: for each student a list, oldest first."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lab.durable import exclusive_lock, write_durably
from lab.exercises.teacher import Comment, ServerAdminError
from lab.foreign_file import read_foreign
from lab.serve.data_folder import FileVersion, ServerLog, file_version
from lab.text import sanitize

LONGEST_COMMENT = 600
_MOST_COMMENTS = 200
_Comments = Mapping[str, tuple[Comment, ...]]


class CommentBook:
    """The file. The server and the teacher's commands both change it, under a lock.

    It is read again when it has changed, as every report on the class asks for the comments of all students. All
    methods raise ServerAdminError if the file cannot be read, and those that change it OSError.

    A teacher may edit the file. A comment without a valid date is not shown; it is reported in ``log``, and kept.
    """

    def __init__(self, path: Path, log: ServerLog | None = None) -> None:
        self._path = path
        self._log = log
        self._known: tuple[FileVersion | None, _Comments] = None, {}  # one value: an archive is made in a thread

    def of(self, student: str) -> tuple[Comment, ...]:
        """Return the comments on this student's attempts, oldest first."""
        return tuple(filter(_has_date, self._read().get(student, ())))

    def add(self, student: str, exercise: str, attempt: int, text: str) -> Comment:
        """Store a comment that the student has not read."""
        message = sanitize(" ".join(text.split()))
        if not message:
            raise ServerAdminError("the comment is empty; write a text, in quotes")
        if len(message) > LONGEST_COMMENT:
            raise ServerAdminError(f"{len(message)} characters; a comment has at most {LONGEST_COMMENT}")
        with exclusive_lock(self._path):
            comments = self._read()
            own = comments.get(student, ())
            if len(own) >= _MOST_COMMENTS:
                raise ServerAdminError(f"{student} has {len(own)} comments; delete old ones in {self._path}")
            serial = max((each.serial for each in own), default=0) + 1
            at = datetime.now(UTC).isoformat(timespec="seconds")
            comment = Comment(serial, exercise, attempt, message, at)
            self._write({**comments, student: (*own, comment)})
        return comment

    def mark_read(self, student: str, serials: tuple[int, ...]) -> None:
        """Note that the student has read these comments; others are ignored."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with exclusive_lock(self._path):
            comments = self._read()
            own = comments.get(student, ())
            marked = tuple(
                replace(each, read=at) if each.serial in serials and not each.read else each for each in own
            )
            if marked != own:
                self._write({**comments, student: marked})

    def forget(self, student: str) -> None:
        """Delete the comments on this student's attempts."""
        with exclusive_lock(self._path):
            comments = self._read()
            if student in comments:
                self._write({name: own for name, own in comments.items() if name != student})

    def _read(self) -> _Comments:
        try:
            version = file_version(self._path)
            if version is None:
                return {}
            known, comments = self._known
            if version != known:
                comments = msgspec.json.decode(read_foreign(self._path), type=dict[str, tuple[Comment, ...]])
                self._known = version, comments
                self._report_undated(comments)
            return comments
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ServerAdminError(f"{self._path} cannot be read: {error}; repair it, or move it away") from None

    def _report_undated(self, comments: _Comments) -> None:
        for student, own in comments.items():
            for comment in own:
                if self._log is not None and not _has_date(comment):
                    date = f"at = {sanitize(repr(comment.at), 40)} is no date, such as 2026-12-04T23:59:00+00:00"
                    text = f"{self._path}: comment {comment.serial}: {date}; the student does not see it"
                    self._log.announce("unreadable", text, student=sanitize(student, 40))

    def _write(self, comments: _Comments) -> None:
        write_durably(self._path, msgspec.json.format(msgspec.json.encode(comments)))


def _has_date(comment: Comment) -> bool:
    try:
        datetime.fromisoformat(comment.at)
    except ValueError:
        return False
    return True
