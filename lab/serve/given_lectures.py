"""The lectures from files that were given to the class, each in a folder of its own in the data folder.

The folder has the recordings of the runs, what the class may see, and how far the lecture was given. A lecture
that was interrupted goes on in its folder.
"""

import shutil
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from lab.exercises.teacher import PastLecture
from lab.lectures.lecture import LONGEST_TITLE
from lab.lectures.presentation import PresentationError, read_head, read_progress
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
    since = (now - _GOES_ON_WITHIN).strftime(_BEGAN)
    for folder in _folders(data):
        if folder.name[:_LENGTH_OF_BEGAN] < since:
            return None
        with suppress(PresentationError):
            if read_head(folder).digest == digest and not read_progress(folder).is_over:
                return folder
    return None


def past_lectures(data: DataFolder) -> tuple[PastLecture, ...]:
    """Return the latest lectures of which the class has seen something, oldest first."""
    found: list[PastLecture] = []
    for folder in _folders(data)[:_MOST_LISTED]:
        with suppress(PresentationError):
            title, date = read_head(folder).title, folder.name[:_LENGTH_OF_DATE]
            if read_progress(folder).position.shown:
                found.append(PastLecture(str(folder), sanitize(title, LONGEST_TITLE), date))
    return tuple(reversed(found))


def _folders(data: DataFolder) -> list[Path]:
    """Return the folders of all lectures, latest first."""
    return sorted(data.lectures.glob("*/"), reverse=True)
