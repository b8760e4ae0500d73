"""The line in which a search or a filter is typed: green where something matches, red where nothing can."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from textual.widget import Widget
from textual.widgets import Input

from lab.analysis.delivery import FATES
from lab.recording.log_lines import WHATS
from lab.recording.records import Header
from lab.script.query import FIELDS, kinds_in
from lab.tui.commandline import complete
from lab.tui.typedline import TypedLine

if TYPE_CHECKING:
    from lab.tui.search.finding import Finding

__all__ = ["Purpose", "SearchLine", "complete_query"]

Purpose = Literal["search", "filter"]

_HINTS: dict[Purpose, str] = {
    "search": "search: text, node:3, kind:AreYouUp, fate:lost, -word for not, when 4 normal; Esc leaves",
    "filter": "filter: text, node:3, kind:AreYouUp, fate:lost, -word for not; with nothing all is shown",
}


def complete_query(text: str, history: list[str], nodes: Sequence[int], kinds: Sequence[str]) -> str | None:
    """The completion of a query: from the history, then of its last word; None if there is none."""
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
    values |= {"kind": kinds, "what": WHATS, "fate": [f'"{fate}"' if " " in fate else fate for fate in FATES]}
    field, colon, _ = word.removeprefix("-").partition(":")
    words = (
        [f"{field}:{value}" for value in values.get(field, ())] if colon else [*(f"{f}:" for f in FIELDS), "when "]
    )
    found = next((f"{sign}{each}" for each in words if f"{sign}{each}".startswith(word) and word.strip("-")), None)
    return None if found is None or found == word else start + blank + found


class SearchLine(TypedLine):
    """``finding`` is told of what is typed, and given it."""

    DEFAULT_CSS = """
    SearchLine.good { color: $text-success; }
    SearchLine.bad { color: $text-error; }
    """

    class Given(TypedLine.Given):
        """A query was entered."""

    class Left(TypedLine.Left):
        """The line was left without one."""

    def __init__(self, finding: "Finding", header: Header) -> None:
        super().__init__("")
        self._finding = finding
        self._ids = header.nodes
        self._kinds = kinds_in(header)
        self._purpose: Purpose = "search"
        self._back: Widget | None = None

    @property
    def hint(self) -> str:
        """What can be typed."""
        return _HINTS[self._purpose]

    def ask(self, purpose: Purpose, text: str, back: Widget) -> None:
        """Open the line for that; behind it the keys are those of the widget ``back``."""
        self._purpose, self._back = purpose, back
        self.takes_nothing = purpose == "filter"
        self.placeholder = "/ search" if purpose == "search" else "& filter"
        self.open(text)
        self._finding.attempt(text, purpose)

    def close(self) -> None:
        """Hide it; the keys are where they were."""
        super().close()
        if self._back is not None and self._back.is_attached and self._back.display:
            self.screen.set_focus(self._back)

    def colour(self, how: Literal["good", "bad", ""]) -> None:
        """Good, bad, or not known yet."""
        for each in ("good", "bad"):
            self.set_class(how == each, each)

    def completed(self, text: str) -> str | None:
        """From the history, or a field, or a value of it."""
        return complete_query(text, self.history, self._ids, self._kinds)

    def on_input_changed(self, event: Input.Changed) -> None:
        """See how it does."""
        event.stop()
        if self.is_open:
            self._finding.attempt(event.value, self._purpose)

    def on_search_line_given(self, message: Given) -> None:
        """Enter."""
        message.stop()
        self._finding.give(message.text, self._purpose)

    def on_search_line_left(self, message: Left) -> None:
        """Escape leaves all as it was."""
        message.stop()
        self._finding.leave()
