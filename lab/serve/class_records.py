"""What the teacher does about one student: comment, remove, readmit, archive the data, erase it; each is logged.

The running server does it, as it must end the student's sessions; without one, the teacher's command does, while
it holds the lock of the data folder.

A removed student is listed in ``removed`` and cannot log in; the work is kept. Erasure deletes the student's
folder, comments, codes, keys and browsers, and takes the name out of the log and the seals. The seals of the
others are chained anew. Until all is done the student stays removed, so that erasure can be repeated after a
crash.
"""

import os
import re
import shutil
import stat
import zipfile
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.durable import owner_only, write_durably
from lab.exercises.attempts import NAME, attempt_in
from lab.exercises.course import without_extensions
from lab.exercises.teacher import ServerAdminError
from lab.foreign_file import LARGEST_DATA, RefusedFileError, read_foreign, read_foreign_text
from lab.recording.reader import LARGEST_RECORDING
from lab.serve.admin_requests import (
    ArchiveStudent,
    CommentAttempt,
    EraseStudent,
    ReadmitStudent,
    RecordRequest,
    RemoveStudent,
)
from lab.serve.admission import key_owners
from lab.serve.comments import CommentBook
from lab.serve.data_folder import DataFolder, ServerLog, ServerLogLine, read_log
from lab.serve.gradebook import SealBook, seal_problems
from lab.serve.student_lists import InvitationError, Invitations, ListFile, RemovedStudents
from lab.text import did_you_mean, sanitize
from lab.units import format_count

_ERASED = "(erased)"


class ClassRecords:
    """Carries out the teacher's requests on the files of the data folder; ``seals`` is the server's own book."""

    def __init__(self, folder: DataFolder, log: ServerLog, seals: SealBook | None = None) -> None:
        self._folder = folder
        self._log = log
        self._removed = RemovedStudents(folder, log)
        self._comments = CommentBook(folder.comments)
        self._seals = seals or SealBook(folder.seals)
        self._lists: list[ListFile[str]] = [
            ListFile(path, lambda text, file: {}, log)
            for path in (folder.keys, folder.class_names, folder.browsers, folder.guests)
        ]

    def apply(self, request: RecordRequest, listed: Set[str] = frozenset()) -> str:
        """Carry out a request; return the result, for the teacher. ``listed`` are students known from elsewhere.

        Raises ServerAdminError or OSError.
        """
        try:
            self._require_known(request.student, listed)
            return self._apply(request)
        except InvitationError:
            why = f"{self._folder.invites} is damaged; repair it, or move it away"
            raise ServerAdminError(why) from None

    def _apply(self, request: RecordRequest) -> str:
        student = request.student
        match request:
            case CommentAttempt(exercise=exercise, text=text, attempt=attempt):
                return self._comment(student, exercise, attempt, text)
            case RemoveStudent():
                return self.remove(student)
            case ReadmitStudent():
                return self._readmit(student)
            case ArchiveStudent(to=to):
                return self._archive(student, Path(to))
            case EraseStudent():
                return self._erase(student)

    def _require_known(self, student: str, listed: Set[str]) -> None:
        known = {*self._folder.student_paths(), *self._names_in_lists(), *listed, *self._removed.names()}
        if student not in known:
            hint = did_you_mean(student, sorted(known)) or "; lab serve status lists the class"
            raise ServerAdminError(f"unknown student {sanitize(student, 40)}{hint}")

    # comments

    def _comment(self, student: str, exercise: str, attempt: int, text: str) -> str:
        own = (attempt_in(path) for name, path in self._folder.recordings() if name == student)
        attempts = {(each.name, each.attempt) for each in own if each is not None}
        of_exercise = [number for name, number in attempts if name == exercise]
        if not of_exercise:
            names = sorted({name for name, _ in attempts})
            made = f"the attempts are at {', '.join(names)}" if names else "there are no attempts yet"
            hint = did_you_mean(exercise, names) or f"; {made}"
            raise ServerAdminError(f"{student} has no attempt at {sanitize(exercise, 40)}{hint}")
        if attempt and attempt not in of_exercise:
            numbers = ", ".join(map(str, sorted(of_exercise)))
            raise ServerAdminError(f"{student} has no attempt {attempt} at {exercise}; there are {numbers}")
        comment = self._comments.add(student, exercise, attempt or max(of_exercise), text)
        what = f"on attempt {comment.attempt} at {exercise}"
        self._log.write("comment", f"{what}: {comment.text}", student=student)
        return f"commented {what} of {student}"

    # removal

    def remove(self, student: str) -> str:
        """Admit the student no more. Raises OSError."""
        if student in self._removed.names():
            return f"{student} is removed already"
        self._removed.add(student)
        self._log.write("removed", "by the teacher", student=student)
        return f"removed {student}; the work is kept, and lab serve readmit {student} admits them again"

    def _readmit(self, student: str) -> str:
        if student not in self._removed.names():
            raise ServerAdminError(f"{student} is not removed; lab serve status lists who is")
        self._removed.discard(student)
        self._log.write("readmitted", "by the teacher", student=student)
        return f"readmitted {student}"

    # the archive

    def _archive(self, student: str, to: Path) -> str:
        hidden, count = to.with_name(f".{to.name}.part"), 0
        try:
            with open(hidden, "wb", opener=owner_only) as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                    for count, (name, contents) in enumerate(self._stored(student), 1):  # noqa: B007
                        archive.writestr(f"{student}/{name}", contents)
                os.fsync(file.fileno())
            hidden.rename(to)
        except OSError as error:
            with suppress(OSError):
                hidden.unlink()
            raise ServerAdminError(f"{to} cannot be written: {error.strerror}; name another file: --to") from None
        self._log.write("archived", f"the data, to {to}", student=student)
        return f"wrote {format_count(count, 'file')} of {student} to {to}"

    def _stored(self, student: str) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the contents of each file of the archive."""
        yield "contents.txt", _CONTENTS.encode()
        home = self._folder.student_paths().get(student)
        for path in sorted(home.rglob("*")) if home is not None else ():
            name = f"folder/{path.relative_to(home or path)}"
            with suppress(FileNotFoundError):  # the student is at work
                # links and sockets are no data of the student's
                if stat.S_ISREG(path.lstat().st_mode):
                    try:
                        contents = read_foreign(path, max(LARGEST_DATA, LARGEST_RECORDING), False)
                    except RefusedFileError as error:
                        name, contents = f"{name}.left-out", f"{error.strerror}\n".encode()
                    yield name, contents
        yield "comments.json", msgspec.json.format(msgspec.json.encode(self._comments.of(student)))
        yield "log.jsonl", _as_lines(line for line in read_log(self._folder.log) if line.student == student)
        seals = self._seals.read().seals.values()
        yield "seals.jsonl", _as_lines(seal for seal in seals if seal.student == student)
        yield "lists.txt", "".join(f"{line}\n" for line in self._lines_of(student)).encode()

    def _lines_of(self, student: str) -> Iterator[str]:
        for each in self._lists:
            owners = self._owners(each.path)
            yield from (f"{each.path.name}: {line}" for line in each.lines() if owners(line) == student)
        yield from (f"invites.json: {line}" for line in Invitations(self._folder.invites).describe(student))
        yield from (f"removed: {line}" for line in self._removed.lines() if line.split()[:1] == [student])

    # erasure

    def _erase(self, student: str) -> str:
        self.remove(student)
        for problem in seal_problems(self._folder.path, self._seals.read()):
            # chained anew, they would look as if nobody had edited them
            raise ServerAdminError(f"{problem}, so nothing was erased; use a backup of the data folder")
        for each in self._lists:
            if each.path.exists():
                owners = self._owners(each.path)
                with each.edited() as lines:
                    lines[:] = [line for line in lines if owners(line) != student]
        Invitations(self._folder.invites).forget(student)
        self._erase_from_course(student)
        self._comments.forget(student)
        if (home := self._folder.student_paths().get(student)) is not None:
            shutil.rmtree(home)
        self._erase_from_records(student)
        self._removed.discard(student)
        self._log.write("erased", "the data of a student")
        return (
            f"erased {student}; not changed are your own files: delete the key in the file of --class, and the "
            "extensions in course.toml, if there are any"
        )

    def _erase_from_course(self, student: str) -> None:
        """Take the student's extensions out of the server's own copy of the course."""
        path = self._folder.valid_course
        if path.exists():
            text = read_foreign_text(path, LARGEST_DATA)
            kept = without_extensions(text, student)
            if kept != text:
                write_durably(path, kept.encode())

    def _erase_from_records(self, student: str) -> None:
        """Take the student out of the seals and the log.

        The log refers to the seals, so its references go first and come last: a crash leaves none to a seal that
        does not exist.
        """
        name = re.compile(rf"(?<![\w.-]){re.escape(student)}(?![\w-]|\.\w)")

        def erased(line: ServerLogLine) -> ServerLogLine | None:
            if line.student == student or line.event == "sealed":
                return None
            return replace(line, text=name.sub(_ERASED, line.text))

        self._log.rewrite(erased)
        for head, seal in self._seals.without(student):
            self._log.write("sealed", f"{head} {seal.file}", student=seal.student)

    # the lists

    def _names_in_lists(self) -> Iterator[str]:
        for each in self._lists:
            owners = self._owners(each.path)
            yield from filter(None, map(owners, each.lines()))
        yield from Invitations(self._folder.invites).names()

    def _owners(self, path: Path) -> "Owners":
        if path == self._folder.keys:
            return Owners(key_owners(self._folder, self._log))
        return Owners()


class Owners:
    """Finds whose a line of a list is: by its second word, or by ``keys`` for a line with a key."""

    def __init__(self, keys: dict[str, str] | None = None) -> None:
        self._keys = keys

    def __call__(self, line: str) -> str:
        words = line.split()
        if self._keys is not None:
            return self._keys.get(line, "")
        return words[1] if len(words) > 1 and NAME.fullmatch(words[1]) else ""


def _as_lines(records: Iterator[Struct]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


_CONTENTS = """\
All that this server stores about you.

folder/         your recordings (attempts/*.jsonl), your progress and your settings; a file that is too large is
                left out, and NAME.left-out says so
comments.json   your teacher's comments on your attempts, and when you read them
log.jsonl       the lines of the server's log about you: log-ins, attempts, refusals, with times and addresses
seals.jsonl     the digests of your recordings
lists.txt       your lines in the lists of keys, browsers, codes (only hashes are stored) and removed students
"""
