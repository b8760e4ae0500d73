"""Commands given by hand: those refused at once, those that wait, and those given while the past is shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.recording.records import Link
from lab.tui.views.views import Views
from lab.tui.widgets.prompts import CommandLine
from lab.worlds.feed_protocol import Reply
from lab.worlds.launch import FeedClient
from lab.worlds.loading.config import HostReady, RunConfig
from tests.tui.seen import Seen, attached, served


def _simulated(protocol: str, recording: Path, commands: tuple[str, ...] = ()) -> RunConfig:
    return RunConfig(
        *("sim", protocol, (1, 2, 3), Timing(40_000, 20_000), {}, Link(10_000, 5_000), 7, str(recording)),
        commands=commands,
        world="simulated",
        frozen=True,
    )


@pytest.fixture
def bank(runs: Path) -> Iterator[HostReady]:
    """A frozen simulation of the bank, in which no node is elected; one command waits from its start."""
    assert runs.parent.is_dir()
    with served(_simulated("2pc", runs.parent / "run.jsonl", ("when 2 down: kill 9",))) as ready:
        yield ready


@pytest.fixture
def bully(runs: Path) -> Iterator[HostReady]:
    """A frozen simulation with an election."""
    assert runs.parent.is_dir()
    with served(_simulated("bully", runs.parent / "run.jsonl")) as ready:
        yield ready


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "on send Vote kill coordinator",
            "2pc elects nobody, so there is no coordinator; name a node by its number",
        ),
        ("on send Vote kill 9", "there is no node 9; the nodes are 1 2 3"),
        ("on send Vot kill 3", "unknown kind of message Vot"),
        ("expect 3 leads within 2s", "2pc elects nobody"),
    ],
)
def test_a_command_that_can_never_work_does_not_wait(bank: HostReady, line: str, why: str) -> None:
    async def test(seen: Seen) -> None:
        await seen.press(f":{line}")
        await seen.until_message(why)
        assert seen.source.waiting == ("when 2 down: kill 9",)

    attached(test, bank.socket)


def test_the_script_view_lists_the_commands_that_wait_and_those_done(bank: HostReady) -> None:
    """Also those from the start of the run, and those of another client."""

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "when 2 down: kill 9" in seen.source.waiting, "it is known")
        await seen.press(":on send Vote kill 1", ":kill 3", "semicolon")
        assert seen.of("Views", Views).chosen == "script"
        await seen.until(lambda: "waits               on send Vote kill 1" in seen.view, "it is listed")
        assert "waits               when 2 down: kill 9" in seen.view
        await seen.until(lambda: "done         0.000  kill 3" in seen.view, "the one that is done")
        client = FeedClient(bank.socket)
        client.command("at 20s heal")
        client.close()
        await seen.until(lambda: "waits               at 20s heal" in seen.view, "that of another client")
        marked = [row for row in seen.view.split("\n") if row.startswith("▶")]
        assert ["kill 3" in row for row in marked] == [True], "the last one done"

    attached(test, bank.socket)


def test_a_command_that_fails_when_its_turn_comes_is_a_warning(bank: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await seen.press(":when 3 down: kill 3", ":kill 3")
        await seen.until_message("when 3 down: kill 3: triggered, but 3: already down, nothing changed")
        await seen.until(lambda: seen.source.waiting == ("when 2 down: kill 9",), "it waits no more")
        await seen.press(":kill 2")
        await seen.until_message("when 2 down: kill 9: triggered, but there is no node 9")

    attached(test, bank.socket)


def test_a_late_reply_does_not_hide_the_warning(bank: HostReady, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records come before the reply, and their warning may have been shown by then."""

    async def test(seen: Seen) -> None:
        command = seen.source.command

        async def late(text: str) -> Reply:
            reply = await command(text)
            await seen.until_message("when 2 down: kill 9: triggered, but there is no node 9")
            return reply

        monkeypatch.setattr(seen.source, "command", late)
        await seen.until(lambda: "when 2 down: kill 9" in seen.source.waiting, "it is known")
        await seen.press(":kill 2")
        await seen.until_message("kill 2: 2 killed; when 2 down: kill 9: triggered, but there is no node 9")
        frames = seen.run._drawn_frames
        await seen.until(lambda: seen.run._drawn_frames > frames + 3, "frames go by")
        assert seen.message.startswith("kill 2: 2 killed; ")

    attached(test, bank.socket)


def test_an_expectation_given_by_hand_that_is_not_met_is_a_warning(bully: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await seen.press(":expect 1 down within 10ms", ":step 30")
        await seen.until_message("expect 1 down within 10ms: not met, ")

    attached(test, bully.socket)


def test_a_refused_command_is_no_failure_of_a_waiting_one(bank: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await seen.press(":kill 3", ":kill 3")
        await seen.until_message("kill 3: 3: already down, nothing changed")
        frames = seen.run._drawn_frames
        await seen.until(lambda: seen.run._drawn_frames > frames + 3, "frames go by")
        assert seen.message == "kill 3: 3: already down, nothing changed"

    attached(test, bank.socket)


def test_a_bank_names_a_command_that_begins_a_transaction(bank: HostReady) -> None:
    """In the first message, on the command line; the help names no coordinator."""

    async def test(seen: Seen) -> None:
        assert "for work to do, try :transfer 100 savings checking" in seen.message
        assert seen.of("CommandLine", CommandLine).placeholder.startswith(
            "transfer 100 savings checking, kill 3, or "
        )
        await seen.press("question_mark")
        await seen.type("pause")
        await seen.until(lambda: "(pause 5)" in seen.text, "the help")
        assert "pause coordinator" not in seen.text

    attached(test, bank.socket)


def test_a_command_given_in_the_past_returns_to_the_present(bully: HostReady) -> None:
    """A command about the pace of time does not, nor one that waits. A key asks first."""

    async def test(seen: Seen) -> None:
        await seen.press(":step 30")
        await seen.until_message("step 30: 30 events")
        await seen.press("home", ":speed 2", ":on drop NewState kill 1")
        await seen.until_message("waits: on drop NewState kill 1")
        assert seen.player.number == 0
        await seen.press("2", "k")
        await seen.until_message("you look at the past, and kill acts now: k again does it, b branches from here")
        await seen.press("k")
        await seen.until_message("kill 2: 2 killed now, in the present")
        assert seen.player.following
        await seen.until(lambda: "2 ✖ killed" in seen.text, "its effect")

    attached(test, bully.socket)


def test_the_key_of_a_paused_node_resumes_it(bully: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("k")
        await seen.until_message("kill: select a node first: press its number or click it")
        await seen.press("2")
        assert " p pause " in seen.text.split("\n")[-1]
        await seen.press("p")
        await seen.until(lambda: " p resume " in seen.text.split("\n")[-1], "the footer says so")
        await seen.press("p")
        await seen.until(lambda: " p pause " in seen.text.split("\n")[-1], "and again")

    attached(test, bully.socket)
