"""Files that hold what people did are readable by their owner only, whatever the umask allows."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from lab.analysis.bookmarks import Bookmarks, bookmarks_file
from lab.exercises.attempts import StudentFolder
from lab.export.excerpt import ExportOptions, read_excerpt
from lab.export.formats import FORMATS, write_file
from lab.places import recordings_folder
from lab.protocols import Bully
from lab.recording.reader import open_recording
from lab.worlds.campaign.guidance import Corpus, load_corpus, save_corpus
from lab.worlds.campaign.schedule import draw
from lab.worlds.campaign.trial import run_trial
from tests.campaign.trials import base_of, plan
from tests.cli.invocation import Lab
from tests.recording.samples import eventful, eventful_lines, write_lines


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Let the umask forbid nothing."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_recordings(tmp_path: Path) -> None:
    """The mode of a file that exists is its owner's choice."""
    assert mode(eventful().write(tmp_path / "run.jsonl")) == 0o600
    (tmp_path / "shared.jsonl").touch(0o644)
    assert mode(eventful().write(tmp_path / "shared.jsonl")) == 0o644


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of recordings without a name, of attempts, and of a corpus."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    load_corpus(tmp_path / "corpus")
    folders = (recordings_folder(), StudentFolder(tmp_path / "anna", "anna").attempts, tmp_path / "corpus")
    assert [mode(folder) for folder in folders] == [0o700] * 3


def test_bookmarks(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "run.jsonl", eventful_lines())
    Bookmarks(open_recording(path).header, path).put(5, 1, "why?")
    assert mode(bookmarks_file(path)) == 0o600


def test_a_corpus(tmp_path: Path) -> None:
    corpus = Corpus()
    trial = run_trial(Bully, base_of(Bully), draw(plan(Bully), 1), with_situations=True)
    assert corpus.add(trial.schedule, trial.situations, ())
    assert save_corpus(corpus, tmp_path) == 1
    assert [mode(path) for path in tmp_path.iterdir()] == [0o600]


def test_lectures(tmp_path: Path) -> None:
    """What is exported from a lecture holds nobody's work."""
    (tmp_path / "home").mkdir()
    done = Lab(tmp_path, tmp_path / "home")("lecture", "export", "bully-and-its-price", "-o", "bully.md")
    assert (done.status, mode(tmp_path / "bully.md") & 0o444) == (0, 0o444)


def test_exports_of_attempts(tmp_path: Path) -> None:
    """Other exports have the user's default permissions, as pictures for a web page need them."""
    first, *lines = eventful_lines()
    header = msgspec.json.decode(first)
    attempt = {"name": "two-coordinators", "student": "anna", "attempt": 1}
    for exercise, expected in ((attempt, 0o600), (None, 0o666)):
        begin = msgspec.json.encode(header if exercise is None else header | {"exercise": exercise})
        store = open_recording(write_lines(tmp_path / "run.jsonl", [begin, *lines]))
        write_file(FORMATS[0], read_excerpt(store, ExportOptions(until_us=1_000_000)), tmp_path / "run.svg")
        assert mode(tmp_path / "run.svg") == expected
