"""Steps by message and by node, and searches for a predicate, in recordings and live runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.analysis.record_search import Matcher, MessageMatcher, NodeRecordMatcher, RecordSearch
from lab.kernel import Received, Step, Timing
from lab.recording.reader import RecordStore
from lab.recording.records import Link, Process
from lab.script.parse import parse_predicate
from lab.script.predicate_fold import OnsetMatcher
from lab.tui.controllers import seeking
from lab.tui.source import FeedSource
from lab.tui.widgets.prompts import CommandLine
from lab.worlds.feed_protocol import Reply
from lab.worlds.loading.config import HostReady, RunConfig
from tests.profile import SOAK, amount
from tests.tui.recorded import written
from tests.tui.seen import Seen, attached, replay, served


def _hunted(lines: RecordStore, number: int, forward: bool, matcher: Matcher) -> int | None:
    search = RecordSearch(lines, number, forward, matcher)
    while not search.advance(10_000):
        pass
    return search.found


def _onset(seen: Seen, number: int, forward: bool, text: str) -> int | None:
    lines = seen.player.store
    return _hunted(lines, number, forward, OnsetMatcher(parse_predicate(text), lines.header))


async def _line(seen: Seen, text: str) -> None:
    await seen.press("colon")
    await seen.type(text)
    await seen.press("enter")


def test_from_message_to_message_and_back() -> None:
    """Of the selected node, if any; heartbeats count only while shown."""

    async def test(seen: Seen) -> None:
        lines = seen.player.store
        hidden = frozenset(lines.header.protocol.heartbeats)
        for _ in range(amount(quick=3, soak=12)):
            before = seen.player.number
            await seen.press(":next-message")
            assert seen.player.number == _hunted(lines, before, True, MessageMatcher(None, hidden)) is not None
        await seen.press("3")
        for forward in (True, True, True, False, False) if SOAK else (True, True, False):
            key = ":next-message" if forward else ":previous-message"
            before = seen.player.number
            await seen.press(key)
            assert seen.player.number == _hunted(lines, before, forward, MessageMatcher(3, hidden)) is not None
            record = lines.record(seen.player.number)
            assert isinstance(record, Step)
            assert record.node == 3
            assert record.sent or isinstance(record.input, Received)
        await seen.until_message(f"message of 3: record {seen.player.number}, at ")
        await seen.press("home", ":previous-message")
        await seen.until_message("no message of 3 before this one")
        await seen.press("end", ":heartbeats", ":previous-message")
        assert seen.player.number == _hunted(lines, len(lines) - 1, False, MessageMatcher(3, frozenset()))

    replay(test)


def test_from_record_to_record_of_a_node() -> None:
    """Events of its process count too; without a node, every record does."""

    async def test(seen: Seen) -> None:
        lines = seen.player.store
        await seen.press(":next-of-node", ":next-of-node", ":previous-of-node")
        assert seen.player.number == 1
        await seen.press("5")
        for _ in range(amount(quick=2, soak=4)):
            before = seen.player.number
            await seen.press(":next-of-node")
            assert seen.player.number == _hunted(lines, before, True, NodeRecordMatcher(5))
        process_records = (
            (number, each) for number, each in enumerate(lines.records()) if isinstance(each, Process)
        )
        fault = next(number for number, each in process_records if each.event == "killed")
        seen.player.go(fault - 1)
        await seen.press(":next-of-node")
        assert seen.player.number == fault
        await seen.press("end")
        for _ in range(amount(quick=1, soak=3)):
            before = seen.player.number
            await seen.press(":previous-of-node")
            assert seen.player.number == _hunted(lines, before, False, NodeRecordMatcher(5))

    replay(test)


def test_on_to_where_a_predicate_becomes_true_and_back() -> None:
    """At each onset, not while it is true; u and U begin the command."""

    async def test(seen: Seen) -> None:
        await seen.press("u")
        line = seen.of("CommandLine", CommandLine)
        assert line.value == "until "
        await seen.type("coordinators > 1")
        await seen.press("enter")
        first = _onset(seen, 0, True, "coordinators > 1")
        assert first is not None
        await seen.until(lambda: seen.player.number == first, "it is there")
        await seen.until_message(f"record at which coordinators > 1 becomes true: record {first}, at ")
        assert "2 COORDINATORS" in seen.leaders
        await _line(seen, "until coordinators > 1")
        await seen.until_message("no record at which coordinators > 1 becomes true after this one")
        assert seen.player.number == first
        await seen.press("end", "U")
        assert line.value == "until-back "
        await seen.type("coordinators > 1")
        await seen.press("enter")
        await seen.until(lambda: seen.player.number == first, "it is there again")
        await _line(seen, "until 5.status == Normal")
        after = _onset(seen, first, True, "5.status == Normal")
        await seen.until(lambda: seen.player.number == after, "5 is normal again")
        await _line(seen, "until-back live < 5")
        dead = _onset(seen, after or 0, False, "live < 5")
        await seen.until(lambda: seen.player.number == dead, "one was down")

    replay(test)


def test_a_wrong_predicate_gives_the_language_s_error() -> None:
    async def test(seen: Seen) -> None:
        for typed, message in (
            ("until 4 norml", "column 3: 'norml' is not expected here (did you mean 'normal'?)"),
            ("until 9.status == Normal", "there is no node 9; the nodes are 1 2 3 4 5"),
            ("until 4.statis == Normal", "a node of bully has no attribute statis; it has "),
            ("until-back flying(NoSuch) > 1", "unknown kind of message NoSuch"),
            ("until all normal: kill 5", "column 11:"),
        ):
            await _line(seen, typed)
            await seen.until_message(message)
            assert seen.player.number == 0, typed

    replay(test)


def test_a_long_search_shows_progress_and_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Esc stops it; the cursor has not moved then."""
    path = written(tmp_path / "run.jsonl")
    monkeypatch.setattr(seeking, "_AT_ONCE", 10)
    monkeypatch.setattr(seeking, "_CHUNK", 0)  # it never comes to an end
    monkeypatch.setattr(seeking, "_BETWEEN_MESSAGES_S", 0.0)

    async def test(seen: Seen) -> None:
        seen.player.go(50)
        await _line(seen, "until live > 7")
        await seen.until_message("searching for record at which live > 7 becomes true: record ")
        await seen.until_message(f" of {len(seen.player.store) - 1}; Esc stops")
        await seen.press("escape")
        await seen.until_message("stopped")
        assert seen.player.number == 50
        monkeypatch.setattr(seeking, "_CHUNK", 1000)
        await _line(seen, "until 5 down")
        expected = _onset(seen, 50, True, "5 down")
        await seen.until(lambda: seen.player.number == expected, "it is found in pieces")

    replay(test, path)


def _config(runs: Path, world: str, commands: tuple[str, ...] = ()) -> RunConfig:
    assert runs.parent.is_dir()
    timing, link = Timing(40_000, 20_000), Link(10_000, 5_000) if world == "simulated" else Link()
    return RunConfig(
        *(
            "run",
            "bully",
            (1, 2, 3, 4, 5),
            timing,
            {},
            link,
            7,
            str(runs.parent / "run.jsonl"),
            commands,
            60_000_000,
        ),
        world=world,  # type: ignore[arg-type]
    )


@pytest.fixture
def live(runs: Path) -> Iterator[HostReady]:
    """A live host of five nodes."""
    with served(_config(runs, "live")) as ready:
        yield ready


@pytest.fixture
def frozen(runs: Path) -> Iterator[HostReady]:
    """A simulated host, frozen at the start."""
    with served(_config(runs, "simulated", ("freeze",))) as ready:
        yield ready


@pytest.mark.live
def test_a_live_run_is_searched_as_it_goes_on(live: HostReady) -> None:
    """The cursor goes to the exact record; Esc stops waiting."""

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "5 leads 1-4" in seen.leaders, "5 leads")
        began = seen.player.number  # 4 may have led before, on a busy machine
        await _line(seen, "until 4 leads")
        await seen.until_message("waiting for 4 leads; Esc stops")
        assert seen.player.following
        await seen.press("5", "k")
        await seen.until(lambda: not seen.player.following, "the cursor is there")
        assert seen.player.number == _onset(seen, began, True, "4 leads")
        assert seen.player.cluster().nodes[4].leads
        await seen.press("end")
        await _line(seen, "until live < 2")
        await seen.until_message("waiting for live < 2; Esc stops")
        await seen.press("escape")
        await seen.until_message("stopped")
        await _line(seen, "until-back 5 leads")
        await seen.until(lambda: seen.player.cluster().nodes[5].leads, "what was there is found")
        assert not seen.player.following

    attached(test, live.socket)


def test_a_frozen_run_is_resumed_until_the_predicate_holds(frozen: HostReady) -> None:
    """It is frozen at the exact record, and again at the next onset."""

    async def test(seen: Seen) -> None:
        await seen.until(lambda: " frozen " in seen.line("#title"), "the title says frozen")
        await _line(seen, "until 5 leads")
        await seen.until(lambda: seen.player.cluster().nodes[5].leads, "it leads")
        await seen.until(lambda: seen.source.clock is not None and seen.source.clock.frozen, "it is frozen again")
        await seen.until(lambda: seen.player.number == _onset(seen, 0, True, "5 leads"), "the exact record")
        await seen.until(lambda: len(seen.player.store) - 1 - seen.player.number < 12, "nothing went on")
        await _line(seen, "kill 5")
        await seen.until_message("kill 5: 5 killed")
        await _line(seen, "until 4 leads")
        await seen.until(lambda: seen.player.cluster().nodes[4].leads, "the next one leads")
        await seen.until(lambda: seen.source.clock is not None and seen.source.clock.frozen, "frozen once more")
        await _line(seen, "until live < 2")
        await seen.until(lambda: seen.source.clock is not None and not seen.source.clock.frozen, "it goes on")
        await seen.press("escape")
        await seen.until(lambda: seen.source.clock is not None and seen.source.clock.frozen, "Esc freezes it")

    attached(test, frozen.socket)


def test_a_cancelled_search_does_not_freeze_the_run(frozen: HostReady) -> None:
    """Freeze, until, Esc, go, and it becomes true: time goes on."""

    def is_frozen(seen: Seen) -> bool:
        return seen.source.clock is not None and seen.source.clock.frozen

    async def test(seen: Seen) -> None:
        await _line(seen, "until all normal")
        await seen.until(lambda: seen.player.cluster().nodes[5].leads and is_frozen(seen), "5 leads")
        await _line(seen, "until 4 down")
        await seen.until(lambda: not is_frozen(seen), "it goes on")
        await seen.press("escape")
        await seen.until(lambda: is_frozen(seen), "Esc freezes it")
        await _line(seen, "go")
        await seen.until(lambda: not is_frozen(seen), "it goes on")
        await _line(seen, "kill 4")
        await seen.until_message("kill 4: 4 killed")
        at_us = seen.source.now_us() or 0
        await seen.until(lambda: (seen.source.now_us() or 0) > at_us + 300_000, "time goes on")
        assert not is_frozen(seen)

    attached(test, frozen.socket)


def test_a_run_that_refuses_the_freeze_is_not_resumed(frozen: HostReady, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's reply is shown."""
    given: list[str] = []

    async def refuse(self: FeedSource, text: str) -> Reply:
        given.append(text)
        return Reply(1, False, False, "not this one")

    async def test(seen: Seen) -> None:
        await seen.until(lambda: " frozen " in seen.line("#title"), "the title says frozen")
        monkeypatch.setattr(FeedSource, "command", refuse)
        await _line(seen, "until 5 leads")
        await seen.until_message("not this one")
        assert given == ["when 5 leads: freeze"]
        assert not seen.run.seeker.stop()

    attached(test, frozen.socket)
