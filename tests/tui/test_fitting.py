"""A line that is cut says so, and never shows part of a number."""

import pytest
from rich.cells import cell_len
from rich.style import Style

from lab.styles import fit
from lab.tui.widgets.node_panes import NodePanes
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay


def _fitted(width: int, *texts: str) -> str:
    return "".join(text for text, _ in fit([(text, Style()) for text in texts], width))


@pytest.mark.parametrize(
    ("texts", "width", "expected"),
    [
        (("up 1 2 3 4",), 10, "up 1 2 3 4"),
        (("up 1 2 3 4",), 12, "up 1 2 3 4  "),
        (("up 1 2 3 4",), 9, "up 1 2 3…"),
        (("up 1 2 3 4",), 8, "up 1 2… "),
        (("coordinator 5", "  ", "up 1 2"), 13, "coordinator… "),
        (("coordinator 5", "  ", ""), 13, "coordinator 5"),
        (("up 9 10 11",), 7, "up 9 … "),
        (("abc",), 1, "…"),
        (("abc",), 0, ""),
        (("日本語",), 4, "日… "),
        ((), 2, "  "),
    ],
)
def test_a_cut_is_marked(texts: tuple[str, ...], width: int, expected: str) -> None:
    fitted = _fitted(width, *texts)
    assert fitted == expected
    assert cell_len(fitted) == width


def test_the_card_of_a_waiting_node_marks_every_cut() -> None:
    """At 80 columns the line number is left out as a whole, and the remaining time stays."""

    async def test(seen: Seen) -> None:
        seen.player.go(223)
        await seen.until(lambda: "4 ~ Reorganization" in seen.text, "node 4 reorganizes")
        rows = seen.text.split("\n")
        top = next(place for place, row in enumerate(rows) if "4 ~ Reorganization" in row)
        width = seen.of("NodePanes", NodePanes).size.width // 3
        box = [row[2 : width - 2].rstrip() for row in rows[top + 1 : top + 4]]
        assert box == ["coordinator 4  up 1 2…", "election  0.3 of 0.3 s", "SetCoordinator answer…"]

    replay(test, SHIPPED, (80, 32))
