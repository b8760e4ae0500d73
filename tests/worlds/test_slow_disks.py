"""Slow disks: a step that writes stable storage takes longer, what it sends leaves later, and inputs wait."""

from itertools import pairwise
from pathlib import Path

import pytest

from lab.kernel import CommandInput, Fired, Received, Step
from lab.protocols import TwoPhaseCommit, source_of
from lab.recording.reader import open_recording
from lab.recording.records import Commanded, Fault, Process, Record, Routed
from lab.replay.reexecution import reexecute
from lab.script.parse import parse
from lab.worlds.feed_protocol import WriteEnd
from tests.harness import T_US, TM_US, Rig
from tests.properties.recorded import judged
from tests.worlds.branches import Grown
from tests.worlds.live import STEADY, LiveRun
from tests.worlds.protocols import Scribe

SLOW_US = 15_000
TRANSFER = "tell 3 transfer 100 savings checking"


def _bank(*lines: str, latency_us: int = 10_000) -> Rig:
    """Return a bank of three nodes, all idle, with these lines."""
    rig = Rig([1, 2, 3], protocol=TwoPhaseCommit, latency_us=latency_us).started()
    rig.run(T_US)
    rig.do(*lines)
    return rig


def _committed_us(*lines: str) -> int:
    """Return how long it takes until 3 has committed a transfer."""
    rig = _bank(*lines)
    began_us = rig.now_us
    rig.do(TRANSFER)
    return rig.run_until(lambda: "committed" in str(rig.cluster.nodes[3].state["log"]), 20 * T_US, "3") - began_us


def _broken(rig: Rig) -> set[int]:
    return {each for each in judged(rig.records).broken_at(len(rig.records)) if isinstance(each, int)}


def _holds(rig: Rig, path: Path) -> bool:
    store = open_recording(rig.write(path))
    report = reexecute(store, TwoPhaseCommit, source_of(TwoPhaseCommit)[1])
    store.close()
    return report.holds


def _arrivals(records: list[Record], step: Step) -> list[int]:
    """Return when each message of the step arrives."""
    taken = {r.input: r.at_us for r in records if isinstance(r, Step) and isinstance(r.input, Received)}
    return [taken[Received(message.source, message.serial)] for message in step.sent]


def test_what_a_step_that_writes_sends_leaves_later(tmp_path: Path) -> None:
    """By the time of the disk; a step that writes nothing is as fast as ever. The recording re-executes."""
    rig = _bank(f"slow-disk 1 {SLOW_US}us")
    rig.do(TRANSFER)
    rig.run(10 * T_US)
    steps = [step for step in rig.steps if step.at_us > T_US]
    slow = [step for step in steps if step.node == 1 and step.stores and step.sent]
    others = [step for step in steps if step.sent and step not in slow]
    assert slow
    assert others
    assert {at_us - step.at_us for step in slow for at_us in _arrivals(rig.records, step)} == {SLOW_US + 10_000}
    assert {at_us - step.at_us for step in others for at_us in _arrivals(rig.records, step)} == {10_000}
    assert rig.cluster.faults[1].touched == len([step for step in steps if step.node == 1 and step.stores])
    assert _holds(rig, tmp_path / "run.jsonl")


def test_forced_writes_cost_time() -> None:
    """A commit takes two of them, one after the other: prepared at a participant, committed at the coordinator."""
    fast_us = _committed_us()
    assert _committed_us("slow-disk all 15ms") - fast_us >= 2 * SLOW_US
    assert _committed_us("slow-disk 2 15ms") - fast_us <= SLOW_US


def test_inputs_wait_in_order() -> None:
    """Until the write has ended: one that makes the node write lets the next one wait again."""
    rig = _bank("slow-disk 3 300ms")
    rig.do(TRANSFER)
    began_us = rig.now_us
    assert [step for step in rig.steps if isinstance(step.input, CommandInput)] == [], "its first write takes time"
    rig.do('inject 1->3 OutcomeOf {"transaction":[3,9]}', 'inject 2->3 OutcomeOf {"transaction":[3,9]}')
    rig.run(299_999)
    assert [step for step in rig.steps if step.node == 3 and step.at_us >= began_us] == []
    rig.run(600_001)
    taken = [step for step in rig.steps if step.node == 3 and step.at_us >= began_us][:3]
    assert [type(step.input) for step in taken] == [CommandInput, Received, Received]
    assert [step.at_us for step in taken] == [began_us, began_us + 300_000, began_us + 600_000]
    assert [step.input.source for step in taken[1:] if isinstance(step.input, Received)] == [1, 2]


def test_a_crash_amid_a_slow_write_loses_it() -> None:
    """The step is no part of the run, nor is what it wrote; the message that it took in is lost."""
    rig = _bank("slow-disk 2 100ms")
    rig.do(TRANSFER)
    rig.run(5 * 10_000)
    (waiting,) = [flight for flight in rig.cluster.in_flight.values() if flight.target == 2]
    rig.do("kill 2", "restart 2")
    rig.run(200_000)
    dropped = [
        r
        for r in rig.records
        if isinstance(r, Routed) and (r.source, r.serial) == (waiting.source, waiting.serial)
    ]
    assert [record.why for record in dropped] == ["killed"]
    assert "prepared" not in str(rig.cluster.nodes[2].state["log"])


def test_a_pause_amid_a_slow_write() -> None:
    """The write ends when the node resumes, or at its time if that is later."""
    for paused_us, ended_us in ((20_000, 150_000), (400_000, 460_000)):
        rig = _bank("slow-disk 2 100ms")
        began_us = rig.now_us
        rig.do(TRANSFER)
        rig.run(60_000)
        rig.do("pause 2")
        rig.run(paused_us)
        assert [step for step in rig.steps if step.node == 2 and step.stores and step.at_us > began_us] == []
        rig.do("resume 2")
        rig.run(400_000)
        step = next(step for step in rig.steps if step.node == 2 and step.stores and step.at_us > began_us)
        assert step.at_us == began_us + 50_000
        assert _arrivals(rig.records, step) == [began_us + ended_us + 10_000]


@pytest.mark.parametrize(
    ("lines", "breaks"),
    [
        (("slow-disk 2 20ms",), ()),
        (("slow-disk 2 21ms",), (9,)),
        (("slow-disk 2 3 10ms",), ()),
        (("slow-disk 2 3 11ms",), (9,)),
        (("slow-disk 1 11ms", "slow-disk 2 11ms"), (9,)),
    ],
)
def test_it_breaks_9_beyond_what_Tp_leaves(lines: tuple[str, ...], breaks: tuple[int, ...]) -> None:
    """Tp is 20 ms; a request and its answer may both wait for a disk."""
    rig = _bank(*lines)
    faults = [record for record in rig.records if isinstance(record, Fault)]
    assert faults[-1].breaks == breaks
    assert _broken(rig) == set(breaks)


def test_within_Tp_nothing_is_late() -> None:
    """Messages take all of Tm, and then the disk: no message is late, neither 8 nor 9 is broken."""
    rig = _bank("slow-disk 2 20ms", latency_us=TM_US)
    rig.do(TRANSFER)
    rig.run(20 * T_US)
    assert rig.cluster.faults[1].touched >= 2
    assert judged(rig.records).late is None
    assert _broken(rig) == set()


def test_writes_one_after_the_other_break_9() -> None:
    """Each is short enough, but the last input of many waits for all of them."""
    rig = _bank("slow-disk 2 20ms", latency_us=TM_US)
    for _ in range(4):
        rig.do(TRANSFER)
    rig.run(20 * T_US)
    late = judged(rig.records).late
    assert late is not None
    assert late.assumption == 9
    assert 8 not in _broken(rig)


def test_it_ends_by_heal_and_by_0ms() -> None:
    """Each of its nodes by itself; without a slow disk nothing changes."""
    rig = _bank("slow-disk 1 2 20ms", "cut 1->2")
    assert rig.do("slow-disk 2 0ms") == "1 slow disk ended"
    assert [fault.text for fault in rig.cluster.faults.values()] == ["slow-disk 1 20ms", "cut 1->2"]
    assert rig.do("slow-disk 1 30ms") == "1 disk"
    assert [fault.text for fault in rig.cluster.faults.values()] == ["cut 1->2", "slow-disk 1 30ms"]
    assert rig.do("heal") == "1 slow disk ended, 1 fault ended"
    assert not rig.cluster.faults
    fast_us = _committed_us()
    assert _committed_us("slow-disk all 15ms", "heal") == fast_us
    outcome = rig.control.execute(parse("slow-disk 1 0ms"))
    assert (outcome.changed, outcome.text) == (False, "the disk of 1 is not slow, nothing changed")


def test_a_slow_disk_that_nothing_was_written_to_is_inert() -> None:
    """A write counts even if it ends after the fault."""
    rig = _bank("slow-disk 1 20ms", "slow-disk 3 20ms")
    rig.do("tell 3 transfer 100 savings moneymarket")
    rig.do("heal")
    assert [fault.touched for fault in rig.cluster.lifted] == [0, 0]
    rig.run(T_US)
    assert [fault.touched for fault in rig.cluster.lifted] == [0, 1]


def test_a_crash_does_not_make_the_disk_fast() -> None:
    """Nor does a restart, whose first step may write."""
    rig = Rig([1, 2]).started()
    rig.run_until_agreed()
    rig.do("slow-disk 2 50ms", "kill 2", "restart 2")
    rig.run_until_agreed()
    writes = [step for step in rig.steps if step.node == 2 and step.incarnation == 2 and step.stores]
    assert rig.cluster.faults[1].touched == len(writes) > 0


def test_a_branch_goes_on_with_the_slow_disk(tmp_path: Path) -> None:
    """The fault is in force there; a write under way begins again."""
    rig = _bank("slow-disk all 30ms")
    rig.do(TRANSFER)
    rig.run(100_000)
    parent = rig.write(tmp_path / "parent.jsonl", end=False)
    rig.run(10 * T_US)
    decided = [str(view.state["log"]) for view in rig.cluster.nodes.values()]
    began = next(n for n, record in enumerate(rig.records) if isinstance(record, Commanded) and record.reached)
    for at in range(began, len(open_recording(parent)), 3):
        grown = Grown(parent, at, tmp_path / "branch.jsonl", protocol=TwoPhaseCommit)
        grown.run.run_to(grown.began_us + 10 * T_US)
        assert [str(view.state["log"]) for view in grown.writer.cluster.nodes.values()] == decided, (
            f"branch at {at}"
        )
        assert grown.writer.cluster.faults[1].touched == rig.cluster.faults[1].touched
        grown.do("heal")
        assert not grown.writer.cluster.faults
        grown.writer.close()


def test_the_end_of_a_write_is_an_enabled_event() -> None:
    """It can be chosen before others; while the node writes, it has no timer."""
    rig = _bank("slow-disk 3 300ms")
    rig.do(TRANSFER)
    began_us = rig.now_us
    assert [event for event in rig.enabled_events() if event.node == 3] == [WriteEnd(began_us + 300_000, 3)]
    assert rig.do("fire 3") == "write of 3 ends"
    assert rig.now_us == began_us + 300_000
    assert not any(isinstance(event, WriteEnd) for event in rig.enabled_events())


@pytest.mark.live
def test_live_the_process_takes_longer(tmp_path: Path) -> None:
    """Each write of 2 takes 30 ms: it counts slower, also in its next incarnation; then it is fast again."""
    with LiveRun(tmp_path, nodes=(1, 2), protocol=Scribe, timing=STEADY, parameters={"every_us": 5_000}) as run:

        def gaps(since_us: int) -> list[int]:
            steps = [
                s for s in run.tail.of(Step) if s.node == 2 and isinstance(s.input, Fired) and s.at_us > since_us
            ]
            return [after.at_us - before.at_us for before, after in pairwise(steps)]

        run.until(lambda _: len(gaps(0)) > 20, "some writes")
        assert min(gaps(0)) < 15_000
        run.order("slow-disk 2 30ms")
        for incarnation in (1, 2):
            since_us = run.cluster.at_us + 100_000
            run.until(lambda _, since=since_us: len(gaps(since)) > 8, "slow writes")  # type: ignore[misc]
            assert min(gaps(since_us)) >= 30_000
            assert run.cluster.nodes[2].incarnation == incarnation
            if incarnation == 1:
                run.order("kill 2")
                run.process_is(2, "killed")
                run.order("restart 2")
                run.process_is(2, "running")
        assert run.cluster.faults[1].touched >= 16
        run.order("heal")
        since_us = run.cluster.at_us + 100_000
        run.until(lambda _: len(gaps(since_us)) > 20, "fast writes")
        assert min(gaps(since_us)) < 15_000
        assert [record.event for record in run.processes(2) if isinstance(record, Process)].count("killed") == 1
