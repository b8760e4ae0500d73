"""The source of a protocol as one text, as a recording has it, and the files that it is put together of.

The protocol's own file comes first, so its lines keep their numbers. Behind it come the other files in which it
waits, of its bases and of the task above it, each below a line that names it.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

from msgspec import Struct

from lab.protocols.algorithm import Algorithm

__all__ = ["SourceFile", "files_in", "files_of", "source_of"]

_HEADING = "\n# ---- {} ----\n"
_HEADED = re.compile(_HEADING.format(r"(\S+)"))


class SourceFile(Struct, frozen=True):
    """A file within the whole text, in which there are ``before`` lines before its first."""

    path: str
    text: str
    before: int

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]


def source_of(protocol: type[Algorithm]) -> tuple[str, str]:
    """(file name, source text) of the protocol, for display beside a run.

    Once one of its files has changed, the lines in a recording at which procedures wait are others.
    """
    own, *others = files_of(protocol)
    return own.name, own.text + "".join(f"{_HEADING.format(each.name)}{each.text}" for each in others)


def files_of(protocol: type[Algorithm]) -> tuple[SourceFile, ...]:
    """The files that the installed protocol is written in, as they are in ``source_of``."""
    return _placed((module.__file__ or "", inspect.getsource(module)) for module in _modules_of(protocol))


def files_in(name: str, source: str) -> tuple[SourceFile, ...]:
    """The files in a source text that a recording has, whose first has that name."""
    text, *rest = _HEADED.split(source)
    return _placed([(name, text), *zip(rest[::2], rest[1::2], strict=True)])


def _placed(files: Iterable[tuple[str, str]]) -> tuple[SourceFile, ...]:
    return tuple(_each_placed(files))


def _each_placed(files: Iterable[tuple[str, str]]) -> Iterator[SourceFile]:
    before = 0
    for path, text in files:
        yield SourceFile(path, text, before)
        before += text.count("\n") + _HEADING.count("\n")


def _modules_of(protocol: type[Algorithm]) -> list[ModuleType]:
    layers = [each for each in (protocol, protocol.carries) if each is not None]
    written = [each for layer in layers for each in layer.__mro__ if each in layers or _waits(each)]
    return list(dict.fromkeys(sys.modules[each.__module__] for each in written))


def _waits(part: type) -> bool:
    return issubclass(part, Algorithm) and any(map(inspect.iscoroutinefunction, vars(part).values()))
