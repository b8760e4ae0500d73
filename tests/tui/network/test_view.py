"""The network view at any size, in any recording; and changing links there."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.protocols import InvitationElection
from lab.recording.reader import open_recording
from lab.recording.records import End, Fault, Header, Link, Process
from lab.recording.writer import Writer
from lab.tui.controllers.cluster import LinkDialog
from lab.tui.views.network_view import NetworkView
from lab.tui.widgets.prompts import CommandLine
from lab.worlds.loading.config import HostReady, RunConfig
from tests.harness import T_US, Rig
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, attached, replay, replay_in_sizes, served

SIZES = [(80, 24), (120, 40), (200, 60)]
PARTED_US = 40 * T_US


@pytest.fixture(scope="module")
def partitioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition, a delay, a killed node and a paused one; in the end all is healed."""
    rig = Rig((1, 2, 3, 4, 5), protocol=InvitationElection).started().run(20 * T_US)
    rig.do("partition 1 2 | 3 4 5", "delay 3->5 20ms ±5ms")
    rig.run(PARTED_US - rig.now_us)
    rig.do("kill 4", "pause 2")
    rig.run(10 * T_US)
    rig.do("heal")
    rig.run(T_US)
    return rig.write(tmp_path_factory.mktemp("network") / "parted.jsonl")


async def _at_parted(seen: Seen) -> None:
    seen.player.seek(PARTED_US - T_US)
    await seen.press("l")
    await seen.until(lambda: "cut both ways" in seen.text, "the partition")


def test_the_network_takes_the_place_of_the_log(partitioned: Path) -> None:
    """``L`` shows it and hides it. Sides, matrix and the link under the cursor are shown at each size."""

    async def test(seen: Seen) -> None:
        await _at_parted(seen)
        assert "arrows move, Enter changes a link" in seen.message
        assert seen.text.count("╳ cut") >= 12
        assert "+20ms" in seen.text
        assert "1 → 2: 10ms" in seen.text
        await seen.press("l")
        assert not seen.run.query_one(NetworkView).display
        assert "back to the log" in seen.message

    replay_in_sizes(test, SIZES, partitioned)


def test_the_view_follows_the_cursor_in_time(partitioned: Path) -> None:
    """Nothing is cut before the partition or after it heals."""

    async def test(seen: Seen) -> None:
        await _at_parted(seen)
        assert "✖ 4 killed" not in seen.text
        await seen.press("right_curly_bracket")
        await seen.until(lambda: "✖ 4 killed" in seen.text, "a node that is killed")
        await seen.press("end")
        await seen.until(lambda: "‖ 2 paused" in seen.text and "cut both" not in seen.text, "all is healed")
        await seen.press("home")
        await seen.until(lambda: "1-5 not started" in seen.text, "nothing runs")

    replay_in_sizes(test, SIZES, partitioned)


def _drawn(seen: Seen) -> str:
    view = seen.run.query_one(NetworkView)
    return "\n".join(view.render_line(y).text for y in range(view.size.height))


def _under_cursor(seen: Seen, link: str) -> bool:
    return f"{link}:" in _drawn(seen)


def test_arrows_and_clicks_go_to_a_link(partitioned: Path) -> None:
    """The arrows skip the diagonal and stop at the edge."""

    async def test(seen: Seen) -> None:
        await _at_parted(seen)
        await seen.press("left", "up", "down", "right", "right", "right", "right")
        await seen.until(lambda: _under_cursor(seen, "3 → 5"), "the link from 3 to 5")
        assert "delay 3->5 20ms ±5ms, since 2.400 s" in _drawn(seen)
        view = seen.run.query_one(NetworkView)
        lines = _drawn(seen).splitlines()
        row = next(place for place, line in enumerate(lines) if "+20ms" in line)
        column = lines[row].index("╳ cut")
        await seen.pilot.click("#network", offset=(column + 1, row))
        await seen.until(lambda: _under_cursor(seen, "3 → 1"), "the link from 3 to 1")
        assert "partition 1 2 | 3 4 5, since 2.400 s" in _drawn(seen)
        await seen.press("1")
        await seen.until(lambda: _under_cursor(seen, "1 → 3"), "the row of 1, and not its link to itself")
        assert view.has_focus

    replay(test, partitioned)


def test_the_row_of_the_selected_node_is_shown(tmp_path: Path) -> None:
    """Of forty nodes, only a range is shown."""
    rig = Rig(range(1, 41)).started()  # and no more: what forty nodes say is much to read
    rig.do("cut 33->2")
    file = rig.write(tmp_path / "forty.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("end", "l")
        await seen.until(lambda: "of 40 nodes: arrows scroll" in seen.text, "a part of the matrix")
        assert "▶" not in _drawn(seen)
        await seen.press("3", "3")
        await seen.until(lambda: _under_cursor(seen, "33 → 2"), "the row of 33")
        assert any(line.startswith("▶") and " 33 " in line and "╳" in line for line in _drawn(seen).splitlines())

    replay(test, file, (80, 24))


def test_in_a_recording_nothing_can_be_changed(partitioned: Path) -> None:
    """Enter says why, and what to do instead; so does a second click."""

    async def test(seen: Seen) -> None:
        await _at_parted(seen)
        await seen.press("enter")
        await seen.until_message("the link 1->2 cannot be changed: this is a recording; b branches from here")
        assert seen.top is seen.run

    replay(test, partitioned)


def test_a_recording_with_links_of_unknown_nodes(tmp_path: Path) -> None:
    """With any kinds and texts of faults."""
    with contextlib.closing(open_recording(SHIPPED)) as lines:
        header = lines.header
    assert isinstance(header, Header)
    file = tmp_path / "hostile.jsonl"
    writer = Writer(file, header)
    links = ((1, 99), (99, 1), (-3, 2), (2, 2), (1, 2), (1, 2))
    for number, (kind, text) in enumerate(
        [
            ("cut", "cut 99"),
            ("delay", "\x1b]0;x\x07"),
            ("melt\x1b", ""),
            ("lose", "lose 1->2 9e999%"),
            ("hold", "x" * 5000),
        ]
    ):
        writer.append(Fault(number, number + 1, kind, text, links=links))
    writer.append(Process(9, 77, "started"))
    writer.append(Process(9, -5, "killed"))
    writer.append(End(10, "over"))
    writer.close()

    async def test(seen: Seen) -> None:
        await seen.press("end", "l", "right", "down", "left", "up")
        await seen.until(lambda: "╳ cut" in seen.text, "the link that there is")
        assert "\x1b" not in _drawn(seen)
        assert "99" not in "".join(line.split("since")[0] for line in _drawn(seen).splitlines()[:6])
        await seen.press("home")

    for size in SIZES:
        replay(test, file, size)


def test_nothing_is_redrawn_without_a_change(partitioned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in an idle frame nor by a record that leaves the network as it is."""
    drawn: list[int] = []
    draw = NetworkView._whole_body

    def counted(view: NetworkView, width: int, height: int) -> object:
        drawn.append(width)
        return draw(view, width, height)

    monkeypatch.setattr(NetworkView, "_whole_body", counted)

    async def test(seen: Seen) -> None:
        await _at_parted(seen)
        await seen.pilot.pause(0.3)
        before = len(drawn)
        for _ in range(5):
            seen.run.draw()
            await seen.pilot.pause()
        assert len(drawn) == before
        await seen.press("down")
        assert len(drawn) == before + 1

    replay(test, partitioned)


# links that are changed


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """A simulated host of three nodes, frozen at the start."""
    assert runs.parent.is_dir()
    config = RunConfig(
        *("sim", "bully", (1, 2, 3), Timing(40_000, 20_000), {}, Link(10_000), 7, str(runs.parent / "run.jsonl")),
        commands=("freeze",),
        world="simulated",
    )
    with served(config) as ready:
        yield ready


async def _open_dialog(seen: Seen) -> str:
    """Press Enter, and return the dialog's rows."""
    seen.run.query_one(NetworkView).focus()
    await seen.press("enter")
    await seen.until(lambda: isinstance(seen.top, LinkDialog), "the dialog")
    return seen.text


def test_a_link_is_cut_and_joined(host: HostReady) -> None:
    """The dialog offers what applies to the link; the view shows the change."""

    async def test(seen: Seen) -> None:
        await seen.press("l")
        asked = await _open_dialog(seen)
        assert "the link from 1 to 2" in asked
        assert "cut 1->2" in asked
        assert "join" not in asked
        await seen.press(*"cut")
        assert isinstance(seen.top, LinkDialog), "typing filters"
        assert "delay" not in seen.text
        await seen.press("enter")
        await seen.until_message("cut 1->2: 1 link")
        await seen.until(lambda: "cut 1->2, since 0.000 s, no effect so far" in _drawn(seen), "the link in words")
        assert "(╳ cut)" in _drawn(seen)
        assert "join 1->2" in await _open_dialog(seen)
        await seen.press("slash", *"join", "enter")
        await seen.until_message("join 1->2: 1 fault ended")
        await seen.until(lambda: "(╳ cut)" not in _drawn(seen), "open again")

    attached(test, host.socket)


def test_commands_with_a_number_are_edited_on_the_command_line(host: HostReady) -> None:
    """Both ways, if ``b`` was pressed before."""

    async def test(seen: Seen) -> None:
        await seen.press("l")
        await _open_dialog(seen)
        await seen.press("b")
        await seen.until(lambda: "between 1 and 2, both ways" in seen.text, "both ways")
        await seen.press("enter")
        await seen.until(lambda: seen.run.query_one(CommandLine).is_open, "the command line")
        assert seen.run.query_one(CommandLine).value == "delay 1<->2 400ms"
        await seen.press(*["backspace"] * len("400ms"), "7", "s", "enter")
        await seen.until_message("delay 1<->2 7s: 2 links")
        await seen.until(lambda: _drawn(seen).count("(+7s)") >= 2, "both links")
        assert seen.run.query_one(NetworkView).has_focus

    attached(test, host.socket)


def test_escape_closes_the_dialog_and_enter_runs_the_command(host: HostReady) -> None:
    """Arrows move from command to command."""

    async def test(seen: Seen) -> None:
        await seen.press("l")
        await _open_dialog(seen)
        await seen.press("escape")
        assert seen.top is seen.run
        assert "since" not in _drawn(seen)
        await _open_dialog(seen)
        await seen.press("down", "down", "down", "down", "enter")
        await seen.until_message("hold 1->2: 1 link")
        assert "release 1->2" in await _open_dialog(seen)
        await seen.press("up", "up", "enter")
        await seen.until_message("release 1->2: 1 fault ended")

    attached(test, host.socket)


def test_a_viewer_cannot_change_links(host: HostReady) -> None:
    """A message says how to."""

    async def test(seen: Seen) -> None:
        await seen.press("l", "enter")
        await seen.until_message("cannot be changed: this viewer gives no commands")

    attached(test, host.socket, "viewer")
