"""What a user names as a protocol: one that comes with the program, or a class in a file of their own.

    bully                       by name
    my_election.py              the one election protocol in that file
    my_election.py:MyElection   this class of it; a task, above the election that it names as its usual one
    field above bully           a task of the program's, above any election of these

A file is run as ``python my_election.py`` would run it: the files beside it can be imported. It is this room
that does it, and none below: ``lab.protocols`` opens no file, what a class promises is looked up in
``lab.properties``, and the worlds are who needs the class.
"""

import contextlib
import difflib
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from lab.kernel import ProtocolError
from lab.protocols import (
    ELECTION,
    PROTOCOLS,
    TASKS,
    Algorithm,
    Election,
    Task,
    UnknownProtocolError,
    find_protocol,
    stacked,
)
from lab.recording.records import ProtocolInfo
from lab.worlds.declarations import DeclarationError, check_declarations

__all__ = ["TargetError", "above", "absolute_target", "load_protocol", "recorded_protocol", "recorded_target"]

_ABOVE = " above "
_YOURS = "one-of-your-own"
"""No protocol has this name: a recording's own words are no file to be run."""
_BASES = (Algorithm, Election, Task)


class TargetError(LookupError):
    """The target names nothing that can be run; the text is for the user."""


def load_protocol(target: str) -> type[Algorithm]:
    """The protocol that ``target`` names. A file is loaded once in a process. TargetError."""
    task, stacks, election = target.partition(_ABOVE)
    if stacks:
        return _stack(_task(task), load_protocol(election))
    file, name = _parts(target)
    if not _is_file(file):
        try:
            return find_protocol(target)
        except UnknownProtocolError as error:
            own = f"{file}.py:{name}" if name else f"{file}.py"
            meant = f"; did you mean {own}?" if Path(f"{file}.py").is_file() else ""
            raise TargetError(f"{error}, or FILE.py:CLASS for your own{meant}") from None
    path = Path(file)
    if not path.is_file():
        raise TargetError(f"there is no file {file}; name a Python file of yours: FILE.py:CLASS")
    if path.suffix != ".py":
        raise TargetError(f"{file} is not a Python file; name one: FILE.py:CLASS")
    found = _class_in(_module_of(path), file, name)
    if "name" not in vars(found):
        found.name = _kebab(found.__name__)
    try:
        check_declarations(found)
    except DeclarationError as error:
        place = path.with_name(error.place) if error.place else file  # it may be in a file beside it
        raise TargetError(f"{place}: {error}") from None
    return _stack(found, load_protocol(found.usual_election)) if issubclass(found, Task) else found


def recorded_protocol(info: ProtocolInfo, target: str | None) -> type[Algorithm]:
    """The protocol that a recording names, or, for one of the user's own, the one at ``target``. TargetError.

    What is run is the user's file, never the source text in the recording, nor a file that the recording names.
    Where a task ran above an election of the user's own, that is the one at ``target``.
    """
    try:
        known = find_protocol(info.name, info.parameters)
    except UnknownProtocolError:
        election = info.election if info.name in TASKS else None
    else:
        if target is not None and load_protocol(target) is not known:
            raise TargetError(f"its protocol, {info.name}, is the program's: leave out --protocol {target}")
        return known
    if target is None:
        own = info.name if election is None else f"{election}, below the {info.name}"
        name = _recorded_class(info.source, election or info.name)
        file = info.file if election == info.election else "FILE.py"  # of a task of theirs it is the election's
        wanted = f"--protocol {file}:{name}, with the path where {file} lies"
        raise TargetError(f"its protocol, {own}, is not the program's: add {wanted}")
    found = load_protocol(target)
    if found.name != (info.name if election is None else election):
        raise TargetError(f"its protocol is {election or info.name}, and --protocol {target} is {found.name}")
    return found if election is None else _stack(_task(info.name), found)


def _recorded_class(source: str, protocol: str) -> str:
    """Which class has the protocol's name, going by the source as a text; CLASS where none seems to."""
    _, *parts = re.split(r"^class (\w+)", source, flags=re.MULTILINE)
    own_name = re.compile(rf"^    name\b.*= *[\"']{re.escape(protocol)}[\"']", re.MULTILINE)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if own_name.search(body) or _kebab(name) == protocol:
            return name
    return "CLASS"


def recorded_target(info: ProtocolInfo, own: str = "") -> str:
    """The target of what ``recorded_protocol`` finds with the user's ``own``."""
    if info.name not in TASKS:
        return own or (_YOURS if _is_file(info.name) else info.name)
    election = str(info.parameters.get(ELECTION, ""))
    return above(info.name, own or (election if election in PROTOCOLS else _YOURS))


def above(task: str, target: str) -> str:
    """The target of this task above the election of that target."""
    return f"{task}{_ABOVE}{target}"


def _task(name: str) -> type[Task]:
    if name not in TASKS:
        raise TargetError(f"{name!r} runs above no election; what does: {', '.join(sorted(TASKS))}")
    return TASKS[name]


def _stack(task: type[Task], election: type[Algorithm]) -> type[Algorithm]:
    if not issubclass(election, Election) or election.carries is not None:
        raise TargetError(f"{task.name} runs above an election, and {election.name} is none")
    try:
        return stacked(task, election)
    except ProtocolError as error:
        raise TargetError(str(error)) from None


def absolute_target(target: str, folder: Path = Path()) -> str:
    """The same target, whose file is seen from ``folder``, as a process in another folder can name it."""
    task, stacks, election = target.partition(_ABOVE)
    if stacks:
        return above(task, absolute_target(election, folder))
    file, name = _parts(target)
    if not _is_file(file):
        return target
    path = (folder / file).resolve()
    return f"{path}:{name}" if name else str(path)


def _parts(target: str) -> tuple[str, str]:
    file, colon, name = target.rpartition(":")
    return (file, name) if colon and not name.endswith(".py") else (target, "")


def _is_file(file: str) -> bool:
    return "/" in file or "." in file


def _module_of(named: Path) -> ModuleType:
    """The module that the file makes, under a name that no import statement can have."""
    path = named.resolve()
    name = f"file {path}".replace(".", "_")
    if name in sys.modules:
        return sys.modules[name]
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    folder = str(path.parent)
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the program prints is for other programs to read
            # not by way of cached bytecode, which counts as fresh for as long as a clock's second
            exec(compile(path.read_bytes(), path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise TargetError(_told(error, named, path.parent)) from None
    finally:
        # for imports inside functions; last, or a file of the user's could stand in for one of the program's
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)
    return module


def _told(error: BaseException, named: Path, folder: Path) -> str:
    """The error, and the last of the user's lines that led to it, in this file or one beside it."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    said = str(error)
    if isinstance(error, SyntaxError):
        lines.append((error.filename or "", error.lineno or 1))
        said = error.msg
    own = [(Path(file).name, number) for file, number in lines if Path(file).parent == folder]
    place = f"{named.with_name(own[-1][0])}:{own[-1][1]}" if own else str(named)
    return f"{place}: {said}" if isinstance(error, ProtocolError) else f"{place}: {type(error).__name__}: {said}"


def _class_in(module: ModuleType, file: str, name: str) -> type[Algorithm]:
    classes = {key: each for key, each in vars(module).items() if isinstance(each, type) and each not in _BASES}
    own = [
        key
        for key, each in classes.items()
        if issubclass(each, Algorithm) and each.__module__ == module.__name__ and key == each.__name__
    ]
    found = classes.get(name or (own[0] if len(own) == 1 else ""))
    if found is not None and issubclass(found, Algorithm):
        return found
    if found is not None:
        raise TargetError(f"{file}: {name} is not an election protocol: write class {name}(Election)")
    if not own:
        raise TargetError(f"{file} has no election protocol: write class MyElection(Election)")
    if not name:
        raise TargetError(
            f"{file} has several protocols; say which: {' or '.join(f'{file}:{key}' for key in own)}"
        )
    near = difflib.get_close_matches(name, own, 1)
    meant = f"; did you mean {file}:{near[0]}?" if near else ""
    raise TargetError(f"{file} has no class {name}; there is: {', '.join(own)}{meant}")


def _kebab(name: str) -> str:
    """``MyElection`` → ``my-election``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", "-", name).strip("-").lower()
