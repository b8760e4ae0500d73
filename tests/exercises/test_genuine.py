"""Who edits a recording gets no more points for it: it is refused, or the edit changes nothing that counts."""

from pathlib import Path
from random import Random

import pytest

from lab.exercises.exercise import Exercise
from lab.exercises.genuine import why_not_genuine
from lab.exercises.grading import Grade, grade_recording
from lab.exercises.library import exercise_called
from lab.journal import open_recording
from tests.exercises.attempts import Lines, number_places, read_lines, run_attempt, with_number, write_lines
from tests.exercises.made import made

EXERCISE = "two-coordinators"
_EDITS = 300


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """An attempt that brings some of the points: 4 is killed, which makes no two coordinators."""
    path = tmp_path_factory.mktemp("attempt") / "run.jsonl"
    commands = ['when all normal: answer 1 "only 4"', "when all normal: pause 4", "at 2s: resume 4"]
    return read_lines(run_attempt(exercise_called(EXERCISE), commands, path, end_us=4_000_000))


def graded(lines: Lines, folder: Path) -> Grade:
    """The grade of these records."""
    return grade_recording(write_lines(folder / "edited.jsonl", lines))


def test_an_honest_attempt_is_graded(attempt: Lines, tmp_path: Path) -> None:
    """Live, with a pause in it."""
    grade = graded(attempt, tmp_path)
    assert (grade.refused, grade.student, grade.exercise, grade.points) == ("", "anna", EXERCISE, 0)


def test_a_record_left_out_brings_nothing(attempt: Lines, tmp_path: Path) -> None:
    """Whichever it is."""
    for place in range(1, len(attempt)):
        grade = graded(attempt[:place] + attempt[place + 1 :], tmp_path)
        assert grade.refused or grade.points == 0, attempt[place]
        if attempt[place].get("event") == "started":
            assert grade.refused, attempt[place]


def test_a_record_put_in_again_brings_nothing(attempt: Lines, tmp_path: Path) -> None:
    """At its place, or at another."""
    draw = Random(1)
    for _ in range(_EDITS // 4):
        one, other = draw.randrange(1, len(attempt)), draw.randrange(1, len(attempt))
        grade = graded([*attempt[:other], attempt[one], *attempt[other:]], tmp_path)
        assert grade.refused or grade.points == 0, (one, other)


def test_a_number_that_was_changed_brings_nothing(attempt: Lines, tmp_path: Path) -> None:
    """Anywhere in any record."""
    draw = Random(2)
    for _ in range(_EDITS):
        place = draw.randrange(1, len(attempt))
        found = draw.choice(list(number_places(attempt[place])))
        changed = with_number(attempt[place], found, draw.choice([1, -1, 1000, 10**6]))
        grade = graded([*attempt[:place], changed, *attempt[place + 1 :]], tmp_path)
        assert grade.refused or grade.points == 0, changed


@pytest.mark.parametrize("torn", [0, 1, 10, 500])
def test_a_torn_recording_is_graded_as_far_as_it_goes(attempt: Lines, tmp_path: Path, torn: int) -> None:
    """Who lost the end in a crash is no cheat."""
    whole = write_lines(tmp_path / "whole.jsonl", attempt).read_bytes()
    (tmp_path / "torn.jsonl").write_bytes(whole[: len(whole) - torn])
    assert grade_recording(tmp_path / "torn.jsonl").refused == ""


HEADERS = {
    "nodes": [1, 2, 3, 4, 5, 6],
    "seed": 77,
    "world": "simulated",
    "timing": {"tm_us": 10, "tp_us": 10},
    "scenario": "title = 'other'",
    "parent": {"recording": "x", "run": "y", "record": 3, "at_us": 4},
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_is_not_as_the_exercise_begins_is_refused(attempt: Lines, tmp_path: Path, name: str) -> None:
    """Made easier, or branched from somewhere."""
    grade = graded([{**attempt[0], name: HEADERS[name]}, *attempt[1:]], tmp_path)
    assert grade.refused


def test_another_protocol_s_source_is_refused(attempt: Lines, tmp_path: Path) -> None:
    """The program's own is what is run."""
    protocol = {**attempt[0]["protocol"], "source": "class Bully: ..."}
    grade = graded([{**attempt[0], "protocol": protocol}, *attempt[1:]], tmp_path)
    assert "source" in grade.refused


@pytest.mark.parametrize("name", ["../two-coordinators", "/etc/passwd", "no-such-one", ""])
def test_an_exercise_that_there_is_not_is_refused(attempt: Lines, tmp_path: Path, name: str) -> None:
    """And no file is looked for by such a name."""
    of = {**attempt[0]["exercise"], "name": name}
    grade = graded([{**attempt[0], "exercise": of}, *attempt[1:]], tmp_path)
    assert "there is no exercise" in grade.refused


def refused_of(exercise: Exercise, lines: Lines, folder: Path) -> str:
    """Why these records are no run of it."""
    path = write_lines(folder / "edited.jsonl", lines)
    return why_not_genuine(exercise, open_recording(path))


FORGED = [
    ({"record": "command", "at_us": 1, "text": "wipe 5", "outcome": ""}, "wipe is not allowed"),
    ({"record": "command", "at_us": 1, "text": "kill", "outcome": "", "line": 9}, "is another one"),
    ({"record": "process", "at_us": 1, "node": 5, "event": "killed"}, "no command brought it about"),
    ({"record": "process", "at_us": 1, "node": 5, "event": "resumed"}, "no command brought it about"),
    ({"record": "expected", "at_us": 1, "text": "expect 5 leads", "met": True}, "nobody had"),
    (
        {"record": "fault", "at_us": 1, "id": 77, "kind": "kill", "text": "kill 5", "nodes": [5], "breaks": []},
        "no command brought fault 77 about",
    ),
]


@pytest.fixture(scope="module")
def exercise(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """One in simulation."""
    return made(tmp_path_factory.mktemp("exercise"))


@pytest.fixture(scope="module")
def simulated(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """An attempt at it, in which nothing was done, but for a cut that drops what is sent."""
    path = tmp_path_factory.mktemp("attempt") / "run.jsonl"
    return read_lines(run_attempt(exercise, ["at 1s: cut 5->1"], path))


def test_an_honest_attempt_in_simulation_is_genuine(exercise: Exercise, simulated: Lines, tmp_path: Path) -> None:
    """To the microsecond."""
    assert refused_of(exercise, simulated, tmp_path) == ""


@pytest.mark.parametrize(("record", "said"), FORGED)
def test_what_nobody_did_is_found(
    exercise: Exercise, simulated: Lines, tmp_path: Path, record: dict[str, object], said: str
) -> None:
    """A command that is not allowed, a process struck by nobody, a fault out of nowhere."""
    place = len(simulated) // 2
    put = {**record, "at_us": simulated[place].get("at_us", 0)}
    assert said in refused_of(exercise, [*simulated[:place], put, *simulated[place:]], tmp_path)


def test_a_message_lost_on_a_good_link_is_found(exercise: Exercise, simulated: Lines, tmp_path: Path) -> None:
    """Dropped by no fault, or by one of another link."""
    dropped = next(n for n, each in enumerate(simulated) if each.get("fate") == "dropped")
    edits: list[dict[str, object]] = [{"by": []}, {"by": [9]}, {"by": [], "why": "down"}]
    for edit in edits:
        changed = {**simulated[dropped], **edit}
        said = refused_of(exercise, [*simulated[:dropped], changed, *simulated[dropped + 1 :]], tmp_path)
        assert "no fault was in force that does so" in said


def test_a_step_left_out_is_found(exercise: Exercise, simulated: Lines, tmp_path: Path) -> None:
    """A message that never arrives, a timer that never fires, or what came of it shows that it was there."""
    last_us = simulated[-1]["at_us"]
    reasons = []
    for place, record in enumerate(simulated):
        if record["record"] == "step" and record["at_us"] < last_us - 500_000:
            reasons.append(refused_of(exercise, [*simulated[:place], *simulated[place + 1 :]], tmp_path))
    assert all(reasons)
    for said in ("never arrived", "fired", "step of node"):
        assert any(said in reason for reason in reasons), said
