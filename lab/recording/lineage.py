"""The lineage of recordings: trees of branches, built from the parents named in the headers.

Only the first and the last line of each file are read, so a folder of long recordings costs no more than one of
short ones.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from lab.foreign_file import open_foreign
from lab.recording.reader import LARGEST_RECORDING, UNREADABLE, NotARecordingError, read_header_from
from lab.recording.records import End, Header, decode

_LAST_LINE = 4096


class RecordingInfo(Struct, frozen=True):
    """The header of a recording, and why its run ended; ``ending`` is empty if the run goes on or was cut off."""

    header: Header
    ending: str


class LineageTree(Struct):
    """A recording and its branches, sorted by branch point; ``info`` is None if the file is missing."""

    path: Path
    info: RecordingInfo | None
    branches: list["LineageTree"]


def read_recording_info(path: Path) -> RecordingInfo:
    """Return the info of the recording in this file.

    Raises NotARecordingError or OSError.
    """
    with open_foreign(path, LARGEST_RECORDING) as file:
        header = read_header_from(file, str(path))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LAST_LINE))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    try:
        record = decode(last)
    except UNREADABLE:
        record = None
    return RecordingInfo(header, record.why if isinstance(record, End) else "")


def ancestors_of(paths: Iterable[Path]) -> set[Path]:
    """Return the files that these recordings descend from, directly or not, as far as they exist."""
    found: set[Path] = set()
    todo = list(paths)
    while todo:
        path = todo.pop().resolve()
        try:
            parent = read_recording_info(path).header.parent
        except (NotARecordingError, OSError):
            continue
        if parent is not None and (file := path.parent / parent.recording) not in found:
            found.add(file)
            todo.append(file)
    return found


def lineage_of(paths: Iterable[Path]) -> list[LineageTree]:
    """Return the recordings among these files as trees, branches below their parents.

    Files that are not recordings are left out. A parent in another folder is read there; a parent that is missing,
    or whose file now holds another run, has no ``info``.
    """
    given = set(paths)
    trees: dict[tuple[Path, str], LineageTree] = {}
    for path in sorted(given | ancestors_of(given)):
        try:
            info = read_recording_info(path)
        except (NotARecordingError, OSError):
            continue
        trees.setdefault((path.resolve(), info.header.run), LineageTree(path, info, []))
    roots = []
    for tree in list(trees.values()):
        parent = tree.info and tree.info.header.parent
        if not parent:
            roots.append(tree)
            continue
        key = tree.path.resolve().parent / parent.recording, parent.run
        if key not in trees:
            trees[key] = LineageTree(key[0], None, [])
            roots.append(trees[key])
        trees[key].branches.append(tree)
    for tree in trees.values():
        tree.branches.sort(key=_place)
    return sorted(roots, key=lambda root: root.path)


def _place(tree: LineageTree) -> tuple[int, Path]:
    parent = tree.info and tree.info.header.parent
    return (parent.record if parent else 0), tree.path
