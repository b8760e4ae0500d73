"""One selection for all views: what is selected in one is marked in the others, and stays when time passes."""

import pytest

from lab.kernel import Received, Step
from lab.tui.player import Picked
from lab.tui.views.code_view import CodeView
from lab.tui.views.diagram_view import DiagramView
from lab.tui.views.inspect_view import InspectView
from lab.tui.views.lines_view import LinesView
from lab.tui.views.log_view import MessageLog
from lab.tui.views.network_view import NetworkView
from tests.tui.seen import Seen, replay

WIDE = (200, 50)
"""Wide enough for a view beside the log."""
KIND = "NewStateAnswer"


async def _pick_in_log(seen: Seen) -> Picked:
    """Select the last message of a kind in the log, beside which the chosen view stands."""
    log = seen.of("#log", MessageLog)
    await seen.press("end")
    log.focus()
    while (found := log.under_cursor) is None or found[0].kind != KIND:
        await seen.press("up")
    picked = seen.run.context.picked
    assert picked == Picked.of_line(found[0])
    return picked


async def _show(seen: Seen, view: str) -> None:
    seen.run.layout_controller.show_view(view)
    seen.run.draw()
    await seen.pilot.pause()


def _marked_rows(view: LinesView) -> list[str]:
    """Return the visible lines that have the ground of the selection."""
    ground = view._styles.picked.bgcolor
    return [
        "".join(text for text, _ in line).strip()
        for line in view._drawn
        if line and all(style.bgcolor == ground for _, style in line)
    ]


def test_a_message_of_the_log_is_marked_in_the_diagram() -> None:
    async def test(seen: Seen) -> None:
        await _show(seen, "diagram")
        picked = await _pick_in_log(seen)
        assert picked.message is not None
        assert f"{KIND} {picked.message[0]} to {picked.target}" in seen.view

    replay(test, size=WIDE)


def test_a_message_of_the_diagram_is_marked_in_the_log() -> None:
    """The log's cursor goes there, so that the keys of the log are about it."""

    async def test(seen: Seen) -> None:
        await seen.press("end")
        await _show(seen, "diagram")
        diagram, log = seen.of("#diagram", DiagramView), seen.of("#log", MessageLog)
        diagram.focus()
        await seen.press("left", "left", "left")
        picked = seen.run.context.picked
        assert picked is not None
        assert picked.message is not None
        assert log.under_cursor is not None
        assert log.under_cursor[0].message == picked.message
        (row,) = _marked_rows(log)
        assert row.startswith(seen.run.context.styles.glyphs.play)
        assert f"{picked.message[0]} → {picked.target}" in row

    replay(test, size=WIDE)


def test_a_message_that_is_far_away_is_shown_in_the_diagram() -> None:
    """It was not among the records that the diagram had read."""

    async def test(seen: Seen) -> None:
        await seen.press("end")
        await _show(seen, "diagram")
        log, diagram = seen.of("#log", MessageLog), seen.of("#diagram", DiagramView)
        log.focus()
        await seen.press("pageup", *["pageup"] * 20)
        picked = seen.run.context.picked
        assert picked is not None
        assert picked.record < 20
        place = diagram._focus.axis.place(diagram._focus.cursor)
        first = diagram._focus.top
        assert first < place - 40, "the cursor in time is far below"
        await seen.press("down", "up")
        assert seen.run.context.picked == picked

    replay(test, size=WIDE)


def test_the_inspector_shows_the_node_of_the_selection_and_marks_the_message() -> None:
    async def test(seen: Seen) -> None:
        await _show(seen, "inspect")
        picked = await _pick_in_log(seen)
        assert picked.message is not None
        assert f"node {picked.node} " in seen.view
        seen.player.go(picked.record)  # the step that sent it is the node's last one here
        seen.run.draw()
        await seen.pilot.pause()
        assert [row for row in _marked_rows(seen.of("#inspect", InspectView)) if "sent" in row and KIND in row]

    replay(test, size=WIDE)


def test_a_step_that_receives_the_message_is_marked_too() -> None:
    async def test(seen: Seen) -> None:
        await _show(seen, "inspect")
        picked = await _pick_in_log(seen)
        assert picked.target is not None
        store = seen.source.store
        received = next(
            number
            for number in range(picked.record, len(store))
            if isinstance(step := store.record(number), Step)
            and isinstance(step.input, Received)
            and (step.input.source, step.input.serial) == picked.message
        )
        seen.player.go(received)
        seen.run.context.selected = picked.target
        seen.run.draw()
        await seen.pilot.pause()
        assert [row for row in _marked_rows(seen.of("#inspect", InspectView)) if KIND in row and "input" in row]

    replay(test, size=WIDE)


def test_the_network_goes_to_the_link_of_the_message() -> None:
    async def test(seen: Seen) -> None:
        await _show(seen, "network")
        picked = await _pick_in_log(seen)
        assert picked.message is not None
        network = seen.of("#network", NetworkView)
        assert network._link == (picked.message[0], picked.target)
        assert f"{picked.message[0]} → {picked.target}:" in seen.view

    replay(test, size=WIDE)


def test_the_code_shows_what_the_selected_step_executed() -> None:
    async def test(seen: Seen) -> None:
        await _show(seen, "code")
        picked = await _pick_in_log(seen)
        await seen.until(lambda: f"executed in record {picked.record}" in seen.view, "the lines of that step")
        assert seen.of("#code", CodeView)._shows_ran
        await seen.press("escape")
        await seen.until(lambda: f"executed in record {picked.record}" not in seen.view, "those of the last step")

    replay(test, size=WIDE)


@pytest.mark.parametrize("view", ["diagram", "inspect", "network", "code"])
def test_a_view_that_is_shown_later_has_the_selection(view: str) -> None:
    """On a narrow screen, one view replaces the other; the log still has its cursor there."""

    async def test(seen: Seen) -> None:
        await seen.press("end")
        log = seen.of("#log", MessageLog)
        log.focus()
        await seen.press("up", "up", "up")
        picked = seen.run.context.picked
        assert picked is not None
        await _show(seen, view)
        assert seen.of(f"#{view}", LinesView)._picked == picked
        await _show(seen, "log")
        assert log.under_cursor is not None
        assert picked.is_in(log.under_cursor[0])

    replay(test)


def test_escape_ends_the_selection_everywhere() -> None:
    async def test(seen: Seen) -> None:
        await _show(seen, "diagram")
        await _pick_in_log(seen)
        await seen.press("escape")
        assert seen.run.context.picked is None
        assert seen.of("#diagram", DiagramView)._selection.picked is None
        assert _marked_rows(seen.of("#log", MessageLog)) == []

    replay(test, size=WIDE)


def test_the_selection_stays_while_time_passes() -> None:
    async def test(seen: Seen) -> None:
        await _show(seen, "diagram")
        picked = await _pick_in_log(seen)
        await seen.press("comma", "comma", "full_stop")
        assert seen.run.context.picked == picked

    replay(test, size=WIDE)


def test_a_filter_that_hides_the_selection_marks_nothing() -> None:
    """The log has no row about it; nothing fails."""

    async def test(seen: Seen) -> None:
        await _show(seen, "diagram")
        picked = await _pick_in_log(seen)
        await seen.press("ampersand")
        await seen.type("kind:AreYouUp")
        await seen.press("enter")
        rows = seen.run.views.rows
        await seen.until(lambda: rows.filter is not None and rows.filter.complete, "the filter has read all")
        assert rows.row_with(picked, seen.player.number) is None
        assert _marked_rows(seen.of("#log", MessageLog)) == []

    replay(test, size=WIDE)
