"""The trace of a message, and copying what is under the cursor, by OSC 52 on a real terminal."""

import base64
import re

import pytest
from textual.widgets import OptionList

from lab.tui.controllers.display import TraceDialog
from lab.tui.views.log_view import MessageLog
from lab.tui.widgets.help import HelpDialog
from tests.serve.forked_servers import fork_shell
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay
from tests.tui.terminal import Terminal


def test_the_trace_leads_to_the_step_that_received_the_message() -> None:
    """Enter on a line of the trace goes to its record."""

    async def test(seen: Seen) -> None:
        await seen.press("end")
        log = seen.of("#log", MessageLog)
        log.focus()
        await seen.press("up")
        while (found := log.under_cursor) is None or found[0].kind != "NewState":
            await seen.press("up")
        line = found[0]
        await seen.press("f")
        assert any(isinstance(screen, TraceDialog) for screen in seen.app.screen_stack)
        assert f"NewState {line.source}->{line.target}, sent because" in seen.text
        assert f"{line.target} received it" in seen.text
        assert f"NewStateAnswer {line.target}->{line.source}" in seen.text
        seen.top.query_one(OptionList).highlighted = 1
        await seen.press("enter")
        assert len(seen.app.screen_stack) == 2
        step = seen.source.store.record(seen.player.number)
        assert getattr(step, "node", None) == line.target
        assert seen.player.number > line.record

    replay(test)


def test_without_a_message_there_is_a_hint() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("f")
        await seen.until_message("select a message in the log or the diagram first")
        assert seen.top is seen.run

    replay(test)


def test_a_message_that_is_not_shown_is_not_followed() -> None:
    """A hidden heartbeat at the cursor in time; the last line of the log is another message."""

    async def test(seen: Seen) -> None:
        store, hidden = seen.source.store, seen.of("#log", MessageLog).rows.is_hidden
        heartbeat = next(number for number in range(100, len(store)) if hidden(number))
        seen.player.go(heartbeat)
        await seen.drawn()
        await seen.press("f")
        await seen.until_message("select a message in the log or the diagram first")
        assert seen.top is seen.run

    replay(test)


def test_a_row_is_copied_as_text_and_a_record_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(seen: Seen) -> None:
        copied: list[str] = []
        monkeypatch.setattr(seen.app, "copy_to_clipboard", copied.append)
        await seen.press("end", "y")
        assert copied == ["9.008 · the run ended: its time was up"]
        await seen.until_message("copied the line (38 characters)")
        await seen.press("enter", "y", "escape")
        assert copied[1] == seen.source.store.raw(seen.player.number).decode()

    replay(test)


def test_the_help_shows_what_has_the_words_that_are_typed() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("question_mark")
        await seen.type("fate")
        await seen.until(lambda: "keys and commands with: fate" in seen.text, "what is sought")
        assert ":search" in seen.text
        assert ":theme" not in seen.text
        await seen.press("escape")
        assert any(isinstance(screen, HelpDialog) for screen in seen.app.screen_stack)
        await seen.press("escape")
        assert not any(isinstance(screen, HelpDialog) for screen in seen.app.screen_stack)

    replay(test)


def test_the_terminal_gets_the_copied_text() -> None:
    """As OSC 52, in base 64."""
    with Terminal("replay", str(SHIPPED), start_shell=fork_shell) as terminal:
        terminal.shows("5 nodes")
        terminal.type("y")
        terminal.shows("copied")
        codes = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07", terminal.output)
        assert codes
        text = base64.b64decode(codes[-1]).decode()
        assert text
        terminal.type("q")
        assert terminal.status() == 0
