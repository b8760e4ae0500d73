"""The folders of running hosts: which of them ``list_runs`` removes, and where there can be none."""

from pathlib import Path

import pytest

from lab.places import runs_folder
from lab.worlds.runs import RunFolder, RunInfo, list_runs


def test_only_what_a_dead_host_left_is_removed() -> None:
    """A folder that no host made stays, and so does a link to somewhere else; a running host is listed."""
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


def test_a_path_that_no_socket_can_have_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it, and nothing is left behind."""
    far = tmp_path / ("deep" * 30)
    far.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(far))
    with pytest.raises(OSError, match="set XDG_RUNTIME_DIR to a short one"):
        RunFolder("alive")
    assert not list((far / "lab").iterdir())
