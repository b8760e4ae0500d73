"""Keys of questions that are answered with the tools: what follows, and what is no key."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises.answer_keys import key_problems
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.tool_keys import CompareKey, ExplorationKey, ScaleKey, ToolKeyError
from lab.script.scope import CommandError
from tests.cli.invocation import Lab

TEXT = {"without": "all"}
CRASH = ExplorationKey("bully-tanenbaum", "2-3", "smallest", "A1.1", parameters=TEXT)
SCRIPT = """\
at 3s tell 4 withdraw 350
at 8s tell 4 withdraw 350
then on send Vote 1->4 kill 4
then after 15s restart 4
"""
BLOCKED = CompareKey(("2pc", "3pc"), "4", SCRIPT, "blocked.total_us", "most", runs=2)
BEST = ScaleKey(("bully", "ring"), "100", "best", "cheaper", measured_with=5)


def test_what_follows_from_an_exploration() -> None:
    """The smallest cluster, the shortest counterexample, the size of a proof, or nothing."""
    assert CRASH.answer() == "3"
    assert replace(CRASH, nodes="3", asks="moves").answer() == "11"
    assert replace(CRASH, nodes="2").answer() == "none"
    assert replace(CRASH, nodes="2", asks="states", parameters={}).answer() == "80"


def test_what_follows_from_a_measurement() -> None:
    """6n - 10 messages of bully against 4n - 3 on the ring; in the worst case the other is cheaper."""
    assert BEST.answer() == "ring"
    assert replace(BEST, asks="fewer").answer() == "193"
    assert replace(BEST, case="worst").answer() == "bully"


def test_what_follows_from_a_comparison() -> None:
    """2pc blocks until the coordinator is back, 3pc costs more; as ``lab compare`` prints it."""
    assert BLOCKED.answer() == "2pc"
    assert replace(BLOCKED, asks="least").answer() == "3pc"
    assert replace(BLOCKED, asks="value", of="2pc", figure="blocked.longest_us").answer() == "15"
    assert replace(BLOCKED, asks="more", figure="messages_mean").answer() == "6"
    assert replace(BLOCKED, asks="value", of="3pc", figure="writes_mean").answer() == "14"


def test_a_comparison_is_the_one_that_students_make(tmp_path: Path) -> None:
    """With the command of the exercise's instructions."""
    (tmp_path / "home").mkdir()
    (tmp_path / "crash.script").write_text(SCRIPT)
    words = ("compare", "2pc", "3pc", "--nodes", "4", "--runs", "2", "--script", "crash.script", "--workers", "1")
    document = json.loads(Lab(tmp_path, tmp_path / "home")(*words, "--json").out)
    for protocol in document["protocols"]:
        key = replace(BLOCKED, asks="value", of=protocol["protocol"])
        assert key.answer() == str(round(protocol["figures"]["blocked"]["total_us"] / 1_000_000))


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (replace(BLOCKED, protocols=("2pc",)), "a comparison needs two protocols"),
        (replace(BLOCKED, figure="blocked"), "2pc has no figure blocked; lab compare --json prints all"),
        (replace(BLOCKED, figure="committed_per_s"), "which is not a whole number"),
        (replace(BLOCKED, figure="open"), "open is 0 for each of 2pc, 3pc"),
        (replace(BLOCKED, asks="value"), "of = '' is not one of 2pc, 3pc"),
        (replace(BLOCKED, script="at 3s kill 5"), "there is no node 5"),
    ],
)
def test_what_is_no_comparison(key: CompareKey, error: str) -> None:
    with pytest.raises((ToolKeyError, CommandError)) as wrong:
        key.answer()
    assert error in str(wrong.value)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (replace(CRASH, nodes="3", asks="states"), "with 3 nodes it is no proof: A1.1 fails"),
        (replace(CRASH, nodes="2", assertion="A9"), "A9 is not among A1.1"),
        (replace(CRASH, nodes="3-2"), "nodes = '3-2' is no cluster; write the least number first"),
        (replace(CRASH, nodes="{size}"), "'{size}' is not a whole number"),
        (replace(BEST, protocols=("bully", "2pc")), "2pc is not an election"),
        (replace(BEST, protocols=("ring", "ring")), "both cost 397 messages with 100 nodes"),
    ],
)
def test_what_is_no_key(key: ExplorationKey | ScaleKey, error: str) -> None:
    with pytest.raises(ToolKeyError) as wrong:
        key.answer()
    assert error in str(wrong.value)


def test_a_wrong_key_is_reported() -> None:
    """By the check of the exercise, with what followed."""
    exercise = find_exercise("cheaper-at-a-hundred")
    first, *_ = exercise.tasks
    assert list(key_problems(replace(exercise, tasks=(first,)), (1,))) == []
    wrong = replace(first, answer="bully")
    assert list(key_problems(replace(exercise, tasks=(wrong,)), (1,))) == [
        "task 1: the answer given is 'bully', but 'ring' followed"
    ]
    assert first.key is not None
    assert first.key.scale is not None
    torn = replace(first, key=replace(first.key, scale=replace(first.key.scale, nodes="many")))
    assert list(key_problems(replace(exercise, tasks=(torn,)), (1,))) == [
        "task 1: key: 'many' is not a whole number"
    ]
