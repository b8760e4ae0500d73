"""Go to a record: to the next message, to the next one of a node, or to where a predicate becomes true.

Near records are found at once, far ones while the interface stays responsive. In a live run, a search
can wait for records that do not exist yet. A frozen simulation is resumed for that.
"""

import asyncio
import time
from functools import partial

from textual.worker import Worker

from lab.analysis.record_search import Matcher, MessageMatcher, NodeRecordMatcher, RecordSearch
from lab.script.parse import parse_predicate
from lab.script.predicate_fold import OnsetMatcher
from lab.script.predicates import Predicate
from lab.script.scope import CommandError, scope_of
from lab.text import sanitize
from lab.tui.context import ActionHandler, RunContext
from lab.tui.source import Source
from lab.tui.views.log_view import LogRows
from lab.tui.widgets.prompts import CommandLine

_AT_ONCE = 3000
"""Records searched within a key press."""
_CHUNK = 20
"""Records searched before the time is looked at: a predicate may go through a long log for each."""
_AT_A_TIME_S = 0.03
"""The time for which a search goes on before keys are handled."""
_BETWEEN_MESSAGES_S = 0.5
_AGAIN_S = 0.05
"""Interval at which a live run is checked for new records."""


class SeekController:
    """Starts the searches; one runs at a time."""

    def __init__(self, context: RunContext, rows: LogRows, command_line: CommandLine) -> None:
        self._context = context
        self._rows = rows
        self._command_line = command_line
        self._worker: Worker[None] | None = None
        self.actions: dict[str, ActionHandler] = {
            "next-message": partial(self._seek_message, True),
            "previous-message": partial(self._seek_message, False),
            "next-of-node": partial(self._seek_node, True),
            "previous-of-node": partial(self._seek_node, False),
            "until": partial(self._until, "until"),
            "until-back": partial(self._until, "until-back"),
        }

    def stop(self) -> bool:
        """Stop the search. Return whether one was running."""
        going_on = self._worker is not None and not self._worker.is_finished
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        return going_on

    def _seek_message(self, forward: bool) -> None:
        node = self._context.selected
        label = "message" if node is None else f"message of {node}"
        self._seek(MessageMatcher(node, self._rows.hidden_kinds), forward, label)

    def _seek_node(self, forward: bool) -> None:
        node = self._context.selected
        self._seek(NodeRecordMatcher(node), forward, "record" if node is None else f"record of {node}")

    def _seek(self, matcher: Matcher, forward: bool, label: str) -> None:
        """Go to the nearest matching record, if there is one."""
        self.stop()
        search = self._new_search(matcher, forward)
        if search.advance(_AT_ONCE):
            self._show_result(search, forward, label)
        else:
            self._worker = self._context.work(self._go_on(search, forward, label))

    def _until(self, word: str, text: str) -> None:
        """Go to the record at which a predicate becomes true. In a live run, wait for it."""
        if not text:
            self._command_line.open(f"{word} ")
            return
        source, forward = self._context.source, word == "until"
        self.stop()
        try:
            onset = OnsetMatcher(_predicate(text, source), source.store.header)
        except CommandError as error:
            self._context.notify(str(error), warn=True)
            return
        search = self._new_search(onset, forward)
        work = self._wait_for(search, onset, text) if forward else self._go_on(search, forward, _onset_label(text))
        self._worker = self._context.work(work)

    def _new_search(self, matcher: Matcher, forward: bool) -> RecordSearch:
        player = self._context.player
        return RecordSearch(player.store, player.number, forward, matcher)

    async def _go_on(self, search: RecordSearch, forward: bool, label: str) -> None:
        await self._work_through(search, label)
        self._show_result(search, forward, label)

    async def _wait_for(self, search: RecordSearch, onset: OnsetMatcher, text: str) -> None:
        """Search the existing records; then, in a live run, the new ones as they come."""
        source, freeze = self._context.source, ""
        try:
            while True:
                is_over = not source.is_live or bool(source.ended)
                await self._work_through(search, _onset_label(text))
                if is_over or search.found is not None:
                    break
                self._context.notify(f"waiting for {sanitize(text, 100)}; Esc stops")
                if not freeze and source.controls_time and source.clock is not None and source.clock.frozen:
                    freeze = f"{f'when not ({text}) ' if onset.holds else ''}when {text}: freeze"
                    refused = await self._run_until(freeze)
                    if refused is not None:
                        self._context.notify(refused, warn=True)
                        return
                await asyncio.sleep(_AGAIN_S)
        except asyncio.CancelledError:
            if freeze:
                self._context.work(self._freeze(freeze))
            raise
        self._show_result(search, True, _onset_label(text))

    async def _run_until(self, freeze: str) -> str | None:
        """Resume a frozen world until ``freeze`` stops it at the exact record. Return the error if it refuses."""
        source = self._context.source
        reply = await source.command(freeze)
        if reply.ok:
            reply = await source.command("go")
        return None if reply.ok else reply.text

    async def _freeze(self, freeze: str) -> None:
        """Withdraw the command, so that it does not freeze the run later, and freeze the run now."""
        await self._context.source.withdraw(freeze)
        self._context.execute("freeze")

    async def _work_through(self, search: RecordSearch, label: str) -> None:
        yielded_s = noted_s = time.monotonic()
        while not search.advance(_CHUNK):
            now_s = time.monotonic()
            if now_s - yielded_s < _AT_A_TIME_S:
                continue
            if now_s - noted_s > _BETWEEN_MESSAGES_S:
                place, last = max(0, search.place), len(self._context.player.store) - 1
                self._context.notify(f"searching for {label}: record {place} of {last}; Esc stops")
                noted_s = now_s
            await asyncio.sleep(0)
            yielded_s = time.monotonic()

    def _show_result(self, search: RecordSearch, forward: bool, label: str) -> None:
        if search.found is None:
            self._context.notify(f"no {label} {'after' if forward else 'before'} this one", warn=True)
            return
        self._context.player.go(search.found)
        self._context.notify(f"{label}: record {search.found}, at {self._context.player.now_us / 1e6:.3f} s")
        self._context.redraw()


def _onset_label(text: str) -> str:
    """Return the label of a search for a predicate's onset."""
    return f"record at which {sanitize(text, 100)} becomes true"


def _predicate(text: str, source: Source) -> Predicate:
    """Return the parsed predicate. Raises CommandError.

    Against a protocol of a user's own that is not loaded here, it cannot be checked.
    """
    scope = scope_of(source.store.header)
    if scope is None:
        return parse_predicate(text)
    predicate = parse_predicate(text, scope.protocol, scope.names)
    predicate.check(scope)
    return predicate
