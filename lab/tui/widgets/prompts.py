"""Prompts: a line to type into, with completion and history; for commands, and for queries."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.fuzzy import FuzzySearch
from textual.message import Message
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input

from lab.analysis.delivery import OUTCOMES
from lab.recording.log_lines import LINE_TYPES
from lab.recording.records import Header
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.query import FIELDS, kinds_in
from lab.script.scope import scope_of
from lab.script.values import ATTRIBUTES
from lab.script.verbs import VERBS, bare_commands
from lab.script.vocabulary import described_counts, described_states, names_of_node_terms
from lab.tui.actions import ACTIONS, ActionTable


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
        # with priority, so that no later key is forwarded before it is handled
        Binding("enter", "submit", show=False, priority=True),
        Binding("escape", "leave", show=False, priority=True),
    ]

    @dataclass
    class Given(Message):
        """The user entered a line."""

        text: str

    class Left(Message):
        """The user closed the prompt without entering a line."""

    class Opened(Message):
        """The prompt covers what was in its row."""

    def __init__(self, placeholder: str, home: Widget, id_: str) -> None:
        self.history: list[str] = []
        self._home = home
        super().__init__(
            placeholder=placeholder,
            suggester=_Completion(self),
            select_on_focus=False,
            max_length=_LONGEST,
            id=id_,
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
        self.post_message(self.Opened())

    def close(self) -> None:
        """Hide the prompt and return the focus to the widget that had it, or to ``home``."""
        self.remove_class("open")
        self.value = ""
        before = self._previous_focus
        self.screen.set_focus(before if before is not None and before.is_on_screen else self._home)

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
            by = 1 if event.key == "down" else -1
            self._history_index = max(0, min(self._history_index + by, len(self.history)))
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


_STARTS = (
    *("at ", "after ", "every ", "when all normal ", "on send ", "on deliver ", "on drop ", "on status "),
    *("before send ", "before deliver ", "on store "),
)
_WITHIN = (
    *("all", "any", "coordinator", "coordinators", "normal", "suspects", "within", "status", "under"),
    *(word for example in EXPECTATIONS.values() for word in example.split()[:2] if word.isalpha()),
    *TRIGGERS,
)
"""The words that occur within a command but do not begin one, in the order in which they are offered."""


def complete(text: str, history: list[str], fields: Sequence[str] = ()) -> str | None:
    """Return the completion of ``text``: the newest matching line of the history, else a word, else None.

    ``fields`` are those that the protocol's nodes declare.
    """
    if not text:
        return None
    if (line := _from_history(text, history)) is not None:
        return line
    for start in (*_STARTS, *(f"{expectation} " for expectation in EXPECTATIONS)):
        if start.startswith(text) and start != text:
            return start
    own = bare_commands()
    within = [*_WITHIN, *described_states(), *described_counts()]
    before, space, word = text.rpartition(" ")
    if not word:
        return None
    if space:
        words = [*VERBS, *own, *within] if before.endswith(":") else [*within, *VERBS, *own]
        operands = (verb.example.split()[1:] for name, verb in own.items() if name in before.split())
        words = [*filter(str.isalpha, chain.from_iterable(operands)), *words]
        subject, dot, _ = word.rpartition(".")
        if dot:
            words = [f"{subject}.{name}" for name in (*ATTRIBUTES, *names_of_node_terms(), *fields)]
    else:
        words = sorted({*VERBS, *own, *(action.word for action in ACTIONS)})
    found = next((each for each in words if each.startswith(word) and each != word), None)
    return None if found is None else before + space + found


def _from_history(text: str, history: list[str]) -> str | None:
    """Return the newest line that begins with ``text`` and goes on."""
    return next((line for line in reversed(history) if line.startswith(text) and line != text), None)


def similar_words(text: str, words: Iterable[str]) -> list[str]:
    """Return the words that contain the letters of a text in this order, the best match first."""
    matcher = FuzzySearch()
    scores = {word: (word.startswith(text), matcher.match(text, word)[0]) for word in words}
    return sorted((word for word in scores if any(scores[word])), key=lambda word: scores[word], reverse=True)


_UNWATCH = "unwatch "
_MOST_SIMILAR = 8


class CommandLine(Prompt):
    """A prompt for commands and for words of the actions."""

    class Given(Prompt.Given):
        """The user entered a line."""

    class Left(Prompt.Left):
        """The user closed the line without a command."""

    def __init__(self, header: Header, actions: ActionTable, home: Widget) -> None:
        super().__init__("kill 5, or the word of any action", home, "command-line")
        self._actions = actions
        scope = scope_of(header)
        self._fields = () if scope is None else tuple(field.name for field in scope.protocol.fields)
        self.watches: tuple[str, ...] = ()
        """The expressions that *unwatch* may be followed by."""

    def completed(self, text: str) -> str | None:
        if text.startswith(_UNWATCH):
            lines = (f"{_UNWATCH}{each}" for each in (*self.watches, "all"))
            return next((line for line in lines if line.startswith(text) and line != text), None)
        return complete(text, self.history, self._fields) or next(iter(self._similar(text)), None)

    @property
    def hint(self) -> str:
        """The words that fit what has been typed, those of actions with their keys."""
        return " · ".join(
            f"{word} ({action.shown})" if (action := self._actions.get(word)) and action.shown else word
            for word in self._similar(self.value)[:_MOST_SIMILAR]
        )

    def _similar(self, text: str) -> list[str]:
        words = {**self._actions, **VERBS, **bare_commands()}
        return similar_words(text, words) if text and " " not in text else []


Purpose = Literal["search", "filter"]

_HINTS: dict[Purpose, str] = {
    "search": "search: text, node:3, kind:AreYouUp, fate:lost, -word for not, when 4 normal; Esc leaves",
    "filter": "filter: text, node:3, kind:AreYouUp, fate:lost, -word for not; empty shows all",
}


def complete_query(text: str, history: list[str], nodes: Sequence[int], kinds: Sequence[str]) -> str | None:
    """Return the completion of a query from the history, or of its last word; None if there is none."""
    if not text:
        return None
    before, when, predicate = f" {text}".rpartition(" when ")
    if when and predicate:
        found = complete(f"when {predicate}", [])
        return None if found is None else f"{before}{when}"[1:] + found.removeprefix("when ")
    if (line := _from_history(text, history)) is not None:
        return line
    start, blank, word = text.rpartition(" ")
    sign = "-" if word.startswith("-") else ""
    links = [f"{source}->{target}" for source in nodes for target in nodes if source != target]
    values: dict[str, Sequence[object]] = {"node": nodes, "from": nodes, "to": nodes, "link": links}
    values |= {
        "kind": kinds,
        "what": LINE_TYPES,
        "fate": [f'"{fate}"' if " " in fate else fate for fate in OUTCOMES],
    }
    field, colon, _ = word.removeprefix("-").partition(":")
    words = [f"{field}:{value}" for value in values.get(field, ())]
    if not colon:
        words = [*(f"{field}:" for field in FIELDS), "when "]
    found = next((f"{sign}{each}" for each in words if f"{sign}{each}".startswith(word) and word.strip("-")), None)
    return None if found is None or found == word else start + blank + found


class SearchLine(Prompt):
    """The prompt for a search or a filter: green if something matches, red if nothing can."""

    DEFAULT_CSS = """
    SearchLine.good { color: $text-success; }
    SearchLine.bad { color: $text-error; }
    """

    class Given(Prompt.Given):
        """A query was submitted."""

    class Left(Prompt.Left):
        """The prompt was closed without a query."""

    def __init__(self, header: Header, home: Widget) -> None:
        super().__init__("", home, "search-line")
        self._ids = header.nodes
        self._kinds = kinds_in(header)
        self._purpose: Purpose = "search"
        self._focus_after: Widget | None = None

    @property
    def hint(self) -> str:
        return _HINTS[self._purpose]

    def ask(self, purpose: Purpose, text: str, focus_after: Widget) -> None:
        """Open the prompt. ``focus_after`` gets the focus when it closes."""
        self._purpose, self._focus_after = purpose, focus_after
        self.accepts_empty = purpose == "filter"
        self.placeholder = "/ search" if purpose == "search" else "& filter"
        self.open(text)

    def close(self) -> None:
        """Hide the prompt, and restore the focus."""
        super().close()
        if self._focus_after is not None and self._focus_after.is_attached and self._focus_after.display:
            self.screen.set_focus(self._focus_after)

    def colour(self, how: Literal["good", "bad", ""]) -> None:
        """Colour the text as good, bad, or not known yet."""
        for each in ("good", "bad"):
            self.set_class(how == each, each)

    def completed(self, text: str) -> str | None:
        return complete_query(text, self.history, self._ids, self._kinds)
