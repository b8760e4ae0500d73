"""Editing a recording earns no points: it is refused, or the edit changes nothing that counts."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lab.exercises.authenticity import authenticity_error
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.grading import Grade, grade_recording
from lab.recording.reader import open_recording
from tests.exercises.attempts import (
    RawRecords,
    chained,
    number_places,
    read_lines,
    run_attempt,
    with_number,
    write_lines,
)
from tests.exercises.exercise_files import SETUP, make_exercise
from tests.profile import amount

EXERCISE = "two-coordinators"
HONEST = 4
_EDITS = amount(quick=40, soak=2_000)
_EVERY = amount(quick=6, soak=1)
"""Of how many steps one is removed."""


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> RawRecords:
    """A live attempt that earns all points, less the cost of a hint."""
    path = tmp_path_factory.mktemp("attempt") / "run.jsonl"
    commands = [
        "at 1ms: hint 2",
        "at 1ms: hint 2",
        'when all normal: answer 1 "only 5"',
        "when all normal: pause 5",
    ]
    return read_lines(run_attempt(find_exercise(EXERCISE), commands, path, end_us=4_000_000))


@pytest.fixture(scope="module")
def clumsy(tmp_path_factory: pytest.TempPathFactory) -> RawRecords:
    """An attempt with a wrong answer, and with too many commands."""
    path = tmp_path_factory.mktemp("clumsy") / "run.jsonl"
    commands = [
        'when all normal: answer 1 "only 4"',
        "when all normal: pause 4",
        "when 4 paused: resume 4",
        "at 2s: pause 5",
    ]
    return read_lines(run_attempt(find_exercise(EXERCISE), commands, path, end_us=5_000_000))


def graded(lines: RawRecords, folder: Path) -> Grade:
    return grade_recording(write_lines(folder / "edited.jsonl", lines))


def is_command(record: dict[str, Any], *texts: str) -> bool:
    return record["record"] == "command" and any(text in record["text"] for text in texts)


@pytest.mark.live
def test_honest_attempts_are_graded(attempt: RawRecords, clumsy: RawRecords, tmp_path: Path) -> None:
    """Both are live, and contain a pause."""
    grade = graded(attempt, tmp_path)
    assert (grade.refused, grade.student, grade.exercise) == ("", "anna", EXERCISE)
    assert (grade.points, grade.most, grade.cut_off) == (HONEST, 5, False)
    assert [(result.state, result.points) for result in graded(clumsy, tmp_path).results] == [
        ("missed", 0),
        ("missed", 0),
        ("done", 2),
    ]


def without_hints(lines: RawRecords) -> RawRecords:
    return [line for line in lines if not is_command(line, "hint")]


def with_hints_elsewhere(lines: RawRecords) -> RawRecords:
    """Move the hints to another task."""
    return [{**line, "text": "hint 3"} if is_command(line, "hint") else line for line in lines]


def with_hints_refused(lines: RawRecords) -> RawRecords:
    """Mark the hints as refused."""
    return [{**line, "refused": True} if is_command(line, "hint") else line for line in lines]


def with_the_right_answer(lines: RawRecords) -> RawRecords:
    return [{**line, "text": 'answer 1 "only 5"'} if is_command(line, "answer") else line for line in lines]


@pytest.mark.live
@pytest.mark.parametrize("edit", [without_hints, with_hints_elsewhere, with_hints_refused])
def test_a_hint_cannot_be_removed(
    attempt: RawRecords, tmp_path: Path, edit: Callable[[RawRecords], RawRecords]
) -> None:
    """Only the digest at the end shows it; recomputing that digest would earn all points."""
    assert "the lines before it were edited" in graded(edit(attempt), tmp_path).refused
    grade = graded(chained(edit(attempt)), tmp_path)
    assert (grade.refused, grade.points) == ("", 5)


@pytest.mark.live
def test_an_answer_cannot_be_changed(clumsy: RawRecords, tmp_path: Path) -> None:
    edited = with_the_right_answer(clumsy)
    assert "the lines before it were edited" in graded(edited, tmp_path).refused
    assert graded(chained(edited), tmp_path).results[0].points == 1


@pytest.mark.live
@pytest.mark.parametrize("word", ["changed", "refused"])
def test_a_command_cannot_be_disowned(clumsy: RawRecords, tmp_path: Path, word: str) -> None:
    """Even if its record is edited and all digests are recomputed."""
    flags = {"changed": False, "refused": True}
    edited = [{**line, word: flags[word]} if is_command(line, "pause 4", "resume") else line for line in clumsy]
    assert edited != clumsy
    grade = graded(chained(edited), tmp_path)
    assert grade.refused or grade.points <= 2
    assert graded(edited, tmp_path).refused


@pytest.mark.live
def test_a_changed_truth_value_is_found(attempt: RawRecords, tmp_path: Path) -> None:
    """In each kind of record that has one."""
    for place, record in enumerate(attempt):
        for word in {"command": ("changed", "refused"), "fault": ("lifted",), "step": ("late",)}.get(
            record["record"], ()
        ):
            changed = {**record, word: not record.get(word, word == "changed")}
            assert graded([*attempt[:place], changed, *attempt[place + 1 :]], tmp_path).refused, changed


@pytest.mark.live
def test_a_removed_record_earns_nothing(attempt: RawRecords, tmp_path: Path) -> None:
    """For each record but hints, with the digests recomputed."""
    for place in range(1, len(attempt)):
        if place % _EVERY and attempt[place]["record"] in ("step", "routed"):
            continue
        left = attempt[:place] + attempt[place + 1 :]
        grade = graded(left, tmp_path)
        assert grade.refused or (grade.points == HONEST and grade.cut_off), attempt[place]
        if not is_command(attempt[place], "hint"):
            grade = graded(chained(left), tmp_path)
            assert grade.refused or grade.points <= HONEST, attempt[place]
        if attempt[place].get("event") == "started":
            assert grade.refused, attempt[place]


@pytest.mark.live
def test_a_duplicated_record_earns_nothing(attempt: RawRecords, tmp_path: Path) -> None:
    """At its own place, or at another."""
    draw = Random(1)
    for _ in range(_EDITS // 4):
        one, other = draw.randrange(1, len(attempt) - 1), draw.randrange(1, len(attempt) - 1)
        edited = [*attempt[:other], attempt[one], *attempt[other:]]
        assert graded(edited, tmp_path).refused
        grade = graded(chained(edited), tmp_path)
        assert grade.refused or grade.points <= HONEST, (one, other)


@pytest.mark.live
def test_a_changed_number_earns_nothing(attempt: RawRecords, tmp_path: Path) -> None:
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


@pytest.mark.live
@pytest.mark.parametrize("torn", [0, 1, 10, 500])
def test_a_torn_recording_is_graded_as_far_as_it_goes(attempt: RawRecords, tmp_path: Path, torn: int) -> None:
    """A crash may have cost the end; the grade says that it is missing."""
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


@pytest.mark.live
@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_differs_from_the_exercise_is_refused(
    attempt: RawRecords, tmp_path: Path, name: str
) -> None:
    """Made easier, or branched from another run."""
    grade = graded([{**attempt[0], name: HEADERS[name]}, *attempt[1:]], tmp_path)
    assert grade.refused


@pytest.mark.live
def test_another_protocol_s_source_is_refused(attempt: RawRecords, tmp_path: Path) -> None:
    """Only the program's own protocol is executed."""
    protocol = {**attempt[0]["protocol"], "source": "class Bully: ..."}
    grade = graded([{**attempt[0], "protocol": protocol}, *attempt[1:]], tmp_path)
    assert "source" in grade.refused


@pytest.mark.live
@pytest.mark.parametrize("name", ["../two-coordinators", "/etc/passwd", "no-such-one", ""])
def test_an_unknown_exercise_is_refused(attempt: RawRecords, tmp_path: Path, name: str) -> None:
    """The name is never used as a path."""
    of = {**attempt[0]["exercise"], "name": name}
    grade = graded([{**attempt[0], "exercise": of}, *attempt[1:]], tmp_path)
    assert "unknown exercise" in grade.refused


def refused_of(exercise: Exercise, lines: RawRecords, folder: Path) -> str:
    """Return why these records are refused, with all digests recomputed."""
    path = write_lines(folder / "edited.jsonl", chained(lines))
    return authenticity_error(exercise, open_recording(path))


FORGED = [
    ({"record": "command", "at_us": 1, "text": "wipe 5", "outcome": ""}, "wipe is not allowed"),
    ({"record": "command", "at_us": 1, "text": "kill", "outcome": "", "line": 9}, "differs from the setup"),
    ({"record": "process", "at_us": 1, "node": 5, "event": "killed"}, "no command explains why"),
    ({"record": "process", "at_us": 1, "node": 5, "event": "resumed"}, "no command explains why"),
    ({"record": "expected", "at_us": 1, "text": "expect 5 leads", "met": True}, "not in the setup"),
    (
        {"record": "fault", "at_us": 1, "id": 77, "kind": "kill", "text": "kill 5", "nodes": [5], "breaks": []},
        "no command caused fault 77",
    ),
]


@pytest.fixture(scope="module")
def exercise(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """A simulated exercise."""
    return make_exercise(tmp_path_factory.mktemp("exercise"))


@pytest.fixture(scope="module")
def simulated(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> RawRecords:
    """An attempt without commands, but for a cut that drops messages."""
    path = tmp_path_factory.mktemp("attempt") / "run.jsonl"
    return read_lines(run_attempt(exercise, ["at 1s: cut 5->1"], path))


def test_an_honest_simulated_attempt_is_authentic(
    exercise: Exercise, simulated: RawRecords, tmp_path: Path
) -> None:
    """Times must match to the microsecond."""
    assert refused_of(exercise, simulated, tmp_path) == ""


def test_a_node_may_restart_at_the_time_of_its_crash(exercise: Exercise, tmp_path: Path) -> None:
    """In simulation, the old incarnation's unsent messages are recorded as lost after the restart."""
    commands = ["at 1s: kill 5", "on send SetCoordinator 4->1: kill 4", "when 4 down: restart 4"]
    lines = read_lines(run_attempt(exercise, commands, tmp_path / "run.jsonl"))
    assert any(each.get("why") == "unsent" for each in lines)
    assert refused_of(exercise, lines, tmp_path) == ""


@pytest.mark.parametrize(("record", "why"), FORGED)
def test_an_effect_without_a_cause_is_found(
    exercise: Exercise, simulated: RawRecords, tmp_path: Path, record: dict[str, object], why: str
) -> None:
    """A command that is not allowed, a process event without a command, a fault without a command."""
    place = len(simulated) // 2
    put = {**record, "at_us": simulated[place].get("at_us", 0)}
    assert why in refused_of(exercise, [*simulated[:place], put, *simulated[place:]], tmp_path)


def test_a_message_lost_without_a_fault_is_found(
    exercise: Exercise, simulated: RawRecords, tmp_path: Path
) -> None:
    """Dropped without a fault, or by a fault of another link."""
    dropped = next(n for n, each in enumerate(simulated) if each.get("fate") == "dropped")
    edits: list[dict[str, object]] = [{"by": []}, {"by": [9]}, {"by": [], "why": "down"}]
    for edit in edits:
        changed = {**simulated[dropped], **edit}
        why = refused_of(exercise, [*simulated[:dropped], changed, *simulated[dropped + 1 :]], tmp_path)
        assert "which no fault in force explains" in why


def test_a_removed_step_is_found(exercise: Exercise, simulated: RawRecords, tmp_path: Path) -> None:
    """By a message never delivered, a timer that never fires, or the step's consequences."""
    last_us = simulated[-1]["at_us"]
    reasons = []
    for place, record in enumerate(simulated):
        if record["record"] == "step" and record["at_us"] < last_us - 500_000 and place % _EVERY == 0:
            reasons.append(refused_of(exercise, [*simulated[:place], *simulated[place + 1 :]], tmp_path))
    assert all(reasons)
    for why in ("was not delivered", "fired", "step of node"):
        assert any(why in reason for reason in reasons), why


def test_a_fault_extended_without_a_command_is_found(
    exercise: Exercise, simulated: RawRecords, tmp_path: Path
) -> None:
    """A later record of a fault may remove links, never add any."""
    place = next(n for n, each in enumerate(simulated) if each["record"] == "command")
    fault = next(each for each in simulated if each.get("kind") == "cut")
    wider = {**fault, "links": [[one, other] for one in range(1, 6) for other in range(1, 6) if one != other]}
    for again in (wider, fault, {**fault, "links": [], "nodes": [1]}):
        why = refused_of(exercise, [*simulated[: place + 1], again, *simulated[place + 1 :]], tmp_path)
        assert f"fault {fault['id']} was extended without a command" in why


def test_a_line_of_the_setup_is_executed_once(tmp_path: Path) -> None:
    """It does not count as the student's command."""
    exercise = make_exercise(tmp_path, setup=f"{SETUP}at 1500ms: kill 1\nat 3s: restart 1\nevery 2s: restart 1\n")
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
    why = refused_of(exercise, [*lines[:-1], *struck, lines[-1]], tmp_path)
    assert f"line {number} differs from the setup, or was already executed" in why
    place = lines.index(done)
    why = refused_of(exercise, [*lines[:place], {**done, "text": "kill 1"}, *lines[place + 1 :]], tmp_path)
    assert "differs from the setup" in why


@pytest.fixture(scope="module")
def long(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> RawRecords:
    """An attempt of more than a thousand records."""
    path = tmp_path_factory.mktemp("long") / "run.jsonl"
    return read_lines(run_attempt(exercise, ["at 1s: cut 5->1"], path, end_us=30_000_000))


def test_keyframes_protect_a_recording_without_end(exercise: Exercise, long: RawRecords, tmp_path: Path) -> None:
    """Records before a keyframe cannot be edited; keyframes cannot be removed, added or partly recomputed."""
    cut_off = long[:-1]
    keyframe = next(n for n, each in enumerate(long) if each["record"] == "keyframe")
    command = next(n for n, each in enumerate(long) if each["record"] == "command")

    def refused(lines: RawRecords) -> str:
        return authenticity_error(exercise, open_recording(write_lines(tmp_path / "long.jsonl", lines)))

    assert refused(long) == refused(cut_off) == ""
    changed = {**long[command], "outcome": "something else"}
    assert f"line {keyframe + 1} is not authentic: the lines before it were edited" in refused(
        [*cut_off[:command], changed, *cut_off[command + 1 :]]
    )
    without = {name: each for name, each in long[keyframe].items() if name != "digest"}
    assert "were edited" in refused([*cut_off[:keyframe], without, *cut_off[keyframe + 1 :]])
    assert "a keyframe is missing" in refused([*cut_off[:keyframe], *cut_off[keyframe + 1 :]])
    assert refused([*cut_off[: keyframe + 1], *cut_off[keyframe:]])
