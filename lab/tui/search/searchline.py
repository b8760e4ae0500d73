"""The prompt for a search or a filter: green if something matches, red if nothing can."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from textual.widget import Widget
from textual.widgets import Input

from lab.analysis.delivery import OUTCOMES
from lab.recording.log_lines import LINE_TYPES
from lab.recording.records import Header
from lab.script.query import FIELDS, kinds_in
from lab.tui.command_line import complete
from lab.tui.prompt import Prompt

if TYPE_CHECKING:
    from lab.tui.search.search_controller import SearchController

__all__ = ["Purpose", "SearchLine", "complete_query"]

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
    for line in reversed(history):
        if line.startswith(text) and line != text:
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
    words = (
        [f"{field}:{value}" for value in values.get(field, ())] if colon else [*(f"{f}:" for f in FIELDS), "when "]
    )
    found = next((f"{sign}{each}" for each in words if f"{sign}{each}".startswith(word) and word.strip("-")), None)
    return None if found is None or found == word else start + blank + found


class SearchLine(Prompt):
    """The search prompt. It reports each edit and the submitted query to the controller."""

    DEFAULT_CSS = """
    SearchLine.good { color: $text-success; }
    SearchLine.bad { color: $text-error; }
    """

    class Given(Prompt.Given):
        """A query was submitted."""

    class Left(Prompt.Left):
        """The prompt was closed without a query."""

    def __init__(self, controller: "SearchController", header: Header) -> None:
        super().__init__("")
        self._controller = controller
        self._ids = header.nodes
        self._kinds = kinds_in(header)
        self._purpose: Purpose = "search"
        self._focus_after: Widget | None = None

    @property
    def hint(self) -> str:
        """The syntax of a query."""
        return _HINTS[self._purpose]

    def ask(self, purpose: Purpose, text: str, focus_after: Widget) -> None:
        """Open the prompt. ``focus_after`` gets the focus when it closes."""
        self._purpose, self._focus_after = purpose, focus_after
        self.accepts_empty = purpose == "filter"
        self.placeholder = "/ search" if purpose == "search" else "& filter"
        self.open(text)
        self._controller.try_query(text, purpose)

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
        """Complete from the history, the fields, or the values of a field."""
        return complete_query(text, self.history, self._ids, self._kinds)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self._controller.try_query(event.value, self._purpose)

    def on_search_line_given(self, message: Given) -> None:
        message.stop()
        self._controller.submit(message.text, self._purpose)

    def on_search_line_left(self, message: Left) -> None:
        message.stop()
        self._controller.cancel()
