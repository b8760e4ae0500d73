"""Small pictures of the diagram, exact to the sign."""

from itertools import pairwise
from pathlib import Path

import pytest

from lab.protocols import Bully
from lab.tui.views.diagram_scene import plane_of
from tests.harness import T_US, Rig
from tests.tui.pictured import pictured, text_of

TAKEOVER = """\
           1 ~       2 ~       3 ✖
 ⋮ 110 ms  ┃         ┃
   0.530   ┣⠤AreYouUp┃
           ┃  ⠈⠙⠫⢖⡢⠤⣀┣⠤⡀
   0.540   ┃      ⠈⢑▶┫⠉⠚⠳⠤⣀⡀
           ┃    ⢀⠤⠊⠁ ┃    ⠈⠪⢍⠒×
           ┃  ⡠⠔⠉    ┃AreYouUp×
   0.550   ┃◀↩AreYou…┃
 ⋮ 100 ms  ┃         ┃
   0.650   ┃    ⢀⣀⡠⠤⠤? Electi…
   0.660   ?◀⠶⢎⣉⡉    ╏ EnterElection
   0.670   ╏ Electi…▶~ Reorga…
   0.680   ~◀⠶⢎⣉⡉    ┇ SetCoordinator
◆──0.690───┇─Reorga…▶┫─NewState─────────────────────────
   0.700   ●◀⠶⢎⣉⡉    ┇
   0.710   ┃ Normal⠒▶★ Normal
           ┃         ┃         ○ up
           ┃         ┃EnterEl…⠤? Electi…
           ┃     ⣀⣀⡠⠤┃⠒⠊⠉⠉⢀⠤⠊⠁ ▶ restart 3 · 3 restarted
   0.720   ?◀⠶⢎⣉⣉    ┃  ⡠⠔⠉    ╏
           ╏ Electi…⠒?◀⢭⣀⣀⡀    ╏"""
IN_ASCII = """\
           1 ~       2 ~       3 x
   0.540   |     /// |    \\\\\\-x
           |  ///    |AreYouUpx
   0.550   |<<AreYou…|
 : 100 ms  |         |
   0.650   |    -----? Electi…
   0.660   ?<----    : EnterElection
   0.670   : Electi…>~ Reorga…
   0.680   ~<----    ; SetCoordinator
#--0.690---;-Reorga…>+-NewState-------------------------
   0.700   *<----    ;
   0.710   | Normal->^ Normal
           |         |         o up
           |         |EnterEl…/? Electi…
           |    -----|----///  > restart 3 · 3 restarted"""
TO_THE_RIGHT = """\
                    ┴0.500              ┴0.600            ◆ ┴0.700
                                                     ↩EnterElection
   1 ~  ━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━?╍╍╍~┅┅┅●━━━?╍╍╍~┅┅┅●━━
                          ⣧  ⡔▲↩AreYouUp           ⡔▲  ⡔▲ │⡔▲  ⢰▲  ⢰▲  ⢰▲
                          ⢱⠣▼AreYouUp             ⡜  ⠣▼  ⠣▼  ⠣▼⡎⢱  ⡎⢱  ⡎⢱
   2 ~  ━━━━━━━━━━━━━━━━━━┳━┻━━━━━━━━━━━━━━━━━━━━━?╍╍╍~┅┅┅┻┅┅┅★━?╍╍╍~┅┅┅●━━
                          ⢣⢇                              │   ⡸⡔▲⢇⡸⡔▲⢇⡸⡔▲⢇
                           ⠻×AreYouUp                     │   ⡟  ⠻▼  ⠻▼  ⠻▼
   3 ✖                                                    │   ○?╍╍~┅┅┅┻┅┅┅★
                                                          │    EnterElection
                                                          │   ▶ restart 3 ·…"""
DENSE = """\
           1 ~        2 ~        3 ✖
           ┃          ┃
           ┃          ┃
           ┃          ┃
           ┣⠉AreYouUp⠉┣⠉⠉⠉⠉⠉⠉⠉⠉⠉×
   0.500┤  ┃─── 3 ────┃─── 2 ────
◆──────────?━━━ 4 ━━━━?─Election────────────────────────────
           ?━━━ 7 ━━━━?━━━ 12 ━━━○ up  ▶ restart 3 · 3 rest…"""
HIDDEN = """\
           1 ~       2 ~       3 ✖
 ⋮ 110 ms  ┃         ┃
   0.530   ┣⠤AreYouUp┃
           ┃  ⠈⠙⠫⢖⡢⠤⣀┣⠤⡀
   0.540   ┃      ⠈⢑▶┫⠉⠚⠳⠤⣀⡀
           ┃    ⢀⠤⠊⠁ ┃    ⠈⠪⢍⠒×
           ┃  ⡠⠔⠉    ┃AreYouUp×
   0.550   ┃◀↩AreYou…┃
 ⋮ 100 ms  ┃         ┃
   0.650   ┃    ⢀⣀⡠⠤⠤? Electi…
   0.660   ?◀⠶⢎⣉⡉    ╏ EnterElection
   0.670   ╏ Electi…▶~ Reorga…
   0.680   ~◀⠶⢎⣉⡉    ┇ SetCoordinator
◆──0.690───┇─Reorga…▶┫─NewState─────────────────────────"""
FAULTS = """\
           1 ★          2 ?          3 ‖
   0.020   ╏◁↩AreYouUp  ╏⠑⢢⠤⣉⠑⢄      ╏
           ╏            ╏◁⠁  ⠉⠑⠫⠦⣀   ╏
           ╏            ╏        ⠑⠫⡑▶╏
           ╏            ╏⣀⣀⣀⣀⣀⡠⠤⠤⠤⣤⡬▶~ Reorganiz…
   0.030   ~◀⠶⠶⢖⣒⣒⡊⠉⠉⠉⠉⠉╏   ⢀⣀⠤⠖⠊⠉   ┇ SetCoordinator
           ┇ Reorganiz…⠒~◀⢶⣍⣁⣀⡀      ┇
   0.040   ┇ Reorganiz… ┇   ⠉⠑⠚⠭⣉⡑⠒⠒▶┇
           ┇            ┇⣀⣀⣀⣀⣀⡠⠤⠤⠬⣭⡶▶┫
   0.050   ●◀⠶⠶⢖⣒⣒⡊⠉⠉⠉⠉⠉┇   NewState ┇
           ┃ Normal⠉⠉⠑⠒⠒●◀⢶⣍⣁⣀⡀      ┇
   0.060   ┃     Normal ┃   ⠉⠑⠚⠭⣉⡑⠒⠒▶┇
           ┃            ┃  ↩NewState▶★ Normal
           ┃            ┃            ‖ paused
           ┃     ┊      ┃            ║      ▶ pause 3 · 3 paused
           ┃     ┊      ┃          ▶ partition 1 | 2 3 · 4 links
 ⋮ 350 ms  ┃     ┊      ┃            ║
   0.410   ┣⠤ ⠤ ⣀┊      ┃            ║
           ┃   AreYouUp×┃            ║
           ┃     ┊      ┣⡄AreYouUp   ║
 ⋮ 120 ms  ┃     ┊      ┃⢣           ║
   0.530   ┣⠤AreYouUp   ┃⠘⡄          ║
           ┃   ⠈⠓┊×⢀⡀   ┃ ⢣          ║
           ┃     ┊   ⠈⠂×┃ ⠸⡀         ║
           ┃   AreYouUp ┣⡄ ⢇         ║
 ⋮ 120 ms  ┃     ┊      ┃⢱ ⠸⡀        ║
   0.650   ★ Normal     ┃⠈⡆ ⢇        ║
           ┃EnterElect…⠤? Election   ║
           ┃     ┊×⠐⠁   ╏  ⡇ ⡇       ║
   0.660   ┃     ┊      ╏  ⠸⡀⢸       ║    ▶ heal · 1 fault ended
           ┃     ┊      ╏   ⢇ ⡇       ▶ delay 1->2 30ms · 1 link
◆──────────┃─────┊──────╏───⠘⡄⢸── ▶ duplicate 2->1 100% · 1 link
 ⋮ 110 ms  ┃     ┊      ╏    ⢣ ⡇     ║
   0.770   ┃     Normal ★    ⠈⡆⢱     ║
 ⋮ 120 ms  ★     ┊      ┃     ⢱⠈⡆    ║
   0.890   ┣⠤AreYouUp   ┃      ⡇⢱    ║
           ┃ ⠈⠫⡀⠤┊      ┣⡄     ⢸⠈⡆   ║
   0.900   ┃   ⠈⠒⢄⠁⠠⠄   ┃⠘⡄     ⢇⢣   ║      ▶ hold 2->1 · 1 link
   0.930   ┃     ┊⠑⢄ ⠈⠁▶┫ ⠘⢄    ⠸⡘⡄  ║
           ┃     ┊  ⠉⠢⡠ ┃  ⠈⢆    ⢣⢣  ║
  ⋮ 80 ms  ┃     ┊  ⢀⠄⠈⠢┃   ⠈⢆   ⠘⡜⡄ ║
   1.010   ┃     ┊ ⢠   ⢠?⠢Election⢱⢇ ║
           ★     ┊‖   ⡠ ╏ ⠈⠢⣀  ⢣  ⠈⡾⡀║
   1.020   ┃     ┊  ⢀⠄  ╏    ⠑⢄ ⢣  ⢱⢇★ Normal
           ┃     ┊ ⢠    ╏      ⠑⠤⣣  ▶┫ ↩AreYouUp
           ┃     ┊‖     ╏AreYouUp⠈⠷⡀▶┫ ↩AreYouUp
           ┃     ┊      ╏       ⠊ ⣔⠹▶┫
           ┃     ┊      ╏    ⡀⡨⠁⠚   ▶┫ ↩AreYouUp
           ┃     ┊      ╏⡀⢠⠆⠉⡀⠈⠁  ⠔  ┃    ▶ resume 3 · 3 resumed
   1.030   ┃     ┊  ⢀⠄⠐⠂╏◁⢀⠄⠈   ⠊    ┃
           ★  ⢀↩AreYouUp╏◁  ⢀ ⠊      ┃"""


@pytest.fixture(scope="module")
def takeover(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The coordinator dies, the next one takes over, and the first one recovers."""
    rig = Rig((1, 2, 3), parameters=Bully.Parameters(halting="at_once")).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.run_until_agreed()
    rig.do("restart 3")
    return rig.run(T_US // 2).write(tmp_path_factory.mktemp("pictures") / "takeover.jsonl")


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A paused coordinator, a partition, and links that delay, duplicate and hold."""
    rig = Rig((1, 2, 3), parameters=Bully.Parameters(halting="at_once")).started()
    rig.run_until_agreed()
    rig.do("pause 3", "partition 1 | 2 3")
    rig.run(5 * T_US)
    rig.do("heal", "delay 1->2 30ms", "duplicate 2->1 100%")
    rig.run(2 * T_US)
    rig.do("hold 2->1")
    rig.run(T_US)
    rig.do("resume 3")
    return rig.run(T_US).write(tmp_path_factory.mktemp("pictures") / "faults.jsonl")


def test_a_row_for_each_step_reads_like_the_log(takeover: Path) -> None:
    """Dead nodes have no line, idle time has a row, the coordinator has a star."""
    assert text_of(pictured(takeover, 690_000, (56, 22))) == TAKEOVER


def test_without_utf8_it_is_drawn_in_ascii(takeover: Path) -> None:
    picture = text_of(pictured(takeover, 690_000, (56, 16), fine=False))
    assert picture == IN_ASCII
    assert picture.translate(dict.fromkeys(map(ord, "…·"))).isascii()


def test_time_flows_to_the_right_as_well(takeover: Path) -> None:
    """With a column for five milliseconds."""
    assert text_of(pictured(takeover, 690_000, (76, 12), zoom=3, down=False)) == TO_THE_RIGHT


def test_many_messages_at_once_are_counted(takeover: Path) -> None:
    """A row of a tenth of a second shows the number between two lines, and the statuses."""
    assert text_of(pictured(takeover, 690_000, (60, 10), zoom=5)) == DENSE


def test_the_future_can_be_hidden(takeover: Path) -> None:
    """Nothing is shown below the cursor in time."""
    assert text_of(pictured(takeover, 690_000, (56, 22), hides_future=True)) == HIDDEN


@pytest.mark.parametrize("zoom", [0, 2, 3, 5])
def test_the_future_is_hidden_where_time_flows_to_the_right(takeover: Path, zoom: int) -> None:
    """Also the rest of a word that begins before the cursor."""
    shown, hidden = (
        text_of(pictured(takeover, 690_000, (76, 12), zoom=zoom, down=False, hides_future=hides)).split("\n")
        for hides in (False, True)
    )
    cursor = hidden[0].index("◆")
    assert max(map(len, hidden)) == cursor + 1 < max(map(len, shown))
    assert hidden == [row[: cursor + 1].rstrip() for row in shown]


def test_every_fault_has_its_sign(faults: Path) -> None:
    """Paused: a double line; partitioned links: a band; lost: a cross; touched by a fault: ! and a dashed line."""
    picture = text_of(pictured(faults, 690_000, (64, 52)))
    assert picture == FAULTS
    for sign in ("‖ paused", "║", "┊", "×", "▶ heal"):
        assert sign in picture
    assert "!AreYouUp" in text_of(pictured(faults, 690_000, (120, 52)))


def test_the_part_after_the_cursor_is_dim(takeover: Path) -> None:
    canvas = pictured(takeover, 690_000, (56, 22))
    cursor = next(y for y in range(22) if canvas.letter(0, y) == "◆")
    assert not canvas.style(11, cursor - 1).dim
    assert all(canvas.style(11, y).dim for y in range(cursor + 1, 20))


def test_nodes_around_the_selected_one_are_shown(tmp_path: Path) -> None:
    """As many narrow lines as fit; the picture counts the others."""
    path = Rig(range(1, 41)).started().run(T_US // 4).write(tmp_path / "many.jsonl")
    shown = " ".join(map(str, range(1, 19)))
    assert text_of(pictured(path, T_US // 4, (80, 10))).split("\n")[0].split() == f"{shown} 22 more ▶".split()
    names = text_of(pictured(path, T_US // 4, (80, 10), selected=30)).split("\n")[0]
    assert names.startswith("◀ 20 more 21 22")
    assert names.endswith("37 38  2 more ▶")
    rows = text_of(pictured(path, T_US // 4, (80, 23), selected=30, down=False)).split("\n")
    assert rows[0].startswith("▲ 24 more ")
    assert rows[1].split()[0] == "25"
    assert rows[-1].startswith("▼ 6 more ")


@pytest.mark.parametrize(
    ("count", "width", "pitch"),
    [(5, 80, 11), (5, 120, 18), (5, 200, 34), (12, 200, 12), (2, 200, 40), (40, 80, 3)],
)
def test_lines_use_the_width(count: int, width: int, pitch: int) -> None:
    """Evenly, but for a margin of events; at most so far apart that both ends of an arrow are seen together."""
    plane = plane_of(range(1, count + 1), None, width, 24, down=True)
    lanes = list(plane.lanes.values())
    assert {after - before for before, after in pairwise(lanes)} == {pitch}
    assert len(lanes) == (count if width > 80 or count == 5 else 18)
    assert width - plane.margin >= 12
    assert width - plane.margin <= 45 or pitch == 40


def test_the_causal_cone_of_the_selection_is_highlighted(takeover: Path) -> None:
    """Everything else is grey: here the last messages to the dead node."""
    grey = pictured(takeover, 690_000, (56, 22), picked=(2, 9))
    plain = pictured(takeover, 690_000, (56, 22))
    places = [(x, y) for y in range(1, 20) for x in range(56) if grey.style(x, y).color != plain.style(x, y).color]
    assert places
    assert all(grey.style(x, y).color is not None for x, y in places)
