"""Prompts: a line to type into, with completion and history; for commands, and for queries."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from typing import ClassVar, Literal

from msgspec import Struct
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
from lab.text import sanitize
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
        self._typed = ""
        self._offered: list[str] = []
        """The completions of ``_typed``, the text before the first Tab, if there are several."""
        self._previous_focus: Widget | None = None
        """The widget that had the focus before the prompt was opened."""

    def completions(self, text: str) -> list[str]:
        """Return the completions of ``text``, the best first."""
        raise NotImplementedError

    def completed(self, text: str) -> str | None:
        """Return the best completion of ``text``, or None."""
        return next(iter(self.completions(text)), None)

    @property
    def offered(self) -> list[str]:
        """The completions among which Tab goes on, if there are several."""
        return self._offered if self.value in self._offered else []

    def _complete(self, by: int) -> None:
        """Complete the line; if the last key did, replace that by the next completion, or the one before it."""
        offered = self.offered
        if offered:
            found = offered[(offered.index(self.value) + by) % len(offered)]
        else:
            self._typed = self.value
            offered = self.completions(self.value)
            found = offered[0 if by > 0 else -1] if offered else self.value
        self._offered = offered if len(offered) > 1 else []
        self.value = found
        self.cursor_position = len(found)

    @property
    def is_open(self) -> bool:
        return self.has_class("open")

    def open(self, text: str) -> None:
        """Open the prompt with this text in it."""
        self._previous_focus = self._previous_focus if self.is_open else self.screen.focused
        self.add_class("open")
        self._offered = []
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
        if event.key in ("tab", "shift+tab"):
            event.stop()
            event.prevent_default()
            self._complete(1 if event.key == "tab" else -1)
            return
        self._offered = []
        if event.key in ("up", "down") and self.history:
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


class RunWords(Struct, frozen=True):
    """The words of a run that complete a command.

    ``fields`` are those that the protocol's nodes declare, ``kinds`` those of its messages. ``nodes`` are the ids
    of the cluster, ``names`` those of the other nodes. ``elects``: there may be a coordinator.
    """

    fields: Sequence[str] = ()
    kinds: Sequence[str] = ()
    nodes: Sequence[int] = ()
    names: Sequence[str] = ()
    elects: bool = True

    @classmethod
    def of(cls, header: Header, elects: bool) -> "RunWords":
        """Return the words of a recorded run."""
        scope = scope_of(header)
        fields = () if scope is None else tuple(field.name for field in scope.protocol.fields)
        return cls(fields, tuple(kinds_in(header)), header.nodes, tuple(header.names.values()), elects)


_MESSAGE_TRIGGER = re.compile(r"(?:^|[\s:])(?:on (?:send|deliver|drop)|before (?:send|deliver)) (?:(\w+) )?(\S*)$")
"""The trigger at the end of a text: the kind of message if it is complete, and the word that is not."""
_EXPORT = "export "
FORMATS = (
    *("svg", "html", "text", "mermaid", "dot", "pdf", "png", "gif", "mp4", "shiviz", "perfetto"),
    *("csv", "jsonl", "parquet", "cast"),
)
"""The names of ``lab.tui.apps.export_formats``, which load slowly."""


def complete(text: str, history: list[str], run: RunWords = RunWords()) -> list[str]:  # noqa: B008 - frozen
    """Return the completions of ``text``: the newest matching lines of the history, then words."""
    if not text:
        return []
    if text.startswith(_EXPORT):
        return [line for line in (f"{_EXPORT}{name}" for name in FORMATS) if _continues(line, text)]
    before, space, word = text.rpartition(" ")
    if (trigger := _MESSAGE_TRIGGER.search(text)) is not None:
        kind, word = trigger.groups()
        words = run.kinds if kind is None else _links((*run.nodes, *run.names))
        if found := [before + space + each for each in words if _continues(each, word)]:
            return found
    starts = (*_STARTS, *(f"{expectation} " for expectation in EXPECTATIONS))
    found = [*_from_history(text, history), *(start for start in starts if _continues(start, text))]
    if word:
        found += [before + space + each for each in _words(before, space, word, run) if _continues(each, word)]
    return list(dict.fromkeys(found))


def _words(before: str, space: str, word: str, run: RunWords) -> Iterable[str]:
    """Return the words that may be meant after ``before``, the likeliest first."""
    own = bare_commands()
    if not space:
        return sorted({*VERBS, *own, *(action.word for action in ACTIONS)})
    subject, dot, _ = word.rpartition(".")
    if dot:
        return [f"{subject}.{name}" for name in (*ATTRIBUTES, *names_of_node_terms(), *run.fields)]
    within = [*_WITHIN, *described_states(), *described_counts()]
    words = [*VERBS, *own, *within] if before.endswith(":") else [*within, *VERBS, *own]
    operands = (verb.example.split()[1:] for name, verb in own.items() if name in before.split())
    found = [*filter(str.isalpha, chain.from_iterable(operands)), *_ends_like(word, run), *words]
    return found if run.elects else [each for each in found if not each.startswith("coordinator")]


def _continues(word: str, text: str) -> bool:
    return word.startswith(text) and word != text


def _ends_like(word: str, run: RunWords) -> Iterable[str]:
    """Return the names of nodes; after an arrow, the links that go on from the end before it."""
    source, arrow, _ = word.rpartition("->")
    return (f"{source}{arrow}{name}" for name in run.names)


def _links(nodes: Sequence[int | str]) -> list[str]:
    return [f"{source}->{target}" for source in nodes for target in nodes if source != target]


def _from_history(text: str, history: list[str]) -> list[str]:
    """Return the lines that begin with ``text`` and go on, the newest first."""
    return list(dict.fromkeys(line for line in reversed(history) if _continues(line, text)))


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
        scope = scope_of(header)
        own = [] if scope is None else islice(scope.own_examples(), 1)
        examples = ", ".join([*own, f"kill {header.nodes[-1]}"])
        super().__init__(f"{examples}, or the word of any action", home, "command-line")
        self._actions = actions
        self._run = RunWords.of(header, not actions.elects_nobody)
        self._knows_commands = scope is not None
        own_words = () if scope is None else scope.protocol.commands
        self._commands = {*VERBS, *bare_commands(), *own_words, *actions.own_commands}
        self.watches: tuple[str, ...] = ()
        """The expressions that *unwatch* may be followed by."""

    def completions(self, text: str) -> list[str]:
        if text.startswith(_UNWATCH):
            lines = (f"{_UNWATCH}{each}" for each in (*self.watches, "all"))
            return [line for line in lines if _continues(line, text)]
        return complete(text, self.history, self._run) or self._similar(text)

    @property
    def hint(self) -> str:
        """The words that fit what has been typed, those of actions with their keys; the one taken in brackets."""
        offered = self.offered
        if not offered and " " not in self.value:
            return " · ".join(
                f"{word} ({action.shown})" if (action := self._actions.get(word)) and action.shown else word
                for word in self._similar(self.value)[:_MOST_SIMILAR]
            )
        found = offered or self.completions(self.value)
        here = found.index(self.value) if offered else 0
        first = max(0, min(here - _MOST_SIMILAR // 2, len(found) - _MOST_SIMILAR))
        shown = found[first : first + _MOST_SIMILAR]
        start = len((self._typed if offered else self.value).rpartition(" ")[0])
        words = [f"[{each[start:].strip()}]" if each == self.value else each[start:].strip() for each in shown]
        more = f" · … {len(found) - len(shown)} more" if len(found) > len(shown) else ""
        keys = "Tab: next, Shift+Tab: back  " if offered else "Tab: "
        return keys + " · ".join(words) + more if words else ""

    def is_command(self, word: str) -> bool:
        """Return whether a command for the run begins with this word."""
        return word in self._commands or word in _BEGINNINGS

    def reason_unknown(self, word: str) -> str:
        """Return why the first word of a line means nothing, with the nearest word that does; empty if it does."""
        if not self._knows_commands or word in self._actions or self.is_command(word):
            return ""
        known = [*self._actions, *self._commands, *_BEGINNINGS]
        near = _MEANT.get(word) or next(iter(get_close_matches(word.lower(), known, 1)), "")
        if not near:
            return f"unknown word {sanitize(word, 30)!r}; Tab completes a word, {{help}} lists all"
        key = self._actions[near].shown if near in self._actions else ""
        meant = f"did you mean {near}{key and f' ({key})'}?"
        return f"unknown word {sanitize(word, 30)!r}; {meant} {{help}} lists all words"

    def _similar(self, text: str) -> list[str]:
        words = dict.fromkeys((*self._actions, *VERBS, *sorted(self._commands)))
        return similar_words(text, words) if text and " " not in text else []


_BEGINNINGS = ("then", "expect", *dict.fromkeys(example.split()[0] for example in TRIGGERS.values()))
"""The words that begin a line and are neither commands nor actions."""
_MEANT = {"undo": "back", "redo": "step", "crash": "kill", "stop": "kill", "split": "partition"}
"""Words of other programs, with ours."""
SYNONYMS = {"q": "quit", "exit": "quit"}
"""Words that do what an action of this table does, as in other programs."""


Purpose = Literal["search", "filter"]

_HINTS: dict[Purpose, str] = {
    "search": "search: text, node:3, kind:AreYouUp, fate:lost, -word for not, when 4 normal; Esc leaves",
    "filter": "filter: text, node:3, kind:AreYouUp, fate:lost, -word for not; empty shows all",
}


def complete_query(text: str, history: list[str], nodes: Sequence[int], kinds: Sequence[str]) -> list[str]:
    """Return the completions of a query from the history, or else of its last word."""
    if not text:
        return []
    before, when, predicate = f" {text}".rpartition(" when ")
    if when and predicate:
        return [f"{before}{when}"[1:] + found.removeprefix("when ") for found in complete(f"when {predicate}", [])]
    if lines := _from_history(text, history):
        return lines
    start, blank, word = text.rpartition(" ")
    sign = "-" if word.startswith("-") else ""
    values: dict[str, Sequence[object]] = {"node": nodes, "from": nodes, "to": nodes, "link": _links(nodes)}
    values |= {
        "kind": kinds,
        "what": LINE_TYPES,
        "fate": [f'"{fate}"' if " " in fate else fate for fate in OUTCOMES],
    }
    field, colon, _ = word.removeprefix("-").partition(":")
    words = [f"{field}:{value}" for value in values.get(field, ())]
    if not colon:
        words = [*(f"{field}:" for field in FIELDS), "when "]
    if not word.strip("-"):
        return []
    return [f"{start}{blank}{sign}{each}" for each in words if _continues(f"{sign}{each}", word)]


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

    def completions(self, text: str) -> list[str]:
        return complete_query(text, self.history, self._ids, self._kinds)
