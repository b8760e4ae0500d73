"""The source of a protocol as one text, as recordings contain it, and the files that make it up.

The protocol's own file comes first, so its line numbers are unchanged. The other files with procedures follow,
those of its bases and of the task above it, each below a heading with its name.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

from msgspec import Struct

from lab.protocols.algorithm import Algorithm

__all__ = ["SourceFile", "files_in", "files_of", "source_of", "summary_of"]

_HEADING = "\n# ---- {} ----\n"
_HEADED = re.compile(_HEADING.format(r"(\S+)"))


class SourceFile(Struct, frozen=True):
    """A file within the whole text, with ``before`` lines above it."""

    path: str
    text: str
    before: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def source_of(protocol: type[Algorithm]) -> tuple[str, str]:
    """Return (file name, source text) of the protocol, for display beside a run.

    After a change to one of the files, the line numbers of waits in older recordings refer to the older text.
    """
    own, *others = files_of(protocol)
    return own.name, own.text + "".join(f"{_HEADING.format(each.name)}{each.text}" for each in others)


def files_of(protocol: type[Algorithm]) -> tuple[SourceFile, ...]:
    """Return the source files of the installed protocol, in the order of ``source_of``."""
    return _placed((module.__file__ or "", inspect.getsource(module)) for module in _modules_of(protocol))


def files_in(name: str, source: str) -> tuple[SourceFile, ...]:
    """Split the source text of a recording into its files; ``name`` is the name of the first."""
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
    layers = [each for each in (protocol, protocol.upper_protocol) if each is not None]
    written = [each for layer in layers for each in layer.__mro__ if each in layers or _has_procedures(each)]
    return list(dict.fromkeys(sys.modules[each.__module__] for each in written))


def _has_procedures(part: type) -> bool:
    return issubclass(part, Algorithm) and any(map(inspect.iscoroutinefunction, vars(part).values()))


def summary_of(protocol: type[Algorithm]) -> str:
    """Return the first line of what the protocol says of itself."""
    return (protocol.__doc__ or "").partition("\n")[0]
