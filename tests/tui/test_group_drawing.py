"""The history of groups with letters: lanes that come together and part, and what is said beside them."""

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
    Point,
)
from lab.glyphs import glyphs_for
from lab.recording.reader import open_recording
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.views.groups.group_drawing import GroupDrawing
from tests.harness import T_US
from tests.tui.grouped import parted

HOLE = Path(__file__).parents[2] / "recordings" / "holes" / "invitation-two-threads.jsonl"
UNICODE = glyphs_for({"LC_ALL": "C.UTF-8", "TERM": "xterm"})
ASCII = glyphs_for({"LC_ALL": "C.UTF-8", "TERM": "linux"})


def _drawing(
    log: GroupLog, width: int, theme_styles: ThemeStyles | None = None, record: int | None = None
) -> GroupDrawing:
    groups, cluster_events = log.at(log.record if record is None else record)
    return GroupDrawing(groups, cluster_events, (1, 2, 3, 4, 5), T_US, theme_styles or ThemeStyles(UNICODE), width)


def _told(drawing: GroupDrawing) -> list[str]:
    lines = [drawing.head(), *(drawing.line_pieces(line) for line in drawing.lines())]
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def _group(
    number: int, stays: Sequence[Membership], members: tuple[int, ...] = (), of: tuple[int, ...] = ()
) -> GroupHistory:
    formed = stays[0].since
    node = stays[0].node
    defined = formed if members else None
    return GroupHistory(number, (node, 1), formed, node, number, 1, defined, members, of, tuple(stays))


def _at(record: int) -> Point:
    return Point(record, record * 1_000)


def test_a_student_reads_who_led_who_was_in_of_what_and_when() -> None:
    """Merges are bars between lanes, splits are lanes that part; in 80 columns."""
    log = GroupLog.of(parted().records)
    told = _told(_drawing(log, 80))
    assert told[0].split() == ["seconds", "1", "2", "3", "4", "5"]
    assert "    0.000  ★1.1  ★2.1  ★3.1  ★4.1  ★5.1  1-5 start, each alone" in told
    healed = next(line for line in told if "5 leads 1-4, of 2.3 5.3," in line)
    assert " 5.4 ━ 5.4 ━ 5.4 ━ 5.4 ━★5.4 " in healed
    assert any(line.endswith("5 killed") and "✖" in line for line in told)
    assert any(line.endswith("heal: partition 1 2 | 3 4 5") for line in told)
    split = next(place for place, line in enumerate(told) if "1 2 each alone, of 5.2" in line)
    assert told[split].split()[1:6] == ["★1.2", "★2.2", "┃", "┃", "┃"]
    assert max(map(cell_len, told)) <= 80


@pytest.mark.parametrize("width", [50, 62, 80, 120, 200])
def test_no_line_is_wider_than_it_may_be(width: int) -> None:
    """What does not fit beside the lanes goes on below; where lanes do not fit, groups are a list."""
    told = _told(_drawing(GroupLog.of(parted().records), width))
    assert max(map(cell_len, told)) <= width
    assert ("┃" in "".join(told)) == (width > 50)
    words = " ".join(" ".join(told).replace("┃", " ").split())
    assert "5 leads 3 4," in words
    assert "all Normal after" in words


def test_every_sign_has_an_ascii_likeness() -> None:
    """For terminals that have nothing else; and no sign is a colour alone."""
    told = "\n".join(_told(_drawing(GroupLog.of(parted().records), 80, ThemeStyles(ASCII))))
    assert told.isascii()
    assert "5.4 = 5.4 = 5.4 = 5.4 =^5.4" in told


def test_a_merge_can_be_followed_node_by_node() -> None:
    """The lanes turn to the new group one after the other, broken until their nodes are Normal in it."""
    log = GroupLog.of(parted().records)
    last = next(group for group in log.groups if group.group == (5, 4))
    assert last.all_normal is not None
    joined = set()
    for record in range(last.formed.record, last.all_normal.record + 1):
        told = _told(_drawing(log, 80, record=record))
        row = next(line for line in told if "5.4" in line and "of 5.4" not in line)
        joined.add(row.count("5.4"))
        below = told[told.index(row) + 1] if told.index(row) + 1 < len(told) else ""
        assert "is forming it" in " ".join(told) or "leads 1-4" in row
        assert ("╎" in below) == (record < last.all_normal.record), row
    assert joined == {1, 2, 3, 4, 5}


def test_a_lane_is_broken_while_its_node_is_not_normal() -> None:
    """Also where it was before, and is again: what counts is how it is as the next row comes."""
    normal_intervals = NormalInterval(_at(1), _at(4)), NormalInterval(_at(6))
    one = _group(0, [Membership(1, _at(1), None, normal_intervals)], members=(1,))
    done = [ClusterEvent(_at(record), f"cut {record}") for record in (3, 5, 7)]
    told = _told(GroupDrawing([one], done, (1,), T_US, ThemeStyles(UNICODE), 60))
    assert [line.split()[1:] for line in told[1:]] == [
        ["★1.1", "1", "starts,", "alone"],
        [],
        ["╎", "cut", "3"],
        ["┃", "cut", "5"],
        ["┃", "cut", "7"],
    ]


def test_the_recording_of_a_node_left_in_reorganization_shows_that() -> None:
    """Its group is one that it leads alone, and in it the node is never Normal again."""
    log = GroupLog.of(open_recording(HOLE).records())
    told = _told(GroupDrawing(log.groups, log.cluster_events, (2, 3, 4), T_US, ThemeStyles(UNICODE), 80))
    left = next(place for place, line in enumerate(told) if "3 alone, of 4.2" in line)
    assert all(line[19] == "╎" for line in told[left + 1 :])


def test_who_joins_late_has_a_row_of_its_own() -> None:
    """So no lane says that a node took a group before it did."""
    first = _group(0, [Membership(2, _at(1)), Membership(1, _at(9))])
    other = _group(1, [Membership(1, _at(3), _at(9), (NormalInterval(_at(3), _at(9)),))], members=(1,))
    drawing = GroupDrawing([first, other], [], (1, 2), T_US, ThemeStyles(UNICODE), 60)
    told = _told(drawing)
    assert [line.split()[1:] for line in told if "2.1" in line] == [
        ["★2.1", "2", "is", "forming", "it"],
        ["2.1", "╎", "1", "joins", "2.1"],
    ]


def test_a_bar_leaves_a_lane_between_its_ends_alone() -> None:
    """The node is in another group, and that is seen."""
    between = _group(0, [Membership(2, _at(1), None, (NormalInterval(_at(1)),))], members=(2,))
    around = _group(1, [Membership(3, _at(5)), Membership(1, _at(6))], members=(1, 3))
    told = _told(GroupDrawing([between, around], [], (1, 2, 3), T_US, ThemeStyles(UNICODE), 70))
    assert any("3.1 ━━━┃━━━★3.1" in line for line in told)


def test_what_a_foreign_recording_says_of_faults_is_made_safe() -> None:
    """No escape code reaches the terminal."""
    drawing = GroupDrawing(
        [], [ClusterEvent(_at(1), "cut \x1b[2J" + "x" * 500)], (1,), T_US, ThemeStyles(UNICODE), 80
    )
    told = "".join(_told(drawing))
    assert "\x1b" not in told
    assert "…" in told


@pytest.mark.parametrize("dark", [True, False])
def test_the_colours_of_groups_are_told_apart_by_colour_blind_people_too(dark: bool) -> None:
    """There is one for each number; the identifier is written on it."""
    theme_styles = ThemeStyles(UNICODE)
    theme_styles.dark = dark
    colours = [_seen(theme_styles.group(hue)) for hue in range(HUES)]
    for one, other in combinations(colours, 2):
        assert min(dist(a, b) for a, b in zip(one, other, strict=True)) > 0.06
    assert all(theme_styles.badge(hue).bgcolor == theme_styles.group(hue).color for hue in range(HUES))


def _seen(style: Style) -> list[tuple[float, ...]]:
    """A colour as most see it, and without red's cones, and without green's (Machado 2009), in Oklab."""
    assert style.color is not None
    channels = [channel / 255 for channel in style.color.get_truecolor()]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return [_oklab(_times(sight, linear)) for sight in SIGHTS]


def _oklab(linear: Sequence[float]) -> tuple[float, ...]:
    return _times(OKLAB, [max(0, each) ** (1 / 3) for each in _times(CONES, [max(0, c) for c in linear])])


def _times(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


SIGHTS = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.0520)),
    ((0.3673, 0.8606, -0.2280), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
)
CONES = ((0.4122, 0.5363, 0.0514), (0.2119, 0.6807, 0.1074), (0.0883, 0.2817, 0.6300))
OKLAB = ((0.2105, 0.7936, -0.0041), (1.9780, -2.4286, 0.4506), (0.0259, 0.7828, -0.8087))
