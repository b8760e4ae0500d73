"""Search for text in the code, assertions and inspector views, and copying from them."""

import pytest
from rich.segment import Segment

from lab.tui.views.lines_view import RowsView
from tests.tui.seen import Seen, replay


def _segments(seen: Seen) -> list[Segment]:
    """Return the segments drawn in the chosen view."""
    view = seen.run.views.widget
    return [segment for y in range(view.size.height) for segment in view.render_line(y)]


@pytest.mark.parametrize(
    ("key", "text"),
    [("c", "coordinator"), ("a", "coordinator"), ("i", "coordinator")],
    ids=["code", "assertions", "inspect"],
)
def test_a_text_is_found_and_highlighted_in_the_view(key: str, text: str) -> None:
    """Each hit is scrolled into view; the highlights end with the search."""

    async def test(seen: Seen) -> None:
        seen.player.seek(6_050_000)
        await seen.press("5", key)
        view = seen.run.views.widget
        assert isinstance(view, RowsView)
        hits = [line for line in view.texts() if text in line.lower()]
        assert hits
        await seen.press("slash")
        await seen.type(text)
        await seen.press("enter")
        await seen.until(lambda: f"/{text}: hit 1 of {len(hits)}" in seen.run.search.note, "the first hit")
        for _ in hits[1:]:
            await seen.press("n")
        assert f"hit {len(hits)} of {len(hits)}" in seen.run.search.note
        assert " ".join(hits[-1].split()) in " ".join(seen.view.split())
        highlight = [segment.text.lower() for segment in _segments(seen) if _is_highlighted(seen, segment)]
        assert text in highlight
        await seen.press("escape")
        assert not any(_is_highlighted(seen, segment) for segment in _segments(seen))

    replay(test)


def _is_highlighted(seen: Seen, segment: Segment) -> bool:
    style = segment.style
    return style is not None and style + seen.run.context.styles.highlight == style


@pytest.mark.parametrize(("key", "begins"), [("a", "A1.1"), ("i", "node 5")], ids=["assertions", "inspect"])
def test_the_text_of_the_view_is_copied(key: str, begins: str) -> None:
    """The assertion under the cursor, or the whole node."""

    async def test(seen: Seen) -> None:
        seen.player.seek(6_050_000)
        await seen.press("5", key)
        await seen.press("y")
        await seen.until_message(f"copied {begins} (")
        copied = seen.app.clipboard
        assert begins in copied.split("\n")[0]
        assert all(line in seen.view or not line for line in copied.split("\n")[:3])
        if key == "a":
            await seen.press("down", "y")
            assert seen.app.clipboard != copied

    replay(test)
