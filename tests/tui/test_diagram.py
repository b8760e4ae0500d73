"""The space-time diagram under a pilot: keys, mouse, sizes and messages."""

from pathlib import Path

import pytest

from lab.tui.views.diagram_view import DiagramView
from lab.tui.views.log_view import RecordDialog
from lab.tui.views.views import Views
from tests.harness import Rig
from tests.tui.recorded import SHIPPED, written
from tests.tui.seen import Seen, replay, replay_in_sizes


@pytest.fixture(scope="module")
def takeover(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The coordinator of three nodes dies, and the next one takes over."""
    rig = Rig((1, 2, 3)).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.run_until_agreed()
    return rig.write(tmp_path_factory.mktemp("diagram") / "takeover.jsonl")


def _view(seen: Seen) -> DiagramView:
    return seen.of("#diagram", DiagramView)


def _shown(seen: Seen) -> list[str]:
    """Return the lines of the diagram."""
    region = _view(seen).content_region
    rows = seen.text.split("\n")[region.y : region.bottom]
    return [row[region.x : region.right] for row in rows]


def _place(seen: Seen, text: str) -> tuple[int, int]:
    """Return the position of a text in the diagram."""
    return next((row.index(text), y) for y, row in enumerate(_shown(seen)) if text in row)


def _cursor(seen: Seen) -> int | None:
    """Return the line of the cursor in time."""
    return next((y for y, row in enumerate(_shown(seen)) if row.startswith("◆")), None)


async def _open(seen: Seen, end: bool = True) -> None:
    await seen.press(*(["end"] if end else []), "s")
    await seen.until(lambda: "a row is a step" in seen.text, "the diagram")


def test_d_shows_the_diagram_and_d_again_the_log(takeover: Path) -> None:
    async def test(seen: Seen) -> None:
        await _open(seen)
        assert "★ Normal" in seen.text
        assert "NewStateAnswer▶★ Normal" in seen.text
        await seen.until_message("arrow keys or a click select")
        await seen.press("s")
        await seen.until(lambda: "NewStateAnswer" in seen.text, "the log")

    replay(test, takeover)


def test_a_wide_screen_shows_it_with_the_log() -> None:
    """Unless another view is chosen."""

    async def test(seen: Seen) -> None:
        await seen.press("end")
        await seen.until(lambda: "a row is a step" in seen.text, "the diagram")
        assert seen.of("Views", Views).shown_views == ("log", "diagram")

    replay(test, size=(160, 50))


def test_the_cursor_in_time_is_a_line_and_the_picture_follows_it(takeover: Path) -> None:
    """Step by step, and from the end back to the start."""

    async def test(seen: Seen) -> None:
        await _open(seen)
        assert _cursor(seen) is not None
        await seen.press("home")
        await seen.until(lambda: any("○" in row for row in _shown(seen)[:3]), "the start")
        await seen.press("full_stop", "full_stop")
        await seen.until(lambda: _cursor(seen) is not None, "the cursor in time")
        first = _cursor(seen)
        await seen.press("full_stop", "full_stop")
        await seen.until(lambda: (_cursor(seen) or 0) > (first or 0), "the cursor further down")

    replay(test, takeover, size=(80, 60))


def test_plus_and_minus_zoom_from_a_step_to_a_minute(takeover: Path) -> None:
    """A message tells the limits; the coarsest scale still shows statuses."""

    async def test(seen: Seen) -> None:
        await _open(seen)
        await seen.press("plus")
        assert seen.message == "this is the finest scale: a step"
        for unit in ("200us", "1ms", "5ms", "20ms", "100ms", "500ms", "2s", "10s", "60s"):
            await seen.press("minus")
            assert seen.message == f"a row is {unit}"
        await seen.press("minus")
        assert seen.message == "this is the coarsest scale"
        assert "✖" in "".join(_shown(seen))
        await seen.press(*["plus"] * 9)
        assert seen.message == "a row is a step"

    replay(test, takeover)


def test_zoom_is_for_the_diagram_only(takeover: Path) -> None:
    """In other views, the key names the diagram."""

    async def test(seen: Seen) -> None:
        await seen.press("plus")
        assert seen.message == "zoom-in works in the diagram: press s to show it"

    replay(test, takeover)


def test_a_bar_turns_the_flow_of_time(takeover: Path) -> None:
    """To the right, and down again."""

    async def test(seen: Seen) -> None:
        await _open(seen)
        await seen.press("vertical_line")
        await seen.until(lambda: "━" in "".join(_shown(seen)), "lines to the right")
        assert seen.message == "time flows to the right"
        await seen.press("vertical_line")
        await seen.until(lambda: "━" not in "".join(_shown(seen)), "lines down")

    replay(test, takeover)


def test_arrow_keys_select_messages_and_steps(takeover: Path) -> None:
    """The foot shows the size of the causal past and future; Esc clears the selection."""

    async def test(seen: Seen) -> None:
        await _open(seen)
        await seen.press("left")
        await seen.until(lambda: "NewStateAnswer 1 to 2, sent at" in seen.text, "the last message")
        foot = _shown(seen)[-1]
        assert "delivered 10.0 ms later" in foot
        assert "causal past 37, future 1, of 38 steps here" in foot
        await seen.press("left")
        await seen.until(lambda: "NewState 2 to 1, sent at" in seen.text, "the message before")
        await seen.press("right", "up")
        await seen.until(lambda: "received" in _shown(seen)[-1] and "node" in _shown(seen)[-1], "a step")
        await seen.press("escape")
        await seen.until(lambda: "a row is a step" in seen.text, "nothing selected")

    replay(test, takeover)


def test_a_selected_node_restricts_the_arrow_keys_to_its_steps(takeover: Path) -> None:
    async def test(seen: Seen) -> None:
        await _open(seen)
        await seen.press("1", "up")
        await seen.until(lambda: "node 1 at" in _shown(seen)[-1], "its last step")
        last = _shown(seen)[-1]
        await seen.press("up")
        await seen.until(lambda: "node 1 at" in _shown(seen)[-1] and _shown(seen)[-1] != last, "the one before")

    replay(test, takeover)


def test_enter_goes_to_the_selection_and_there_opens_the_record(takeover: Path) -> None:
    """The cursor in time goes to where the message was sent. Without a selection, Enter opens the record there."""

    async def test(seen: Seen) -> None:
        await _open(seen)
        await seen.press("enter")
        assert isinstance(seen.top, RecordDialog)
        await seen.press("escape", "left")
        number = seen.player.number
        await seen.press("enter")
        await seen.until(lambda: seen.player.number < number, "the cursor went back")
        record = seen.source.store.record(seen.player.number)
        assert record is not None
        assert "NewStateAnswer" in repr(record)
        await seen.press("enter")
        await seen.until(lambda: isinstance(seen.top, RecordDialog), "its record")

    replay(test, takeover)


def test_a_click_selects_and_a_double_click_goes_there(takeover: Path) -> None:
    """A message by its name, a step by its node's line; a click elsewhere clears the selection."""

    async def test(seen: Seen) -> None:
        await _open(seen)
        await seen.pilot.click("#diagram", offset=_place(seen, "NewState"))
        await seen.until(lambda: "NewState" in _shown(seen)[-1] and "sent at" in _shown(seen)[-1], "the message")
        await seen.pilot.click("#diagram", offset=_place(seen, "★ Normal"))
        await seen.until(lambda: "node 2 at" in _shown(seen)[-1], "the step")
        number = seen.player.number
        await seen.pilot.double_click("#diagram", offset=_place(seen, "★ Normal"))
        await seen.until(lambda: seen.player.number < number, "the cursor went there")
        await seen.pilot.click("#diagram", offset=(100, 3))
        await seen.until(lambda: "a row is a step" in seen.text, "nothing selected")

    replay(test, takeover)


def test_a_step_in_time_ends_scrolling() -> None:
    async def test(seen: Seen) -> None:
        await _open(seen)
        end = _shown(seen)
        await seen.press("pageup")
        await seen.until(lambda: "◆" not in "".join(_shown(seen)), "what was before")
        before = _shown(seen)
        await seen.press("pageup")
        await seen.until(lambda: _shown(seen) not in (before, end), "a page back")
        await seen.press("pagedown")
        await seen.until(lambda: _shown(seen) == before, "a page on")
        await seen.press("comma")
        await seen.until(lambda: "◆" in "".join(_shown(seen)), "the cursor in time")

    replay(test)


def test_the_wheel_scrolls(takeover: Path) -> None:
    async def test(seen: Seen) -> None:
        await _open(seen)
        before = _shown(seen)
        _view(seen).on_mouse_scroll_up()
        await seen.until(lambda: _shown(seen) != before, "other rows")

    replay(test, takeover)


def test_heartbeats_are_shown_like_in_the_log() -> None:
    async def test(seen: Seen) -> None:
        await _open(seen)
        assert "AreYouN" not in "".join(_shown(seen))
        await seen.press(":heartbeats")
        await seen.until(lambda: "AreYouN" in "".join(_shown(seen)), "heartbeats")
        await seen.press(":heartbeats")
        await seen.until(lambda: "AreYouN" not in "".join(_shown(seen)), "no heartbeats")

    replay(test)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal without UTF-8."""
    monkeypatch.setenv("TERM", "linux")


@pytest.mark.usefixtures("plain")
def test_without_utf8_it_is_ascii(takeover: Path) -> None:
    async def test(seen: Seen) -> None:
        await _open(seen)
        picture = "\n".join(_shown(seen)[:-1])
        assert picture.translate(dict.fromkeys(map(ord, "…·"))).isascii()
        assert "NewStateAnswer>^ Normal" in picture

    replay(test, takeover)


def test_it_fits_every_screen() -> None:
    """All node lines and the foot are visible, in both directions of time."""

    async def test(seen: Seen) -> None:
        await _open(seen)
        assert _shown(seen)[0].split()[0] == "1"
        assert len(_shown(seen)) >= 5
        for key in ("minus", "minus", "minus", "vertical_line", "left", "up", "plus", "plus", "plus", "escape"):
            await seen.press(key)
        await seen.until(lambda: "a column is a step" in seen.text, "the line below")
        await seen.press("vertical_line", "s")

    replay_in_sizes(test, [(80, 24), (120, 40), (200, 60)], SHIPPED)


def test_a_long_recording_can_be_shown_anywhere(tmp_path: Path) -> None:
    """Also where there are only heartbeats."""
    path = written(tmp_path / "long.jsonl")

    async def test(seen: Seen) -> None:
        await _open(seen)
        window = _view(seen)._focus.window
        for at_us in (50_000_000, 3_100_000, 21_000_000, 1_000):
            seen.player.seek(at_us)
            seen.run.draw()
            await seen.until(
                lambda: window.start <= seen.player.number < window.fed and "◆" in "".join(_shown(seen)),
                "the cursor there",
            )
            assert not window.is_full()

    replay(test, path)


def test_nothing_is_drawn_while_nothing_changes(takeover: Path) -> None:
    async def test(seen: Seen) -> None:
        await _open(seen)
        view = _view(seen)
        canvas = view._canvas
        seen.run.draw()
        seen.run.draw()
        assert view._canvas is canvas

    replay(test, takeover)
