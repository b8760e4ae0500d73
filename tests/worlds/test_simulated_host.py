"""A simulated run as a host: clients freeze, run, step and choose, and the recording does not depend on it."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lab.kernel import Fired, Received, Step
from lab.recording.reader import open_recording
from lab.recording.records import Commanded, End, Link
from lab.worlds.feed_protocol import (
    ASIDES,
    CLOCK_PREFIX,
    REPLY_PREFIX,
    Clock,
    Delivery,
    FeedRequest,
    Reply,
    TimerExpiry,
)
from lab.worlds.launch import FeedClient
from lab.worlds.loading.config import RunConfig
from lab.worlds.simulated import execution
from tests.worlds.live import STEADY, LiveRun

LINK = Link(15_000, 7_500)


class Hand:
    """A client for requests that the API has not: enabled events and the clock."""

    def __init__(self, path: str, role: str = "driver") -> None:
        self.clocks: list[Clock] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(10)
        self._socket.connect(path)
        self._lines = self._socket.makefile("rb")
        self._socket.sendall(msgspec.json.encode({"role": role, "start": "end"}) + b"\n")

    def ask(self, **order: Any) -> Reply:
        """Send a request; read up to its reply."""
        self._socket.sendall(msgspec.json.encode(FeedRequest(1, **order)) + b"\n")
        return msgspec.json.decode(self._until(REPLY_PREFIX), type=Reply)

    def until_clock(self, condition: Callable[[Clock], object] = lambda clock: True) -> Clock:
        """Read until the last clock meets this condition."""
        while not self.clocks or not condition(self.clocks[-1]):
            self._until(CLOCK_PREFIX)
        return self.clocks[-1]

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def _until(self, prefix: bytes) -> bytes:
        for line in self._lines:
            if line.startswith(CLOCK_PREFIX):
                self.clocks.append(msgspec.json.decode(line, type=Clock))
            if line.startswith(prefix):
                return line
        raise AssertionError("the run ended")


@contextlib.contextmanager
def hand(run: LiveRun, role: str = "driver") -> Iterator[Hand]:
    """Attach a client for a while."""
    with contextlib.closing(Hand(run.ready.socket, role)) as found:
        yield found


def simulated(folder: Path, *commands: str, speed: float | None = 1.0, **settings: Any) -> LiveRun:
    """Return a simulated run of five nodes."""
    given = {"timing": STEADY, "link": LINK, "seed": 7, **settings}
    return LiveRun(folder, commands=commands, world="simulated", speed=speed, **given)


def _steps(run: LiveRun) -> list[Step]:
    return run.tail.read().of(Step)


def test_frozen_at_the_start_each_step_is_one_event(tmp_path: Path) -> None:
    """No event happens by itself; the reply to a step describes it, and the run is unchanged by stepping."""
    with simulated(tmp_path, "freeze") as run:
        begun = len(_steps(run))
        assert run.cluster.at_us == 0
        first = run.order("step")
        assert (first.ok, first.changed) == (True, True)
        assert first.text.startswith("AreYouUp ")
        assert len(_steps(run)) == begun + 1
        assert run.order("step 20").text.startswith("20 events, ")
        assert len(_steps(run)) == begun + 21
        assert run.cluster.at_us > 0


def test_a_chosen_message_arrives_at_once(tmp_path: Path) -> None:
    """Even if others are due before it; the choice is recorded as a command, after its effect."""
    with simulated(tmp_path, "freeze") as run, hand(run) as driver:
        listed = driver.ask(enabled_events=True).enabled_events
        assert [choice.due_us for choice in listed] == sorted(choice.due_us for choice in listed)
        last = [choice for choice in listed if isinstance(choice, Delivery)][-1]
        before = len(run.tail.read().records)
        reply = driver.ask(command=last.command)
        assert (reply.ok, reply.changed) == (True, True)
        assert reply.text.startswith(f"{last.kind} {last.source}->{last.node} arrives, ")
        assert reply.text.endswith(" ms early")
        step = run.tail.read().of(Step, before)[0]
        assert (step.at_us, step.node, step.input) == (0, last.node, Received(last.source, last.serial))
        commanded = run.tail.of(Commanded)[-1]
        assert (commanded.text, commanded.outcome, commanded.changed) == (last.command, reply.text, True)
        assert last not in driver.ask(enabled_events=True).enabled_events


def test_a_chosen_timer_advances_the_clock(tmp_path: Path) -> None:
    """Events due before that are overdue then, and come first when time runs."""
    with simulated(tmp_path, "freeze") as run, hand(run) as driver:
        timer = next(
            choice for choice in driver.ask(enabled_events=True).enabled_events if isinstance(choice, TimerExpiry)
        )
        assert driver.ask(command=f"fire {timer.node}").text == f"timer of {timer.node} fires: {timer.procedure}"
        step = _steps(run)[-1]
        assert (step.at_us, step.node, step.input) == (timer.due_us, timer.node, Fired(timer.procedure))
        overdue = driver.ask(enabled_events=True).enabled_events[0]
        assert overdue.due_us < timer.due_us
        assert driver.ask(command="step").text.startswith(overdue.text)
        assert _steps(run)[-1].at_us == timer.due_us


def test_impossible_choices_give_reasons(tmp_path: Path) -> None:
    """No message in flight, no such kind, no timer, no such node; and a wrong number of steps."""
    with simulated(tmp_path, "freeze") as run:
        run.order("kill 5")
        for command, expected in (
            ("deliver 5->1 NewState", "no NewState is in flight from 5 to 1, nothing changed"),
            ("deliver 2->1", "no message is in flight from 2 to 1, nothing changed"),
            ("fire 5", "no timer of 5 is set, nothing changed"),
            ("freeze", "frozen already, nothing changed"),
            ("speed 1", "1x already, nothing changed"),
        ):
            reply = run.order(command)
            assert (reply.ok, reply.changed, reply.text) == (True, False, expected)
        for command, expected in (
            ("deliver 1->9", "there is no node 9"),
            ("fire 9", "there is no node 9"),
            ("step 0", "step 0 is out of range: write 1 to 10000"),
            ("speed 0", "speed 0 is out of range: write 0.01 to 1000, or max"),
            ("at 2s step", "step runs at once and cannot have a trigger"),
        ):
            reply = run.order(command)
            assert not reply.ok
            assert expected in reply.text


def test_time_keeps_its_pace(tmp_path: Path) -> None:
    """It is not faster, by the real clock; how much slower depends on the machine."""
    with simulated(tmp_path, speed=5) as run:
        began_us, began_s = run.cluster.at_us, time.monotonic()
        run.until(lambda cluster: cluster.at_us > began_us + 3_000_000, "three seconds of virtual time")
        assert time.monotonic() - began_s > 0.5
        assert run.order("speed 0.01").text == "0.01x"
        slow_us = run.cluster.at_us
        run.order("pause 5")  # which is recorded at the instant when it comes
        assert run.cluster.at_us - slow_us < 500_000
        assert run.order("freeze").changed
        still = len(run.tail.read().records)
        assert run.order("speed max").text == "as fast as possible, once time is running"
        assert len(run.tail.read().records) == still
        assert run.order("go").text == "time is running"
        assert not run.order("go").changed
        run.until(lambda cluster: cluster.at_us > 100_000_000, "a hundred seconds")


def test_every_client_gets_the_clock(tmp_path: Path) -> None:
    """On attaching, and whenever it changes; it is not recorded."""
    with simulated(tmp_path, "freeze") as run, hand(run) as one, hand(run, "viewer") as other:
        for client in (one, other):
            clock = client.until_clock()
            assert (clock.at_us, clock.frozen, clock.factor) == (0, True, 1.0)
        one.ask(command="speed 20")
        one.ask(command="go")
        assert other.until_clock(lambda clock: not clock.frozen).factor == 20
        run.until(lambda cluster: cluster.at_us > 0, "the first event")
        one.ask(command="freeze")
        assert other.until_clock(lambda clock: clock.frozen).at_us >= run.cluster.at_us > 0
        for asked in ({"command": "step"}, {"enabled_events": True}):
            assert other.ask(**asked).text.startswith("viewers cannot give commands")
        assert not [line for line in run.path.read_bytes().splitlines() if line.startswith(ASIDES)]
        whole = FeedClient(run.ready.socket, "viewer", "first")
        one.ask(end=True)
        assert list(whole.lines()) == run.path.read_bytes().splitlines()
        whole.close()


def test_a_freeze_can_wait_for_a_message(tmp_path: Path) -> None:
    """Time freezes at the step that sends it, at any speed; all clients learn it, and time can run again."""
    with simulated(tmp_path, "on send NewState freeze", speed=None) as run, hand(run) as driver:
        clock = driver.until_clock(lambda clock: clock.frozen)
        assert clock.note.startswith("time is frozen by a command")
        assert [message.kind for message in _steps(run)[-1].sent] == ["NewState"] * 4
        for asked in ({"waiting": True}, {"enabled_events": True}, {"command": "pause 1"}):
            assert driver.ask(**asked).ok
        with hand(run) as other:
            assert other.until_clock(lambda clock: clock.frozen).note == clock.note, "it is still the reason"
        assert driver.ask(command="step").changed
        assert not driver.until_clock(lambda later: later.at_us > clock.at_us).note
        assert driver.ask(command="resume 1").changed
        assert driver.ask(command="go").changed
        run.settled(5)


def test_each_standstill_has_its_reason_once() -> None:
    """Also if the clocks between two of them were never seen."""
    running, first = Clock(0, 0, False, 1.0), Clock(100, 0, True, 1.0, "a command")
    assert (running.stopped_since(None), first.stopped_since(running)) == ("", "a command")
    assert first.stopped_since(replace(first, factor=2.0)) == ""
    assert replace(first, at_us=200).stopped_since(first) == "a command"
    assert replace(first, at_us=200, note="").stopped_since(first) == ""


def test_how_it_is_watched_leaves_no_trace(tmp_path: Path) -> None:
    """Frozen, stepped, slowed down and resumed: the same bytes as in an unwatched run."""
    for name in ("watched", "unseen"):
        (tmp_path / name).mkdir()
    commands = ("at 3s kill 5", "at 6s lose all 30%", "at 9s heal")
    with simulated(tmp_path / "watched", *commands, end_us=20_000_000, speed=0.01) as run:
        for command in ("step", "step 7", "speed 100", "go", "freeze", "speed 0.5", "step 3", "speed max", "go"):
            assert run.order(command).ok
        run.ended()
        end = run.tail.read().records[-1]
        assert isinstance(end, End)
        assert (end.at_us, end.why) == (20_000_000, "its time limit was reached")
    unseen = replace(run.config, recording=str(tmp_path / "unseen" / "run.jsonl"), run="another")
    assert execution.run_to_end(unseen, 20_000_000, lambda now_us: "") == "its time limit was reached"
    assert run.path.read_bytes() == Path(unseen.recording).read_bytes()


def test_at_full_speed_it_freezes_without_events(tmp_path: Path) -> None:
    """A restart makes it run again."""
    with simulated(tmp_path, "freeze", speed=None) as run, hand(run) as driver:
        driver.ask(command="kill all")
        driver.ask(command="go")
        clock = driver.until_clock(lambda clock: clock.note)
        assert clock.note == "time is frozen: no event is pending; give a command, or restart or resume a node"
        assert not driver.ask(command="step").changed
        assert driver.ask(command="restart all").changed
        assert driver.ask(command="go").changed
        run.settled(5)


def test_a_watched_run_fills_no_disk(tmp_path: Path) -> None:
    """After this many bytes time freezes, and runs for as many again on request."""
    run = simulated(tmp_path, speed=None, module="tests.worlds.small_disk")
    with run, hand(run) as driver:
        before = 0
        for _ in range(2):
            clock = driver.until_clock(lambda clock: clock.frozen)
            assert clock.note.startswith("time is frozen: 1 MB more were recorded")
            size = run.path.stat().st_size
            assert 1 << 20 < size - before < 2 << 20
            before = size
            driver.clocks.clear()
            assert driver.ask(command="go").changed


def test_an_unwatched_run_fills_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends, with a complete recording, when the disk is almost full; here that is at any size."""
    monkeypatch.setattr(execution, "LEAST_FREE_MB", 1 << 40)
    path = tmp_path / "run.jsonl"
    config = RunConfig("test", "bully", (1, 2), STEADY, {}, LINK, 1, str(path), world="simulated")
    why = execution.run_to_end(config, 10**12, lambda now_us: "")
    assert why.startswith("the disk has only ")
    with contextlib.closing(open_recording(path)) as lines:
        last = lines.record(len(lines) - 1)
        assert isinstance(last, End)
        assert last.why == why


@pytest.mark.live
@pytest.mark.parametrize("command", ["freeze", "go", "speed 2", "step", "deliver 2->1", "fire 1"])
def test_a_live_run_refuses(tmp_path: Path, command: str) -> None:
    """With a reply that says what to do instead; no event can be chosen."""
    with LiveRun(tmp_path, nodes=(1, 2)) as run, hand(run) as driver:
        reply = driver.ask(command=command)
        verb = command.partition(" ")[0]
        assert (reply.ok, reply.text) == (False, f"{verb}: only in a simulated run: lab run bully --sim")
        assert not driver.ask(enabled_events=True).ok
        assert driver.clocks == []
