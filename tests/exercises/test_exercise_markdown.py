"""The texts of an exercise are split at their headings."""

import pytest

from lab.exercises.exercise import Hint
from lab.exercises.exercise_reader import TextError, hints_in, instructions_in


def test_text_before_the_first_task_is_the_introduction() -> None:
    """The title is left out; exercise.toml has it."""
    intro, tasks = instructions_in("# Title\n\nHello.\n\n## 1. One\n\nDo *it*.\n\n## 2. Two\n\nAnd that.\n")
    assert intro == "Hello."
    assert tasks == [("One", "Do *it*."), ("Two", "And that.")]


def test_a_comment_in_fenced_code_is_no_heading() -> None:
    _, tasks = instructions_in("## 1. One\n\n```\n# kill\n## 2. no task\n```\n")
    assert tasks == [("One", "```\n# kill\n## 2. no task\n```")]


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("## 1. One\n\n## 3. Three\n", 3, "expected: ## 2. Three"),
        ("## One\n", 1, "is not a task; expected: ## 1."),
        ("## 1. One\n\n# Late\n", 3, "is not a task; expected: ## 2."),
    ],
)
def test_a_wrong_heading_is_reported_with_its_line(text: str, line: int, error: str) -> None:
    """Tasks are numbered from 1 in order; the title precedes them."""
    with pytest.raises(TextError, match=error) as found:
        instructions_in(text)
    assert found.value.line == line


def test_hints_are_in_order_and_have_their_cost() -> None:
    """Free hints cost nothing."""
    found = hints_in("# Task 2\n\n## Free\n\nLook.\n\n## Costs 3\n\nPress `p`.\n\n# Task 3\n\n## Costs 1\n\nx\n")
    assert found == {2: [Hint(0, "Look."), Hint(3, "Press `p`.")], 3: [Hint(1, "x")]}


@pytest.mark.parametrize(
    "text", ["Look.\n", "## Free\n\nLook.\n", "# Task 1\n\n## Cheap\n\nx\n", "# Task 1\n\n## Free\n\n# Task 2\n"]
)
def test_a_hint_without_task_cost_or_text_is_refused(text: str) -> None:
    with pytest.raises(TextError):
        hints_in(text)
