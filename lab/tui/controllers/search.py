"""Search and filter in a run: from the typed query to the hits, and the steps from one to the next.

Sieves find the matching lines. Each works in a task of its own, which yields to the interface between chunks and
ends when its sieve is no longer used. In the log, a search takes a query; in any other view, a plain text that is
looked up in the displayed lines.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lab.script.query import LogFilter, read_query
from lab.script.scope import CommandError
from lab.tui.terminal.clipboard import copy
from lab.tui.views.log_view import searchable_text
from lab.tui.views.message_trace_dialog import follow_message
from lab.tui.views.views import LOG
from lab.tui.widgets.prompts import Purpose, SearchLine
from lab.units import format_count

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen


_NO_HIT = "no hit {} this one"


@runtime_checkable
class Findable(Protocol):
    """A view that can be searched for text."""

    def texts(self) -> Sequence[str]:
        """Return its lines from the top, as displayed."""

    def move_cursor(self, place: int) -> None:
        """Move the cursor to a line and scroll it into view."""

    def highlight_text(self, text: str) -> None:
        """Highlight every occurrence of a text. An empty text highlights nothing."""


class LogSearch:
    """A search in the log. ``sieve`` finds the lines meanwhile; a step past the searched part waits for it."""

    def __init__(self, screen: "RunScreen", text: str, sieve: LogFilter) -> None:
        self.text = text
        self.sieve = sieve
        self._screen = screen
        self._at: tuple[int, int] | None = None
        self._pending_forward: bool | None = None
        self._is_first_step = False
        screen.views.message_log.highlight_hits(sieve, None)
        if LOG not in screen.views.shown_views:
            screen.show_view(LOG)

    @property
    def note(self) -> str:
        """The query, the current hit and the number of hits."""
        more = "" if self.sieve.complete else " so far…"
        if self._at is None:
            return f"/{self.text}: {format_count(len(self.sieve), 'hit')}{more}"
        return f"/{self.text}: hit {self.sieve.index(*self._at) + 1:,} of {len(self.sieve):,}{more}"

    def begin(self) -> None:
        """Go to the first hit at or after the cursor in time, or else to the last one before it."""
        self._is_first_step = True
        self.step(not self._screen.player.following)

    def step(self, forward: bool) -> None:
        """Go to the next or previous hit as soon as it is known."""
        self._pending_forward = forward
        self.tick()

    def tick(self) -> None:
        """Finish a pending step if its target is known."""
        if self._pending_forward is None:
            return
        forward, index = self._pending_forward, self._target_index(self._pending_forward)
        if index is None and not self.sieve.complete:
            return
        begins, self._is_first_step, self._pending_forward = self._is_first_step, False, None
        if index is not None:
            self._go(*self.sieve.at(index))
        elif begins:
            self.step(not forward)
        else:
            self._screen.show_message(_NO_HIT.format("after" if forward else "before"), warn=True)

    def end(self) -> None:
        """Remove the highlights."""
        self._screen.views.message_log.highlight_hits(None, None)

    def _target_index(self, forward: bool) -> int | None:
        number = self._screen.player.number
        if not forward and self.sieve.done <= number and not self.sieve.complete:
            return None  # the part not searched yet may have a nearer one
        if self._is_first_step and forward:
            index = self.sieve.index(number, 0)
            return index if index < len(self.sieve) else None
        if self._is_first_step:
            index = self.sieve.upto(number) - 1
            return index if index >= 0 else None
        place = self._at[1] if self._at is not None and self._at[0] == number else None
        return self.sieve.near(number, place, forward)

    def _go(self, record: int, place: int) -> None:
        screen, log = self._screen, self._screen.views.message_log
        self._at = record, place
        screen.player.go(record)
        screen.draw()
        log.move_cursor(log.rows.row_of(record, place, screen.player.cluster()))
        log.highlight_hits(self.sieve, self._at)


class ViewSearch:
    """A search for text in a view, ignoring case."""

    def __init__(self, screen: "RunScreen", text: str, view: Findable) -> None:
        self.text = text
        self._screen = screen
        self._view = view
        self._place = -1
        view.highlight_text(text)

    @property
    def hits(self) -> list[int]:
        """The numbers of the lines that contain the text, in the view's present state."""
        return self.hits_in(self._view, self.text)

    @staticmethod
    def hits_in(view: Findable, text: str) -> list[int]:
        """Return the numbers of the lines of a view that contain a text."""
        sought = text.lower()
        return [place for place, line in enumerate(view.texts()) if sought in line.lower()]

    @property
    def note(self) -> str:
        """The text, the current hit and the number of hits."""
        hits = self.hits
        position = (
            f"hit {hits.index(self._place) + 1} of {len(hits)}"
            if self._place in hits
            else f"{format_count(len(hits), 'hit')}"
        )
        return f"/{self.text}: {position}"

    def begin(self) -> None:
        """Go to the first hit."""
        self.step(True)

    def step(self, forward: bool) -> None:
        """Go to the next or previous hit."""
        hits = self.hits
        further = [hit for hit in hits if (hit > self._place if forward else hit < self._place)]
        if not further:
            self._screen.show_message(_NO_HIT.format("after" if forward else "before"), warn=True)
            return
        self._place = further[0 if forward else -1]
        self._view.move_cursor(self._place)

    def tick(self) -> None:
        """Do nothing: its hits are always known."""

    def end(self) -> None:
        """Remove the highlights."""
        self._view.highlight_text("")


if TYPE_CHECKING:
    from lab.tui.action_handlers import ActionHandler
    from lab.tui.screen import RunScreen


_REST_S = 0.1


class SearchController:
    """The search and the filter of a screen. ``active`` is the running search, if any."""

    def __init__(self, screen: "RunScreen") -> None:
        self.active: LogSearch | ViewSearch | None = None
        self._screen = screen
        self._filter = ""
        self._heartbeats = False
        self._view: Findable | None = None
        self._typed = ""
        self._draft: LogFilter | None = None
        self._error = ""

    @property
    def note(self) -> str:
        """The state of search and filter, for the tab line."""
        rows = self._screen.views.rows
        notes = [] if self.active is None else [self.active.note]
        if rows.filter is not None:
            cluster = self._screen.player.cluster()
            more = "" if rows.filter.complete else " so far…"
            counts = f"{rows.count(cluster):,} of {rows.count_of_all(cluster):,}"
            notes.append(f"filter: {self._filter}, {counts}{more}")
        return "  ".join(notes)

    def draw(self) -> None:
        """Update once a frame: show the progress of the typed query, and finish a pending step."""
        rows, line = self._screen.views.rows, self._screen.query_one(SearchLine)
        if rows.heartbeats != self._heartbeats:
            self._heartbeats = rows.heartbeats
            self._restart_filter()
        if line.is_open:
            self._show_progress(line)
        if self.active is not None:
            self.active.tick()

    def open(self, purpose: Purpose, text: str) -> None:
        """Open the prompt, or run ``text`` as a query. In views other than the log, search for plain text."""
        view = self._screen.views.focused_view
        self._view = view if purpose == "search" and isinstance(view, Findable) else None
        if text:
            self.submit(text, purpose)
        else:
            back = self._screen.views.message_log if self._view is None else self._screen.views.widget
            self._screen.query_one(SearchLine).ask(purpose, self._filter if purpose == "filter" else "", back)

    def cancel(self) -> None:
        """Drop the query that is being typed."""
        self.try_query("", "search")
        self._screen.show_message("")

    def try_query(self, text: str, purpose: Purpose) -> None:
        """Try out a query while it is being typed."""
        self._typed, self._draft, self._error = text.strip(), None, ""
        if not self._typed or self._view is not None:
            return
        try:
            self._draft = self._sieve(self._typed, purpose)
        except CommandError as error:
            self._error = str(error)
        else:
            self._start(self._draft)

    def submit(self, text: str, purpose: Purpose) -> None:
        """Run the query as a search or a filter."""
        if not text:
            self._remove_filter()
            return
        if self._view is not None:
            self.end()
            self.active = ViewSearch(self._screen, text, self._view)
            self.active.begin()
            return
        if text != self._typed or self._draft is None:
            self.try_query(text, purpose)
        sieve, self._draft = self._draft, None
        if sieve is None:
            self._screen.show_message(self._error, warn=True)
        elif purpose == "filter":
            self._filter, self._screen.views.rows.filter = text, sieve
            self._restart_search()
            self._screen.show_message(f"the log shows only lines that match {text}; & and Enter show all")
        else:
            self.end()
            self.active = LogSearch(self._screen, text, sieve)
            self.active.begin()
            self._screen.show_message("n and N go to the next hit and the one before, Esc ends the search")

    def _remove_filter(self) -> None:
        """Show all lines again."""
        was_on = self._screen.views.rows.filter is not None
        self._filter, self._screen.views.rows.filter = "", None
        self._restart_search()
        self._screen.show_message(
            "the log shows all lines" if was_on else "no filter is on: type a query, such as node:3"
        )

    def end(self) -> None:
        """End the search."""
        if self.active is not None:
            self.active.end()
            self.active = None

    # sieves

    def _sieve(self, text: str, purpose: Purpose) -> LogFilter:
        """Return a sieve for a query among the lines that the log shows. Raises CommandError."""
        lines, theme_styles, rows = self._screen.source.store, self._screen.theme_styles, self._screen.views.rows
        query = read_query(text, lines.header)
        if purpose == "search" and rows.filter is not None:
            query = query.combine(rows.filter.query)
        return LogFilter(query, lines, rows.hidden_kinds, lambda line: searchable_text(line, theme_styles))

    def _restart_filter(self) -> None:
        rows = self._screen.views.rows
        if rows.filter is not None:
            rows.filter = self._sieve(self._filter, "filter")
            self._start(rows.filter)
        self._restart_search()

    def _restart_search(self) -> None:
        if isinstance(self.active, LogSearch):
            self.active.sieve = self._sieve(self.active.text, "search")
            self._start(self.active.sieve)

    def _start(self, sieve: LogFilter) -> None:
        self._screen.run_worker(self._run_sieve(sieve))

    async def _run_sieve(self, sieve: LogFilter) -> None:
        source = self._screen.source
        while self._is_used(sieve):
            for _ in sieve.work():
                await asyncio.sleep(0)
                if not self._is_used(sieve):
                    return
            if sieve.complete and (source.ended or not source.is_live):
                return
            await asyncio.sleep(_REST_S)

    def _is_used(self, sieve: LogFilter) -> bool:
        search = self.active.sieve if isinstance(self.active, LogSearch) else None
        return any(each is sieve for each in (self._draft, search, self._screen.views.rows.filter))

    # progress while a query is typed

    def _show_progress(self, line: SearchLine) -> None:
        if self._error:
            line.colour("bad")
            self._screen.show_message(self._error, warn=True)
        elif not self._typed:
            line.colour("")
            self._screen.show_message(line.hint)
        else:
            count, complete = self._draft_hits()
            line.colour("good" if count else "bad" if complete else "")
            found = "nothing matches" if complete and not count else f"{format_count(count, 'line')} found"
            self._screen.show_message(f"{found}{'' if complete else ' so far…'}", warn=complete and not count)

    def _draft_hits(self) -> tuple[int, bool]:
        """Return (number of matches, whether the count is final)."""
        if self._draft is not None:
            return len(self._draft), self._draft.complete
        assert self._view is not None
        return len(ViewSearch.hits_in(self._view, self._typed)), True


def search_actions(screen: "RunScreen", otherwise: "dict[str, ActionHandler]") -> "dict[str, ActionHandler]":
    """Return the handlers of search and filter.

    ``n``, ``N`` and Esc belong to the search while one is active, else they keep the meaning in ``otherwise``.
    """
    controller = screen.search

    def search(text: str) -> None:
        controller.open("search", text)

    def filter_(text: str) -> None:
        controller.open("filter", text)

    def step(word: str) -> Callable[[str], object]:
        def handler(rest: str) -> None:
            if controller.active is None:
                otherwise[word](rest)
            else:
                controller.active.step(word == "next-mark")

        return handler

    def deselect(rest: str) -> None:
        if controller.active is None:
            otherwise["deselect"](rest)
        else:
            controller.end()
            screen.show_message("the search is over")

    marks = {word: step(word) for word in ("next-mark", "previous-mark")}
    return {
        "search": search,
        "filter": filter_,
        "deselect": deselect,
        "follow": lambda _: follow_message(screen),
        "copy": lambda _: copy(screen),
        **marks,
    }
