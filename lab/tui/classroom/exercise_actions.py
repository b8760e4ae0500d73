"""The handlers of the exercise actions: answer, hint, hand in, begin again."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen


class HandInRequested(Message):
    """End the run of the attempt."""


class RestartRequested(Message):
    """Begin a new attempt at the same exercise in the place of this one."""


def exercise_actions(screen: "RunScreen") -> dict[str, Callable[[str], object]]:
    """Return the handlers; ``availability`` offers these actions only in the run of an exercise."""

    def do(word: str, rest: str) -> None:
        from lab.tui.classroom.task_actions import TaskActions  # noqa: PLC0415 - other runs need not load it

        actions = TaskActions(screen)
        (actions.answer if word == "answer" else actions.hint)(rest)

    return {
        "answer": lambda rest: do("answer", rest),
        "hint": lambda rest: do("hint", rest),
        "hand-in": lambda _: screen.post_message(HandInRequested()),
        "again": lambda _: screen.post_message(RestartRequested()),
    }
