"""The text of a row of the log: nodes outside the cluster by their names, in one column with all others."""

import pytest

from lab.glyphs import glyphs_for
from lab.recording.log_lines import LogLine
from lab.styles import ThemeStyles
from lab.tui.views.log_view import RowFormat

STYLES = ThemeStyles(glyphs_for({"LC_ALL": "C.UTF-8"}))
NAMES = {4: "c4", 7: "lin-kv"}
WRITE = LogLine(1, 2_000_000, "message", '{"key":1}', 4, 2, "Write", 9)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (WRITE, "2.000 c4 → 2 Write in flight key 1"),
        (LogLine(1, 0, "message", "{}", 3, 7, "Read", 1), "0.000 3 → lin-kv Read in flight"),
        (LogLine(1, 0, "process", "killed", 7, kind="killed"), "0.000 lin-kv ✖ killed"),
        (LogLine(1, 0, "process", "killed", 3, kind="killed"), "0.000 3 ✖ killed"),
    ],
)
def test_names(line: LogLine, text: str) -> None:
    """As in the diagram."""
    assert RowFormat(STYLES, NAMES).text(line, None) == text


def test_columns() -> None:
    """All rows of a run are as wide as its longest name needs, and as before without names."""
    for names, width in ((NAMES, 6), ({}, 2)):
        shown = RowFormat(STYLES, names)
        ends, _ = shown.pieces(WRITE, None)[0]
        assert ends.index("→") == width + 1
        alone, _ = shown.pieces(LogLine(1, 0, "status", "Normal", 3, kind="Normal"), None)[0]
        assert alone.index("3") == width - 1


def test_a_search_finds_them() -> None:
    """By the name, not by the number."""
    assert RowFormat(STYLES, NAMES).searchable(WRITE) == "c4 → 2 write key 1"
