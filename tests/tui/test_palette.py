"""The command palette: every action that is available, found by any of its letters."""

import pytest
from textual.command import CommandPalette
from textual.widgets import OptionList

from lab.tui.terminal.terminal_app import TerminalApp
from tests.tui.seen import Seen, replay


async def _opened(seen: Seen, typed: str) -> OptionList:
    await seen.press("ctrl+p")
    await seen.until(lambda: isinstance(seen.top, CommandPalette), "the palette")
    await seen.type(typed)
    found = seen.top.query_one(OptionList)
    await seen.until(lambda: found.option_count, "something is found")
    return found


def _first(found: OptionList) -> str:
    return str(found.get_option_at_index(0).prompt)


def test_an_action_is_found_by_its_letters_and_performed() -> None:
    """Each is shown with its key and with what it does."""

    async def test(seen: Seen) -> None:
        found = await _opened(seen, "dgrm")
        await seen.until(lambda: "diagram" in _first(found), "the diagram comes first")
        assert _first(found).startswith("diagram   s")
        await seen.press("enter")
        await seen.until(lambda: seen.run.views.chosen == "diagram", "it is shown")

    replay(test)


@pytest.mark.parametrize("word", ["kill", "partition"])
def test_what_is_unavailable_is_not_offered(word: str) -> None:
    """A recording takes no commands."""

    async def test(seen: Seen) -> None:
        assert word not in [action.word for action in seen.run.actions()]
        await _opened(seen, "")
        await seen.until(lambda: seen.top.query_one(OptionList).option_count > 20, "all are listed")
        options = seen.top.query_one(OptionList)
        texts = [str(options.get_option_at_index(place).prompt) for place in range(options.option_count)]
        assert not [text for text in texts if text.startswith(word)]
        await seen.press("escape")
        await seen.until(lambda: seen.top is seen.run, "closed")

    replay(test)


def test_there_is_no_other_palette() -> None:
    """That of Textual writes files on the server."""
    assert not TerminalApp.ENABLE_COMMAND_PALETTE
