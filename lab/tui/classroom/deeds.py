"""What a student does in an exercise: answers, takes hints, hands in, begins again."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["AgainWanted", "HandInWanted", "exercise_deeds"]


class HandInWanted(Message):
    """End the run of the attempt."""


class AgainWanted(Message):
    """Begin a new attempt at the same exercise in the place of this one."""


def exercise_deeds(screen: "RunScreen") -> dict[str, Callable[[str], object]]:
    """They are there in the run of an exercise alone: see ``offers``. Others need not load what they take."""

    def do(word: str, rest: str) -> None:
        from lab.tui.classroom.doing import Doing  # noqa: PLC0415

        doing = Doing(screen)
        (doing.answer if word == "answer" else doing.hint)(rest)

    return {
        "answer": lambda rest: do("answer", rest),
        "hint": lambda rest: do("hint", rest),
        "hand-in": lambda _: screen.post_message(HandInWanted()),
        "again": lambda _: screen.post_message(AgainWanted()),
    }
