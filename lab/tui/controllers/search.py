"""Search and filter in a run: from the typed query to the hits, and the steps from one to the next.

Filters find the matching lines. Each works in a task of its own, which yields to the interface between chunks and
ends when its filter is no longer used. In the log, a search takes a query; in any other view, a plain text that is
looked up in the displayed lines.
"""

import asyncio
from functools import partial

from lab.script.query import LogFilter, read_query
from lab.script.scope import CommandError
from lab.tui.context import ActionHandler, RunContext
from lab.tui.controllers.layout import LayoutController
from lab.tui.views.lines_view import RowsView
from lab.tui.views.log_view import RowFormat
from lab.tui.views.views import LOG, Views
from lab.tui.widgets.prompts import Purpose, SearchLine
from lab.units import format_count

_NO_HIT = "no hit {} this one"


class LogSearch:
    """A search in the log. ``log_filter`` finds lines meanwhile; a step past the searched part waits for it."""

    def __init__(self, context: RunContext, views: Views, text: str, log_filter: LogFilter) -> None:
        self.text = text
        self.log_filter = log_filter
        self._context = context
        self._views = views
        self._at: tuple[int, int] | None = None
        self._pending_forward: bool | None = None
        self._is_first_step = False
        views.message_log.highlight_hits(log_filter, None)

    @property
    def note(self) -> str:
        """The query, the current hit and the number of hits."""
        hits, more = self.log_filter, "" if self.log_filter.complete else " so far…"
        index = len(hits) if self._at is None else hits.index(*self._at)
        if index < len(hits) and hits.at(index) == self._at:  # a filter may hide it since
            return f"/{self.text}: hit {index + 1:,} of {len(hits):,}{more}"
        return f"/{self.text}: {format_count(len(hits), 'hit')}{more}"

    def begin(self) -> None:
        """Go to the first hit at or after the cursor in time, or else to the last one before it."""
        self._is_first_step = True
        self.step(not self._context.player.following)

    def step(self, forward: bool) -> None:
        """Go to the next or previous hit as soon as it is known."""
        self._pending_forward = forward
        self.tick()

    def tick(self) -> None:
        """Finish a pending step if its target is known."""
        if self._pending_forward is None:
            return
        forward, index = self._pending_forward, self._target_index(self._pending_forward)
        if index is None and not self.log_filter.complete:
            return
        begins, self._is_first_step, self._pending_forward = self._is_first_step, False, None
        if index is not None:
            self._go(*self.log_filter.at(index))
        elif begins:
            self.step(not forward)
        else:
            self._context.notify(_NO_HIT.format("after" if forward else "before"), warn=True)

    def end(self) -> None:
        """Remove the highlights."""
        self._views.message_log.highlight_hits(None, None)

    def _target_index(self, forward: bool) -> int | None:
        number = self._context.player.number
        if not forward and self.log_filter.done <= number and not self.log_filter.complete:
            return None  # the part not searched yet may have a nearer one
        if self._is_first_step and forward:
            index = self.log_filter.index(number, 0)
            return index if index < len(self.log_filter) else None
        if self._is_first_step:
            index = self.log_filter.upto(number) - 1
            return index if index >= 0 else None
        place = self._at[1] if self._at is not None and self._at[0] == number else None
        return self.log_filter.near(number, place, forward)

    def _go(self, record: int, place: int) -> None:
        player, log = self._context.player, self._views.message_log
        self._at = record, place
        player.go(record)
        self._views.show(self._context.cursor())  # the log must have the row before its cursor moves there
        log.move_cursor(log.rows.row_of(record, place, player.cluster()))
        log.highlight_hits(self.log_filter, self._at)
        self._context.redraw()


class ViewSearch:
    """A search for text in a view, ignoring case."""

    def __init__(self, context: RunContext, text: str, view: RowsView) -> None:
        self.text = text
        self._context = context
        self._view = view
        self._place = -1
        view.highlight_text(text)

    @property
    def note(self) -> str:
        """The text, the current hit and the number of hits."""
        hits = _hits_in(self._view, self.text)
        if self._place in hits:
            return f"/{self.text}: hit {hits.index(self._place) + 1} of {len(hits)}"
        return f"/{self.text}: {format_count(len(hits), 'hit')}"

    def begin(self) -> None:
        """Go to the first hit."""
        self.step(True)

    def step(self, forward: bool) -> None:
        """Go to the next or previous hit."""
        hits = _hits_in(self._view, self.text)
        further = [hit for hit in hits if (hit > self._place if forward else hit < self._place)]
        if not further:
            self._context.notify(_NO_HIT.format("after" if forward else "before"), warn=True)
            return
        self._place = further[0 if forward else -1]
        self._view.move_cursor(self._place)

    def tick(self) -> None:
        """Do nothing: its hits are always known."""

    def end(self) -> None:
        """Remove the highlights."""
        self._view.highlight_text("")


def _hits_in(view: RowsView, text: str) -> list[int]:
    """Return the numbers of the lines of a view that contain a text now."""
    return [place for place, line in enumerate(view.texts()) if text.lower() in line.lower()]


_REST_S = 0.1


class SearchController:
    """The search and the filter of a screen. ``active`` is the running search, if any."""

    def __init__(self, context: RunContext, views: Views, line: SearchLine, layout: LayoutController) -> None:
        self.active: LogSearch | ViewSearch | None = None
        self._context = context
        self._views = views
        self._rows = views.rows
        self._line = line
        self._layout = layout
        self._filter = ""
        self._heartbeats = False
        self._view: RowsView | None = None
        self._purpose: Purpose = "search"
        self._typed = ""
        self._draft: LogFilter | None = None
        self._error = ""
        self.actions: dict[str, ActionHandler] = {
            "search": partial(self._open, "search"),
            "filter": partial(self._open, "filter"),
        }

    @property
    def note(self) -> str:
        """The state of search and filter, for the tab line."""
        rows = self._rows
        notes = [] if self.active is None else [self.active.note]
        if rows.filter is not None:
            cluster = self._context.player.cluster()
            more = "" if rows.filter.complete else " so far…"
            counts = f"{rows.count(cluster):,} of {rows.count_of_all(cluster):,}"
            notes.append(f"filter: {self._filter}, {counts}{more}")
        return "  ".join(notes)

    @property
    def is_idle(self) -> bool:
        """True if there is neither a search nor a filter."""
        return self.active is None and self._rows.filter is None and not self._line.is_open

    def draw(self) -> None:
        """Update once a frame: show the progress of the typed query, and finish a pending step."""
        if self._rows.heartbeats != self._heartbeats:
            self._heartbeats = self._rows.heartbeats
            self._restart_filter()
        if self._line.is_open:
            self._show_progress()
        if self.active is not None:
            self.active.tick()

    def _open(self, purpose: Purpose, text: str) -> None:
        """Open the prompt, or run ``text`` as a query. In views other than the log, search for plain text."""
        view = self._views.focused_view
        self._view = view if purpose == "search" and isinstance(view, RowsView) else None
        self._purpose = purpose
        if text:
            self.submit(text)
            return
        typed = self._filter if purpose == "filter" else ""
        self._line.ask(purpose, typed, self._views.message_log if self._view is None else self._views.widget)
        self.try_query(typed)

    def cancel(self) -> None:
        """Drop the query that is being typed."""
        self.try_query("")
        self._context.notify("")

    def try_query(self, text: str) -> None:
        """Try out a query while it is being typed."""
        self._typed, self._draft, self._error = text.strip(), None, ""
        if not self._typed or self._view is not None:
            return
        try:
            self._draft = self._new_filter(self._typed, self._purpose)
        except CommandError as error:
            self._error = str(error)
        else:
            self._start(self._draft)

    def submit(self, text: str) -> None:
        """Run the query as a search or a filter."""
        if not text:
            self._remove_filter()
            return
        if self._view is not None:
            self.end()
            self.active = ViewSearch(self._context, text, self._view)
            self.active.begin()
            return
        if text != self._typed or self._draft is None:
            self.try_query(text)
        log_filter, self._draft = self._draft, None
        if log_filter is None:
            self._context.notify(self._error, warn=True)
        elif self._purpose == "filter":
            self._filter, self._rows.filter = text, log_filter
            self._restart_search()
            self._context.notify(
                f"the log shows only lines that match {text}; {{filter}} with an empty line shows all"
            )
        else:
            self.end()
            if LOG not in self._views.shown_views:
                self._layout.show_view(LOG)
            self.active = LogSearch(self._context, self._views, text, log_filter)
            self.active.begin()
            self._context.notify(
                "{next-mark} and {previous-mark} go to the next hit and the one before, Esc ends the search"
            )

    def _remove_filter(self) -> None:
        """Show all lines again."""
        was_on = self._rows.filter is not None
        self._filter, self._rows.filter = "", None
        self._restart_search()
        self._context.notify(
            "the log shows all lines" if was_on else "no filter is on: type a query, such as node:3"
        )

    def step(self, forward: bool) -> bool:
        """Go to the next or previous hit. Return False if no search is active."""
        if self.active is not None:
            self.active.step(forward)
        return self.active is not None

    def end(self) -> bool:
        """End the search. Return whether one was active."""
        was_active = self.active is not None
        if self.active is not None:
            self.active.end()
            self.active = None
        return was_active

    # filters

    def _new_filter(self, text: str, purpose: Purpose) -> LogFilter:
        """Return a filter for a query among the lines that the log shows. Raises CommandError."""
        lines, rows = self._context.source.store, self._rows
        query = read_query(text, lines.header)
        if purpose == "search" and rows.filter is not None:
            query = query.combine(rows.filter.query)
        return LogFilter(query, lines, rows.hidden_kinds, RowFormat(self._context.styles, rows.names).searchable)

    def _restart_filter(self) -> None:
        if self._rows.filter is not None:
            self._rows.filter = self._new_filter(self._filter, "filter")
            self._start(self._rows.filter)
        self._restart_search()

    def _restart_search(self) -> None:
        if isinstance(self.active, LogSearch):
            self.active.log_filter = self._new_filter(self.active.text, "search")
            self._start(self.active.log_filter)

    def _start(self, log_filter: LogFilter) -> None:
        self._context.work(self._run(log_filter))

    async def _run(self, log_filter: LogFilter) -> None:
        source = self._context.source
        while self._is_used(log_filter):
            for _ in log_filter.work():
                await asyncio.sleep(0)
                if not self._is_used(log_filter):
                    return
            if log_filter.complete and (source.ended or not source.grows):
                return
            await asyncio.sleep(_REST_S)

    def _is_used(self, log_filter: LogFilter) -> bool:
        search = self.active.log_filter if isinstance(self.active, LogSearch) else None
        return any(each is log_filter for each in (self._draft, search, self._rows.filter))

    # progress while a query is typed

    def _show_progress(self) -> None:
        if self._error:
            self._line.colour("bad")
            self._context.notify(self._error, warn=True)
        elif not self._typed:
            self._line.colour("")
            self._context.notify(self._line.hint)
        else:
            count, complete = self._draft_hits()
            self._line.colour("good" if count else "bad" if complete else "")
            found = "nothing matches" if complete and not count else f"{format_count(count, 'line')} found"
            self._context.notify(f"{found}{'' if complete else ' so far…'}", warn=complete and not count)

    def _draft_hits(self) -> tuple[int, bool]:
        """Return (number of matches, whether the count is final)."""
        if self._draft is not None:
            return len(self._draft), self._draft.complete
        assert self._view is not None
        return len(_hits_in(self._view, self._typed)), True
