"""A search that is on: where its hits are, at which of them one is, and how to come to the next.

In the log a query is sought, in any other view a plain text in the lines that it shows.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lab.script import Sieve
from lab.tui.views.views import LOG
from lab.units import count_of

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["Findable", "LogSearch", "ViewSearch"]

_NONE = "no hit {} this one"


@runtime_checkable
class Findable(Protocol):
    """A view in which a text can be sought."""

    def texts(self) -> Sequence[str]:
        """Its lines, from the top, as they are shown."""

    def put_cursor(self, place: int) -> None:
        """Move the cursor to that line, and see it."""

    def light_text(self, text: str) -> None:
        """Light this text up wherever it is; none, if it is empty."""


class LogSearch:
    """In the log. ``sieve`` finds the lines meanwhile; a step to one that it has not come to waits for that."""

    def __init__(self, screen: "RunScreen", text: str, sieve: Sieve) -> None:
        self.text = text
        self.sieve = sieve
        self._screen = screen
        self._at: tuple[int, int] | None = None
        self._forward: bool | None = None
        self._begins = False
        screen.views.message_log.light(sieve, None)
        if LOG not in screen.views.seen:
            screen.turn_to(LOG)

    @property
    def note(self) -> str:
        """Where it is, among how many."""
        more = "" if self.sieve.complete else " so far…"
        if self._at is None:
            return f"/{self.text}: {count_of(len(self.sieve), 'hit')}{more}"
        return f"/{self.text}: hit {self.sieve.index(*self._at) + 1:,} of {len(self.sieve):,}{more}"

    def begin(self) -> None:
        """To the first hit at or after the cursor in time; where there is none, to the last before it."""
        self._begins = True
        self.step(not self._screen.player.following)

    def step(self, forward: bool) -> None:
        """To the next hit or the one before, as soon as that is known."""
        self._forward = forward
        self.tick()

    def tick(self) -> None:
        """Go, if it is known where to."""
        if self._forward is None:
            return
        forward, index = self._forward, self._sought(self._forward)
        if index is None and not self.sieve.complete:
            return
        begins, self._begins, self._forward = self._begins, False, None
        if index is not None:
            self._go(*self.sieve.at(index))
        elif begins:
            self.step(not forward)
        else:
            self._screen.say(_NONE.format("after" if forward else "before"), warn=True)

    def end(self) -> None:
        """Light up nothing any more."""
        self._screen.views.message_log.light(None, None)

    def _sought(self, forward: bool) -> int | None:
        number = self._screen.player.number
        if not forward and self.sieve.done <= number and not self.sieve.complete:
            return None  # what is not sifted yet may have a nearer one
        if self._begins and forward:
            index = self.sieve.index(number, 0)
            return index if index < len(self.sieve) else None
        if self._begins:
            index = self.sieve.upto(number) - 1
            return index if index >= 0 else None
        place = self._at[1] if self._at is not None and self._at[0] == number else None
        return self.sieve.near(number, place, forward)

    def _go(self, record: int, place: int) -> None:
        screen, log = self._screen, self._screen.views.message_log
        self._at = record, place
        screen.player.go(record)
        screen.draw()
        log.put_cursor(log.rows.row_of(record, place, screen.player.cluster()))
        log.light(self.sieve, self._at)


class ViewSearch:
    """In a view: for a text, in small letters or large ones."""

    def __init__(self, screen: "RunScreen", text: str, view: Findable) -> None:
        self.text = text
        self._screen = screen
        self._view = view
        self._place = -1
        view.light_text(text)

    @property
    def hits(self) -> list[int]:
        """The lines that it is in, as the view is now."""
        return self.hits_in(self._view, self.text)

    @staticmethod
    def hits_in(view: Findable, text: str) -> list[int]:
        """The lines of a view that a text is in."""
        sought = text.lower()
        return [place for place, line in enumerate(view.texts()) if sought in line.lower()]

    @property
    def note(self) -> str:
        """Where it is, among how many."""
        hits = self.hits
        here = (
            f"hit {hits.index(self._place) + 1} of {len(hits)}"
            if self._place in hits
            else f"{count_of(len(hits), 'hit')}"
        )
        return f"/{self.text}: {here}"

    def begin(self) -> None:
        """To the first."""
        self.step(True)

    def step(self, forward: bool) -> None:
        """To the next hit, or the one before."""
        hits = self.hits
        beyond = [hit for hit in hits if (hit > self._place if forward else hit < self._place)]
        if not beyond:
            self._screen.say(_NONE.format("after" if forward else "before"), warn=True)
            return
        self._place = beyond[0 if forward else -1]
        self._view.put_cursor(self._place)

    def tick(self) -> None:
        """There is nothing to wait for."""

    def end(self) -> None:
        """Light up nothing any more."""
        self._view.light_text("")
