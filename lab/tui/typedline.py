"""A line to type into, hidden until it is asked for: completion, history, and keys that may come all at once."""

import asyncio
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input

from lab.tui.nodes.panes import NodePanes

__all__ = ["TypedLine"]


class _Completion(Suggester):
    def __init__(self, line: "TypedLine") -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._line = line

    async def get_suggestion(self, value: str) -> str | None:
        found = self._line.completed(value)
        return found if found is not None and found.startswith(value) else None


_LONGEST = 4000
"""Longer than any command; what is longer still, and was pasted by mistake, would take long to draw."""
_EDITS = {
    key: binding.action
    for binding in Input.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
    if binding.action != "submit"
}


class TypedLine(Input):
    """Tab takes the completion, up and down walk through the history, Enter gives the line, Escape leaves it.

    Keys may come faster than they are seen to. Each acts on the line as the keys before it have left it, and the
    one after Enter or Escape is no longer for the line.
    """

    DEFAULT_CSS = """
    TypedLine { height: 1; border: none; padding: 0 1; display: none; background: $boost; }
    TypedLine:focus { border: none; }
    TypedLine.open { display: block; }
    """

    takes_nothing = False
    """Whether Enter gives an empty line too."""

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
        """The line was left without a word."""

    def __init__(self, placeholder: str) -> None:
        self.history: list[str] = []
        super().__init__(
            placeholder=placeholder, suggester=_Completion(self), select_on_focus=False, max_length=_LONGEST
        )
        self._place = 0
        self._before: Widget | None = None
        """What had the keys before the line was opened."""

    def completed(self, text: str) -> str | None:
        """The completion of what is typed; None if there is none."""
        raise NotImplementedError

    @property
    def is_open(self) -> bool:
        """Whether it is shown."""
        return self.has_class("open")

    def open(self, text: str) -> None:
        """Show the line, with this text in it."""
        self._before = self._before if self.is_open else self.screen.focused
        self.add_class("open")
        self.value = text
        self.cursor_position = len(text)
        self._place = len(self.history)
        self.screen.set_focus(self)  # at once: focus() waits for its turn

    def close(self) -> None:
        """Hide it; the keys are for what they were for before, or for the nodes."""
        self.remove_class("open")
        self.value = ""
        before = self._before if self._before is not None and self._before.is_on_screen else None
        self.screen.set_focus(before or self.screen.query_one(NodePanes))

    async def on_key(self, event: events.Key) -> None:
        """Tab, up and down, and what edits the line, which would wait behind later letters as a binding."""
        if event.key == "tab":
            event.stop()
            event.prevent_default()
            self.value = self.completed(self.value) or self.value
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
        if not text and not self.takes_nothing:
            self.post_message(self.Left())
            return
        if text and self.history[-1:] != [text]:
            self.history.append(text)
        self.post_message(self.Given(text))

    async def _typed(self) -> None:
        """Wait until all keys so far have acted on the line: they are in its queue."""
        acted = asyncio.Event()
        if self.call_later(acted.set):
            await acted.wait()
