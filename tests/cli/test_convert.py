"""``lab convert``: a recording of format 1 becomes one of the present format, with the same records."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.recording.reader import open_recording
from lab.recording.records import FORMAT
from tests.cli.invocation import ROOT, SHIPPED, Lab
from tests.waiting import wait_for


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A recording of format 1."""
    path = tmp_path / "old.jsonl"
    path.write_bytes(SHIPPED.read_bytes())
    return path


def test_it_writes_a_second_file(lab: Lab, old: Path) -> None:
    """The recording itself stays as it is; diff finds no difference, and verify says the same of both."""
    before, new = old.read_bytes(), old.with_name("old-2.jsonl")
    done = lab("convert", str(old))
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"wrote {new}: format {FORMAT}, 365 records, ")
    assert old.read_bytes() == before
    assert new.stat().st_size < len(before)
    assert new.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(old.parent)) == ["old-2.jsonl", "old.jsonl"]
    with contextlib.closing(open_recording(new)) as store:
        assert (store.header.format, len(store)) == (FORMAT, 365)
    compared = lab("diff", str(old), str(new))
    assert compared.status == 0, compared.out
    one, other = (lab("verify", str(path)).out for path in (old, new))
    assert one == other.replace("old-2.jsonl", "old.jsonl")


def test_it_overwrites_only_with_force(lab: Lab, old: Path) -> None:
    before = old.read_bytes()
    assert "is the recording itself; name another file" in lab("convert", str(old), "--out", str(old)).refused()
    other = old.with_name("other.jsonl")
    other.write_text("mine")
    assert "other.jsonl exists; name another file" in lab("convert", str(old), "--out", str(other)).refused()
    assert (old.read_bytes(), other.read_text()) == (before, "mine")
    assert lab("convert", str(old), "--out", str(old), "--force").status == 0
    with contextlib.closing(open_recording(old)) as store:
        assert store.header.format == FORMAT


def test_it_refuses_what_it_cannot_convert(lab: Lab, old: Path, tmp_path: Path) -> None:
    """What is converted already, what cannot be read, and attempts at exercises; no file is left behind."""
    lines = old.read_bytes().splitlines(keepends=True)
    lab("convert", str(old), "--out", str(tmp_path / "new.jsonl"))
    assert "it has format 2 already" in lab("convert", str(tmp_path / "new.jsonl")).refused()
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b"".join([*lines[:100], lines[100][:50] + b"\n", *lines[101:]]))
    assert "line 101 cannot be read" in lab("convert", str(damaged)).refused()
    attempt = tmp_path / "attempt.jsonl"
    exercise = b',"exercise":{"name":"pause","student":"Ada","attempt":1}}\n'
    attempt.write_bytes(
        b"".join([lines[0].rstrip(b"}\n") + lines[0][len(lines[0].rstrip(b"}\n")) : -2] + exercise])
    )
    assert "it is an attempt at the exercise pause" in lab("convert", str(attempt)).refused()
    assert "is not a recording" in lab("convert", str(ROOT / "README.md")).refused()
    assert sorted(os.listdir(tmp_path)) == ["attempt.jsonl", "damaged.jsonl", "new.jsonl", "old.jsonl"]


def test_a_torn_recording_loses_its_last_line_only(lab: Lab, old: Path) -> None:
    old.write_bytes(old.read_bytes()[:-20])
    done = lab("convert", str(old))
    assert "364 records, without its last line, which was cut off" in done.out


def test_ctrl_c_leaves_no_half_file(old: Path) -> None:
    """A long recording: the interrupt strikes in the middle of it."""
    header, *records = old.read_bytes().splitlines(keepends=True)
    old.write_bytes(header + b"".join(records[:-1]) * 300)
    called = [sys.executable, "-m", "lab", "convert", str(old)]
    process = subprocess.Popen(called, cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(os.listdir(old.parent)) > 1, "it has begun to write")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert os.listdir(old.parent) == ["old.jsonl"]
