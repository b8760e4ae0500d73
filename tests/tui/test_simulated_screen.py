"""The interface over a simulated run: the user controls time, event by event."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

from lab.kernel import Timing
from lab.recording.records import Link
from lab.tui.controllers.playback import NextEventDialog
from lab.tui.views.log_view import MessageLog
from lab.tui.widgets.scrub_bar import ScrubBar
from lab.worlds.launch import FeedClient
from lab.worlds.loading.config import HostReady, RunConfig
from tests.tui.seen import Seen, attached, served

TIMING = Timing(40_000, 20_000)


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """A simulated host of five nodes, frozen at the start."""
    assert runs.parent.is_dir()
    config = RunConfig(
        *("sim", "bully", (1, 2, 3, 4, 5), TIMING, {}, Link(10_000, 5_000), 7, str(runs.parent / "run.jsonl")),
        commands=("freeze",),
        world="simulated",
    )
    with served(config) as ready:
        yield ready


def _bar(seen: Seen) -> str:
    return seen.of("ScrubBar", ScrubBar).render().plain.split("\n")[-1]


def _rows(seen: Seen) -> list[str]:
    listed = seen.top.query_one(OptionList)
    return [str(listed.get_option_at_index(place).prompt) for place in range(listed.option_count)]


async def _frozen(seen: Seen) -> None:
    await _going(seen, "frozen")
    await seen.until(lambda: _bar(seen).startswith("frozen"), "the bar says so too")


async def _going(seen: Seen, pace: str) -> None:
    await seen.until(lambda: f" {pace} " in seen.line("#title"), f"the title says {pace}")


def test_space_freezes_and_resumes(host: HostReady) -> None:
    """At the end of the run it controls the world; before the end, the playback."""

    async def test(seen: Seen) -> None:
        await _frozen(seen)
        assert "simulated" in seen.line("#title")
        assert "0.0000 s" in _bar(seen)
        await seen.press("space")
        await seen.until_message("go: time is running")
        await _going(seen, "1x")
        await seen.until(lambda: "★ 5 leads 1-4" in seen.leaders, "5 leads")
        await seen.press("space")
        await seen.until_message("freeze: time is frozen")
        await _frozen(seen)
        still_us = seen.player.now_us
        await seen.pilot.pause(0.3)
        assert seen.player.now_us == still_us > 0
        assert seen.player.following

    attached(test, host.socket)


def test_a_full_stop_executes_one_event_and_a_comma_goes_back(host: HostReady) -> None:
    """In the past it only moves the cursor; at the end it executes the next event."""

    async def test(seen: Seen) -> None:
        await _frozen(seen)
        before = len(seen.player.store)
        await seen.press("full_stop")
        await seen.until_message("step: AreYouUp ")
        await seen.until(lambda: seen.player.number == before, "one step more")
        await seen.press("comma", "comma")
        assert seen.player.number == before - 2
        assert not seen.player.following
        await seen.press("full_stop", "full_stop")
        assert (seen.player.number, len(seen.player.store)) == (before, before + 1)
        await seen.press("full_stop")
        await seen.until(lambda: len(seen.player.store) == before + 2, "the next event")
        assert seen.player.following

    attached(test, host.socket)


def test_a_hidden_step_is_reported(host: HostReady) -> None:
    """A heartbeat while heartbeats are hidden; a shown step is reported as usual."""

    async def test(seen: Seen) -> None:
        await _frozen(seen)
        rows, messages = seen.of("MessageLog", MessageLog).rows, []
        for _ in range(400):
            number, before = seen.player.number, rows.counts(seen.player.cluster())
            await seen.press("full_stop")
            await seen.until(lambda number=number: seen.player.number > number, "a step")  # type: ignore[misc]
            await seen.until(
                lambda: seen.message.startswith("step: ") and seen.message not in messages, "what it was"
            )
            messages.append(seen.message)
            is_reported = seen.message.endswith("; a heartbeat, hidden (:heartbeats shows them)")
            assert not is_reported or rows.count(seen.player.cluster()) == before[0]
            if is_reported and "AreYouNormal " in seen.message:
                break
            assert is_reported == ("AreYouNormal" in seen.message or "timer of 5 fires: check" in seen.message), (
                messages[-1]
            )
        else:
            raise AssertionError("no heartbeat")
        assert any("AreYouUp" in each for each in messages)
        await seen.press(":heartbeats", "full_stop")
        await seen.until(lambda: seen.message.startswith("step: "), "one more")
        assert "hidden" not in seen.message

    attached(test, host.socket)


def test_the_speed_is_that_of_the_world_at_the_end_and_of_playback_before(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await _frozen(seen)
        await seen.press("less_than_sign")
        await seen.until_message("speed 0.5: 0.5x, once time is running")
        await seen.until(lambda: "0.5x" in _bar(seen), "the bar says it")
        await seen.press("greater_than_sign")
        await seen.until_message("speed 1: 1x, once time is running")
        await seen.press("full_stop", "comma", "greater_than_sign")
        await seen.until(lambda: seen.player.speed == 2.0, "the player's is another")
        await seen.press("end")
        await seen.until(lambda: " 1x " in _bar(seen), "the world's again")

    attached(test, host.socket)


def test_events_are_chosen_one_by_one(host: HostReady) -> None:
    """The list is refreshed after each; the choice is an ordinary command of the script language."""

    async def test(seen: Seen) -> None:
        await _frozen(seen)
        await seen.press("o")
        await seen.until(lambda: isinstance(seen.top, NextEventDialog) and _rows(seen), "the list")
        rows = _rows(seen)
        assert "AreYouUp" in rows[0]
        timers = [row for row in rows if "timer of" in row]
        assert any("timer of 4: election, line " in row for row in timers)
        assert any(row.endswith(", waits for AreYouUp answers from 5") for row in timers)
        await seen.press("down", "enter")
        chosen = rows[1].split()
        link = f"{chosen[3]}->{chosen[5]}"
        done = seen.top.query_one("#done", Static)
        await seen.until(lambda: f"{chosen[2]} {link} arrives" in str(done.content), "what was done")
        await seen.until(lambda: _rows(seen) and rows[1] not in _rows(seen), "another list")
        assert seen.player.cluster().at_us == 0
        timer = next(place for place, row in enumerate(_rows(seen)) if "timer of" in row)
        await seen.press(*["down"] * timer, "enter")
        await seen.until(lambda: " fires: " in str(done.content), "the timer")
        await seen.until(lambda: any("overdue" in row for row in _rows(seen)), "what it overtook")
        assert seen.player.cluster().at_us > 0
        await seen.press("escape")
        assert seen.top is seen.run
        await seen.until_message("time is frozen; space resumes it")

    attached(test, host.socket)


def test_the_list_marks_messages_to_nodes_that_do_not_run(host: HostReady) -> None:
    """Down or paused; and it says what to do if there is no event."""

    async def test(seen: Seen) -> None:
        await _frozen(seen)
        with contextlib.closing(FeedClient(host.socket)) as other:
            other.command("pause 4")
            other.command("kill 5")
            await seen.press("o")
            await seen.until(lambda: isinstance(seen.top, NextEventDialog) and _rows(seen), "the list")
            assert any(row.endswith("(4 is paused: the message waits there)") for row in _rows(seen))
            assert any(row.endswith("(5 is down: the message is lost)") for row in _rows(seen))
            other.command("kill all")
            while other.command("choose 2").changed:
                pass
            for _ in range(3):
                await seen.press("enter")
            await seen.until(lambda: not _rows(seen), "nothing is left")
            done = seen.top.query_one("#done", Static)
            await seen.until(lambda: str(done.content).startswith("nothing is in flight and no timer"), "why")

    attached(test, host.socket)


def test_a_viewer_sees_the_clock_but_cannot_change_it(host: HostReady) -> None:
    """Space pauses only the viewer's own cursor; changes by others are shown."""

    async def test(seen: Seen) -> None:
        await _frozen(seen)
        await seen.press("o")
        await seen.until_message("only in a simulated run can you choose the next event")
        assert seen.top is seen.run
        with contextlib.closing(FeedClient(host.socket)) as driver:
            driver.command("speed 10")
            driver.command("go")
            await _going(seen, "10x")
            await seen.press("space")
            assert not seen.player.following
            driver.command("freeze")
            await _going(seen, "frozen")

    attached(test, host.socket, "viewer")


def test_the_reason_for_frozen_time_is_shown(host: HostReady) -> None:
    """When no key of this interface froze it."""

    async def test(seen: Seen) -> None:
        await _frozen(seen)
        await seen.press("colon")
        await seen.type("on send NewState freeze")
        await seen.press("enter")
        await seen.until_message("waits: on send NewState freeze")
        assert "freeze: waits" not in seen.text, "it is said once"
        await seen.press("space")
        await seen.until_message("time is frozen by a command; go resumes it")
        await _frozen(seen)
        assert "NewState" in seen.text

    attached(test, host.socket)


def test_a_transfer_is_entered_on_the_command_line(runs: Path) -> None:
    """With completion; it is refused if an account is unknown."""
    ids = (1, 2, 3)
    config = RunConfig(
        *("sim", "2pc", ids, TIMING, {}, Link(10_000, 5_000), 7, str(runs.parent / "run.jsonl")),
        world="simulated",
    )

    async def test(seen: Seen) -> None:
        for line, messages in (
            ("transfer 50 savings che", "3 told"),
            ("transfer 50 savngs checking", "unknown account savngs"),
        ):
            await seen.press("colon")
            await seen.type(line)
            await seen.press("tab", "enter")
            await seen.until(lambda messages=messages: messages in seen.text, messages)  # type: ignore[misc]
        assert seen.app.is_running

    with served(config) as ready:
        attached(test, ready.socket)
