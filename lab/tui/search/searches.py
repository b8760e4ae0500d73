"""An active search: its hits, the current one, and steps to the next.

In the log, a search takes a query; in any other view, a plain text that is looked up in the displayed lines.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lab.script import LogFilter
from lab.tui.views.views import LOG
from lab.units import format_count

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["Findable", "LogSearch", "ViewSearch"]

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
