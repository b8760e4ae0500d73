"""The files that say who may log in: invitations, guests of an open server, known browsers.

Invitations are one-time codes with which a student registers a key or a browser. A code has sixteen letters out of
twenty-three, about seventy bits. It cannot be guessed over a network, nor recovered from its hash, and only the
hash is stored. A browser has no key: a code gives it a token, which identifies it from then on. Only its hash is
stored, too; deleting the line of a browser or a guest locks it out.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from lab.durable import exclusive_lock, write_durably
from lab.exercises.attempts import NAME
from lab.foreign_file import LARGEST_DATA, read_foreign, read_foreign_text
from lab.serve.data_folder import DataFolder, FileVersion, ServerLog, file_version
from lab.text import UserError, sanitize

K = TypeVar("K")

GUEST = "guest-"
"""The prefix of guests' names; no student of a class has such a name."""
NAME_RULE = (
    f"a letter (a-z) or digit, then letters, digits, dots, dashes and underscores, 32 at most; not {GUEST}…"
)
_NAME = re.compile(rf"(?!(?i:{GUEST})){NAME.pattern}")

REMOVED = "your teacher has removed you from the class; ask your teacher to readmit you"
ERASED = "your teacher has deleted all that was stored about you here"

_LETTERS = "abcdefghjkmnpqrstuvwxyz"
"""Letters that are not mistaken for others."""
_CODE = re.compile(f"[{_LETTERS}]{{4}}(-?[{_LETTERS}]{{4}}){{3}}", re.IGNORECASE)
_NEARLY_CODE = re.compile("[a-z0-9]{3,5}(-[a-z0-9]{3,5}){3}", re.IGNORECASE)
_LONGEST_NUMBERED = 28
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def is_name(text: str) -> bool:
    """Return whether this is a valid student name, which is also a folder's name."""
    return _NAME.fullmatch(text) is not None


# invitations


class InvitationError(Exception):
    """The code is not valid; the text gives the reason and the next step."""


class UnknownCodeError(InvitationError):
    """No student ever had this code: a typing error, or a guess."""


class _Invitation(Struct, frozen=True):
    name: str
    code: str
    until: Annotated[datetime, Meta(tz=True)]
    used: str = ""


def is_code(text: str) -> bool:
    """Return whether the text has the form of a code."""
    return _CODE.fullmatch(text) is not None


def is_mistyped_code(text: str) -> bool:
    """Return whether the text is nearly a code: its groups have a letter too many or too few, or other letters."""
    return not is_code(text) and _NEARLY_CODE.fullmatch(text) is not None


class Invitations:
    """The file of invitations. The server and ``lab serve invite`` both change it, under a lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def invite(self, names: list[str], days: int) -> list[tuple[str, str]]:
        """Return (name, code) for each; unused earlier codes of these students become invalid.

        Raises InvitationError if the file cannot be read.
        """
        made = []
        until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
        with exclusive_lock(self._path):
            kept = [each for each in self._read() if each.used or each.name not in names]
            for name in names:
                code = "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(4))
                kept.append(_Invitation(name, _hash_code(code), until))
                made.append((name, code))
            self._write(kept)
        return made

    def waiting(self) -> dict[str, datetime]:
        """Return the students with an unused code, and when it expires. Raises InvitationError."""
        now = datetime.now(UTC)
        return {each.name: each.until for each in self._read() if not each.used and each.until >= now}

    def name_for(self, code: str) -> str:
        """Return the student whom the code invites. Raises InvitationError."""
        return self._find(code).name

    @contextmanager
    def used(self, code: str, by: str) -> Iterator[str]:
        """Use up the code while this lasts, for a browser or a key's fingerprint; yield the student.

        Raises InvitationError. A crash meanwhile costs the invitation and admits nobody. After an OSError the code
        is valid again.
        """
        with exclusive_lock(self._path):
            found, before = self._find(code), self._read()
            self._write([replace(each, used=by) if each == found else each for each in before])
            try:
                yield found.name
            except OSError:
                self._write(before)
                raise

    def names(self) -> set[str]:
        """Return the students who have, or had, a code. Raises InvitationError."""
        return {each.name for each in self._read()}

    def describe(self, student: str) -> list[str]:
        """Describe this student's codes, used or not, in a line each. Raises InvitationError."""
        own = (each for each in self._read() if each.name == student)
        return [
            f"{each.code} until {each.until.isoformat()} {each.used and f'used by {each.used}'}" for each in own
        ]

    def forget(self, student: str) -> None:
        """Delete this student's codes. Raises InvitationError or OSError."""
        with exclusive_lock(self._path):
            before = self._read()
            kept = [each for each in before if each.name != student]
            if kept != before:
                self._write(kept)

    def _find(self, code: str) -> _Invitation:
        found = next((each for each in self._read() if each.code == _hash_code(code)), None)
        if found is None:
            raise UnknownCodeError("unknown code; check for a typing error, or ask your teacher for a new one")
        if found.used:
            raise InvitationError("the code was already used; ask your teacher for a new one")
        if found.until < datetime.now(UTC):
            raise InvitationError("the code has expired; ask your teacher for a new one")
        return found

    def _read(self) -> list[_Invitation]:
        """Read all invitations. Raises InvitationError if the file is not valid."""
        try:
            return msgspec.json.decode(read_foreign(self._path), type=list[_Invitation])
        except FileNotFoundError:
            return []
        except ValueError:
            raise InvitationError("the server cannot read its invitations; tell your teacher") from None

    def _write(self, invitations: list[_Invitation]) -> None:
        write_durably(self._path, msgspec.json.format(msgspec.json.encode(invitations)))


def _hash_code(code: str) -> str:
    return hashlib.sha256(code.lower().replace("-", "").encode()).hexdigest()


# lists


class ListError(UserError):
    """An invalid line of a list; the text names it, for its author."""


class ListFile(Generic[K]):
    """A list in a file, read again when the file changes, which a teacher may edit while the server runs.

    ``read`` maps the text (and the file's name) to students by key. Raises ListError.
    """

    def __init__(self, path: Path, read: Callable[[str, str], dict[K, str]], log: ServerLog) -> None:
        self.path = path
        self._read = read
        self._log = log
        self._version: FileVersion | None = None
        self._students: dict[K, str] = {}

    def students(self) -> dict[K, str]:
        """Return the current list; the last valid one if the file is not readable now."""
        try:
            version = file_version(self.path)
            if version != self._version:
                self._version = version
                if version is None and self._students:
                    self._log.announce(
                        "unreadable", f"{self.path} is gone, and with it the students that it lists"
                    )
                text = "" if version is None else read_foreign_text(self.path, LARGEST_DATA)
                self._students = self._read(text, str(self.path))
        except FileNotFoundError:
            self._version, self._students = None, {}
        except (OSError, ListError) as error:
            self._log.announce("unreadable", f"{error}; students are those of the version before it")
        return self._students

    def lines(self) -> list[str]:
        """Return the lines of the file as they are. Raises OSError."""
        return read_foreign_text(self.path, LARGEST_DATA).splitlines() if self.path.exists() else []

    @contextmanager
    def edited(self) -> Iterator[list[str]]:
        """Lock the file, yield its lines, and then store what they have become. Raises OSError."""
        with exclusive_lock(self.path):
            lines = self.lines()
            yield lines
            write_durably(self.path, "".join(f"{line}\n" for line in lines).encode())


def _reader(pattern: str, form: str) -> Callable[[str, str], dict[str, str]]:
    """Return the reader of a list of lines of this form; the pattern's groups are (key, student)."""
    expected = re.compile(pattern)

    def read(text: str, file: str) -> dict[str, str]:
        students = {}
        for number, line in enumerate(text.splitlines(), 1):
            found = expected.fullmatch(line)
            if found is None:
                raise ListError(f"{file}:{number}: {sanitize(line, 40)!r}: expected {form}; delete the line")
            students[found[1]] = found[2]
        return students

    return read


class ClassNames:
    """The names given to keys whose comment is ``user@host``, a file with a line for each: ``FINGERPRINT NAME``.

    A key keeps its name, and with it the student's work, however the list of keys is edited.
    """

    def __init__(self, folder: DataFolder, log: ServerLog) -> None:
        self._log = log
        read = _reader(rf"(SHA256:\S+) ({_NAME.pattern})", "FINGERPRINT NAME")
        self._file = ListFile(folder.class_names, read, log)

    def names(self) -> dict[str, str]:
        """Return the names given so far, by the keys' fingerprints."""
        return dict(self._file.students())

    def name_keys(self, comments: Mapping[str, str], taken: Iterable[str]) -> dict[str, str]:
        """Return the name of each key, given the comments by fingerprint: the user, with a number if need be.

        Keys with equal users may be of different students, so each new name differs from all others and from
        ``taken``. New names are announced. Raises OSError.
        """
        names = dict(self._file.students())
        given = {*taken, *names.values()}
        new = [key for key in comments if key not in names]
        for key in new:
            names[key] = _free_name(user_of(comments[key]), given)
            given.add(names[key])
        if new:
            with self._file.edited() as lines:
                lines.extend(f"{key} {names[key]}" for key in new)
        for key in new:
            user = user_of(comments[key])
            twin = "" if names[key] == user else f"; if it is of {user}, write {user} as its comment"
            self._log.announce("named", f"the key {comments[key]} is of student {names[key]}{twin}")
        return {key: names[key] for key in comments}


def user_of(comment: str) -> str:
    r"""Return the user in a comment ``user@host``, or ``DOMAIN\user@host``, as Windows writes it."""
    return comment.rpartition("@")[0].rpartition("\\")[2]


def _free_name(user: str, taken: Set[str]) -> str:
    numbered = (f"{user[:_LONGEST_NUMBERED]}-{number}" for number in count(2))
    return user if user not in taken else next(name for name in numbered if name not in taken)


def names_in(file: Path, place: int) -> set[str]:
    """Return the names that are the word at this place of each line. Raises OSError."""
    lines = read_foreign_text(file, LARGEST_DATA).splitlines() if file.exists() else []
    words = (line.split()[place : place + 1] for line in lines)
    return {name for each in words for name in each if NAME.fullmatch(name)}


class RemovedStudents:
    """Students whom the teacher has removed from the class, a file with a line for each: ``NAME SINCE``."""

    def __init__(self, folder: DataFolder, log: ServerLog) -> None:
        read = _reader(rf"({NAME.pattern}) (\S+)", "NAME SINCE")
        self._file = ListFile(folder.removed, read, log)

    def names(self) -> set[str]:
        """Return the names of all of them."""
        return set(self._file.students())

    def lines(self) -> list[str]:
        """Return the lines of the file. Raises OSError."""
        return self._file.lines()

    def add(self, student: str) -> None:
        """Remove a student from the class. Raises OSError."""
        with self._file.edited() as lines:
            lines.append(f"{student} {datetime.now(UTC).isoformat(timespec='seconds')}")

    def discard(self, student: str) -> None:
        """Admit a student again. Raises OSError."""
        with self._file.edited() as lines:
            lines[:] = [line for line in lines if line.split()[:1] != [student]]


class Guests:
    """A file with a line for each guest: ``FINGERPRINT NAME``."""

    def __init__(self, folder: DataFolder, log: ServerLog) -> None:
        self._folder = folder
        read = _reader(rf"(SHA256:\S+) ({GUEST}[0-9]+)", "FINGERPRINT NAME")
        self._file = ListFile(folder.guests, read, log)

    def guest_with_key(self, fingerprint: str) -> str | None:
        """Return the guest who has used this key before."""
        return self._file.students().get(fingerprint)

    def add(self, fingerprint: str) -> str:
        """Create a guest with this key. Raises OSError."""
        name = self._folder.add_student(GUEST)
        with self._file.edited() as lines:
            lines.append(f"{fingerprint} {name}")
        return name


class Browsers:
    """The register of browsers, a file with a line for each: ``HASH NAME SINCE``.

    If ``is_open``, anybody may be a guest, known until the server ends.
    """

    def __init__(self, folder: DataFolder, is_open: bool, log: ServerLog, removed: RemovedStudents) -> None:
        self._folder = folder
        self._is_open = is_open
        self._removed = removed
        self._invitations = Invitations(folder.invites)
        read = _reader(rf"([0-9a-f]{{64}}) ({_NAME.pattern}) \S+", "HASH NAME SINCE")
        self._file = ListFile(folder.browsers, read, log)
        self._guests: dict[str, str] = {}

    def enrol(self, code: str) -> tuple[str, str]:
        """Use up the code; return its student, and the browser's token. Raises InvitationError or OSError."""
        if not is_code(code):
            raise UnknownCodeError(
                "not a valid code: a code has sixteen letters, as in abcd-efgh-jkmn-pqrs; check for a typing error"
            )
        if self._invitations.name_for(code) in self._removed.names():
            raise InvitationError(REMOVED)
        token = secrets.token_urlsafe(32)
        with self._invitations.used(code, "a browser") as name, self._file.edited() as lines:
            since = datetime.now(UTC).isoformat(timespec="seconds")
            lines.append(f"{_hash_token(token)} {name} {since}")
        return name, token

    def enrol_guest(self) -> tuple[str, str]:
        """Create a guest; return its name, and the browser's token.

        Raises InvitationError if the server accepts no guests, or OSError.
        """
        if not self._is_open:
            raise InvitationError("this server accepts no guests; ask your teacher for a code")
        token = secrets.token_urlsafe(32)
        self._guests[_hash_token(token)] = name = self._folder.add_student(GUEST)
        return name, token

    def student_with(self, token: str) -> str | None:
        """Return the student whose browser has this token, unless removed; the token may be any text."""
        student = self._owner_of(token)
        return None if student in self._removed.names() else student

    def is_removed(self, token: str) -> bool:
        """Return whether the student with this token was removed from the class."""
        return self._owner_of(token) in self._removed.names()

    def _owner_of(self, token: str) -> str | None:
        if not _TOKEN.fullmatch(token):
            return None
        return self._file.students().get(_hash_token(token)) or self._guests.get(_hash_token(token))

    def forget_student(self, student: str) -> None:
        """Forget the browsers of a guest, which are in no file."""
        self._guests = {token: name for token, name in self._guests.items() if name != student}

    def forget(self, token: str) -> None:
        """Forget the browser that has this token. Raises OSError."""
        with self._file.edited() as lines:
            lines[:] = [line for line in lines if not line.startswith(_hash_token(token))]
        self._guests.pop(_hash_token(token), None)

    def names(self) -> set[str]:
        """Return the students whose browsers are in the file; guests are not."""
        return set(self._file.students().values())


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
