"""The explanation of a violation, for readers who do not want to read the recording."""

import time
from pathlib import Path

import pytest

from lab.kernel import Log, Step
from lab.properties.assertions import describe_state
from lab.properties.verdicts import Broken, Violation, WitnessState
from lab.properties.witness import explain_violation
from lab.protocols import Bully
from lab.recording.reader import open_recording
from lab.recording.snapshot import NodeState
from tests.harness import Rig
from tests.properties.recorded import Records, judged


@pytest.fixture(scope="module")
def paused() -> Rig:
    """The coordinator is paused, another node takes over."""
    rig = Rig([1, 2, 3], parameters=Bully.Parameters(halting="at_once")).started()
    rig.do("at 2s pause 3", "at 4s resume 3")
    return rig.run(6_000_000)


@pytest.fixture(scope="module")
def first(paused: Rig) -> Violation:
    """Its first violation."""
    return judged(paused.records).violations[0]


def test_the_causes_of_both_states(paused: Rig, first: Violation) -> None:
    """Messages lead to their senders, timers to the begin of their wait; what broke the assumption is included."""
    assert [line.text for line in explain_violation(paused.records, first)] == [
        "3 starts, becomes Election and sends EnterElection to 2",
        "2 receives EnterElection from 3, becomes Election and sends EnterElectionAnswer to 3",
        "3 receives EnterElectionAnswer from 2, becomes Reorganization under 3 and sends SetCoordinator to 2",
        "2 receives SetCoordinator from 3, becomes Reorganization under 3 and sends SetCoordinatorAnswer to 3",
        "3 receives SetCoordinatorAnswer from 2 and sends NewState to 2",
        "2 receives NewState from 3, becomes Normal and sends NewStateAnswer to 3",
        "3 receives NewStateAnswer from 2 and becomes Normal under 3, definition 1",
        "pause of 3: breaks assumption 9",
        "coordinator_timeout of 2 is due and waits for AreYouUp answers",
        "coordinator_timeout of 2: heard nothing from 3 and waits for AreYouUp answers",
        "election of 2: heard nothing from 3, becomes Election and sends EnterElection to 1",
        "1 receives EnterElection from 2, becomes Election and sends EnterElectionAnswer to 2",
        "2 receives EnterElectionAnswer from 1 and becomes Reorganization under 2",
    ]


def test_crashes_explain_silent_and_forgetful_nodes() -> None:
    """With the restart of the one that forgets; earlier crashes of a node are left out."""
    rig = Rig([1, 2, 3, 4], parameters=Bully.Parameters(halting="at_once")).started()
    rig.do(
        "at 500ms kill 1", "at 900ms restart 1", "at 1s kill 2", "at 2s restart 2", "at 2s kill 1", "at 3s kill 4"
    )
    rig.do("at 5s pause 3")
    rig.run(9_000_000)
    first = judged(rig.records).violations[0]
    lines = [(line.at_us // 1000, line.text) for line in explain_violation(rig.records, first)]
    assert lines[:6] == [
        (1000, "2 is killed"),
        (2000, "2 starts for the second time"),
        (2000, "1 is killed"),
        (3000, "4 is killed"),
        (3250, "coordinator_timeout of 3 is due and waits for AreYouUp answers"),
        (3370, "coordinator_timeout of 3: heard nothing from 4 and waits for AreYouUp answers"),
    ]
    assert not any("killed" in text or "starts" in text for _, text in lines[6:])


def test_every_line_is_its_record_and_none_comes_twice(paused: Rig) -> None:
    """In order; the records of the states are included."""
    for violation in judged(paused.records).violations:
        lines = explain_violation(paused.records, violation)
        numbers = [line.record for line in lines]
        assert numbers == sorted(set(numbers))
        assert {state.record for state in violation.states} <= set(numbers)
        for line in lines:
            record = paused.records[line.record]
            assert line.at_us == getattr(record, "at_us", None)
            assert not isinstance(record, Step) or line.node == record.node


def test_a_file_gives_the_same(paused: Rig, first: Violation, tmp_path: Path) -> None:
    """Its lines are read on demand."""
    lines = open_recording(paused.write(tmp_path / "run.jsonl"))
    assert explain_violation(lines, first) == explain_violation(paused.records, first)
    lines.close()


def test_a_long_explanation_is_cut_in_the_middle(paused: Rig, first: Violation) -> None:
    """Its beginning and its end remain, with the number of lines omitted."""
    (whole, short) = (explain_violation(paused.records, first, most) for most in (12, 4))
    texts = [line.text for line in short]
    assert texts.count("… 4 more") == 1
    assert whole[0] in short
    assert whole[-1] in short
    assert len(short) < len(whole)


def test_faults_of_links_and_observations() -> None:
    """In the order of the records; a step that is both a cause and an observation is listed once."""
    records = Records()
    records.fault("lose", 8)
    records.normal(2, 2).normal(1, 1)
    (violation,) = records.violations
    assert [line.text for line in explain_violation(records.records, violation)] == [
        "lose 1 is in force: breaks assumption 8",
        "timer of 2 is due and becomes Normal under 2",
        "timer of 1 is due and becomes Normal under 1",
    ]
    records = Records().normal(2, 2)
    records.waits(1, 0).after(30_000).normal(1, 1)
    (violation,) = records.violations
    assert [line.text for line in explain_violation(records.records, violation)][-2:] == [
        "other of 1 is due and waits for something",
        "timer of 1: waited 0s for something and becomes Normal under 1 "
        "(node 1 was 30ms late: breaks assumption 9)",
    ]


def test_an_error_raised() -> None:
    """The input of the step that failed."""
    records = Records()
    serial = records.sends(1, 2)
    records.gets(2, 1, serial)
    step = records.records.pop()
    assert isinstance(step, Step)
    records.add(Step(step.at_us, 2, 1, step.input, failed="x.py:7 in on_say: self.seen[3]\nKeyError: 3"))
    (violation,) = records.violations
    assert [line.text for line in explain_violation(records.records, violation)] == [
        "timer of 1 is due and sends Say to 2",
        "2 receives Say from 1 and raises KeyError: 3 (x.py:7 in on_say: self.seen[3])",
    ]


def test_missing_causes() -> None:
    """A message that was never sent, a state from before the first record, an unreadable observation."""
    records = Records().gets(1, 2, 7).add(None)
    states = (WitnessState(1, 4, 0, "Normal under 1"), WitnessState(2, 0, 0, "Down"))
    violation = Violation("A1.1", 4, 0, states, {}, (Broken(8, "a message was late", 5),), "")
    assert [line.text for line in explain_violation(records.records, violation)] == [
        "2 becomes Down",
        "1 receives message 7 from 2 and becomes Normal under 1",
        "a message was late: breaks assumption 8",
    ]


def test_only_records_before_the_state_are_read(paused: Rig, first: Violation) -> None:
    """However long the recording goes on."""

    class Counting(list):  # type: ignore[type-arg]
        looked = 0

        def __getitem__(self, number):  # type: ignore[no-untyped-def]
            Counting.looked += 1
            return super().__getitem__(number)

    records = Counting([*paused.records, *[None] * 1_000_000])
    began = time.perf_counter()
    assert explain_violation(records, first)
    assert Counting.looked < 10 * max(state.record for state in first.states)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        ((), "[]"),
        (("yes 2.1", "commit 2.1"), "[yes 2.1, commit 2.1]"),
        (tuple(f"yes {number}" for number in range(100)), "[…, yes 94, yes 95, yes 96, yes 97, yes 98, yes 99]"),
        (("x" * 30,), f"[{'x' * 19}…]"),
    ],
)
def test_a_long_log_shows_its_end(entries: tuple[str, ...], shown: str) -> None:
    """Its last entries decide."""
    node = NodeState(1, "running", state={"log": Log(entries), "note": "y" * 30})
    assert describe_state(node) == f"{{log {shown}, note {'y' * 19}…}}"
