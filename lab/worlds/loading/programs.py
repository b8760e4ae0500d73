"""Programs as the user names them: a command with its arguments, and the lens that reads their state."""

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from lab.protocols import LENSES
from lab.text import did_you_mean
from lab.worlds.loading.settings import SettingError, Written, as_option
from lab.worlds.loading.targets import load_protocol, names_file

_PREFIX = "program-"


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
