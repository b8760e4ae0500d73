"""The part of a lecture that is shown, in a folder for the class."""

import shutil
from pathlib import Path

import pytest

from lab.exercises.teacher import LecturePosition, VoteTally
from lab.lectures.presentation import (
    LectureProgress,
    PresentationError,
    read_presentation,
    read_progress,
    write_presentation,
    write_progress,
)
from lab.lectures.recorded_lecture import record_lecture
from tests.lectures.lecture_files import make_lecture


def test_a_class_gets_neither_notes_nor_keys(tmp_path: Path) -> None:
    """But texts, stops, questions and their explanations."""
    presentation = record_lecture(make_lecture(tmp_path), tmp_path).presentation
    write_presentation(presentation, tmp_path)
    stored = (tmp_path / "lecture.json").read_text("utf-8")
    assert "A minute, at most." in presentation.steps[0].notes
    for secret in ("A minute, at most.", "4 leads and 5 leads", str(tmp_path)):
        assert secret not in stored
    read = read_presentation(tmp_path)
    assert (read.title, read.digest, read.runs) == (presentation.title, presentation.digest, presentation.runs)
    assert [step.text for step in read.steps] == [step.text for step in presentation.steps]
    assert read.steps[1].question is not None
    assert read.steps[1].question.explanation == "The others wait longer than a *second*."


def test_the_folder_may_be_moved(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    write_presentation(record_lecture(make_lecture(tmp_path), old).presentation, old)
    shutil.move(old, new)
    (run,) = read_presentation(new).runs
    assert Path(run.file).parent == new
    assert Path(run.file).is_file()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}'])
def test_a_damaged_file_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "lecture.json").write_text(text, "utf-8")
    with pytest.raises(PresentationError, match="damaged, or of another version"):
        read_presentation(tmp_path)
    with pytest.raises(PresentationError, match="has no lecture"):
        read_presentation(tmp_path / "nowhere")


def test_progress_is_read_as_it_was_written(tmp_path: Path) -> None:
    """A damaged file is as none: the lecture begins with its first step."""
    tally = VoteTally(1, "Who?", ("4", "5"), (3, 1), False, 2, "4", "They wait.")
    progress = LectureProgress(LecturePosition(2, 40, reached=2, shown=(40, 0)), {2: tally})
    write_progress(progress, tmp_path)
    assert read_progress(tmp_path) == progress
    (tmp_path / "progress.json").write_bytes(b"\xff")
    assert read_progress(tmp_path) == LectureProgress()
