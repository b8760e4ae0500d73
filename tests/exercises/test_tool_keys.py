"""Keys of questions that are answered with the tools: what follows, and what is no key."""

import pytest
from msgspec.structs import replace

from lab.exercises.answer_keys import key_problems
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.tool_keys import ExplorationKey, ScaleKey, ToolKeyError

TEXT = {"without": "all"}
CRASH = ExplorationKey("bully-tanenbaum", "2-3", "smallest", "A1.1", parameters=TEXT)
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
