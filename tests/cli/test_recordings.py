"""The files of recordings: the given one, or one of the newest fifty in the user's data folder."""

import os
from pathlib import Path

import pytest

from lab.places import KEPT_RECORDINGS
from tests.cli.invocation import SHIPPED, Called, Lab


def _run(lab: Lab, *words: str) -> Called:
    return lab("run", "bully", "--headless", "--for", "300ms", "--nodes", "2", *words)


@pytest.mark.live
def test_a_recording_is_overwritten(lab: Lab) -> None:
    """The user has named it."""
    file = lab.folder / "run.jsonl"
    file.write_bytes(SHIPPED.read_bytes())
    assert _run(lab, "--record", "run.jsonl").status == 0
    assert file.read_bytes() != SHIPPED.read_bytes()
    assert lab("verify", "run.jsonl").out.startswith("run.jsonl: as recorded")
    assert not lab.recordings.exists()


@pytest.mark.live
@pytest.mark.parametrize("world", [(), ("--sim",)])
def test_a_recording_in_use_is_not_overwritten(lab: Lab, world: tuple[str, ...]) -> None:
    """The second run is refused, in any world, and the first recording is complete."""
    with lab.start("--for", "1m", "--nodes", "2", "--record", "run.jsonl") as first:
        first.settled(2)
        output = "--record run.jsonl is in use by another run; name another file"
        assert _run(lab, *world, "--record", "run.jsonl").refused() == output
        output = "--out run.jsonl is in use by another run; name another file"
        assert lab.within("explore", "bully", "--out", "run.jsonl").refused() == output
        assert lab.within("check", "bully", "--runs", "1", "--out", "run.jsonl").refused() == output
    assert lab("verify", "run.jsonl").out.startswith("run.jsonl: as recorded")


@pytest.mark.live
def test_an_empty_file_is_overwritten(lab: Lab) -> None:
    """``mktemp`` makes such files."""
    (lab.folder / "run.jsonl").touch()
    assert _run(lab, "--record", "run.jsonl").status == 0


@pytest.mark.parametrize("content", [b"my diary\n", b"{}\n", b"\x00\xff\x80", b"\n"])
def test_any_other_file_is_left_alone(lab: Lab, content: bytes) -> None:
    """With any contents."""
    file = lab.folder / "mine"
    file.write_bytes(content)
    assert (
        _run(lab, "--record", "mine").refused() == "--record mine exists and is not a recording; name another file"
    )
    assert file.read_bytes() == content


def test_not_into_a_pipe_or_a_device(lab: Lab) -> None:
    """A recording is read again, and a named pipe would block the run."""
    os.mkfifo(lab.folder / "pipe")
    for place in ("pipe", os.devnull):
        output = _run(lab, "--record", place).refused()
        assert output == f"--record {place} is not a regular file; name another"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_not_where_the_user_may_not_write(lab: Lab) -> None:
    """The error comes before anything is started."""
    (lab.folder / "closed").mkdir(mode=0o555)
    assert "cannot be written (Permission denied)" in _run(lab, "--record", "closed/run.jsonl").refused()


def test_a_data_folder_that_cannot_be_created(lab: Lab) -> None:
    """The error names it."""
    blocked = lab.folder / "file"
    blocked.touch()
    done = lab(
        *("run", "bully", "--headless", "--for", "1s"), environment={"XDG_DATA_HOME": str(blocked / "data")}
    )
    assert str(blocked) in done.refused()


@pytest.mark.live
def test_a_run_without_record_is_kept(lab: Lab) -> None:
    """The report has the path, and the file has the name of the run."""
    done = _run(lab)
    (kept,) = lab.recordings.iterdir()
    assert f"recorded in {kept}\n" in done.out
    assert kept.name.startswith("bully-")
    assert lab("verify", str(kept)).status == 0


@pytest.mark.live
def test_the_oldest_beyond_fifty_are_deleted(lab: Lab) -> None:
    """By modification time; other files are kept."""
    lab.recordings.mkdir(parents=True)
    old: list[Path] = []
    for number in range(KEPT_RECORDINGS + 3):
        path = lab.recordings / f"bully-{(number * 7) % 100:02}.jsonl"
        path.touch()
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
        old.append(path)
    other = lab.recordings / "notes.txt"
    other.touch()
    os.utime(other, (1, 1))
    assert _run(lab).status == 0
    there = set(lab.recordings.glob("*.jsonl"))
    assert len(there) == KEPT_RECORDINGS
    assert there & set(old) == set(old[4:])
    assert other.exists()
