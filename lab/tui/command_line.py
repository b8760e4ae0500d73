"""The ``:`` command line for commands and the words of actions, with completion and history."""

from itertools import chain

from lab.script import VERBS, bare_commands
from lab.script.bank_terms import ATTRIBUTES_OF_BANK
from lab.script.evaluation import ATTRIBUTES
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.predicates import COUNTS, STATES
from lab.tui.actions import ACTIONS
from lab.tui.prompt import Prompt

__all__ = ["CommandLine", "complete"]

_STARTS = ("at ", "after ", "every ", "when all normal ", "on send ", "on deliver ", "on drop ", "on status ")
_WITHIN = (
    *("all", "any", "coordinator", "coordinators", "normal", "suspects", "within", "status", "under"),
    *(word for example in EXPECTATIONS.values() for word in example.split()[:2] if word.isalpha()),
    *TRIGGERS,
    *STATES,
    *COUNTS,
)
"""The words that occur within a command but do not begin one, in the order in which they are offered."""


def complete(text: str, history: list[str]) -> str | None:
    """Return the completion of ``text``: the newest matching line of the history, else a word, else None."""
    if not text:
        return None
    for line in reversed(history):
        if line.startswith(text) and line != text:
            return line
    for start in (*_STARTS, *(f"{expectation} " for expectation in EXPECTATIONS)):
        if start.startswith(text) and start != text:
            return start
    own = bare_commands()
    before, space, word = text.rpartition(" ")
    if not word:
        return None
    if space:
        words = [*VERBS, *own, *_WITHIN] if before.endswith(":") else [*_WITHIN, *VERBS, *own]
        operands = (verb.example.split()[1:] for name, verb in own.items() if name in before.split())
        words = [*filter(str.isalpha, chain.from_iterable(operands)), *words]
        subject, dot, _ = word.rpartition(".")
        if dot:
            words = [f"{subject}.{name}" for name in (*ATTRIBUTES, *ATTRIBUTES_OF_BANK)]
    else:
        words = sorted({*VERBS, *own, *(action.word for action in ACTIONS)})
    found = next((each for each in words if each.startswith(word) and each != word), None)
    return None if found is None else before + space + found


class CommandLine(Prompt):
    """A prompt for commands and for words of the actions."""

    class Given(Prompt.Given):
        """The user entered a line."""

    class Left(Prompt.Left):
        """The user closed the line without a command."""

    def __init__(self) -> None:
        super().__init__("kill 5   (Tab completes, Up and Down show history, Esc closes)")

    def completed(self, text: str) -> str | None:
        return complete(text, self.history)
