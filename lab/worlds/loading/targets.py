"""Load the protocol that a target names: a built-in one, or a class in a user's file.

    bully                       by name
    my_election.py              the one election protocol in that file
    my_election.py:MyElection   this class of it; a task, on the election that it names as its usual one
    field above bully           a built-in task, on any of these elections

A file is executed as ``python my_election.py`` would execute it: it can import the files beside it. This is done
here, and not in ``lab.protocols``, because that room opens no files and promised assertions are looked up in
``lab.properties``.
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
    OWN_PROTOCOLS,
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
from lab.text import UserError, did_you_mean
from lab.worlds.loading.declarations import DeclarationError, check_declarations

_ABOVE = " above "
_YOURS = "one-of-your-own"
"""No protocol has this name: a name in a recording never makes a file run."""
_BASES = (Algorithm, Election, Task)


class TargetError(UserError):
    """The target names nothing that can run; the text is for the user."""


class UnknownNameError(TargetError):
    """The target is neither a file nor a protocol by name. ``plain`` is the text without a suggestion."""

    def __init__(self, plain: str, name: str) -> None:
        super().__init__(f"{plain}{did_you_mean(name, [*PROTOCOLS, *TASKS])}")
        self.plain = plain


def load_protocol(target: str) -> type[Algorithm]:
    """Return the protocol that ``target`` names. A file is loaded once in a process. Raises TargetError."""
    task, stacks, election = target.partition(_ABOVE)
    if stacks:
        return _stack(_task(task), load_protocol(election))
    file, name = _parts(target)
    if not _is_file(file):
        try:
            return find_protocol(target)
        except UnknownProtocolError as error:
            text = f"{error}, or FILE.py:CLASS for your own"
            if Path(f"{file}.py").is_file():
                own = f"{file}.py:{name}" if name else f"{file}.py"
                raise TargetError(f"{text}; did you mean {own}?") from None
            raise UnknownNameError(text, target) from None
    path = Path(file)
    if not path.is_file():
        raise TargetError(f"there is no file {file}; name one of your Python files: FILE.py:CLASS")
    if path.suffix != ".py":
        raise TargetError(f"{file} is not a Python file; name one: FILE.py:CLASS")
    found = _class_in(_module_of(path), file, name)
    if "name" not in vars(found):
        found.name = _kebab(found.__name__)
    try:
        check_declarations(found)
    except DeclarationError as error:
        place = (
            path.with_name(error.place) if error.place else file
        )  # the mistake may be in a file that it imports
        raise TargetError(f"{place}: {error}") from None
    OWN_PROTOCOLS[found.name] = found
    return _stack(found, load_protocol(found.usual_election)) if issubclass(found, Task) else found


def recorded_protocol(info: ProtocolInfo, target: str | None) -> type[Algorithm]:
    """Return the protocol of a recording, or the user's own protocol at ``target``. Raises TargetError.

    The user's file is executed, never the source text in the recording, nor a file that the recording names. If a
    task ran on an election of the user's own, ``target`` names the election.
    """
    try:
        known = find_protocol(info.name, info.parameters)
    except UnknownProtocolError:
        election = info.election if info.name in TASKS else None
    else:
        if target is not None and load_protocol(target) is not known:
            raise TargetError(f"its protocol, {info.name}, is built in: leave out --protocol {target}")
        return known
    if target is None:
        own = info.name if election is None else f"{election} (under {info.name})"
        name = _recorded_class(info.source, election or info.name)
        file = (
            info.file if election == info.election else "FILE.py"
        )  # under a user's own task, it is the election's file
        wanted = f"--protocol {file}:{name}, with the path where {file} lies"
        raise TargetError(f"its protocol, {own}, is not built in: add {wanted}")
    found = load_protocol(target)
    if found.name != (info.name if election is None else election):
        raise TargetError(f"its protocol is {election or info.name}, and --protocol {target} is {found.name}")
    return found if election is None else _stack(_task(info.name), found)


def _recorded_class(source: str, protocol: str) -> str:
    """Return the class in the source text that has the protocol's name; CLASS if none seems to."""
    _, *parts = re.split(r"^class (\w+)", source, flags=re.MULTILINE)
    own_name = re.compile(rf"^    name\b.*= *[\"']{re.escape(protocol)}[\"']", re.MULTILINE)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if own_name.search(body) or _kebab(name) == protocol:
            return name
    return "CLASS"


def recorded_target(info: ProtocolInfo, own: str = "") -> str:
    """Return the target of what ``recorded_protocol`` finds with the user's target ``own``."""
    if info.name not in TASKS:
        return own or (_YOURS if _is_file(info.name) else info.name)
    election = str(info.parameters.get(ELECTION, ""))
    return stacked_target(info.name, own or (election if election in PROTOCOLS else _YOURS))


def stacked_target(task: str, target: str) -> str:
    """Return the target of this task on the election of that target."""
    return f"{task}{_ABOVE}{target}"


def _task(name: str) -> type[Task]:
    if name not in TASKS:
        raise TargetError(f"{name!r} does not run above an election; tasks: {', '.join(sorted(TASKS))}")
    return TASKS[name]


def _stack(task: type[Task], election: type[Algorithm]) -> type[Algorithm]:
    if not issubclass(election, Election) or election.upper_protocol is not None:
        raise TargetError(f"{task.name} runs above an election, and {election.name} is not one")
    try:
        return stacked(task, election)
    except ProtocolError as error:
        raise TargetError(str(error)) from None


def absolute_target(target: str, folder: Path = Path()) -> str:
    """Return the target with an absolute path; a relative one is resolved against ``folder``."""
    task, stacks, election = target.partition(_ABOVE)
    if stacks:
        return stacked_target(task, absolute_target(election, folder))
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
    """Execute the file as a module whose name no import statement can have; return it."""
    path = named.resolve()
    name = f"file {path}".replace(".", "_")
    if name in sys.modules:
        return sys.modules[name]
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    folder = str(path.parent)
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for other programs
            # not through cached bytecode, which would be stale after an edit within the same second
            exec(compile(path.read_bytes(), path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise TargetError(_describe_error(error, named, path.parent)) from None
    finally:
        # keep it for imports inside functions; last, so that a user's file cannot shadow one of the program's
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)
    return module


def _describe_error(error: BaseException, named: Path, folder: Path) -> str:
    """Return the error with the last of the user's lines that led to it, in this file or one beside it."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    text = str(error)
    if isinstance(error, SyntaxError):
        lines.append((error.filename or "", error.lineno or 1))
        text = error.msg
    own = [(Path(file).name, number) for file, number in lines if Path(file).parent == folder]
    place = f"{named.with_name(own[-1][0])}:{own[-1][1]}" if own else str(named)
    return f"{place}: {text}" if isinstance(error, ProtocolError) else f"{place}: {type(error).__name__}: {text}"


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
        raise TargetError(f"{file} has several protocols; name one: {' or '.join(f'{file}:{key}' for key in own)}")
    near = difflib.get_close_matches(name, own, 1)
    meant = f"; did you mean {file}:{near[0]}?" if near else ""
    raise TargetError(f"{file} has no class {name} (known: {', '.join(own)}){meant}")


def _kebab(name: str) -> str:
    """Convert ``MyElection`` to ``my-election``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", "-", name).strip("-").lower()
