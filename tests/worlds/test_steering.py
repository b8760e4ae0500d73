"""A script that chooses events and sets the pace: watched or not, the records are the same."""

import contextlib
from pathlib import Path
from typing import TypeGuard

import pytest

from lab.kernel import Fired, Received
from lab.recording.reader import open_recording
from lab.recording.records import Captioned, Commanded, End, Link, Record, Routed
from lab.script.parse import parse
from lab.worlds.feed_protocol import Delivery
from lab.worlds.loading.config import RunConfig
from lab.worlds.simulated.execution import run_to_end
from tests.harness import T_US, TIMING, Rig
from tests.recording.samples import execute_again
from tests.worlds.live import QUICK, LiveRun

SCRIPT = """
when all normal: freeze
then go
then speed 0.5
then choose 1
on send AreYouNormal 5->1: deliver 5->1 AreYouNormal
after 100ms: fire 2
then say "on"
"""
SCRIPT_MARKS = [
    "time is frozen, when watched",
    "time is running, when watched",
    "0.5x, when watched",
]


def _records(path: Path) -> list[Record]:
    with contextlib.closing(open_recording(path)) as lines:
        return [record for record in lines.records() if record is not None]


def _is_drop(record: Record) -> TypeGuard[Routed]:
    return isinstance(record, Routed) and record.fate == "dropped"


def _config(path: Path, script: str, **settings: object) -> RunConfig:
    given = {"world": "simulated", "script": script, **settings}
    return RunConfig("test", "bully", (1, 2, 3, 4, 5), TIMING, {}, Link(10_000, 2_000), 3, str(path), **given)  # type: ignore[arg-type]


def test_an_unwatched_run_continues(tmp_path: Path) -> None:
    """To its end, with the events that the script chooses; nothing fails."""
    path = tmp_path / "run.jsonl"
    run_to_end(_config(path, SCRIPT), 3_000_000, lambda now_us: "")
    records = _records(path)
    end = records[-1]
    assert isinstance(end, End)
    assert (end.at_us, end.why) == (3_000_000, "its time limit was reached")
    commanded = [record for record in records if isinstance(record, Commanded)]
    assert [record.line for record in commanded] == [2, 3, 4, 5, 6, 7]
    assert [record.outcome for record in commanded[:3]] == SCRIPT_MARKS
    assert all(record.changed and not record.refused for record in commanded)
    assert commanded[4].outcome.startswith("AreYouNormal 5->1 arrives, ")
    assert commanded[5].outcome.startswith("timer of 2 fires: ")
    assert [record.text for record in records if isinstance(record, Captioned)] == ["on"]
    assert execute_again(path).holds


def test_a_watched_run_freezes_and_has_the_same_records(tmp_path: Path) -> None:
    """A client lets it run again each time; the speed is that of the script."""
    alone, watched = tmp_path / "alone.jsonl", tmp_path / "watched"
    watched.mkdir()
    commands = (
        "when all normal freeze",
        "on send AreYouNormal 5->1: deliver 5->1 AreYouNormal",
        "at 600ms speed max",
        "at 700ms fire 3",
    )
    run_to_end(_config(alone, "", commands=commands), 2_000_000, lambda now_us: "")
    with LiveRun(
        watched,
        commands=commands,
        timing=TIMING,
        link=Link(10_000, 2_000),
        seed=3,
        world="simulated",
        speed=10.0,
        end_us=2_000_000,
    ) as run:
        run.until(lambda _: len(run.tail.of(Commanded)) == 1, "it stands still")
        for done in (2, 4):  # at the change of speed nothing stands still
            run.order("go")
            run.until(lambda _, done=done: len(run.tail.of(Commanded)) == done, "it goes on to the next")  # type: ignore[misc]
        run.order("go")
        run.ended()
    assert all(record.changed for record in run.tail.of(Commanded))
    assert alone.read_bytes().splitlines()[1:] == run.path.read_bytes().splitlines()[1:]


def test_the_nth_enabled_event_is_scheduled() -> None:
    """In the order of ``enabled_events``; the clock does not go back."""
    rig = Rig([1, 2, 3]).started()
    third = rig.enabled_events()[2]
    assert isinstance(third, Delivery)
    assert rig.do("choose 3").startswith(third.text)
    assert rig.steps[-1].input == Received(third.source, third.serial)
    last = len(rig.enabled_events())
    rig.do(f"choose {last}")
    assert isinstance(rig.steps[-1].input, Fired | Received)


def test_a_number_out_of_range() -> None:
    """Nothing changes, and the reply has the number of enabled events."""
    rig = Rig([1, 2, 3]).started()
    outcome = rig.control.execute(parse("choose 99"))
    assert not outcome.changed
    assert outcome.text == f"{len(rig.enabled_events())} events enabled, there is no number 99, nothing changed"


def test_step_is_refused_unwatched() -> None:
    outcome = Rig([1, 2]).started().control.execute(parse("step"))
    assert outcome.refused
    assert outcome.text == "step: only by hand, with : or lab ctl"


@pytest.mark.live
def test_a_script_s_pace_is_skipped_live(tmp_path: Path) -> None:
    """The clock is real there; by hand, the commands are refused, and so is choosing an event."""
    script = 'when all normal: freeze\nthen go\nthen deliver 1->2\nthen say "on"'
    with LiveRun(tmp_path, script=script, nodes=(1, 2), timing=QUICK) as run:
        run.until(lambda _: bool(run.tail.of(Captioned)), "the script is through")
        commanded = run.tail.of(Commanded)
        assert [(record.text, record.changed, record.refused) for record in commanded] == [
            ("when all normal: freeze", True, False),
            ("then go", True, False),
            ("then deliver 1->2", False, True),
        ]
        assert commanded[0].outcome == "skipped: this run is in real time"
        assert commanded[2].outcome == "deliver: only in a simulated run: lab run bully --sim"
        for by_hand in ("freeze", "choose 1"):
            assert not run.order(by_hand).ok


@pytest.mark.parametrize(
    ("fault", "why"),
    [("lose 3->1 100%", "lost"), ("cut 3->1", "cut"), ("kill 1", "down")],
)
def test_a_trigger_on_a_dropped_message_fires_at_once(fault: str, why: str) -> None:
    """Lost or cut when sent, or its target is down when it arrives: right after the record."""
    rig = Rig([1, 2, 3])
    rig.do(f"when all normal: {fault}", 'on drop AreYouNormal 3->1: say "dropped"')
    rig.started().run(20 * T_US)
    number = next(number for number, record in enumerate(rig.records) if isinstance(record, Captioned))
    dropped = rig.records[number - 1]
    assert _is_drop(dropped)
    assert (rig.messages[3, dropped.serial].kind, dropped.why) == ("AreYouNormal", why)


def test_only_a_message_that_is_dropped_counts() -> None:
    """Of that kind, on that link; the nth."""
    wanted = ("AreYouNormal", 3, 1)
    rig = Rig([1, 2, 3])
    rig.do("when all normal: lose 3 50%", 'on drop AreYouNormal 3->1 #2: say "two"')
    rig.started().run(60 * T_US)
    number = next(number for number, record in enumerate(rig.records) if isinstance(record, Captioned))
    dropped = [rig.messages[record.source, record.serial] for record in rig.records[:number] if _is_drop(record)]
    assert [(message.kind, message.source, message.target) for message in dropped].count(wanted) == 2


def test_triggers_on_messages_dropped_by_a_crash_fire_after_it() -> None:
    """A restart on such a message finds the node down."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    before = len(rig.records)
    rig.do("pause 1", "on drop AreYouNormal 3->1: restart 1")
    rig.run_until(lambda: (3, "AreYouNormal", 1) in rig.sent(since=before), 9 * T_US, "it waits")
    rig.run(15_000)
    rig.do("kill 1")
    assert rig.cluster.nodes[1].process == "running"
    assert [record.outcome for record in rig.records if isinstance(record, Commanded)][-2:] == [
        "1 restarted",
        "1 killed",
    ]
    assert rig.run_until_agreed() == 3


@pytest.mark.live
def test_a_live_router_reports_dropped_messages(tmp_path: Path) -> None:
    """Messages lost when sent, and messages lost with their node."""
    commands = ('on drop AreYouNormal 3->1: say "lost"', 'on drop AreYouUp: say "down"')
    with LiveRun(tmp_path, commands=commands, nodes=(1, 2, 3), timing=QUICK) as run:
        run.settled(3)
        run.order("lose 3->1 AreYouNormal 100%")
        run.until(lambda _: any(c.text == "lost" for c in run.tail.of(Captioned)), "one is lost")
        run.order("heal")
        run.order("kill 3")
        run.until(lambda _: any(c.text == "down" for c in run.tail.of(Captioned)), "3 does not get one")


def test_a_node_in_a_step_takes_no_input() -> None:
    """A message chosen then arrives after the step; a timer cannot be chosen."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("on send AreYouNormal 3->1: deliver 1->3", "on send AreYouNormal 3->1: fire 3")
    rig.do("hold 1->3")
    rig.run(5 * T_US)
    rig.do("heal")
    rig.run(5 * T_US)
    outcomes = [record.outcome for record in rig.records if isinstance(record, Commanded)]
    assert "3 is in the middle of a step, nothing changed" in outcomes
    assert rig.run_until_agreed() == 3
