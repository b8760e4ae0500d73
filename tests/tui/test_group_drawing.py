"""The history of groups as text: lanes that merge and split, and the text beside them."""

from collections.abc import Sequence
from itertools import combinations
from math import dist
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.style import Style

from lab.analysis.group_history import (
    HUES,
    ClusterEvent,
    GroupHistory,
    GroupLog,
    Membership,
    NormalInterval,
    RecordedMoment,
)
from lab.export.group_layout import GroupLayout
from lab.glyphs import glyphs_for
from lab.recording.reader import open_recording
from lab.styles import ThemeStyles
from lab.tui.views.group_drawing import GroupDrawing
from tests.harness import T_US
from tests.tui.grouped import partitioned_run

HOLE = Path(__file__).parents[2] / "recordings" / "holes" / "invitation-two-threads.jsonl"
UNICODE = glyphs_for({"LC_ALL": "C.UTF-8", "TERM": "xterm"})
ASCII = glyphs_for({"LC_ALL": "C.UTF-8", "TERM": "linux"})


def _drawing(
    log: GroupLog, width: int, styles: ThemeStyles | None = None, record: int | None = None
) -> GroupDrawing:
    groups, cluster_events = log.at(log.record if record is None else record)
    return GroupDrawing(
        GroupLayout(groups, cluster_events, (1, 2, 3, 4, 5), T_US), styles or ThemeStyles(UNICODE), width
    )


def _lines_of(drawing: GroupDrawing) -> list[str]:
    lines = [drawing.head(), *(drawing.line_pieces(line) for line in drawing.lines())]
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def _group(
    number: int, stays: Sequence[Membership], members: tuple[int, ...] = (), of: tuple[int, ...] = ()
) -> GroupHistory:
    formed = stays[0].since
    node = stays[0].node
    defined = formed if members else None
    return GroupHistory(number, (node, 1), formed, node, number, 1, defined, members, of, tuple(stays))


def _at(record: int) -> RecordedMoment:
    return RecordedMoment(record, record * 1_000)


def test_the_history_shows_leaders_members_origins_and_times() -> None:
    """Merges are bars between lanes; in 80 columns."""
    log = GroupLog.of(partitioned_run().records)
    lines = _lines_of(_drawing(log, 80))
    assert lines[0].split() == ["seconds", "1", "2", "3", "4", "5"]
    assert "    0.000  ★1.1  ★2.1  ★3.1  ★4.1  ★5.1  1-5 start, each alone" in lines
    healed = next(line for line in lines if "5 leads 1-4, of 2.3 5.3," in line)
    assert " 5.4 ━ 5.4 ━ 5.4 ━ 5.4 ━★5.4 " in healed
    assert any(line.endswith("5 killed") and "✖" in line for line in lines)
    assert any(line.endswith("heal: partition 1 2 | 3 4 5") for line in lines)
    split = next(place for place, line in enumerate(lines) if "1 2 each alone, of 5.2" in line)
    assert lines[split].split()[1:6] == ["★1.2", "★2.2", "┃", "┃", "┃"]
    assert max(map(cell_len, lines)) <= 80


@pytest.mark.parametrize("width", [50, 62, 80, 120, 200])
def test_no_line_is_too_wide(width: int) -> None:
    """Long text wraps; if lanes do not fit, groups are a list."""
    lines = _lines_of(_drawing(GroupLog.of(partitioned_run().records), width))
    assert max(map(cell_len, lines)) <= width
    assert ("┃" in "".join(lines)) == (width > 50)
    words = " ".join(" ".join(lines).replace("┃", " ").split())
    assert "5 leads 3 4," in words
    assert "all Normal after" in words


def test_every_sign_has_an_ascii_form() -> None:
    lines = "\n".join(_lines_of(_drawing(GroupLog.of(partitioned_run().records), 80, ThemeStyles(ASCII))))
    assert lines.isascii()
    assert "5.4 = 5.4 = 5.4 = 5.4 =^5.4" in lines


def test_a_merge_can_be_followed_node_by_node() -> None:
    """The lanes turn to the new group one by one, broken until their nodes are Normal in it."""
    log = GroupLog.of(partitioned_run().records)
    last = next(group for group in log.groups if group.group == (5, 4))
    assert last.all_normal is not None
    joined = set()
    for record in range(last.formed.record, last.all_normal.record + 1):
        lines = _lines_of(_drawing(log, 80, record=record))
        row = next(line for line in lines if "5.4" in line and "of 5.4" not in line)
        joined.add(row.count("5.4"))
        next_line = lines[lines.index(row) + 1] if lines.index(row) + 1 < len(lines) else ""
        assert "is forming it" in " ".join(lines) or "leads 1-4" in row
        assert ("╎" in next_line) == (record < last.all_normal.record), row
    assert joined == {1, 2, 3, 4, 5}


def test_a_lane_is_broken_while_its_node_is_not_normal() -> None:
    """The status when the next row begins decides."""
    normal_intervals = NormalInterval(_at(1), _at(4)), NormalInterval(_at(6))
    one = _group(0, [Membership(1, _at(1), None, normal_intervals)], members=(1,))
    done = [ClusterEvent(_at(record), f"cut {record}") for record in (3, 5, 7)]
    lines = _lines_of(GroupDrawing(GroupLayout([one], done, (1,), T_US), ThemeStyles(UNICODE), 60))
    assert [line.split()[1:] for line in lines[1:]] == [
        ["★1.1", "1", "starts,", "alone"],
        [],
        ["╎", "cut", "3"],
        ["┃", "cut", "5"],
        ["┃", "cut", "7"],
    ]


def test_a_node_left_in_reorganization_is_shown() -> None:
    """It leads its group alone and is never Normal in it."""
    log = GroupLog.of(open_recording(HOLE).records())
    lines = _lines_of(
        GroupDrawing(GroupLayout(log.groups, log.cluster_events, (2, 3, 4), T_US), ThemeStyles(UNICODE), 80)
    )
    left = next(place for place, line in enumerate(lines) if "2 alone, of 3.3" in line)
    assert all(line[13] == "╎" for line in lines[left + 1 :])


def test_a_late_member_has_a_row_of_its_own() -> None:
    """So no lane enters a group too early."""
    first = _group(0, [Membership(2, _at(1)), Membership(1, _at(9))])
    other = _group(1, [Membership(1, _at(3), _at(9), (NormalInterval(_at(3), _at(9)),))], members=(1,))
    drawing = GroupDrawing(GroupLayout([first, other], [], (1, 2), T_US), ThemeStyles(UNICODE), 60)
    lines = _lines_of(drawing)
    assert [line.split()[1:] for line in lines if "2.1" in line] == [
        ["★2.1", "2", "is", "forming", "it"],
        ["2.1", "╎", "1", "joins", "2.1"],
    ]


def test_a_bar_keeps_the_lanes_of_other_groups_visible() -> None:
    between = _group(0, [Membership(2, _at(1), None, (NormalInterval(_at(1)),))], members=(2,))
    around = _group(1, [Membership(3, _at(5)), Membership(1, _at(6))], members=(1, 3))
    lines = _lines_of(GroupDrawing(GroupLayout([between, around], [], (1, 2, 3), T_US), ThemeStyles(UNICODE), 70))
    assert any("3.1 ━━━┃━━━★3.1" in line for line in lines)


def test_fault_texts_of_a_foreign_recording_are_sanitized() -> None:
    drawing = GroupDrawing(
        GroupLayout([], [ClusterEvent(_at(1), "cut \x1b[2J" + "x" * 500)], (1,), T_US), ThemeStyles(UNICODE), 80
    )
    lines = "".join(_lines_of(drawing))
    assert "\x1b" not in lines
    assert "…" in lines


@pytest.mark.parametrize("dark", [True, False])
def test_group_colours_differ_for_the_colour_blind_too(dark: bool) -> None:
    """There is one for each number, with the identifier written on it."""
    styles = ThemeStyles(UNICODE)
    styles.dark = dark
    colours = [_perceived(styles.group(hue)) for hue in range(HUES)]
    for one, other in combinations(colours, 2):
        assert min(dist(a, b) for a, b in zip(one, other, strict=True)) > 0.06
    assert all(styles.badge(hue).bgcolor == styles.group(hue).color for hue in range(HUES))


def _perceived(style: Style) -> list[tuple[float, ...]]:
    """Return a colour in Oklab as perceived with all cones, without red, and without green ones (Machado 2009)."""
    assert style.color is not None
    channels = [channel / 255 for channel in style.color.get_truecolor()]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return [_oklab(_times(vision, linear)) for vision in VISIONS]


def _oklab(linear: Sequence[float]) -> tuple[float, ...]:
    return _times(OKLAB, [max(0, each) ** (1 / 3) for each in _times(CONES, [max(0, c) for c in linear])])


def _times(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


VISIONS = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.0520)),
    ((0.3673, 0.8606, -0.2280), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
)
CONES = ((0.4122, 0.5363, 0.0514), (0.2119, 0.6807, 0.1074), (0.0883, 0.2817, 0.6300))
OKLAB = ((0.2105, 0.7936, -0.0041), (1.9780, -2.4286, 0.4506), (0.0259, 0.7828, -0.8087))
