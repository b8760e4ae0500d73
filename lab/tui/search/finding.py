"""Search and filter on the screen of a run, from the line in which they are typed to the rows that are left.

Lines are found by sieves, each in a worker of its own that lets the screen draw between one piece and the next,
and that ends when its sieve is in use no longer.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.script import CommandError, Sieve, read_query
from lab.tui.search.searches import Findable, LogSearch, ViewSearch
from lab.tui.search.searchline import Purpose, SearchLine
from lab.tui.terminal.copying import copy
from lab.tui.views.log.message_trace_dialog import follow
from lab.tui.views.log.text import sought_text
from lab.units import count_of

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["Finding", "finding_deeds"]

_Deed = Callable[[str], object]
_REST_S = 0.1


class Finding:
    """``search`` is the one that is on."""

    def __init__(self, screen: "RunScreen") -> None:
        self.search: LogSearch | ViewSearch | None = None
        self._screen = screen
        self._filter = ""
        self._heartbeats = False
        self._view: Findable | None = None
        self._typed = ""
        self._tried: Sieve | None = None
        self._error = ""

    @property
    def note(self) -> str:
        """What is on, for the line of the tabs."""
        rows = self._screen.views.rows
        notes = [] if self.search is None else [self.search.note]
        if rows.filter is not None:
            cluster = self._screen.player.cluster()
            more = "" if rows.filter.complete else " so far…"
            counts = f"{rows.count(cluster):,} of {rows.count_of_all(cluster):,}"
            notes.append(f"filter: {self._filter}, {counts}{more}")
        return "  ".join(notes)

    def draw(self) -> None:
        """Once a frame: say how what is typed does, and go where a step waits to go."""
        rows, line = self._screen.views.rows, self._screen.query_one(SearchLine)
        if rows.heartbeats != self._heartbeats:
            self._heartbeats = rows.heartbeats
            self._sift_anew()
        if line.is_open:
            self._tell(line)
        if self.search is not None:
            self.search.tick()

    def open(self, purpose: Purpose, text: str) -> None:
        """Open the line, or take the query that came with the word. Of other views than the log only the text."""
        view = self._screen.views.in_hand
        self._view = view if purpose == "search" and isinstance(view, Findable) else None
        if text:
            self.give(text, purpose)
        else:
            back = self._screen.views.message_log if self._view is None else self._screen.views.widget
            self._screen.query_one(SearchLine).ask(purpose, self._filter if purpose == "filter" else "", back)

    def leave(self) -> None:
        """Nothing is typed any more."""
        self.attempt("", "search")
        self._screen.say("")

    def attempt(self, text: str, purpose: Purpose) -> None:
        """See how a text does that is being typed."""
        self._typed, self._tried, self._error = text.strip(), None, ""
        if not self._typed or self._view is not None:
            return
        try:
            self._tried = self._sieve(self._typed, purpose)
        except CommandError as error:
            self._error = str(error)
        else:
            self._work(self._tried)

    def give(self, text: str, purpose: Purpose) -> None:
        """Search for it, or filter by it."""
        if not text:
            self._remove_filter()
            return
        if self._view is not None:
            self.end()
            self.search = ViewSearch(self._screen, text, self._view)
            self.search.begin()
            return
        if text != self._typed or self._tried is None:
            self.attempt(text, purpose)
        sieve, self._tried = self._tried, None
        if sieve is None:
            self._screen.say(self._error, warn=True)
        elif purpose == "filter":
            self._filter, self._screen.views.rows.filter = text, sieve
            self._sift_search_anew()
            self._screen.say(f"the log shows only what matches {text}; & with nothing shows all")
        else:
            self.end()
            self.search = LogSearch(self._screen, text, sieve)
            self.search.begin()
            self._screen.say("n and N go to the next hit and the one before, Esc ends the search")

    def _remove_filter(self) -> None:
        """Show all lines."""
        was_on = self._screen.views.rows.filter is not None
        self._filter, self._screen.views.rows.filter = "", None
        self._sift_search_anew()
        self._screen.say("the log shows all lines" if was_on else "no filter is on: type a query, such as node:3")

    def end(self) -> None:
        """End the search."""
        if self.search is not None:
            self.search.end()
            self.search = None

    # sieves

    def _sieve(self, text: str, purpose: Purpose) -> Sieve:
        """For that query, among the lines that the log shows. CommandError."""
        lines, theme_styles, rows = self._screen.source.lines, self._screen.theme_styles, self._screen.views.rows
        query = read_query(text, lines.header)
        if purpose == "search" and rows.filter is not None:
            query = query.beside(rows.filter.query)
        return Sieve(query, lines, rows.hidden_kinds, lambda line: sought_text(line, theme_styles))

    def _sift_anew(self) -> None:
        rows = self._screen.views.rows
        if rows.filter is not None:
            rows.filter = self._sieve(self._filter, "filter")
            self._work(rows.filter)
        self._sift_search_anew()

    def _sift_search_anew(self) -> None:
        if isinstance(self.search, LogSearch):
            self.search.sieve = self._sieve(self.search.text, "search")
            self._work(self.search.sieve)

    def _work(self, sieve: Sieve) -> None:
        self._screen.run_worker(self._sift(sieve))

    async def _sift(self, sieve: Sieve) -> None:
        source = self._screen.source
        while self._is_used(sieve):
            for _ in sieve.work():
                await asyncio.sleep(0)
                if not self._is_used(sieve):
                    return
            if sieve.complete and (source.ended or not source.is_live):
                return
            await asyncio.sleep(_REST_S)

    def _is_used(self, sieve: Sieve) -> bool:
        search = self.search.sieve if isinstance(self.search, LogSearch) else None
        return any(each is sieve for each in (self._tried, search, self._screen.views.rows.filter))

    # what is said while it is typed

    def _tell(self, line: SearchLine) -> None:
        if self._error:
            line.colour("bad")
            self._screen.say(self._error, warn=True)
        elif not self._typed:
            line.colour("")
            self._screen.say(line.hint)
        else:
            count, complete = self._count()
            line.colour("good" if count else "bad" if complete else "")
            found = "nothing matches" if complete and not count else f"{count_of(count, 'line')} found"
            self._screen.say(f"{found}{'' if complete else ' so far…'}", warn=complete and not count)

    def _count(self) -> tuple[int, bool]:
        """(how many lines, whether those are all)."""
        if self._tried is not None:
            return len(self._tried), self._tried.complete
        assert self._view is not None
        return len(ViewSearch.hits_in(self._view, self._typed)), True


def finding_deeds(screen: "RunScreen", otherwise: dict[str, _Deed]) -> dict[str, _Deed]:
    """``n``, ``N`` and Esc are the search's while one is on, and do what they do ``otherwise`` while none is."""
    finding = screen.finding

    def search(text: str) -> None:
        finding.open("search", text)

    def filter_(text: str) -> None:
        finding.open("filter", text)

    def step(word: str) -> Callable[[str], object]:
        def deed(rest: str) -> None:
            if finding.search is None:
                otherwise[word](rest)
            else:
                finding.search.step(word == "next-mark")

        return deed

    def deselect(rest: str) -> None:
        if finding.search is None:
            otherwise["deselect"](rest)
        else:
            finding.end()
            screen.say("the search is over")

    marks = {word: step(word) for word in ("next-mark", "previous-mark")}
    return {
        "search": search,
        "filter": filter_,
        "deselect": deselect,
        "follow": lambda _: follow(screen),
        "copy": lambda _: copy(screen),
        **marks,
    }
