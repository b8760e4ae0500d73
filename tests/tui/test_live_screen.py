"""The interface over a live run: keys act on real processes, and the screen shows the effect."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.recording.records import Link
from lab.tui.controllers.cluster import PartitionDialog
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.prompts import CommandLine
from lab.worlds.loading.config import HostReady, RunConfig
from tests.tui.seen import Seen, attached, served

pytestmark = pytest.mark.live

TIMING = Timing(40_000, 20_000)
"""T = 100 ms."""


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """A host of five nodes with its feed."""
    assert runs.parent.is_dir()
    config = RunConfig(
        "live", "bully", (1, 2, 3, 4, 5), TIMING, {}, Link(), 1, str(runs.parent / "run.jsonl"), (), 60_000_000
    )
    with served(config) as ready:
        yield ready


async def _led(seen: Seen, text: str) -> None:
    await seen.until(lambda: seen.leaders.strip().startswith(text), f"the leader line says {text!r}")


async def _five_leads(seen: Seen) -> None:
    await _led(seen, "★ 5 leads 1-4")


def test_a_node_is_killed_and_restarted(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        await seen.press("k")
        await seen.until_message("kill: select a node first")
        await seen.press("down")
        await seen.until(lambda: "select a node first" not in seen.text, "a node is selected")
        await seen.press("escape")
        await seen.press("5", "k")
        await seen.until_message("kill 5: 5 killed")
        await _led(seen, "★ 4 leads 1-3")
        assert "5 ✖ killed" in seen.text
        await seen.until(lambda: "4 ● Normal ★ leads" in seen.text, "node 4 Normal, and leading")
        assert "coordinator 4" in seen.text
        await seen.press("r")
        await seen.until_message("restart 5: 5 restarted")
        await _five_leads(seen)
        assert "SetCoordinator" in seen.text

    attached(test, host.socket)


def test_a_key_without_effect_is_reported(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        await seen.press("h")
        await seen.until_message("nothing changed")
        await seen.press("2", ":wipe")
        await seen.until_message("wipe 2: 2 must be down for that, nothing changed")
        await seen.press("r")
        await seen.until_message("restart 2: 2: already up, nothing changed")
        await seen.press("k")
        await seen.until(lambda: "2 ✖ killed" in seen.text, "node 2 killed")
        await seen.press("k")
        await seen.until_message("kill 2: 2: already down, nothing changed")
        await seen.press("p")
        await seen.until_message("pause 2: 2: not running, nothing changed")
        await seen.press(":wipe")
        await seen.until_message("wipe 2: 2 wiped")
        await seen.press(":wipe")
        await seen.until_message("nothing changed")

    attached(test, host.socket)


def test_pausing_the_coordinator_makes_two_and_resuming_makes_one(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        await seen.press("5", "p")
        await _led(seen, "2 COORDINATORS  ★ 5 leads no other (paused)  ·  ★ 4 leads 1-3")
        assert "5 ‖ paused in Normal" in seen.text
        assert "pause 5  breaks assumption 9" in seen.text
        await seen.press("p")
        await seen.until_message("resume 5: 5 resumed")
        await seen.until(lambda: "COORDINATORS" not in seen.leaders and "lead" in seen.leaders, "one leads")
        await _five_leads(seen)

    attached(test, host.socket)


def test_d_and_l_open_the_command_line(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        line = seen.of("CommandLine", CommandLine)
        await seen.press("2", "d")
        assert line.value == "delay 2 400ms"
        await seen.press("enter")
        await seen.until_message("delay 2 400ms: 8 links")
        assert "delay 2 400ms  breaks" in seen.text
        await seen.until(lambda: "delay <>all" in seen.text, "the fault on the node's pane")
        await seen.press("escape", ":lose")
        assert line.value == "lose all 30%"
        await seen.press("escape")
        await seen.press("h")
        await seen.until_message("heal: 1 fault ended")
        await seen.until(lambda: "no fault in force" in seen.text, "nothing in force")

    attached(test, host.socket)


def test_a_partition_is_chosen_and_healed(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        await seen.press("x")
        dialog = seen.top
        assert isinstance(dialog, PartitionDialog)
        assert dialog.command() == "partition 1 2 | 3 4 5"
        await seen.press("3", "3")
        assert dialog.command() == "partition 1 2 3 | 4 5"
        assert "partition 1 2 3 | 4 5" in seen.text
        await seen.press("right", "space", "space", "enter")
        await seen.until_message("partition 1 2 3 4 | 5: 8 links")
        await seen.until(lambda: "2 COORDINATORS" in seen.leaders, "a leader on either side")
        await _led(seen, "2 COORDINATORS  ★ 5 leads no other  ·  ★ 4 leads 1-3")
        await seen.press("h")
        await _five_leads(seen)

    attached(test, host.socket)


def test_a_cancelled_partition_does_nothing(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        await seen.press("4", "x")
        assert isinstance(seen.top, PartitionDialog)
        assert seen.top.command() == "partition 1 2 3 5 | 4"
        await seen.press("escape")
        await seen.press("h")
        await seen.until_message("nothing changed")

    attached(test, host.socket)


def test_commands_are_typed_and_their_errors_shown(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        await seen.press("colon")
        await seen.type("kil 5")
        await seen.press("enter")
        await seen.until_message("unknown word 'kil'; did you mean kill (k)?")
        await seen.press("colon")
        await seen.type("kill five")
        await seen.press("enter")
        await seen.until_message("kill five: column 6:")
        await seen.until(lambda: "expected" in seen.message, "what was expected")
        await seen.press("colon")
        await seen.type("at 1s kill 3")
        await seen.press("enter")
        await seen.until(lambda: "3 ✖ killed" in seen.text, "node 3 killed")

    attached(test, host.socket)


def test_keys_in_the_footer_and_panes_are_clicked(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        await seen.pilot.click(NodePanes, offset=(5, 2))
        assert seen.selected() == 1
        await seen.until(lambda: "k kill" in seen.text.split("\n")[-1], "kill in the footer")
        footer = seen.text.split("\n")[-1]
        assert "r restart" not in footer, "it is up"
        await seen.pilot.click("KeyLine", offset=(footer.index("k kill") + 1, 0))
        await seen.until_message("kill 1: 1 killed")
        await seen.until(lambda: "r restart" in seen.text.split("\n")[-1], "what applies to a killed node")

    attached(test, host.socket)


def test_the_screen_survives_the_death_of_the_host(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        os.kill(host.pid, signal.SIGKILL)
        await seen.until_message("the run is over: the host died")
        await seen.press("5", "k")
        await seen.until_message("this run takes no commands: the run is over")
        last = seen.player.number
        await seen.press("comma", "comma")
        assert seen.player.number < last - 1
        await seen.press("left_parenthesis", "left_parenthesis")
        assert "? Election" in seen.text
        await seen.press("end")
        assert "5 leads 1-4" in seen.leaders
        await seen.press("q")

    assert attached(test, host.socket).return_code == 0


def test_a_paused_cursor_lets_the_run_continue_and_end_follows_it(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        await seen.press("space")
        assert not seen.player.following
        await seen.until_message("in the past")
        number = seen.player.number
        await seen.until(lambda: len(seen.player.store) > number + 20, "the run goes on")
        assert seen.player.number == number
        await seen.press("end")
        await seen.until(lambda: seen.player.number > number + 20, "it is followed")
        await seen.until_message("following the run")
        await seen.press("comma")
        await seen.until_message("in the past")
        await seen.press("greater_than_sign", "space")
        await seen.until(lambda: seen.player.following, "played up to the end")
        await seen.until_message("following the run")

    attached(test, host.socket)


def test_a_viewer_only_watches(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _five_leads(seen)
        assert "viewer" in seen.text.split("\n")[0]
        for key in (*"kprdxh", ":lose", ":wipe"):
            await seen.press("5", key)
            await seen.until_message("this run takes no commands: this viewer gives no commands")
            assert seen.top is seen.run
        await seen.press("colon")
        await seen.type("kill 5")
        await seen.press("enter")
        await seen.until_message("'kill 5': this viewer gives no commands; lab attach without --viewer does")
        await seen.press("left_parenthesis")
        assert seen.player.number > 0
        await seen.press("end")
        await _five_leads(seen)

    attached(test, host.socket, "viewer")
