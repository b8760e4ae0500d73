"""Where things are kept: the folders of running hosts, and the recordings of past runs."""

import os
import stat
import tempfile
from pathlib import Path

import platformdirs

from lab.analysis.bookmarks import bookmarks_file
from lab.recording.lineage import ancestors_of

__all__ = [
    "KEPT_RECORDINGS",
    "exercises_folder",
    "new_recording_path",
    "recordings_folder",
    "runs_folder",
    "server_folder",
    "settings_file",
    "shipped_recordings",
]

KEPT_RECORDINGS = 50
"""How many recordings that nobody gave a name are kept."""


def runs_folder() -> Path:
    """The folder of running hosts' folders, for this user only; made if need be.

    It is short, because the path of a Unix socket may have about a hundred characters.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir() and os.access(runtime, os.W_OK):
        base = Path(runtime) / "lab"
    else:
        base = Path(tempfile.gettempdir()) / f"lab-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    found = base.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{base} is no folder of yours; set XDG_RUNTIME_DIR to a folder of your own")
    return base


def recordings_folder() -> Path:
    """Where runs are recorded that were given no file; made if need be."""
    folder = platformdirs.user_data_path("lab") / "recordings"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def server_folder() -> Path:
    """Where the SSH server keeps what it needs, and its students' folders."""
    return platformdirs.user_data_path("lab") / "serve"


def exercises_folder(student: str) -> Path:
    """Where a student's attempts and progress are kept, on a machine of their own."""
    return platformdirs.user_data_path("lab") / "exercises" / student


def settings_file() -> Path:
    """Where the interface keeps how it was arranged."""
    return platformdirs.user_config_path("lab") / "interface.json"


def new_recording_path(run: str, parent: Path | None = None) -> Path:
    """A new file for a run that was given none, perhaps a branch of ``parent``.

    The oldest such files beyond ``KEPT_RECORDINGS`` go, and their bookmarks, but for those that it or the others
    branched from.
    """
    folder = recordings_folder()
    files = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    wanted = [*files[: KEPT_RECORDINGS - 1], *([] if parent is None else [parent])]
    kept = {path.resolve() for path in wanted} | ancestors_of(wanted)
    for old in files:
        if old.resolve() not in kept:
            old.unlink(missing_ok=True)
            bookmarks_file(old).unlink(missing_ok=True)
    return folder / f"{run}.jsonl"


def shipped_recordings() -> list[Path]:
    """The recordings that come with the program: in the wheel, or beside the package in a checkout."""
    package = Path(__file__).parent
    for folder in (package / "recordings", package.parent / "recordings"):
        if folder.is_dir():
            return sorted(folder.glob("*.jsonl"))
    return []
