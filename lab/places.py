"""The paths of lab's files: folders of running hosts, recordings, data of the server and of students."""

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
    "keys_file",
    "new_recording_path",
    "recordings_folder",
    "runs_folder",
    "server_folder",
    "settings_file",
    "shipped_recordings",
]

KEPT_RECORDINGS = 50
"""The number of recordings without a name that are kept."""


def runs_folder() -> Path:
    """Return the folder for running hosts, created if necessary, for this user only.

    Its path is short, because that of a Unix socket is limited to about a hundred characters.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir() and os.access(runtime, os.W_OK):
        base = Path(runtime) / "lab"
    else:
        base = Path(tempfile.gettempdir()) / f"lab-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    found = base.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{base} is not a folder of yours; set XDG_RUNTIME_DIR to a folder of your own")
    return base


def recordings_folder() -> Path:
    """Return the folder for runs without a file, created if necessary, for this user only."""
    folder = platformdirs.user_data_path("lab") / "recordings"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def server_folder() -> Path:
    """Return the default data folder of the SSH server."""
    return platformdirs.user_data_path("lab") / "serve"


def exercises_folder(student: str) -> Path:
    """Return the folder of a student's attempts and progress on their own machine."""
    return platformdirs.user_data_path("lab") / "exercises" / student


def settings_file() -> Path:
    """Return the file in which the interface saves its layout."""
    return platformdirs.user_config_path("lab") / "interface.json"


def keys_file() -> Path:
    """Return the file in which the user may give keys to the actions of the interface."""
    return platformdirs.user_config_path("lab") / "keys.toml"


def new_recording_path(run: str, parent: Path | None = None) -> Path:
    """Return a new file for a run, which may be a branch of ``parent``.

    Deletes the oldest recordings beyond ``KEPT_RECORDINGS`` and their bookmarks, but no ancestors of those kept.
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
    """Return the built-in recordings: in the wheel, or next to the package in a checkout."""
    package = Path(__file__).parent
    for folder in (package / "recordings", package.parent / "recordings"):
        if folder.is_dir():
            return sorted(folder.glob("*.jsonl"))
    return []
