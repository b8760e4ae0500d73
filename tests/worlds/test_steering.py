"""A script that decides what happens next, and how fast a run goes: whoever watches, the records are the same."""

import contextlib
from pathlib import Path
from typing import TypeGuard

import pytest

from lab.kernel import Fired, Received
from lab.recording.reader import open_recording
from lab.recording.records import Captioned, Commanded, End, Link, Record, Routed
from lab.script import parse
from lab.worlds.config import RunConfig
from lab.worlds.simulated.choices import Deliver
from lab.worlds.simulated.running import run_flat
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
SAID = ["time stands still, for those who watch", "time goes on, for those who watch", "0.5x, for those who watch"]


def _records(path: Path) -> list[Record]:
    with contextlib.closing(open_recording(path)) as lines:
        return [record for record in lines.records() if record is not None]


def _is_drop(record: Record) -> TypeGuard[Routed]:
    return isinstance(record, Routed) and record.fate == "dropped"


def _config(path: Path, script: str, **settings: object) -> RunConfig:
    given = {"world": "simulated", "script": script, **settings}
    return RunConfig("test", "bully", (1, 2, 3, 4, 5), TIMING, {}, Link(10_000, 2_000), 3, str(path), **given)  # type: ignore[arg-type]


def test_a_run_that_nobody_watches_goes_on(tmp_path: Path) -> None:
    """To its end, and what the script chooses happens on the way; nothing of it fails."""
    path = tmp_path / "run.jsonl"
    run_flat(_config(path, SCRIPT), 3_000_000, lambda now_us: "")
    records = _records(path)
    end = records[-1]
    assert isinstance(end, End)
    assert (end.at_us, end.why) == (3_000_000, "its time was up")
    commanded = [record for record in records if isinstance(record, Commanded)]
    assert [record.line for record in commanded] == [2, 3, 4, 5, 6, 7]
    assert [record.outcome for record in commanded[:3]] == SAID
    assert all(record.changed and not record.refused for record in commanded)
    assert commanded[4].outcome.startswith("AreYouNormal 5->1 arrives, ")
    assert commanded[5].outcome.startswith("timer of 2 fires: ")
    assert [record.text for record in records if isinstance(record, Captioned)] == ["on"]
    assert execute_again(path).holds


def test_one_that_is_watched_stands_still_there_and_has_the_same_records(tmp_path: Path) -> None:
    """Each time somebody lets it go on; the speed is that of the script."""
    alone, watched = tmp_path / "alone.jsonl", tmp_path / "watched"
    watched.mkdir()
    commands = ("when all normal freeze", "at 500ms deliver 5->1", "at 600ms speed max", "at 700ms fire 3")
    run_flat(_config(alone, "", commands=commands), 2_000_000, lambda now_us: "")
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
            run.until(lambda _, done=done: len(run.tail.of(Commanded)) >= done, "it goes on to the next")  # type: ignore[misc]
        run.order("go")
        run.ended()
    assert alone.read_bytes().splitlines()[1:] == run.path.read_bytes().splitlines()[1:]


def test_the_so_manieth_choice_happens() -> None:
    """As ``choices`` lists them; the clock does not go back."""
    rig = Rig([1, 2, 3]).started()
    third = rig.choices()[2]
    assert isinstance(third, Deliver)
    assert rig.do("choose 3").startswith(third.said)
    assert rig.steps[-1].input == Received(third.source, third.serial)
    last = len(rig.choices())
    rig.do(f"choose {last}")
    assert isinstance(rig.steps[-1].input, Fired | Received)


def test_a_choice_that_there_is_not() -> None:
    """Nothing changes, and how many there are is said."""
    rig = Rig([1, 2, 3]).started()
    outcome = rig.control.execute(parse("choose 99"))
    assert not outcome.changed
    assert outcome.text == f"{len(rig.choices())} events may happen next, there is no 99, nothing changed"


def test_a_step_is_for_somebody_who_watches() -> None:
    """It is refused elsewhere."""
    outcome = Rig([1, 2]).started().control.execute(parse("step"))
    assert outcome.refused
    assert outcome.text == "step: give it by hand: with : or lab ctl"


def test_a_script_s_pace_is_passed_over_live(tmp_path: Path) -> None:
    """Time goes by itself there; a command given by hand is refused all the same, as is what chooses."""
    script = 'when all normal: freeze\nthen go\nthen deliver 1->2\nthen say "on"'
    with LiveRun(tmp_path, script=script, nodes=(1, 2), timing=QUICK) as run:
        run.until(lambda _: bool(run.tail.of(Captioned)), "the script is through")
        commanded = run.tail.of(Commanded)
        assert [(record.text, record.changed, record.refused) for record in commanded] == [
            ("when all normal: freeze", True, False),
            ("then go", True, False),
            ("then deliver 1->2", False, True),
        ]
        assert commanded[0].outcome == "passed over: time goes by itself here"
        assert commanded[2].outcome == "deliver: only in a simulated run: lab run bully --sim"
        for by_hand in ("freeze", "choose 1"):
            assert not run.order(by_hand).ok


@pytest.mark.parametrize(
    ("fault", "why"),
    [("lose 3->1 100%", "lost"), ("cut 3->1", "cut"), ("kill 1", "down")],
)
def test_what_waits_for_a_dropped_message_comes_with_it(fault: str, why: str) -> None:
    """Lost or cut as it is sent, or down when it arrives: at once, behind the record of it."""
    rig = Rig([1, 2, 3])
    rig.do(f"when all normal: {fault}", 'on drop AreYouNormal 3->1: say "dropped"')
    rig.started().run(20 * T_US)
    number = next(number for number, record in enumerate(rig.records) if isinstance(record, Captioned))
    dropped = rig.records[number - 1]
    assert _is_drop(dropped)
    assert (rig.messages[3, dropped.serial].kind, dropped.why) == ("AreYouNormal", why)


def test_only_a_message_that_is_dropped_counts() -> None:
    """Of that kind, on that link; the so-manieth."""
    wanted = ("AreYouNormal", 3, 1)
    rig = Rig([1, 2, 3])
    rig.do("when all normal: lose 3 50%", 'on drop AreYouNormal 3->1 #2: say "two"')
    rig.started().run(60 * T_US)
    number = next(number for number, record in enumerate(rig.records) if isinstance(record, Captioned))
    dropped = [rig.messages[record.source, record.serial] for record in rig.records[:number] if _is_drop(record)]
    assert [(message.kind, message.source, message.target) for message in dropped].count(wanted) == 2


def test_what_a_crash_drops_is_answered_once_it_is_dead() -> None:
    """A restart on such a message finds the node down."""
    rig = Rig([1, 2, 3]).started()
    rig.settle()
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
    assert rig.settle() == 3


def test_a_live_switch_tells_of_dropped_messages(tmp_path: Path) -> None:
    """Lost as they are sent, and lost with the node that had them."""
    commands = ('on drop AreYouNormal 3->1: say "lost"', 'on drop AreYouUp: say "down"')
    with LiveRun(tmp_path, commands=commands, nodes=(1, 2, 3), timing=QUICK) as run:
        run.settled(3)
        run.order("lose 3->1 AreYouNormal 100%")
        run.until(lambda _: any(c.text == "lost" for c in run.tail.of(Captioned)), "one is lost")
        run.order("heal")
        run.order("kill 3")
        run.until(lambda _: any(c.text == "down" for c in run.tail.of(Captioned)), "3 does not get one")


def test_in_the_middle_of_a_step_its_node_takes_nothing_else() -> None:
    """A message chosen then comes when the step is over; a timer cannot be chosen."""
    rig = Rig([1, 2, 3]).started()
    rig.settle()
    rig.do("on send AreYouNormal 3->1: deliver 1->3", "on send AreYouNormal 3->1: fire 3")
    rig.do("hold 1->3")
    rig.run(5 * T_US)
    rig.do("heal")
    rig.run(5 * T_US)
    said = [record.outcome for record in rig.records if isinstance(record, Commanded)]
    assert "3 is in the middle of a step, nothing changed" in said
    assert rig.settle() == 3
