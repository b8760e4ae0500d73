"""Going to a record that is sought: at once where it is near, else while the screen goes on.

In a run that goes on what is not there yet is waited for; a simulated one that is frozen is let go on for that.
"""

import asyncio
from typing import TYPE_CHECKING

from textual.worker import Worker

from lab.analysis.record_search import Hunt, MessageOf, Quarry, RecordOf
from lab.protocols import UnknownProtocolError, find_protocol
from lab.script import CommandError, Onset, check_predicate, parse_predicate
from lab.script.predicates import Predicate
from lab.text import sanitize
from lab.tui.offers import steers
from lab.tui.run.source import Source

if TYPE_CHECKING:
    from lab.tui.deeds import Deed
    from lab.tui.screen import RunScreen

__all__ = ["Seeker", "seeking_deeds"]

_AT_ONCE = 3000
_PIECE = 500
"""So many records are looked at in a key press, and between two looks at the keyboard."""
_PIECES_TOLD = 40
_AGAIN_S = 0.05
"""So often a run that goes on is looked at."""


class Seeker:
    """Looks for one thing at a time; ``stop`` stops looking."""

    def __init__(self, screen: "RunScreen") -> None:
        self._screen = screen
        self._worker: Worker[None] | None = None

    def stop(self) -> bool:
        """Whether there was something to stop."""
        going_on = self._worker is not None and not self._worker.is_finished
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        return going_on

    def seek(self, quarry: Quarry, forward: bool, called: str) -> None:
        """To the nearest record of that kind, if there is any."""
        self.stop()
        hunt = self._hunt(quarry, forward)
        if hunt.go_on(_AT_ONCE):
            self._take(hunt, forward, called)
        else:
            self._worker = self._screen.run_worker(self._go_on(hunt, forward, called))

    def until(self, text: str, forward: bool) -> None:
        """To where the predicate becomes true; forward, in a run that goes on, once it does."""
        source = self._screen.source
        self.stop()
        try:
            onset = Onset(_predicate(text, source), source.lines.header)
        except CommandError as error:
            self._screen.say(str(error), warn=True)
            return
        hunt = self._hunt(onset, forward)
        work = self._wait_for(hunt, onset, text) if forward else self._go_on(hunt, forward, _true(text))
        self._worker = self._screen.run_worker(work)

    def _hunt(self, quarry: Quarry, forward: bool) -> Hunt:
        player = self._screen.player
        return Hunt(player.lines, player.number, forward, quarry)

    async def _go_on(self, hunt: Hunt, forward: bool, called: str) -> None:
        await self._look(hunt, called)
        self._take(hunt, forward, called)

    async def _wait_for(self, hunt: Hunt, onset: Onset, text: str) -> None:
        """Look through what there is; then, as long as the run goes on, at what comes."""
        source, freeze = self._screen.source, ""
        try:
            while True:
                is_over = not source.is_live or bool(source.ended)
                await self._look(hunt, _true(text))
                if is_over or hunt.found is not None:
                    break
                self._screen.say(f"waiting for {sanitize(text, 100)}; Esc stops")
                if not freeze and steers(source) and source.clock is not None and source.clock.frozen:
                    freeze = f"{f'when not ({text}) ' if onset.holds else ''}when {text}: freeze"
                    refused = await self._let_go_on(freeze)
                    if refused is not None:
                        self._screen.say(refused, warn=True)
                        return
                await asyncio.sleep(_AGAIN_S)
        except asyncio.CancelledError:
            if freeze:
                self._screen.run_worker(self._stand_still(freeze))
            raise
        self._take(hunt, True, _true(text))

    async def _let_go_on(self, freeze: str) -> str | None:
        """Until that line freezes the run, which the world does at the very record; what is said if it refuses."""
        source = self._screen.source
        reply = await source.command(freeze)
        if reply.ok:
            reply = await source.command("go")
        return None if reply.ok else reply.text

    async def _stand_still(self, freeze: str) -> None:
        """Nobody waits any more: that line is not to freeze the run at some other time."""
        await self._screen.source.withdraw(freeze)
        self._screen.give("freeze")

    async def _look(self, hunt: Hunt, called: str) -> None:
        pieces = 0
        while not hunt.go_on(_PIECE):
            pieces += 1
            if pieces % _PIECES_TOLD == 0:
                place, last = max(0, hunt.place), len(self._screen.player.lines) - 1
                self._screen.say(f"looking for {called}: record {place} of {last}; Esc stops")
            await asyncio.sleep(0)

    def _take(self, hunt: Hunt, forward: bool, called: str) -> None:
        screen = self._screen
        if hunt.found is None:
            screen.say(f"no {called} {'after' if forward else 'before'} this one", warn=True)
            return
        screen.player.go(hunt.found)
        screen.say(f"{called}: record {hunt.found}, at {screen.player.now_us / 1e6:.3f} s")
        screen.draw()


def seeking_deeds(screen: "RunScreen") -> "dict[str, Deed]":
    """Steps by messages and by nodes, and to where a predicate becomes true."""

    def by_message(forward: bool) -> None:
        rows, node = screen.views.rows, screen.selected
        heartbeats = screen.source.lines.header.protocol.heartbeats
        hidden = frozenset[str]() if rows.heartbeats else frozenset(heartbeats)
        called = "message" if node is None else f"message of {node}"
        screen.seeker.seek(MessageOf(node, hidden), forward, called)

    def by_node(forward: bool) -> None:
        node = screen.selected
        screen.seeker.seek(RecordOf(node), forward, "record" if node is None else f"record of {node}")

    def until(word: str, text: str, forward: bool) -> None:
        if text:
            screen.seeker.until(text, forward)
        else:
            screen.open_line(f"{word} ")

    return {
        "next-message": lambda _: by_message(True),
        "previous-message": lambda _: by_message(False),
        "next-of-node": lambda _: by_node(True),
        "previous-of-node": lambda _: by_node(False),
        "until": lambda text: until("until", text, True),
        "until-back": lambda text: until("until-back", text, False),
    }


def _true(text: str) -> str:
    """What is looked for, in words."""
    return f"record with which {sanitize(text, 100)} becomes true"


def _predicate(text: str, source: Source) -> Predicate:
    """CommandError. What a protocol of the user's own has is not known here."""
    header = source.lines.header
    try:
        protocol = find_protocol(header.protocol.name, header.protocol.parameters)
    except UnknownProtocolError:
        return parse_predicate(text)
    predicate = parse_predicate(text, protocol)
    check_predicate(predicate, protocol, header.nodes, header.protocol.parameters)
    return predicate
