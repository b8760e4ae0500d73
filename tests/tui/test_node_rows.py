"""The nodes as rows: their columns, the strip of the last seconds, and which of many nodes are in sight."""

import asyncio

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from rich.style import Style
from textual.app import App, ComposeResult

from lab.analysis.elections import StatusHistory
from lab.glyphs import UNICODE
from lab.kernel import Started, Step
from lab.protocols import Algorithm, Bully, InvitationElection
from lab.recording.records import Process
from lab.styles import ThemeStyles, fit
from lab.tasks.extension import NodeText
from lab.tui.controllers.layout import allot
from lab.tui.widgets.hall import block_lines, largest
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.node_rows import columns_of, details, heading, row, visible
from lab.tui.widgets.pane import Pane, leaders_of, panes_of
from tests.harness import Rig
from tests.tui.seen import Seen, replay

STYLES = ThemeStyles(UNICODE)


def _panes(nodes: int, *commands: str, protocol: type[Algorithm] = Bully) -> tuple[Pane, ...]:
    rig = Rig(range(1, nodes + 1), protocol=protocol).started()
    rig.run_until_agreed()
    rig.do(*commands)
    return panes_of(rig.cluster.snapshot(), rig.now_us)


def _text(pane: Pane, panes: tuple[Pane, ...], width: int = 80) -> str:
    pieces = fit(row(pane, columns_of(panes, width), STYLES, False, False), width)
    return "".join(text for text, _ in pieces)


def test_what_a_node_knows_stands_apart_from_its_task() -> None:
    """Without a task, and without anything known, nothing stands there."""
    pane = replace(_panes(3)[2], up=(1, 2))
    task = NodeText([("savings 1,000  ", Style())], [("nothing is open", Style())])

    def last(pane: Pane) -> str:
        return "".join(text for text, _ in details(pane, STYLES)[-1]).strip()

    assert last(pane) == "up 1 2"
    assert last(replace(pane, task=task)) == "savings 1,000  nothing is open  up 1 2"
    assert last(replace(pane, task=task, up=())) == "savings 1,000  nothing is open"


def test_a_row_has_status_coordinator_and_group_in_columns() -> None:
    """Under their names, which is why a row needs none."""
    panes = _panes(3, protocol=InvitationElection)
    names = "".join(text for text, _ in heading(columns_of(panes, 80), 80))
    for pane in panes:
        text = _text(pane, panes)
        assert cell_len(text) == 80
        assert text[names.index("Status") :].startswith("● Normal")
        assert text[names.index("coordinator")] == "3"
        assert text[names.index("group") :].split()[0] == pane.group
    assert "★" in _text(panes[2], panes)
    assert "group" not in "".join(text for text, _ in heading(columns_of(_panes(3), 80), 80))


def test_the_time_left_is_a_bar() -> None:
    """It is full when a wait begins."""
    pane = replace(_panes(3)[0], procedure="check", waits="waits for x", total_us=1_000_000)
    texts = [_text(replace(pane, left_us=left_us), (pane,)) for left_us in (0, 600_000, 1_000_000)]
    for text, bar in zip(texts, ("───── 0.0 s x", "━━━── 0.6 s x", "━━━━━ 1.0 s x"), strict=True):
        assert bar in text


@pytest.mark.parametrize(
    ("nodes", "tabs", "heading_row"), [(3, True, True), (5, True, True), (9, False, False), (12, False, False)]
)
def test_at_80x24_the_log_has_twelve_rows(nodes: int, tabs: bool, heading_row: bool) -> None:
    """Up to nine nodes have a row each; then nothing else has any but what is always there."""
    allotted = allot(24, nodes)
    others = sum((allotted.tabs, allotted.message, allotted.title, allotted.faults, allotted.verdicts))
    needed = min(nodes + heading_row, allotted.nodes)
    assert 24 - 3 - others - needed >= 12
    assert allotted.tabs is tabs
    assert allotted.nodes >= min(nodes, 9) + heading_row


def test_a_higher_screen_has_room_for_everything() -> None:
    allotted = allot(40, 5)
    assert all((allotted.tabs, allotted.message, allotted.title, allotted.faults, allotted.verdicts))


def test_of_many_nodes_the_important_ones_are_visible() -> None:
    """The selected one, the leader, and those with which something is the matter; the others are counted."""
    panes = _panes(40, "kill 17", "pause 23")
    shown, hidden = visible(panes, 3, 9)
    ids = [pane.id for pane in shown]
    assert ids == sorted(ids)
    assert len(ids) == 8
    assert {3, 40, 17, 23} <= set(ids)
    assert hidden.startswith("32 more: ")
    assert hidden.endswith(" Normal")
    assert visible(panes[:9], None, 9) == (panes[:9], "")


def test_the_strip_shows_what_was_the_matter_in_each_second() -> None:
    """The last of a second's statuses that is not normal; nothing before the node was started."""
    history = StatusHistory((1, 2))
    statuses = ((1_200_000, "Election"), (1_300_000, "Normal"), (2_500_000, "Election"), (3_400_000, "Normal"))
    history.observe(Process(1_100_000, 1, "started", 1))
    for at_us, status in statuses:
        history.observe(Step(at_us, 1, 1, Started({}, 1, 0), {"status": status, "coordinator": 1}))
    history.observe(Process(5_100_000, 1, "killed", 1))
    assert history.strip(1, 5_200_000, 6) == ("", "Election", "Election", "Election", "Normal", "killed")
    assert history.strip(1, 3_300_000, 3) == ("Election", "Election", "Election")
    assert history.strip(2, 5_200_000, 2) == ("", "")
    assert history.strip(9, 5_200_000, 2) == ()
    assert [history.leaderless_us(at_us) for at_us in (1_250_000, 1_350_000, 3_000_000, 5_200_000)] == [
        1_250_000,
        None,
        500_000,
        100_000,
    ]


def test_the_time_without_a_leader() -> None:
    panes = _panes(3, "kill 3")
    assert leaders_of(panes, 1_240_000).texts == (("nobody leads for 1.2 s", None),)
    assert leaders_of(panes, 1_240_000).is_pending


def test_a_click_on_a_row_selects_its_node() -> None:
    """Also below the lines that have opened under the selected one."""
    panes = _panes(5)

    selected: list[int] = []

    class RowsApp(App[None]):
        def compose(self) -> ComposeResult:
            yield NodePanes(STYLES)

        def on_node_panes_selected(self, message: NodePanes.Selected) -> None:
            selected.append(message.node)

    async def click() -> None:
        app = RowsApp()
        async with app.run_test(size=(80, 24)) as pilot:
            widget = app.query_one(NodePanes)
            widget.most_height, widget.room_for_cards = 9, False
            widget.show(panes, None)
            await pilot.pause()
            assert widget.size.height == 6
            await pilot.click(NodePanes, offset=(3, 2))
            widget.show(panes, 2)
            await pilot.pause()
            assert widget.size.height == 8
            await pilot.click(NodePanes, offset=(3, 6))
            await pilot.click(NodePanes, offset=(3, 0))
            await pilot.pause()

    asyncio.run(click())
    assert selected == [2, 4]


def test_for_a_hall_the_leader_is_in_letters_as_large_as_fit() -> None:
    """Five rows of blocks, else three, else plain text; the number of each node is as large."""
    panes = _panes(5, "kill 2")
    leaders = leaders_of(panes)
    assert leaders.brief.upper() == "5 LEADS 1 3 4"
    assert [len(largest(leaders.brief.upper(), width, False)) for width in (200, 50, 20)] == [5, 3, 1]
    assert all(row.isascii() for row in largest(leaders.brief.upper(), 200, True))
    lines = block_lines(panes, 120, 20, STYLES)
    drawn = ["".join(text for text, _ in line) for line in lines]
    assert {cell_len(line) for line in drawn if line} == {120}
    (statuses,) = (line for line in drawn if "Normal" in line)
    assert statuses.count("Normal") == 4
    assert "killed" in statuses
    assert "★" in statuses
    assert len(block_lines(panes, 120, 4, STYLES)) <= 4
    assert leaders_of(_panes(3, "kill 3"), 900_000).brief == "nobody leads"


def test_the_hall_and_back() -> None:
    """By its key, and by its word; what else is on the screen comes back."""

    async def test(seen: Seen) -> None:
        seen.player.seek(6_050_000)
        await seen.press("5")
        before = seen.text.split("\n")[:6]
        await seen.press("f11")
        await seen.until(lambda: "████" in seen.text, "large letters")
        assert "2 COORDINATORS" not in seen.text
        assert "log" not in seen.text
        assert "paused" in seen.text
        await seen.press("colon")
        await seen.type("hall")
        await seen.press("enter")
        await seen.until(lambda: "████" not in seen.text, "everything again")
        assert seen.text.split("\n")[:6] == before

    replay(test)


def test_a_hall_counts_the_nodes_that_have_no_room() -> None:
    """The leader and what is not normal stay; all numbers have one size."""
    panes = _panes(40, "kill 17")
    lines = ["".join(text for text, _ in line) for line in block_lines(panes, 80, 10, STYLES)]
    text = "\n".join(lines)
    assert "40  ● Normal ★" in text
    assert "17  ✖ killed" in text
    assert len(lines) <= 10
    shown = text.count("Normal") + text.count("killed") - 1
    assert f"… {40 - shown} more: " in lines[-1]


def test_more_room_after_the_first_frame_is_used() -> None:
    """The first frame may come before the screen has its layout."""
    panes = _panes(9)

    class CardsApp(App[None]):
        def compose(self) -> ComposeResult:
            yield NodePanes(STYLES)

    async def heights() -> list[int]:
        app = CardsApp()
        async with app.run_test(size=(120, 40)) as pilot:
            widget = app.query_one(NodePanes)
            widget.show(panes, None)
            await pilot.pause()
            first = widget.size.height
            widget.most_height = 18
            widget.show(panes, None)
            await pilot.pause()
            return [first, widget.size.height]

    assert asyncio.run(heights()) == [10, 15]


def test_many_rows_are_in_several_columns() -> None:
    """All nodes are in sight, in columns; a click selects in its column."""
    panes = _panes(40)
    selected: list[int] = []

    class WideApp(App[None]):
        def compose(self) -> ComposeResult:
            yield NodePanes(STYLES)

        def on_node_panes_selected(self, message: NodePanes.Selected) -> None:
            selected.append(message.node)

    async def drawn() -> str:
        app = WideApp()
        async with app.run_test(size=(200, 60)) as pilot:
            widget = app.query_one(NodePanes)
            widget.most_height, widget.density = 27, "rows"
            widget.show(panes, 7)
            await pilot.pause()
            assert widget.size.height == 21
            await pilot.click(NodePanes, offset=(3, 1))
            await pilot.click(NodePanes, offset=(103, 1))
            await pilot.pause()
            return "\n".join(widget.render_line(y).text for y in range(widget.size.height))

    text = asyncio.run(drawn())
    assert text.count("● Normal") == 40
    assert "more" not in text
    assert selected == [1, 21]
