"""Programs as the user names them: a command, or a file, and the lens that reads their state."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.foreign_file import read_foreign
from lab.protocols import LENSES
from lab.text import did_you_mean
from lab.worlds.loading.settings import SettingError, Written, as_option
from lab.worlds.loading.targets import load_protocol, names_file
from lab.worlds.loading.user_module import TargetError

LARGEST_PROGRAM = 64 << 20
"""In bytes; a compiled program has its libraries in it."""
_PREFIX = "program-"
_COMPILED = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_OWN_PYTHON = ("python", "python3")


def lens_target(lens: str | None, written: Written = as_option) -> str:
    """Return the target of a lens by name (raft), or of a class in a user's file.

    Raises SettingError, TargetError.
    """
    if lens is None:
        return next(iter(LENSES))
    if not names_file(lens):
        if f"{_PREFIX}{lens}" in LENSES:
            return f"{_PREFIX}{lens}"
        known = [name.removeprefix(_PREFIX) for name in LENSES if name.startswith(_PREFIX)]
        raise SettingError(
            f"{written('lens', lens)}: unknown lens; known: {', '.join(known)}, or FILE.py:CLASS for your own"
            f"{did_you_mean(lens, known)}"
        )
    found = load_protocol(lens)
    if not found.is_program:
        raise SettingError(
            f"{written('lens', lens)}: {found.__name__} is a protocol, not a lens: write class "
            f"{found.__name__}(Program), with Program from lab.protocols"
        )
    return lens


def program_command(
    command: str, arguments: Sequence[str] = (), written: Written = as_option, folder: Path = Path()
) -> str:
    """Return the command as one text, its program by its whole path; a relative one is in ``folder``.

    Raises SettingError if it cannot be executed.
    """
    got = written("program", command)
    try:
        program, *words = shlex.split(command)
    except ValueError as error:
        if not command.strip():
            raise SettingError(f"{got}: name a program, such as {written('program', './my_node')}") from None
        raise SettingError(f"{got}: {error}; write it as a shell would read it") from None
    path = Path(folder, Path(program).expanduser()).absolute()
    found = shutil.which(path if "/" in program else program)
    if found is None:
        if path.is_file():
            how = f"make it executable (chmod +x {program})" if "/" in program else f"write ./{program}"
            raise SettingError(
                f"{got}: {program} cannot be executed; {how}, or name its interpreter: 'python3 {program}'"
            )
        where = "there is no such file" if "/" in program else "it is not in the PATH"
        raise SettingError(f"{got}: {where}; name a program, such as {written('program', './my_node')}")
    return shlex.join([os.path.abspath(found), *words, *arguments])


def words_that_execute(file: Path) -> list[str]:
    """Return the words of the command that executes this file: by its ``#!`` line, or by itself if it is compiled.

    The interpreter has its whole path; ``python3`` is the one that executes this program. Raises TargetError.
    """
    try:
        first, _, _ = read_foreign(file, LARGEST_PROGRAM).partition(b"\n")
    except OSError as error:
        raise TargetError(f"{file}: {error.strerror}; name the file of a program") from None
    if first.startswith(_COMPILED):
        return [str(file.absolute())]
    if not first.startswith(b"#!"):
        raise TargetError(
            f"{file} is no program: its first line must name its interpreter, such as #!/usr/bin/env python3; "
            "if it is source to compile, give the executable"
        )
    try:
        words = shlex.split(first[2:].decode("utf-8", "replace"))
    except ValueError as error:
        raise TargetError(f"{file}:1: {error}; write #!/usr/bin/env python3") from None
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word != "-S"]
    if not words:
        raise TargetError(f"{file}:1 names no interpreter; write #!/usr/bin/env python3")
    interpreter, *arguments = words
    return [_find_interpreter(interpreter, file), *arguments, str(file.absolute())]


def _find_interpreter(name: str, file: Path) -> str:
    """Return the whole path of an interpreter. Raises TargetError."""
    if Path(name).name in _OWN_PYTHON:
        return os.path.realpath(sys.executable)
    found = shutil.which(name)
    if found is None:
        raise TargetError(f"{file}:1: there is no {name} on this machine; install it, or write for another")
    interpreter = Path(os.path.realpath(found))
    with interpreter.open("rb") as opened:
        if not opened.read(4).startswith(_COMPILED):
            raise TargetError(
                f"{file}:1: {interpreter} is a script that looks for {name}; name the interpreter's whole path"
            )
    return str(interpreter)
