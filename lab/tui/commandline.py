"""The ``:`` line: commands of the language and words of the table of actions, with completion and history."""

from itertools import chain

from lab.script import VERBS, own_commands
from lab.script.banking import ATTRIBUTES_OF_BANK
from lab.script.explaining import EXPECTATIONS, TRIGGERS
from lab.script.holding import ATTRIBUTES
from lab.script.predicates import COUNTS, STATES
from lab.tui.actions import ACTIONS
from lab.tui.typedline import TypedLine

__all__ = ["CommandLine", "complete"]

_STARTS = ("at ", "after ", "every ", "when all normal ", "on send ", "on deliver ", "on drop ", "on status ")
_WITHIN = (
    *("all", "any", "coordinator", "coordinators", "normal", "suspects", "within", "status", "under"),
    *(word for example in EXPECTATIONS.values() for word in example.split()[:2] if word.isalpha()),
    *TRIGGERS,
    *STATES,
    *COUNTS,
)
"""The words of the language that are in a line but do not begin it; in the order in which they are offered."""


def complete(text: str, history: list[str]) -> str | None:
    """The completion of what is typed: from the history, newest first, then a word; None if there is none."""
    if not text:
        return None
    for line in reversed(history):
        if line.startswith(text) and line != text:
            return line
    for start in (*_STARTS, *(f"{expectation} " for expectation in EXPECTATIONS)):
        if start.startswith(text) and start != text:
            return start
    own = own_commands()
    before, space, word = text.rpartition(" ")
    if not word:
        return None
    if space:
        words = [*VERBS, *own, *_WITHIN] if before.endswith(":") else [*_WITHIN, *VERBS, *own]
        told = (verb.example.split()[1:] for name, verb in own.items() if name in before.split())
        words = [*filter(str.isalpha, chain.from_iterable(told)), *words]
        who, dot, _ = word.rpartition(".")
        if dot:
            words = [f"{who}.{name}" for name in (*ATTRIBUTES, *ATTRIBUTES_OF_BANK)]
    else:
        words = sorted({*VERBS, *own, *(action.word for action in ACTIONS)})
    found = next((each for each in words if each.startswith(word) and each != word), None)
    return None if found is None else before + space + found


class CommandLine(TypedLine):
    """Takes commands and words of the table of actions."""

    class Given(TypedLine.Given):
        """A line was entered."""

    class Left(TypedLine.Left):
        """The line was left without a command."""

    def __init__(self) -> None:
        super().__init__("kill 5   (Tab completes, up and down: history, Esc leaves)")

    def completed(self, text: str) -> str | None:
        """From the history, or a word."""
        return complete(text, self.history)
