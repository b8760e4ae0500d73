"""Who edits a recording gets no more points for it: it is refused, or the edit changes nothing that counts."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lab.exercises.exercise import Exercise
from lab.exercises.genuine import why_not_genuine
from lab.exercises.grading import Grade, grade_recording
from lab.exercises.library import exercise_called
from lab.recording.reader import open_recording
from tests.exercises.attempts import (
    RecordStore,
    chained,
    number_places,
    read_lines,
    run_attempt,
    with_number,
    write_lines,
)
from tests.exercises.made import SETUP, made

EXERCISE = "two-coordinators"
HONEST = 4
_EDITS = 300


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    """A live attempt that brings all points but that which a hint has cost."""
    path = tmp_path_factory.mktemp("attempt") / "run.jsonl"
    commands = [
        "at 1ms: hint 2",
        "at 1ms: hint 2",
        'when all normal: answer 1 "4 and 5"',
        "when all normal: pause 5",
    ]
    return read_lines(run_attempt(exercise_called(EXERCISE), commands, path, end_us=4_000_000))


@pytest.fixture(scope="module")
def clumsy(tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    """One with a wrong answer, and with more commands than there may be."""
    path = tmp_path_factory.mktemp("clumsy") / "run.jsonl"
    commands = [
        'when all normal: answer 1 "only 4"',
        "when all normal: pause 4",
        "when 4 paused: resume 4",
        "at 2s: pause 5",
    ]
    return read_lines(run_attempt(exercise_called(EXERCISE), commands, path, end_us=5_000_000))


def graded(lines: RecordStore, folder: Path) -> Grade:
    """The grade of these records."""
    return grade_recording(write_lines(folder / "edited.jsonl", lines))


def is_command(record: dict[str, Any], *texts: str) -> bool:
    """Whether it is a command with one of these in it."""
    return record["record"] == "command" and any(text in record["text"] for text in texts)


def test_honest_attempts_are_graded(attempt: RecordStore, clumsy: RecordStore, tmp_path: Path) -> None:
    """Live, with a pause in each."""
    grade = graded(attempt, tmp_path)
    assert (grade.refused, grade.student, grade.exercise) == ("", "anna", EXERCISE)
    assert (grade.points, grade.most, grade.cut_off) == (HONEST, 5, False)
    assert [(result.state, result.points) for result in graded(clumsy, tmp_path).results] == [
        ("missed", 0),
        ("missed", 0),
        ("done", 2),
    ]


def without_hints(lines: RecordStore) -> RecordStore:
    """As if none had been taken."""
    return [line for line in lines if not is_command(line, "hint")]


def with_hints_elsewhere(lines: RecordStore) -> RecordStore:
    """As if they had been of another task."""
    return [{**line, "text": "hint 3"} if is_command(line, "hint") else line for line in lines]


def with_hints_refused(lines: RecordStore) -> RecordStore:
    """As if they had not been given."""
    return [{**line, "refused": True} if is_command(line, "hint") else line for line in lines]


def with_the_right_answer(lines: RecordStore) -> RecordStore:
    """As if it had been given."""
    return [{**line, "text": 'answer 1 "4 and 5"'} if is_command(line, "answer") else line for line in lines]


@pytest.mark.parametrize("edit", [without_hints, with_hints_elsewhere, with_hints_refused])
def test_hint_that_was_taken_stays_taken(
    attempt: RecordStore, tmp_path: Path, edit: Callable[[RecordStore], RecordStore]
) -> None:
    """Nothing but the digest at the end shows it: who makes that anew has all points."""
    assert "the lines before it were edited" in graded(edit(attempt), tmp_path).refused
    grade = graded(chained(edit(attempt)), tmp_path)
    assert (grade.refused, grade.points) == ("", 5)


def test_answer_that_was_given_stays_as_it_was(clumsy: RecordStore, tmp_path: Path) -> None:
    """So it is with that, too."""
    edited = with_the_right_answer(clumsy)
    assert "the lines before it were edited" in graded(edited, tmp_path).refused
    assert graded(chained(edited), tmp_path).results[0].points == 1


@pytest.mark.parametrize("word", ["changed", "refused"])
def test_command_that_was_given_is_counted(clumsy: RecordStore, tmp_path: Path, word: str) -> None:
    """Whatever its record says of it, also with all digests made anew."""
    said = {"changed": False, "refused": True}
    edited = [{**line, word: said[word]} if is_command(line, "pause 4", "resume") else line for line in clumsy]
    assert edited != clumsy
    grade = graded(chained(edited), tmp_path)
    assert grade.refused or grade.points <= 2
    assert graded(edited, tmp_path).refused


def test_truth_value_that_was_changed_is_found(attempt: RecordStore, tmp_path: Path) -> None:
    """Any that a record of this kind may have."""
    for place, record in enumerate(attempt):
        for word in {"command": ("changed", "refused"), "fault": ("lifted",), "step": ("late",)}.get(
            record["record"], ()
        ):
            changed = {**record, word: not record.get(word, word == "changed")}
            assert graded([*attempt[:place], changed, *attempt[place + 1 :]], tmp_path).refused, changed


def test_a_record_left_out_brings_nothing(attempt: RecordStore, tmp_path: Path) -> None:
    """Whichever it is; with the digests made anew, but for the hints."""
    for place in range(1, len(attempt)):
        left = attempt[:place] + attempt[place + 1 :]
        grade = graded(left, tmp_path)
        assert grade.refused or (grade.points == HONEST and grade.cut_off), attempt[place]
        if not is_command(attempt[place], "hint"):
            grade = graded(chained(left), tmp_path)
            assert grade.refused or grade.points <= HONEST, attempt[place]
        if attempt[place].get("event") == "started":
            assert grade.refused, attempt[place]


def test_a_record_put_in_again_brings_nothing(attempt: RecordStore, tmp_path: Path) -> None:
    """At its place, or at another."""
    draw = Random(1)
    for _ in range(_EDITS // 4):
        one, other = draw.randrange(1, len(attempt) - 1), draw.randrange(1, len(attempt) - 1)
        edited = [*attempt[:other], attempt[one], *attempt[other:]]
        assert graded(edited, tmp_path).refused
        grade = graded(chained(edited), tmp_path)
        assert grade.refused or grade.points <= HONEST, (one, other)


def test_a_number_that_was_changed_brings_nothing(attempt: RecordStore, tmp_path: Path) -> None:
    """Anywhere in any record."""
    draw = Random(2)
    for _ in range(_EDITS):
        place = draw.randrange(1, len(attempt) - 1)
        found = draw.choice(list(number_places(attempt[place])))
        changed = with_number(attempt[place], found, draw.choice([1, -1, 1000, 10**6]))
        edited = [*attempt[:place], changed, *attempt[place + 1 :]]
        assert graded(edited, tmp_path).refused
        grade = graded(chained(edited), tmp_path)
        assert grade.refused or grade.points <= HONEST, changed


@pytest.mark.parametrize("torn", [0, 1, 10, 500])
def test_a_torn_recording_is_graded_as_far_as_it_goes(attempt: RecordStore, tmp_path: Path, torn: int) -> None:
    """Who lost the end in a crash is no cheat; but the teacher is told that there is none."""
    whole = write_lines(tmp_path / "whole.jsonl", attempt).read_bytes()
    (tmp_path / "torn.jsonl").write_bytes(whole[: len(whole) - torn])
    grade = grade_recording(tmp_path / "torn.jsonl")
    assert (grade.refused, grade.points) == ("", HONEST)
    assert grade.cut_off == (torn > 1)  # a newline is nothing


HEADERS = {
    "nodes": [1, 2, 3, 4, 5, 6],
    "seed": 77,
    "world": "simulated",
    "timing": {"tm_us": 10, "tp_us": 10},
    "scenario": "title = 'other'",
    "parent": {"recording": "x", "run": "y", "record": 3, "at_us": 4},
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_is_not_as_the_exercise_begins_is_refused(
    attempt: RecordStore, tmp_path: Path, name: str
) -> None:
    """Made easier, or branched from somewhere."""
    grade = graded([{**attempt[0], name: HEADERS[name]}, *attempt[1:]], tmp_path)
    assert grade.refused


def test_another_protocol_s_source_is_refused(attempt: RecordStore, tmp_path: Path) -> None:
    """The program's own is what is run."""
    protocol = {**attempt[0]["protocol"], "source": "class Bully: ..."}
    grade = graded([{**attempt[0], "protocol": protocol}, *attempt[1:]], tmp_path)
    assert "source" in grade.refused


@pytest.mark.parametrize("name", ["../two-coordinators", "/etc/passwd", "no-such-one", ""])
def test_an_exercise_that_there_is_not_is_refused(attempt: RecordStore, tmp_path: Path, name: str) -> None:
    """And no file is looked for by such a name."""
    of = {**attempt[0]["exercise"], "name": name}
    grade = graded([{**attempt[0], "exercise": of}, *attempt[1:]], tmp_path)
    assert "there is no exercise" in grade.refused


def refused_of(exercise: Exercise, lines: RecordStore, folder: Path) -> str:
    """Why these records are no run of it, though all digests are made anew."""
    path = write_lines(folder / "edited.jsonl", chained(lines))
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
def simulated(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    """An attempt at it, in which nothing was done, but for a cut that drops what is sent."""
    path = tmp_path_factory.mktemp("attempt") / "run.jsonl"
    return read_lines(run_attempt(exercise, ["at 1s: cut 5->1"], path))


def test_an_honest_attempt_in_simulation_is_genuine(
    exercise: Exercise, simulated: RecordStore, tmp_path: Path
) -> None:
    """To the microsecond."""
    assert refused_of(exercise, simulated, tmp_path) == ""


def test_a_node_may_be_restarted_in_the_instant_of_its_death(exercise: Exercise, tmp_path: Path) -> None:
    """In simulation: what its old life had not sent yet is told to be lost when the new one runs."""
    commands = ["at 1s: kill 5", "on send SetCoordinator 4->1: kill 4", "when 4 down: restart 4"]
    lines = read_lines(run_attempt(exercise, commands, tmp_path / "run.jsonl"))
    assert any(each.get("why") == "unsent" for each in lines)
    assert refused_of(exercise, lines, tmp_path) == ""


@pytest.mark.parametrize(("record", "said"), FORGED)
def test_what_nobody_did_is_found(
    exercise: Exercise, simulated: RecordStore, tmp_path: Path, record: dict[str, object], said: str
) -> None:
    """A command that is not allowed, a process struck by nobody, a fault out of nowhere."""
    place = len(simulated) // 2
    put = {**record, "at_us": simulated[place].get("at_us", 0)}
    assert said in refused_of(exercise, [*simulated[:place], put, *simulated[place:]], tmp_path)


def test_a_message_lost_on_a_good_link_is_found(
    exercise: Exercise, simulated: RecordStore, tmp_path: Path
) -> None:
    """Dropped by no fault, or by one of another link."""
    dropped = next(n for n, each in enumerate(simulated) if each.get("fate") == "dropped")
    edits: list[dict[str, object]] = [{"by": []}, {"by": [9]}, {"by": [], "why": "down"}]
    for edit in edits:
        changed = {**simulated[dropped], **edit}
        said = refused_of(exercise, [*simulated[:dropped], changed, *simulated[dropped + 1 :]], tmp_path)
        assert "no fault was in force that does so" in said


def test_a_step_left_out_is_found(exercise: Exercise, simulated: RecordStore, tmp_path: Path) -> None:
    """A message that never arrives, a timer that never fires, or what came of it shows that it was there."""
    last_us = simulated[-1]["at_us"]
    reasons = []
    for place, record in enumerate(simulated):
        if record["record"] == "step" and record["at_us"] < last_us - 500_000:
            reasons.append(refused_of(exercise, [*simulated[:place], *simulated[place + 1 :]], tmp_path))
    assert all(reasons)
    for said in ("never arrived", "fired", "step of node"):
        assert any(said in reason for reason in reasons), said


def test_a_fault_that_grows_is_found(exercise: Exercise, simulated: RecordStore, tmp_path: Path) -> None:
    """A second record of it may take links from it, and adds none."""
    place = next(n for n, each in enumerate(simulated) if each["record"] == "command")
    fault = next(each for each in simulated if each.get("kind") == "cut")
    wider = {**fault, "links": [[one, other] for one in range(1, 6) for other in range(1, 6) if one != other]}
    for again in (wider, fault, {**fault, "links": [], "nodes": [1]}):
        said = refused_of(exercise, [*simulated[: place + 1], again, *simulated[place + 1 :]], tmp_path)
        assert f"fault {fault['id']} grows by itself" in said


def test_a_line_of_the_set_up_comes_once(tmp_path: Path) -> None:
    """As it is written there: it is no command of the student's, so it is not counted."""
    exercise = made(tmp_path, setup=f"{SETUP}at 1500ms: kill 1\nat 3s: restart 1\nevery 2s: restart 1\n")
    lines = read_lines(run_attempt(exercise, [], tmp_path / "run.jsonl"))
    assert sum(is_command(each, "every 2s") for each in lines) > 1
    assert refused_of(exercise, lines, tmp_path) == ""
    done = next(each for each in lines if is_command(each, "kill 1"))
    at_us, number = lines[-1]["at_us"], done["line"]
    struck = [
        {"record": "fault", "at_us": at_us, "id": 77, "kind": "kill", "nodes": [1], "breaks": [8], "line": number},
        {"record": "process", "at_us": at_us, "node": 1, "event": "killed"},
        {**done, "at_us": at_us},
    ]
    said = refused_of(exercise, [*lines[:-1], *struck, lines[-1]], tmp_path)
    assert f"line {number} of the set-up is another one, or was done before" in said
    place = lines.index(done)
    said = refused_of(exercise, [*lines[:place], {**done, "text": "kill 1"}, *lines[place + 1 :]], tmp_path)
    assert "is another one" in said


@pytest.fixture(scope="module")
def long(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    """An attempt of more than a thousand records."""
    path = tmp_path_factory.mktemp("long") / "run.jsonl"
    return read_lines(run_attempt(exercise, ["at 1s: cut 5->1"], path, end_us=30_000_000))


def test_keyframes_hold_where_the_end_is_taken_off(exercise: Exercise, long: RecordStore, tmp_path: Path) -> None:
    """What is before one is not to be edited, and none is to be left out, added or made anew in part."""
    cut_off = long[:-1]
    keyframe = next(n for n, each in enumerate(long) if each["record"] == "keyframe")
    command = next(n for n, each in enumerate(long) if each["record"] == "command")

    def refused(lines: RecordStore) -> str:
        return why_not_genuine(exercise, open_recording(write_lines(tmp_path / "long.jsonl", lines)))

    assert refused(long) == refused(cut_off) == ""
    said = {**long[command], "outcome": "something else"}
    assert f"line {keyframe + 1} is not as it was: the lines before it were edited" in refused(
        [*cut_off[:command], said, *cut_off[command + 1 :]]
    )
    without = {name: each for name, each in long[keyframe].items() if name != "digest"}
    assert "were edited" in refused([*cut_off[:keyframe], without, *cut_off[keyframe + 1 :]])
    assert "keyframes are not where" in refused([*cut_off[:keyframe], *cut_off[keyframe + 1 :]])
    assert refused([*cut_off[: keyframe + 1], *cut_off[keyframe:]])
