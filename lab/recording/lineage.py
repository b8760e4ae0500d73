"""Which recording is a branch of which: the recordings of a folder, by what their headers say of their parents.

Only the first and the last line of each are read, so a folder of long recordings costs no more than one of
short ones.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from lab.recording.reader import LONGEST_HEADER, UNREADABLE, NotARecordingError, read_header
from lab.recording.records import End, Header, decode

__all__ = ["Kin", "Twig", "ancestors_of", "family_of", "read_kin"]

_LAST_LINE = 4096


class Kin(Struct, frozen=True):
    """What a recording says of itself. ``ending``: why its run ended; empty where it did not, or was cut off."""

    header: Header
    ending: str


class Twig(Struct):
    """A recording, and its branches in the order of their places; without ``kin``, one that is not there."""

    path: Path
    kin: Kin | None
    branches: list["Twig"]


def read_kin(path: Path) -> Kin:
    """The recording in this file. NotARecordingError, OSError."""
    with path.open("rb") as file:
        line = file.readline(LONGEST_HEADER)
        header = read_header(line.rstrip(b"\n"), str(path))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(len(line), size - _LAST_LINE))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    try:
        record = decode(last)
    except UNREADABLE:
        record = None
    return Kin(header, record.why if isinstance(record, End) else "")


def ancestors_of(paths: Iterable[Path]) -> set[Path]:
    """The files that these recordings branched from, and those that they did, as far as they are there."""
    found: set[Path] = set()
    todo = list(paths)
    while todo:
        path = todo.pop().resolve()
        try:
            parent = read_kin(path).header.parent
        except (NotARecordingError, OSError):
            continue
        if parent is not None and (file := path.parent / parent.recording) not in found:
            found.add(file)
            todo.append(file)
    return found


def family_of(paths: Iterable[Path]) -> list[Twig]:
    """The recordings among these files, as trees: what branched from a recording stands below it.

    What is no recording is left out; a parent elsewhere is read there. One that is gone, or holds another run by
    now than the one that its branches know, has no ``kin``.
    """
    given = set(paths)
    twigs: dict[tuple[Path, str], Twig] = {}
    for path in sorted(given | ancestors_of(given)):
        try:
            kin = read_kin(path)
        except (NotARecordingError, OSError):
            continue
        twigs.setdefault((path.resolve(), kin.header.run), Twig(path, kin, []))
    roots = []
    for twig in list(twigs.values()):
        parent = twig.kin and twig.kin.header.parent
        if not parent:
            roots.append(twig)
            continue
        key = twig.path.resolve().parent / parent.recording, parent.run
        if key not in twigs:
            twigs[key] = Twig(key[0], None, [])
            roots.append(twigs[key])
        twigs[key].branches.append(twig)
    for twig in twigs.values():
        twig.branches.sort(key=_place)
    return sorted(roots, key=lambda root: root.path)


def _place(twig: Twig) -> tuple[int, Path]:
    parent = twig.kin and twig.kin.header.parent
    return (parent.record if parent else 0), twig.path
