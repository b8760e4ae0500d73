"""One gate for files that the user names, or that come from somebody else.

Whoever wrote such a file may mean harm, or may have named the wrong one. So it is opened once, without waiting; it
must be a regular file (a pipe would be waited for, a device would act); and no more of it is read than its reader
has use for, whatever its size.

Links: a path that the user names is followed, as by every program. What is found in a folder that somebody else
filled, such as the submissions of a class, is not: a link there would be graded, and quoted, as if it were the
student's own file.
"""

import os
import re
import stat
import tomllib
from errno import EFBIG, EINVAL, EISDIR, ELOOP
from io import BufferedReader
from pathlib import Path
from typing import Any

LARGEST_TEXT = 1 << 20
"""The most bytes of a text: a scenario, a script, a protocol, settings, a class list."""
LARGEST_DATA = 1 << 26
"""The most bytes of a file of data that is read at once."""

_OTHERS = {
    stat.S_IFDIR: (EISDIR, os.strerror(EISDIR)),
    stat.S_IFLNK: (ELOOP, "a symbolic link, not a file itself"),
    stat.S_IFIFO: (EINVAL, "a pipe, not a regular file"),
    stat.S_IFSOCK: (EINVAL, "a socket, not a regular file"),
}
_CURLY_QUOTES = "“”„‟‘’‚‛«»"
_DEVICE = EINVAL, "a device, not a regular file"


class RefusedFileError(OSError):
    """The file is not read: it is no regular file, too large, or no text; ``strerror`` is for the user."""

    def __init__(self, number: int, text: str, path: Path) -> None:
        super().__init__(number, text, str(path))


class TOMLError(ValueError):
    """A text is not TOML: the reason, and the ``line`` and ``column``, which are 0 if they are not known."""

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(reason)
        self.line = line
        self.column = column


def open_foreign(path: Path, largest: int, follow_links: bool = True) -> BufferedReader:
    """Open the file for reading, if it is a regular file of at most ``largest`` bytes.

    Raises RefusedFileError, or OSError if it cannot be opened.
    """
    # first without opening it, because to open a device may already act on it
    _check(path, os.stat(path, follow_symlinks=follow_links), largest)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | (0 if follow_links else os.O_NOFOLLOW)
    number = os.open(path, flags)
    try:
        _check(path, os.fstat(number), largest)  # another file may have taken its place
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def read_foreign(path: Path, largest: int = LARGEST_DATA, follow_links: bool = True) -> bytes:
    """Return the contents of the file.

    Raises RefusedFileError, or OSError if it cannot be read.
    """
    with open_foreign(path, largest, follow_links) as file:
        data = file.read(largest + 1)
    if len(data) > largest:  # it has grown, or is a file of the system, whose size is given as 0
        raise _too_large(path, largest)
    return data


def read_foreign_text(path: Path, largest: int = LARGEST_TEXT) -> str:
    """Return the text of the file: UTF-8, with or without a byte order mark; newlines of every system.

    Raises RefusedFileError, or OSError if it cannot be read.
    """
    try:
        text = read_foreign(path, largest).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RefusedFileError(EINVAL, "not a text file", path) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a text in TOML. Raises TOMLError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # tomllib gives the place only in the message
        found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error), re.DOTALL)
        if found is None:
            raise TOMLError(str(error).removesuffix(" (at end of document)"), text.count("\n") + 1) from None
        line, column = int(found[2]), int(found[3])
        is_curly = text.split("\n")[line - 1][column - 1 : column] in tuple(_CURLY_QUOTES)
        hint = ": these quotes are curly; write straight ones" if is_curly else ""
        raise TOMLError(f"{found[1]}{hint}", line, column) from None
    except ValueError:
        raise TOMLError("a number has too many digits") from None
    except RecursionError:
        raise TOMLError("it is nested too deeply") from None


def _check(path: Path, found: os.stat_result, largest: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise RefusedFileError(*_OTHERS.get(stat.S_IFMT(found.st_mode), _DEVICE), path)
    if found.st_size > largest:
        raise _too_large(path, largest)


def _too_large(path: Path, largest: int) -> RefusedFileError:
    amount, unit = (largest >> 30, "GB") if largest >= 1 << 30 else (largest >> 20, "MB")
    return RefusedFileError(EFBIG, f"larger than {amount} {unit}, the most that such a file may have", path)
