"""The lectures from files that were given to the class, each in a folder of its own in the data folder.

The folder has the recordings of the runs, what the class may see, and how far the lecture was given. A lecture
that was interrupted goes on in its folder; if its text was edited, in a new one, which replaces it in the lists.
"""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from lab.exercises.teacher import PastLecture
from lab.lectures.lecture import LONGEST_TITLE
from lab.lectures.presentation import (
    LectureProgress,
    PresentationError,
    PresentationHead,
    progress_after_edit,
    read_head,
    read_presentation,
    read_progress,
    write_progress,
)
from lab.serve.data_folder import DataFolder
from lab.text import sanitize

_GOES_ON_WITHIN = timedelta(hours=12)
_MOST_LISTED = 20
_BEGAN = "%Y-%m-%d-%H%M%S"
_LENGTH_OF_DATE, _LENGTH_OF_BEGAN = 10, 17


def new_folder(data: DataFolder, name: str, now: datetime) -> Path:
    """Create the folder of a lecture that begins now. Raises OSError."""
    folder = data.lectures / f"{now.strftime(_BEGAN)}-{name}"
    folder.mkdir(mode=0o700, parents=True)
    return folder


def remove_folder(folder: Path) -> None:
    """Remove the folder of a lecture of which nothing was shown."""
    shutil.rmtree(folder, ignore_errors=True)


def interrupted_lecture(data: DataFolder, digest: str, now: datetime) -> Path | None:
    """Return the folder of the lecture with this digest if it was interrupted in the last hours; else None."""
    return next((folder for folder, head in _interrupted(data, now) if head.digest == digest), None)


def edited_lecture(data: DataFolder, name: str, title: str, now: datetime) -> Path | None:
    """Return the folder of a lecture of this name and title that was interrupted in the last hours; else None.

    Its text may be another one: it was edited meanwhile.
    """
    found = (folder for folder, head in _interrupted(data, now) if (head.name, head.title) == (name, title))
    return next(found, None)


def replace_lecture(before: Path, folder: Path) -> LectureProgress:
    """Let the lecture in ``before`` go on in this folder, which has its edited text; return how far it was given.

    Raises PresentationError and OSError.
    """
    given = read_progress(before)
    progress = progress_after_edit(given, read_presentation(before), read_presentation(folder))
    write_progress(progress, folder)
    write_progress(replace(given, is_over=True, is_replaced=True), before)
    return progress


def _interrupted(data: DataFolder, now: datetime) -> Iterator[tuple[Path, PresentationHead]]:
    """Yield the folders of the lectures that were interrupted in the last hours, latest first."""
    since = (now - _GOES_ON_WITHIN).strftime(_BEGAN)
    for folder in _folders(data):
        if folder.name[:_LENGTH_OF_BEGAN] < since:
            return
        with suppress(PresentationError):
            head = read_head(folder)
            if not read_progress(folder).is_over:
                yield folder, head


def past_lectures(data: DataFolder) -> tuple[PastLecture, ...]:
    """Return the latest lectures of which the class has seen something, oldest first."""
    found: list[PastLecture] = []
    for folder in _folders(data)[:_MOST_LISTED]:
        with suppress(PresentationError):
            title, date = read_head(folder).title, folder.name[:_LENGTH_OF_DATE]
            progress = read_progress(folder)
            if progress.position.shown and not progress.is_replaced:
                found.append(PastLecture(str(folder), sanitize(title, LONGEST_TITLE), date))
    return tuple(reversed(found))


def _folders(data: DataFolder) -> list[Path]:
    """Return the folders of all lectures, latest first."""
    return sorted(data.lectures.glob("*/"), reverse=True)
