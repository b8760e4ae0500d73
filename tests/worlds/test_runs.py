"""The folders of running hosts: which ones ``list_runs`` removes, and where none can be made."""

import os
from pathlib import Path

import pytest

from lab.places import runs_folder
from lab.worlds.host.runs import RunFolder, RunInfo, list_runs


def test_only_folders_of_dead_hosts_are_removed() -> None:
    """Folders not made by a host stay, and so do links to elsewhere; a running host is listed."""
    base = runs_folder()
    foreign = base / "foreign"
    foreign.mkdir()
    (foreign / "precious").write_text("kept")
    elsewhere = base.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (elsewhere / "run.json").touch()
    (base / "link").symlink_to(elsewhere)
    dead = base / "dead"
    dead.mkdir()
    (dead / "lock").touch()
    (dead / "run.json").touch()
    alive = RunFolder("alive")
    alive.publish(RunInfo("alive", 1, "bully", (1, 2), "now", "nowhere", str(alive.socket)))
    try:
        running, removed = list_runs()
        assert [info.run for info in running] == ["alive"]
        assert removed == ["dead"]
        assert (foreign / "precious").read_text() == "kept"
        assert (elsewhere / "lock").exists()
    finally:
        alive.remove()
    assert list_runs() == ([], [])


def test_a_host_killed_before_it_was_published_leaves_nothing() -> None:
    """Its folder is removed at once, by no clock; one without a name yet is not taken for that of a dead host."""
    folder = RunFolder("dead")
    os.close(folder._lock)  # as the system does
    unnamed = runs_folder() / ".made"
    unnamed.mkdir()
    (unnamed / "lock").touch()
    assert list_runs() == ([], ["dead"])
    assert unnamed.exists()
    unnamed.joinpath("lock").unlink()
    unnamed.rmdir()


def test_a_name_in_use() -> None:
    """The second host is refused, and leaves nothing."""
    folder = RunFolder("alive")
    with pytest.raises(OSError, match=r"not empty|exists"):
        RunFolder("alive")
    assert [path.name for path in runs_folder().iterdir()] == ["alive"]
    folder.remove()


def test_a_path_too_long_for_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do, and nothing is left behind."""
    far = tmp_path / ("deep" * 30)
    far.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(far))
    with pytest.raises(OSError, match="set XDG_RUNTIME_DIR to a short one"):
        RunFolder("alive")
    assert not list((far / "lab").iterdir())
