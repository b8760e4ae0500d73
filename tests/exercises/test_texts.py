"""The texts of an exercise: tasks and hints are found by their headings, and nothing else is taken for one."""

import pytest

from lab.exercises.exercise import Hint
from lab.exercises.texts import TextError, hints_in, instructions_in


def test_what_is_before_the_first_task_is_the_introduction() -> None:
    """The title is left out, as it is in exercise.toml."""
    intro, tasks = instructions_in("# Title\n\nHello.\n\n## 1. One\n\nDo *it*.\n\n## 2. Two\n\nAnd that.\n")
    assert intro == "Hello."
    assert tasks == [("One", "Do *it*."), ("Two", "And that.")]


def test_a_remark_in_a_piece_of_code_is_no_heading() -> None:
    """What is between fences is taken as it stands."""
    _, tasks = instructions_in("## 1. One\n\n```\n# kill\n## 2. no task\n```\n")
    assert tasks == [("One", "```\n# kill\n## 2. no task\n```")]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("## 1. One\n\n## 3. Three\n", 3, "write ## 2. Three"),
        ("## One\n", 1, "is no task; write ## 1."),
        ("## 1. One\n\n# Late\n", 3, "is no task; write ## 2."),
    ],
)
def test_a_heading_that_is_none_is_told_with_its_line(text: str, line: int, said: str) -> None:
    """Numbers go on from 1, and a title is before all tasks."""
    with pytest.raises(TextError, match=said) as found:
        instructions_in(text)
    assert found.value.line == line


def test_hints_are_in_order_and_say_what_they_cost() -> None:
    """Free ones cost nothing."""
    found = hints_in("# Task 2\n\n## Free\n\nLook.\n\n## Costs 3\n\nPress `p`.\n\n# Task 3\n\n## Costs 1\n\nx\n")
    assert found == {2: [Hint(0, "Look."), Hint(3, "Press `p`.")], 3: [Hint(1, "x")]}


@pytest.mark.parametrize(
    "text", ["Look.\n", "## Free\n\nLook.\n", "# Task 1\n\n## Cheap\n\nx\n", "# Task 1\n\n## Free\n\n# Task 2\n"]
)
def test_a_hint_for_no_task_or_of_no_price_or_without_words_is_refused(text: str) -> None:
    """Each is under a task, and a price."""
    with pytest.raises(TextError):
        hints_in(text)
