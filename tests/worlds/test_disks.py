"""Faults of stable storage: undone, torn and damaged writes of nodes that are down, in simulation and live."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.kernel import Started, Step
from lab.protocols import TwoPhaseCommit, source_of
from lab.recording.log_lines import lines_of
from lab.recording.reader import open_recording
from lab.recording.records import Fault, Process
from lab.replay.reexecution import ReexecutionReport, reexecute
from lab.script.parse import parse
from tests.harness import T_US, Rig
from tests.properties.recorded import judged
from tests.worlds.branches import Grown
from tests.worlds.live import STEADY, LiveRun
from tests.worlds.protocols import Scribe


def _down(*lines: str, transfers: int = 2) -> Rig:
    """Return a run of three nodes, with transfers, after which 3 is killed; then these lines."""
    rig = Rig([1, 2, 3], protocol=TwoPhaseCommit).started()
    for _ in range(transfers):
        rig.do("tell 3 transfer 100 savings checking")
        rig.run(10 * T_US)
    rig.do("kill 3", *lines)
    return rig


def _log_of(rig: Rig) -> list[Any]:
    log: list[Any] = rig.cluster.nodes[3].state["log"]
    return log


def _started(rig: Rig, incarnation: int = 2) -> dict[str, Any]:
    starts = [step.input for step in rig.steps if step.node == 3 and isinstance(step.input, Started)]
    return next(given.stored for given in starts if given.incarnation == incarnation)


def _verified(rig: Rig, path: Path) -> ReexecutionReport:
    rig.write(path)
    return _reexecuted(path)


def _reexecuted(path: Path) -> ReexecutionReport:
    store = open_recording(path)
    report = reexecute(store, TwoPhaseCommit, source_of(TwoPhaseCommit)[1])
    store.close()
    return report


def _events(rig: Rig) -> list[Process]:
    return [record for record in rig.records if isinstance(record, Process) and record.node == 3]


WRITTEN = len(_log_of(_down()))
WRITES = sum(step.stores for step in _down().steps if step.node == 3)


@pytest.mark.parametrize(
    ("line", "event", "gone"),
    [("unwrite 3", "unwritten", 1), ("unwrite 3 last 3", "unwritten", 3), ("tear 3", "torn", 1)],
)
def test_a_restarted_node_lacks_what_is_lost(tmp_path: Path, line: str, event: str, gone: int) -> None:
    """The records say what is gone; the state of the node that is down lacks it, too; all re-executes."""
    before = _log_of(_down())
    rig = _down(line)
    happened = _events(rig)[-1]
    assert (happened.event, happened.lost, happened.left) == (event, gone, {"log": WRITTEN - gone})
    assert _log_of(rig) == before[:-gone]
    rig.do("restart 3")
    assert _started(rig)["log"] == before[:-gone]
    assert _verified(rig, tmp_path / "run.jsonl").holds
    broken = judged(rig.records).broken_at(len(rig.records))
    assert {each: why.kinds for each, why in broken.items() if isinstance(each, int)} == {
        4: (line.partition(" ")[0],)
    }


def test_a_flipped_bit_is_never_used(tmp_path: Path) -> None:
    """The node fails each time with words, until it is wiped; that is no error in its code."""
    rig = _down("flip 3")
    flipped = _events(rig)[-1]
    assert 1 <= flipped.write <= WRITES
    rig.do("restart 3")
    why = (
        f"its stable storage is damaged: write {flipped.write} of {WRITES} fails its check; "
        "wipe 3 before you restart it"
    )
    assert [(each.event, each.why) for each in _events(rig)[-2:]] == [("started", ""), ("failed", why)]
    assert rig.cluster.nodes[3].traceback == why
    assert [lines_of(0, each)[0].text for each in _events(rig)[-3:]] == [
        f"a bit of write {flipped.write} is flipped",
        "started (incarnation 2, process 0)",
        f"failed: {why}",
    ]
    rig.do("restart 3")
    assert _events(rig)[-1].why == why
    rig.do("wipe 3", "restart 3")
    assert _started(rig, 4) == {}
    assert rig.cluster.nodes[3].process == "running"
    judge = judged(rig.records)
    assert not [each for each in judge.violations if each.assertion == "raises"]
    assert judge.broken_at(len(rig.records))[4].kinds == ("flip", "wipe")
    assert _verified(rig, tmp_path / "run.jsonl").holds


def test_lost_writes_may_be_the_damaged_ones(tmp_path: Path) -> None:
    """Faults add up: a damaged log that loses all of its writes is empty, and whole."""
    rig = _down("flip 3", f"unwrite 3 last {WRITES}", "restart 3")
    assert _started(rig) == {}
    assert _verified(rig, tmp_path / "run.jsonl").holds


@pytest.mark.parametrize("line", ["unwrite 1", "tear 1", "flip 1"])
def test_a_node_that_is_up_or_has_nothing_stored_is_spared(line: str) -> None:
    """The fault touched nothing, says so, and breaks nothing."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    stored = "no whole last write" if line.startswith("tear") else "nothing"
    for why in ("1 must be down for that", f"{stored} is stored on 1"):
        outcome = rig.control.execute(parse(line))
        assert not outcome.changed
        assert outcome.text == f"{why}, nothing changed"
        faults = [record for record in rig.records if isinstance(record, Fault)][-2:]
        assert [fault.lifted for fault in faults] == [False, True]
        assert rig.cluster.lifted[-1].touched == 0
        rig.do(*(["kill 1", "wipe 1"] if rig.cluster.nodes[1].process == "running" else []))
    broken = judged(rig.records).broken_at(len(rig.records))
    assert {each: why.kinds for each, why in broken.items() if isinstance(each, int)} == {4: ("wipe",)}


@pytest.mark.parametrize("line", ["unwrite 3 last 2", "tear 3", "flip 3"])
def test_a_branch_has_the_same_storage(tmp_path: Path, line: str) -> None:
    """Before the fault, at it, after it, and after the restart."""
    rig = _down(line)
    faulted = len(rig.records) - 1
    rig.do("restart 3")
    parent = rig.write(tmp_path / "parent.jsonl", end=False)
    last = _events(rig)[-1]
    for at in range(faulted - 4, faulted + 1):
        grown = Grown(parent, at, tmp_path / "branch.jsonl", protocol=TwoPhaseCommit)
        if not any(
            isinstance(record, Process) and record.event in ("unwritten", "torn", "flipped")
            for record in (*rig.records[: at + 1], *grown.new)
        ):
            for command in ("kill 3", line):
                grown.run.control.execute(parse(command))
        grown.do("restart 3")
        if line == "flip 3":
            assert grown.writer.cluster.nodes[3].process == "failed", f"branch at {at}"
        else:
            (started,) = [
                record.input
                for record in grown.new
                if isinstance(record, Step) and record.node == 3 and isinstance(record.input, Started)
            ]
            assert started.stored == _started(rig), f"branch at {at}"
        grown.writer.close()
    assert last.event == ("failed" if line == "flip 3" else "started")


@pytest.mark.parametrize(
    ("line", "edit", "found"),
    [
        ("unwrite 3 last 2", {"lost": 1}, "was unwritten, but re-execution differs"),
        ("tear 3", {"left": {"log": 1}}, "was torn, but re-execution differs"),
        ("flip 3", {"bit": 77, "write": 1}, "node 3 did not start: recorded its stable storage is damaged"),
    ],
)
def test_an_edited_fault_is_found(tmp_path: Path, line: str, edit: dict[str, Any], found: str) -> None:
    """By lab verify, at its record or at the restart."""
    rig = _down(line, "restart 3")
    path = rig.write(tmp_path / "run.jsonl")
    lines = path.read_bytes().splitlines()
    number = next(
        n for n, each in enumerate(lines) if b'"unwritten"' in each or b'"torn"' in each or b"flipped" in each
    )
    lines[number] = json.dumps({**json.loads(lines[number]), **edit}).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")
    report = _reexecuted(path)
    assert not report.holds
    assert found in report.differences[0].text


def test_other_contents_than_the_fault_left_are_found(tmp_path: Path) -> None:
    """A node that starts with what it had lost."""
    rig = _down("unwrite 3", "restart 3")
    path = rig.write(tmp_path / "run.jsonl")
    whole = _down("restart 3").write(tmp_path / "whole.jsonl")
    lines, others = path.read_bytes().splitlines(), whole.read_bytes().splitlines()
    number = next(n for n, each in enumerate(lines) if b'"type":"started"' in each and b'"life":2' in each)
    lines[number] = next(each for each in others if b'"type":"started"' in each and b'"life":2' in each)
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert "other contents of stable storage" in _reexecuted(path).differences[0].text


# on real processes


def _count(run: LiveRun, incarnation: int) -> int:
    starts = [step.input for step in run.tail.of(Step) if step.node == 2 and isinstance(step.input, Started)]
    count: int = next(given.stored["count"] for given in starts if given.incarnation == incarnation)
    return count


@pytest.mark.live
def test_live_faults_alter_the_file(tmp_path: Path) -> None:
    """Writes are lost and torn; a flipped bit keeps the process from starting, until the node is wiped."""
    with LiveRun(
        tmp_path, nodes=(1, 2), protocol=Scribe, timing=STEADY, commands=("on store 2 #9: kill 2",)
    ) as run:
        run.process_is(2, "killed")
        assert run.order("unwrite 2 last 3").text == "2 lost writes"
        assert run.order("unwrite 1").text == "1 must be down for that, nothing changed"
        run.order("on store 2 #9: kill 2")
        run.order("restart 2")
        run.until(lambda cluster: cluster.nodes[2].incarnation == 2, "the second incarnation")
        run.process_is(2, "killed")
        assert _count(run, 2) == 6
        assert run.order("tear 2").text == "2 torn"
        run.order("restart 2")
        run.until(lambda cluster: cluster.nodes[2].incarnation == 3, "the third incarnation")
        run.until(
            lambda _: any(step.node == 2 and step.incarnation == 3 for step in run.tail.of(Step)), "its start"
        )
        assert _count(run, 3) == 6 + 9 - 1
        for order in ("kill 2", "flip 2", "restart 2"):  # the process may have still to end
            assert run.order(order).changed
        run.process_is(2, "failed")
        flipped, _, failed = run.processes(2)[-3:]
        assert f"write {flipped.write} of " in failed.why
        assert failed.why.endswith("fails its check; wipe 2 before you restart it")
        assert run.order("wipe 2").changed
        run.order("restart 2")
        run.until(
            lambda _: any(step.node == 2 and step.incarnation == 5 for step in run.tail.of(Step)), "its start"
        )
