"""Load a file of the user's as a module.

It is executed as ``python my_election.py`` would execute it, and can import the files beside it.
"""

import contextlib
import hashlib
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from lab.foreign_file import LARGEST_TEXT, read_foreign
from lab.kernel import ProtocolError
from lab.properties.declarations import DeclaredWrongError
from lab.text import UserError
from lab.worlds.watchdog import time_limit, watch_steps

_MOST_S = 3


class TargetError(UserError):
    """The target names nothing that can run; the text is for the user."""


_SHIPPED: dict[Path, Path] = {}
"""The files that came from another machine, by their paths there."""
_FOLDERS: set[Path] = set()
"""The folders of the files loaded so far."""
_LOADED: dict[str, dict[str, tuple[Path, tuple[int, ...]]]] = {}
"""By each module loaded so far: it and those that it has imported from beside it, each with its file and stamp."""


def use_shipped(files: dict[str, bytes], folder: Path) -> None:
    """Load these files in place of those at the same paths here: they came with the work of another machine."""
    if not files:
        return
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
    place = folder / f"lab-shipped-{os.getuid()}-{digest}"
    place.mkdir(mode=0o700, exist_ok=True)
    for path, content in files.items():
        here = place / Path(path).name
        if not here.exists():
            here.write_bytes(content)
        if _SHIPPED.get(Path(path)) != here:
            _SHIPPED[Path(path)] = here
            for name in (_module_name(Path(path)), Path(path).stem):
                module = sys.modules.get(name)
                if module is not None and Path(getattr(module, "__file__", "") or "").parent.name.startswith(
                    "lab-shipped-"
                ):
                    del sys.modules[name]


def program_path() -> list[str]:
    """Return ``sys.path`` without the folders of the user's files."""
    users = {str(folder) for folder in _FOLDERS}
    return [path for path in sys.path if path and path not in users]


def forget_edited() -> None:
    """Forget the modules of the user's files that were changed since: the next time, they are loaded anew."""
    for name, stamps in list(_LOADED.items()):
        if any(_stamp(path) != stamp for path, stamp in stamps.values()):
            del _LOADED[name]
            for each in (name, *stamps):
                sys.modules.pop(each, None)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what differs for a file once it is changed."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def located(path: Path) -> Path:
    """Return where the file of this path is: on a machine of a cluster, where what came with the work is."""
    return _SHIPPED.get(path, path)


def _module_name(path: Path) -> str:
    return f"file {path}".replace(".", "_")


def load_module(named: Path) -> ModuleType:
    """Execute the file as a module whose name no import statement can have; return it. Once in a process."""
    path = named.resolve()
    name = _module_name(path)
    path = located(path)
    if name in sys.modules:
        return sys.modules[name]
    stamp = _stamp(path)
    try:
        source = read_foreign(path, LARGEST_TEXT)
    except OSError as error:
        raise TargetError(f"{named}: {error.strerror}") from None
    before = {*sys.modules}
    module = sys.modules[name] = ModuleType(name)
    module.__file__, module.__package__ = str(path), ""
    vars(module)["print"] = _print
    folder = str(path.parent)
    forgotten = _forget_namesakes(path.parent)
    sys.path.insert(0, folder)
    try:
        # standard output is for other programs
        too_long = TimeoutError(f"the file was not loaded within {_MOST_S} s of computing")
        with contextlib.redirect_stdout(sys.stderr), time_limit(_MOST_S, too_long):
            # not through cached bytecode, which would be stale after an edit within the same second
            exec(compile(source, path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise TargetError(_describe_error(error, named, path.parent)) from None
    finally:
        for other in list(sys.modules):
            if _file_in(folder, other):
                vars(sys.modules[other]).setdefault("print", _print)
        # keep it for imports inside functions; last, so that a user's file cannot shadow one of the program's
        sys.path.remove(folder)
        sys.modules.update({name: other for name, other in forgotten.items() if name not in sys.modules})
        if folder not in sys.path:
            sys.path.append(folder)
    imported = {other: Path(file) for other in sys.modules.keys() - before if (file := _file_in(folder, other))}
    _LOADED[name] = {name: (path, stamp), **{other: (file, _stamp(file)) for other, file in imported.items()}}
    watch_steps()  # and its properties, which any process may evaluate
    return module


def _file_in(folder: str, module: str) -> str:
    """Return the file of a module if it lies in this folder; else an empty text."""
    file = getattr(sys.modules[module], "__file__", "") or ""
    return file if os.path.dirname(file) == folder else ""


def _print(*values: object, file: TextIO | None = None, **options: Any) -> None:
    """Print, by default on standard error, as while a file is loaded and as live nodes do."""
    print(*values, file=sys.stderr if file is None else file, **options)


def _forget_namesakes(folder: Path) -> dict[str, ModuleType]:
    """Let the files of this folder be imported, and not those of the same names beside a file loaded earlier.

    Return the modules of these.
    """
    others = {str(other) for other in _FOLDERS if other != folder}
    _FOLDERS.add(folder)
    names = [path.stem for path in folder.glob("*.py") if path.stem in sys.modules]
    files = {name: getattr(sys.modules[name], "__file__", None) or "" for name in names}
    return {name: sys.modules.pop(name) for name, file in files.items() if str(Path(file).parent) in others}


def _describe_error(error: BaseException, named: Path, folder: Path) -> str:
    """Return the error with the last of the user's lines that led to it, in this file or one beside it."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    text = str(error)
    if isinstance(error, SyntaxError):
        lines.append((error.filename or "", error.lineno or 1))
        text = error.msg
    if isinstance(error, ImportError) and "relative import" in text:
        text += "; it is executed by itself, not in its package: import the files beside it by their names alone"
    own = [(Path(file).name, number) for file, number in lines if Path(file).parent == folder]
    place = f"{named.with_name(own[-1][0])}:{own[-1][1]}" if own else str(named)
    return (
        f"{place}: {text}"
        if isinstance(error, ProtocolError | DeclaredWrongError)
        else f"{place}: {type(error).__name__}: {text}"
    )
