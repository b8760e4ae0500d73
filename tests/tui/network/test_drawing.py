"""The network as text: sides as boxes and in words, the matrix at any size, a link in words."""

from collections.abc import Iterable

import pytest
from rich.cells import cell_len

from lab.analysis.group_history import GroupLog
from lab.glyphs import glyphs_for
from lab.protocols import InvitationElection
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Fault, Link
from lab.styles import Piece, ThemeStyles
from lab.tui.views.network_drawing import Matrix, Sides
from lab.tui.views.network_state import NetworkNow, Pair, describe_link, network_now
from tests.harness import T_US, Rig

STYLES = ThemeStyles(glyphs_for({"LANG": "C.UTF-8"}))
PLAIN = ThemeStyles(glyphs_for({"TERM": "linux"}))
NODES = (1, 2, 3, 4, 5)
LINK = Link(10_000, 3_000)


def _after(*commands: str, nodes: Iterable[int] = NODES) -> NetworkNow:
    """Return the network of an elected cluster under faults."""
    rig = Rig(nodes).started().run(20 * T_US)
    rig.do(*commands)
    return _now(rig)


def _now(rig: Rig) -> NetworkNow:
    return network_now(rig.cluster, GroupLog.of(rig.records))


def _text(lines: Iterable[list[Piece]]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def _boxes(now: NetworkNow, styles: ThemeStyles = STYLES, width: int = 40, height: int = 40) -> list[str]:
    return _text(Sides(now, styles, width).boxes(height))


def _words(now: NetworkNow, width: int = 100) -> list[str]:
    return _text(Sides(now, STYLES, width).words(9))


def _matrix(now: NetworkNow, width: int = 80, height: int = 9, cursor: Pair = (1, 2)) -> list[str]:
    return _text(Matrix(now, STYLES, width, height, cursor).lines(selected=None, has_focus=False))


def _describe(link: Pair, now: NetworkNow, now_us: int = 0) -> str:
    return " ".join(text for text, _ in describe_link(link, now, LINK, now_us, STYLES))


# the sides


def test_connected_nodes_share_a_box() -> None:
    """The coordinator has a star."""
    assert _boxes(_after()) == [
        "╭─ fully connected ─╮",
        "│ 1 2 3 4 ★5        │",
        "╰───────────────────╯",
    ]


def test_two_sides_are_two_boxes_with_the_cut_between() -> None:
    """Stopped nodes are listed below."""
    assert _boxes(_after("partition 1 2 | 3 4 5", "kill 4", "pause 1")) == [
        "╭─ alone ───────────╮",
        "│ 2                 │",
        "╰───────────────────╯",
        "      ╳ cut both ways",
        "╭─ fully connected ─╮",
        "│ 3 ★5              │",
        "╰───────────────────╯",
        "  ‖ 1 paused",
        "  ✖ 4 killed",
    ]


def test_one_way_links_are_listed() -> None:
    drawn = _boxes(_after("cut 1 2->3 4 5"))
    assert drawn[3].strip() == "→ one way only: 3-5→1 2"
    assert _boxes(_after("cut 1 2->3 4 5", "cut 3->1"))[3].strip() == "→ one way only: 3→2, 4 5→1 2"


def test_three_separated_sides() -> None:
    """It is stated once."""
    now = _after("partition 1 | 2 3 | 4 5")
    drawn = _boxes(now)
    assert [line.strip() for line in drawn].count("╳") == 2
    assert drawn[-1].strip() == "nothing passes between any of them"
    assert _words(now) == ["[ 1 ] [ 2 3 ] [ 4 ★5 ] nothing passes between any of them"]


def test_one_way_links_between_sides_that_are_not_adjacent() -> None:
    drawn = _boxes(_after("cut 1->2 3", "cut 2 3->1", "cut 2 3<->4 5", "cut 4 5->1"))
    assert drawn[-1].strip() == "one way: 1→4 5"
    assert [line.strip() for line in drawn].count("╳ cut both ways") == 2


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("hold 1 2<->3 4 5", "‖ held both ways"),
        ("lose 1 2<->3 4 5 100%", "− lost both ways"),
        ("cut 1 2<->3 4 5", "╳ cut both ways"),
    ],
)
def test_why_nothing_passes(command: str, title: str) -> None:
    """Not only a cut can be the reason."""
    assert _boxes(_after(command))[3].strip() == title


def test_several_reasons_why_nothing_passes() -> None:
    """None of them is named."""
    assert _boxes(_after("cut 1 2->3 4 5", "hold 3 4 5->1 2"))[3].strip() == "╳ nothing passes"


def test_link_faults_within_a_side_are_in_its_box() -> None:
    """A cut within the side too; inert faults are in brackets."""
    drawn = _boxes(_after("cut 2->3", "delay all 400ms", "lose 1 2->4 NewState 30%"))
    assert drawn[0].startswith("╭─ connected ─")
    assert "(╳ cut)  2→3" in drawn[2]
    assert any("(+400ms)  on every link" in line for line in drawn)
    assert any("(−30% NewState)  1 2→4" in line for line in drawn)


def test_a_group_has_its_identifier_before_its_nodes() -> None:
    """Two groups on a side are two lines of a box."""
    rig = Rig((1, 2, 3), protocol=InvitationElection).started().run(20 * T_US)
    group = "{}.{}".format(*rig.cluster.nodes[3].state["group"])
    lead = rig.cluster.nodes[3].coordinator
    inside = _boxes(_now(rig))[1]
    assert f"│  {group}  " in inside
    assert f"★{lead}" in inside


def test_boxes_that_are_too_high_become_words() -> None:
    now = _after("partition " + " | ".join(map(str, range(1, 11))), nodes=range(1, 11))
    assert len(_boxes(now, height=100)) == 40
    assert _boxes(now, width=60, height=12)[0] == "[ 1 ] [ 2 ] [ 3 ] [ 4 ] [ 5 ] [ 6 ] [ 7 ] [ 8 ] [ 9 ] [ ★10"
    assert " ".join(_words(now, 200)).endswith("nothing passes between any of them")


def test_many_nodes_are_written_as_ranges() -> None:
    """Interrupted by coordinators."""
    assert _words(_after(nodes=range(1, 21))) == ["[ 1-19 ★20 ] fully connected"]


def test_no_node_runs() -> None:
    assert _boxes(_after("kill all")) == ["  ✖ 1-5 killed"]
    assert _words(_after("kill all")) == ["✖ 1-5 killed"]


# the matrix


def test_a_row_sends_and_a_column_receives() -> None:
    """A link cut in one direction is cut in one cell."""
    lines = _matrix(_after("cut 2->3"))
    assert lines[0].split() == ["from→to", "1", "2", "3", "4", "★5"]
    rows = {line.split()[0]: line for line in lines[1:]}
    assert "(╳ cut)" in rows["2"]
    assert not any("cut" in rows[node] for node in ("1", "3", "4", "★5"))
    assert lines[2].index("(╳ cut)") == lines[0].index("3")


def test_a_row_shows_the_process_state_of_its_node() -> None:
    """As a word if there is room, as a sign always; links to dead nodes do not look open."""
    now = _after("kill 4", "pause 2")
    wide = _matrix(now)
    assert wide[2].split()[:2] == ["paused", "‖2"]
    assert wide[4].split() == ["killed", "✖4"]
    narrow = _matrix(now, width=24)
    assert [line.split()[0] for line in narrow[1:]] == ["1", "‖2", "3", "✖4", "★5"]


def test_with_room_there_are_gaps_between_rows() -> None:
    """A click on a gap is for the row above."""
    now = _after()
    assert [bool(line) for line in _matrix(now, height=11)] == [True, *[True, False] * 5]
    assert Matrix(now, STYLES, 80, 11, (1, 2)).link_at(70, 4) == (2, 5)


def test_several_faults_share_a_cell() -> None:
    """In full, then without jitter, then as signs, then only the most important."""
    now = _after("lose 2->3 30%", "delay 2->3 400ms ±100ms")

    def cell(width: int) -> str:
        matrix = Matrix(now, STYLES, width, 9, (1, 2))
        line = "".join(text for text, _ in matrix.lines(selected=None, has_focus=False)[2])
        start = len(line) - 3 * matrix.cell
        return line[start : start + matrix.cell].strip()

    assert cell(98) == "(−30%) (+400ms)"
    assert cell(60) == "(−) (+)"
    assert cell(30) == "− +"
    assert cell(16) == "−"


def test_messages_in_flight_are_counted_in_their_cell() -> None:
    """Held ones separately."""
    rig = Rig(NODES).started().run(20 * T_US)
    rig.do("hold 5->3")
    rig.run_until(lambda: any(each.held for each in rig.cluster.in_flight.values()), 20 * T_US, "one is held")
    assert "‖ held ‖1" in _matrix(_now(rig), width=100)[5]
    flight = next(each for each in rig.cluster.in_flight.values() if not each.held)
    assert "→1" in _matrix(_now(rig))[flight.source]


@pytest.mark.parametrize("nodes", [20, 40])
@pytest.mark.parametrize("size", [(30, 6), (78, 8), (120, 24), (200, 50)])
def test_a_part_of_a_large_matrix_is_shown(nodes: int, size: tuple[int, int]) -> None:
    """Around the cursor, with the range; no line is too long, and clicks work."""
    now = _after("partition 1 2 3", nodes=range(1, nodes + 1))
    width, height = size
    for cursor in ((1, nodes), (nodes // 2, nodes // 2 + 1), (nodes, 1)):
        matrix = Matrix(now, STYLES, width, height, cursor)
        lines = matrix.lines(selected=cursor[0], has_focus=True)
        assert len(lines) <= height
        assert all(cell_len("".join(text for text, _ in line)) <= width for line in lines)
        seen = {matrix.link_at(x, y) for y in range(height) for x in range(width)} - {None}
        assert cursor in seen
        assert bool(matrix.left_out) == (len(seen) < nodes * nodes)
        assert any(f"{cursor[0]}" in line and "▶" in line for line in _text(lines))


def test_without_utf8_all_is_ascii() -> None:
    """Except for the ellipsis."""
    now = _after("cut 1 2->3 4 5", "hold 3->1", "duplicate 1<->2 20%", "reorder 4->5 50%", "kill 2")
    matrix = Matrix(now, PLAIN, 90, 20, (1, 2))
    lines = [*_boxes(now, PLAIN), *_text(matrix.lines(selected=1, has_focus=True))]
    assert all(line.isascii() for line in lines), lines


# a link in words


def test_a_link_in_words() -> None:
    """Its latency, each fault with its start and count, and the messages in flight."""
    rig = Rig(NODES).started().run(20 * T_US)
    rig.do("delay 5->3 400ms ±100ms", "lose 5->3 SetCoordinator 30%")
    rig.run_until(lambda: rig.cluster.faults[1].messages == 1, 20 * T_US, "a message on that link")
    text = _describe((5, 3), _now(rig), rig.now_us + 1_000)
    since = f"{20 * T_US / 1e6:.3f} s"
    assert text.startswith("5 → 3: 10ms ±3ms − lose 5->3 SetCoordinator 30%, since ")
    assert f"lose 5->3 SetCoordinator 30%, since {since}, no effect so far" in text
    assert f"delay 5->3 400ms ±100ms, since {since}, 1 message so far" in text
    assert "→ AreYouNormal, sent 0.001 s ago" in text


def test_a_link_with_an_end_that_does_not_run() -> None:
    """A dead node sends and receives nothing; a paused one receives later."""
    now = _after("kill 4", "pause 2")
    assert "4 is killed and sends nothing" in _describe((4, 1), now)
    assert "4 is killed: messages to it are lost" in _describe((1, 4), now)
    assert "2 is paused: messages to it wait until it resumes" in _describe((1, 2), now)


def test_no_link_at_all() -> None:
    """From a node to itself, or to an unknown node."""
    assert _describe((2, 2), _after()) == "2 has no link to itself"
    assert not describe_link((1, 9), _after(), LINK, 0, STYLES)


def test_an_unknown_kind_of_fault() -> None:
    """Shown by its own word, without control characters."""
    cluster = ClusterState((1, 2))
    cluster.apply(Fault(0, 1, "me\x1blt", "melt 1->2", links=((1, 2),)))
    now = network_now(cluster, GroupLog())
    assert "! me\\x1blt" in _matrix(now)[1]
    assert "! melt 1->2, since 0.000 s, no effect so far" in _describe((1, 2), now)
