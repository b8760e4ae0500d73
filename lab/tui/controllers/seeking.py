"""Searches for a record: near records are found at once, far ones while the interface stays responsive.

In a live run, a search can wait for records that do not exist yet. A frozen simulation is resumed for that.
"""

import asyncio
from typing import TYPE_CHECKING

from textual.worker import Worker

from lab.analysis.record_search import Matcher, MessageMatcher, NodeRecordMatcher, RecordSearch
from lab.protocols import UnknownProtocolError, find_protocol
from lab.script.parse import parse_predicate
from lab.script.predicate_fold import OnsetMatcher
from lab.script.predicates import Predicate
from lab.script.scope import CommandError, Scope
from lab.text import sanitize
from lab.tui.availability import controls_time
from lab.tui.source import Source

if TYPE_CHECKING:
    from lab.tui.action_handlers import ActionHandler
    from lab.tui.screen import RunScreen

_AT_ONCE = 3000
_CHUNK = 500
"""Records searched within a key press, and between two checks for input."""
_CHUNKS_PER_MESSAGE = 40
_AGAIN_S = 0.05
"""Interval at which a live run is checked for new records."""


class Seeker:
    """The running search, one at a time."""

    def __init__(self, screen: "RunScreen") -> None:
        self._screen = screen
        self._worker: Worker[None] | None = None

    def stop(self) -> bool:
        """Stop the search. Return whether one was running."""
        going_on = self._worker is not None and not self._worker.is_finished
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        return going_on

    def seek(self, matcher: Matcher, forward: bool, label: str) -> None:
        """Go to the nearest matching record, if there is one."""
        self.stop()
        search = self._new_search(matcher, forward)
        if search.advance(_AT_ONCE):
            self._show_result(search, forward, label)
        else:
            self._worker = self._screen.run_worker(self._go_on(search, forward, label))

    def until(self, text: str, forward: bool) -> None:
        """Go to the record at which a predicate becomes true. In a live run, wait for it."""
        source = self._screen.source
        self.stop()
        try:
            onset = OnsetMatcher(_predicate(text, source), source.store.header)
        except CommandError as error:
            self._screen.show_message(str(error), warn=True)
            return
        search = self._new_search(onset, forward)
        work = self._wait_for(search, onset, text) if forward else self._go_on(search, forward, _onset_label(text))
        self._worker = self._screen.run_worker(work)

    def _new_search(self, matcher: Matcher, forward: bool) -> RecordSearch:
        player = self._screen.player
        return RecordSearch(player.store, player.number, forward, matcher)

    async def _go_on(self, search: RecordSearch, forward: bool, label: str) -> None:
        await self._theme_styles(search, label)
        self._show_result(search, forward, label)

    async def _wait_for(self, search: RecordSearch, onset: OnsetMatcher, text: str) -> None:
        """Search the existing records; then, in a live run, the new ones as they come."""
        source, freeze = self._screen.source, ""
        try:
            while True:
                is_over = not source.is_live or bool(source.ended)
                await self._theme_styles(search, _onset_label(text))
                if is_over or search.found is not None:
                    break
                self._screen.show_message(f"waiting for {sanitize(text, 100)}; Esc stops")
                if not freeze and controls_time(source) and source.clock is not None and source.clock.frozen:
                    freeze = f"{f'when not ({text}) ' if onset.holds else ''}when {text}: freeze"
                    refused = await self._run_until(freeze)
                    if refused is not None:
                        self._screen.show_message(refused, warn=True)
                        return
                await asyncio.sleep(_AGAIN_S)
        except asyncio.CancelledError:
            if freeze:
                self._screen.run_worker(self._freeze(freeze))
            raise
        self._show_result(search, True, _onset_label(text))

    async def _run_until(self, freeze: str) -> str | None:
        """Resume a frozen world until ``freeze`` stops it at the exact record. Return the error if it refuses."""
        source = self._screen.source
        reply = await source.command(freeze)
        if reply.ok:
            reply = await source.command("go")
        return None if reply.ok else reply.text

    async def _freeze(self, freeze: str) -> None:
        """Withdraw the command, so that it does not freeze the run later, and freeze the run now."""
        await self._screen.source.withdraw(freeze)
        self._screen.execute("freeze")

    async def _theme_styles(self, search: RecordSearch, label: str) -> None:
        chunks = 0
        while not search.advance(_CHUNK):
            chunks += 1
            if chunks % _CHUNKS_PER_MESSAGE == 0:
                place, last = max(0, search.place), len(self._screen.player.store) - 1
                self._screen.show_message(f"searching for {label}: record {place} of {last}; Esc stops")
            await asyncio.sleep(0)

    def _show_result(self, search: RecordSearch, forward: bool, label: str) -> None:
        screen = self._screen
        if search.found is None:
            screen.show_message(f"no {label} {'after' if forward else 'before'} this one", warn=True)
            return
        screen.player.go(search.found)
        screen.show_message(f"{label}: record {search.found}, at {screen.player.now_us / 1e6:.3f} s")
        screen.draw()


def seek_actions(screen: "RunScreen") -> "dict[str, ActionHandler]":
    """Return the handlers that step by messages and by nodes, and that search for a predicate."""

    def seek_message(forward: bool) -> None:
        rows, node = screen.views.rows, screen.selected
        heartbeats = screen.source.store.header.protocol.heartbeats
        hidden = frozenset[str]() if rows.heartbeats else frozenset(heartbeats)
        label = "message" if node is None else f"message of {node}"
        screen.seeker.seek(MessageMatcher(node, hidden), forward, label)

    def seek_node(forward: bool) -> None:
        node = screen.selected
        screen.seeker.seek(NodeRecordMatcher(node), forward, "record" if node is None else f"record of {node}")

    def until(word: str, text: str, forward: bool) -> None:
        if text:
            screen.seeker.until(text, forward)
        else:
            screen.open_line(f"{word} ")

    return {
        "next-message": lambda _: seek_message(True),
        "previous-message": lambda _: seek_message(False),
        "next-of-node": lambda _: seek_node(True),
        "previous-of-node": lambda _: seek_node(False),
        "until": lambda text: until("until", text, True),
        "until-back": lambda text: until("until-back", text, False),
    }


def _onset_label(text: str) -> str:
    """Return the label of a search for a predicate's onset."""
    return f"record at which {sanitize(text, 100)} becomes true"


def _predicate(text: str, source: Source) -> Predicate:
    """Return the parsed predicate. Raises CommandError.

    The protocol of a user's own file is unknown here, so its state cannot be checked.
    """
    header = source.store.header
    try:
        protocol = find_protocol(header.protocol.name, header.protocol.parameters)
    except UnknownProtocolError:
        return parse_predicate(text)
    predicate = parse_predicate(text, protocol)
    predicate.check(Scope(protocol, header.nodes, header.protocol.parameters))
    return predicate
