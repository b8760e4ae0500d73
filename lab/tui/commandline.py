"""The ``:`` line: commands of the language and words of the table of actions, with completion and history."""

import asyncio
from itertools import chain
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from lab.script import VERBS, own_commands
from lab.script.banking import ATTRIBUTES_OF_BANK
from lab.script.explaining import EXPECTATIONS, TRIGGERS
from lab.script.holding import ATTRIBUTES
from lab.script.predicates import COUNTS, STATES
from lab.tui.actions import ACTIONS
from lab.tui.panes import NodePanes

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


class _Completion(Suggester):
    def __init__(self, history: list[str]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._history = history

    async def get_suggestion(self, value: str) -> str | None:
        return complete(value, self._history)


_EDITS = {
    key: binding.action
    for binding in Input.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
    if binding.action != "submit"
}


class CommandLine(Input):
    """Hidden until it is asked for. Tab takes the completion, up and down walk through the history.

    Keys may come faster than they are seen to. Each acts on the line as the keys before it have left it, and the
    one after Enter or Escape is no longer for the line.
    """

    DEFAULT_CSS = """
    CommandLine { height: 1; border: none; padding: 0 1; display: none; background: $boost; }
    CommandLine:focus { border: none; }
    CommandLine.open { display: block; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", show=False, priority=True),  # no key after it is forwarded before it is done
        Binding("escape", "leave", show=False, priority=True),
    ]

    class Given(Message):
        """A line was entered."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The line was left without a command."""

    def __init__(self) -> None:
        self.history: list[str] = []
        placeholder = "kill 5   (Tab completes, up and down: history, Esc leaves)"
        super().__init__(placeholder=placeholder, suggester=_Completion(self.history))
        self._place = 0

    @property
    def is_open(self) -> bool:
        """Whether it is shown."""
        return self.has_class("open")

    def open(self, text: str) -> None:
        """Show the line, with this text in it."""
        self.add_class("open")
        self.value = text
        self.cursor_position = len(text)
        self._place = len(self.history)
        self.screen.set_focus(self)  # at once: focus() waits for its turn

    def close(self) -> None:
        """Hide it; the keys are the nodes' again."""
        self.remove_class("open")
        self.value = ""
        self.screen.set_focus(self.screen.query_one(NodePanes))

    async def on_key(self, event: events.Key) -> None:
        """Tab, up and down, and what edits the line, which would wait behind later letters as a binding."""
        if event.key == "tab":
            event.stop()
            event.prevent_default()
            self.value = complete(self.value, self.history) or self.value
            self.cursor_position = len(self.value)
        elif event.key in ("up", "down") and self.history:
            event.stop()
            event.prevent_default()
            self._place = max(0, min(self._place + (1 if event.key == "down" else -1), len(self.history)))
            self.value = self.history[self._place] if self._place < len(self.history) else ""
            self.cursor_position = len(self.value)
        elif event.key in _EDITS and await self.app.run_action(_EDITS[event.key], self):
            event.stop()

    async def action_leave(self) -> None:
        """Escape."""
        await self._typed()
        self.close()
        self.post_message(self.Left())

    async def action_submit(self) -> None:
        """Enter."""
        await self._typed()
        text = self.value.strip()
        self.close()
        if not text:
            self.post_message(self.Left())
            return
        if not self.history or self.history[-1] != text:
            self.history.append(text)
        self.post_message(self.Given(text))

    async def _typed(self) -> None:
        """Wait until all keys so far have acted on the line: they are in its queue."""
        acted = asyncio.Event()
        if self.call_later(acted.set):
            await acted.wait()
