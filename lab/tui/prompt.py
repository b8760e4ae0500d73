"""A prompt: a line to type into, hidden until opened, with completion and history."""

import asyncio
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input

from lab.tui.nodes.panes import NodePanes

__all__ = ["Prompt"]


class _Completion(Suggester):
    def __init__(self, line: "Prompt") -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._line = line

    async def get_suggestion(self, value: str) -> str | None:
        found = self._line.completed(value)
        return found if found is not None and found.startswith(value) else None


_LONGEST = 4000
"""Longer than any command; a longer text, pasted by mistake, would be slow to draw."""
_EDITS = {
    key: binding.action
    for binding in Input.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
    if binding.action != "submit"
}


class Prompt(Input):
    """A line to type into: Tab completes, Up and Down walk through the history, Enter submits, Escape closes.

    Keys may arrive faster than they are handled. Each acts on the line as the previous keys left it. A key after
    Enter or Escape does not go to the line.
    """

    DEFAULT_CSS = """
    Prompt { height: 1; border: none; padding: 0 1; display: none; background: $boost; }
    Prompt:focus { border: none; }
    Prompt.open { display: block; }
    """

    accepts_empty = False
    """Enter submits an empty line too, instead of closing the prompt."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "submit", show=False, priority=True
        ),  # so that no later key is forwarded before it is handled
        Binding("escape", "leave", show=False, priority=True),
    ]

    class Given(Message):
        """The user entered a line."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The user closed the prompt without entering a line."""

    def __init__(self, placeholder: str) -> None:
        self.history: list[str] = []
        super().__init__(
            placeholder=placeholder, suggester=_Completion(self), select_on_focus=False, max_length=_LONGEST
        )
        self._history_index = 0
        self._previous_focus: Widget | None = None
        """The widget that had the focus before the prompt was opened."""

    def completed(self, text: str) -> str | None:
        """Return the completion of ``text``, or None."""
        raise NotImplementedError

    @property
    def is_open(self) -> bool:
        return self.has_class("open")

    def open(self, text: str) -> None:
        """Open the prompt with this text in it."""
        self._previous_focus = self._previous_focus if self.is_open else self.screen.focused
        self.add_class("open")
        self.value = text
        self.cursor_position = len(text)
        self._history_index = len(self.history)
        self.screen.set_focus(self)  # at once; focus() would only be scheduled

    def close(self) -> None:
        """Hide the prompt and return the focus to the widget that had it, or to the nodes."""
        self.remove_class("open")
        self.value = ""
        before = (
            self._previous_focus
            if self._previous_focus is not None and self._previous_focus.is_on_screen
            else None
        )
        self.screen.set_focus(before or self.screen.query_one(NodePanes))

    async def on_key(self, event: events.Key) -> None:
        """Handle Tab, Up, Down and the editing keys; as bindings they would be handled after later letters."""
        if event.key == "tab":
            event.stop()
            event.prevent_default()
            self.value = self.completed(self.value) or self.value
            self.cursor_position = len(self.value)
        elif event.key in ("up", "down") and self.history:
            event.stop()
            event.prevent_default()
            self._history_index = max(
                0, min(self._history_index + (1 if event.key == "down" else -1), len(self.history))
            )
            self.value = self.history[self._history_index] if self._history_index < len(self.history) else ""
            self.cursor_position = len(self.value)
        elif event.key in _EDITS and await self.app.run_action(_EDITS[event.key], self):
            event.stop()

    async def action_leave(self) -> None:
        await self._handle_queued_keys()
        self.close()
        self.post_message(self.Left())

    async def action_submit(self) -> None:
        await self._handle_queued_keys()
        text = self.value.strip()
        self.close()
        if not text and not self.accepts_empty:
            self.post_message(self.Left())
            return
        if text and self.history[-1:] != [text]:
            self.history.append(text)
        self.post_message(self.Given(text))

    async def _handle_queued_keys(self) -> None:
        """Wait until all keys so far, which are in the queue of this widget, have acted on the line."""
        handled = asyncio.Event()
        if self.call_later(handled.set):
            await handled.wait()
