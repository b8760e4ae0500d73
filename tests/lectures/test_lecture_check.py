"""Checking lectures: stops that are not reached, keys that do not follow, runs that fail, with their lines."""

import re
from pathlib import Path

import pytest

from lab.guide.contents import find_page
from lab.lectures.lecture_reader import find_lecture, names, read_lecture
from lab.lectures.presentation import Stop
from lab.lectures.recorded_lecture import choices_without_condition, lecture_problems, record_lecture
from tests.lectures.lecture_files import TEXT, line_of, make_lecture, write_lecture
from tests.profile import sampled

SCRIPT = "when all normal: pause 5"


def _problems(folder: Path, before: str = "", after: str = "") -> list[str]:
    lecture = make_lecture(folder, before, after)
    return [each.removeprefix(f"{lecture.path}:") for each in lecture_problems(record_lecture(lecture, folder))]


def test_a_correct_lecture_has_no_problems(tmp_path: Path) -> None:
    assert _problems(tmp_path) == []


def test_the_stops_are_found_in_the_recording(tmp_path: Path) -> None:
    """Each at exactly its time; a step begins where the one before it stopped."""
    lecture = make_lecture(tmp_path)
    recorded = record_lecture(lecture, tmp_path)
    text, paused, two = lecture.steps
    first, second = recorded.presentation.stop_of(paused), recorded.presentation.stop_of(two)
    assert recorded.presentation.stop_of(text) is None
    assert first is not None
    assert second is not None
    assert first.at_us < second.at_us
    assert recorded.presentation.begin_of(paused) == Stop(0, 0)
    assert recorded.presentation.begin_of(two) == first


def test_a_choice_without_a_condition_is_not_judged(tmp_path: Path) -> None:
    assert list(choices_without_condition(make_lecture(tmp_path))) == []
    lecture = make_lecture(tmp_path, '"4 and 5" = "4 leads and 5 leads"\n')
    line = line_of(Path(lecture.path).read_text("utf-8"), "```question")
    assert list(choices_without_condition(lecture)) == [
        f"{lecture.path}:{line}: step 2: not judged: holds has no condition for '4 and 5'"
    ]


def test_a_stop_that_is_never_reached(tmp_path: Path) -> None:
    found = _problems(tmp_path, 'stop = "when 4 leads"', 'stop = "when 1 leads"')
    line = line_of(TEXT, 'stop = "when 4 leads"')
    assert found == [
        f"{line}: step 3 never stops: nothing it waits for happened within 20s; correct stop, or change for"
    ]


def test_a_stop_where_the_step_before_stopped(tmp_path: Path) -> None:
    found = _problems(tmp_path, 'stop = "when 4 leads"', 'stop = "when 5 paused"')
    assert len(found) == 1
    assert found[0].startswith(f"{line_of(TEXT, 'when 4 leads')}: step 3 stops where step 2 stopped, at ")


def test_a_key_that_does_not_follow(tmp_path: Path) -> None:
    found = _problems(tmp_path, 'answer = "only 5"', 'answer = "4 and 5"')
    line = line_of(TEXT, "```question")
    assert found == [f"{line}: step 2: the answer given is '4 and 5', but with seed 1 'only 5' followed, at 1.6 s"]


def test_a_key_that_follows_from_nothing(tmp_path: Path) -> None:
    found = _problems(tmp_path, 'at = "when 5 paused after 1s"\n\n', 'at = "when 5 down"\n\n')
    assert len(found) == 1
    assert "nothing followed: no condition was met: when 5 down" in found[0]


def test_a_run_that_fails(tmp_path: Path) -> None:
    """The line is that of the file, in the script of the scenario."""
    found = _problems(tmp_path, SCRIPT, f"{SCRIPT}\nexpect 3 leads within 5s")
    assert len(found) == 1
    assert found[0].startswith(f"{line_of(TEXT, SCRIPT) + 1}: expect 3 leads within 5s: ")


@pytest.mark.parametrize("name", sampled(names(), 2))
def test_the_library_is_correct(tmp_path: Path, name: str) -> None:
    """Long enough for a lecture, with questions, and notes for the teacher in every step."""
    lecture = read_lecture(find_lecture(name))
    assert 8 <= len(lecture.steps) <= 14
    assert 2 <= len(lecture.questions) <= 5
    assert all(step.text and step.notes for step in lecture.steps)
    assert list(lecture_problems(record_lecture(lecture, tmp_path))) == []


def test_the_example_of_the_guide_is_correct(tmp_path: Path) -> None:
    """As it stands on the page."""
    found = re.search(r"^````markdown\n(.*?)^````$", find_page("lecture").text, re.MULTILINE | re.DOTALL)
    assert found is not None
    lecture = read_lecture(write_lecture(tmp_path, text=found[1]))
    assert len(lecture.questions) == 1
    assert list(lecture_problems(record_lecture(lecture, tmp_path))) == []
