"""How it came to a violation: the account, for whoever does not want to read the recording."""

import time
from pathlib import Path

import pytest

from lab.kernel import Step
from lab.properties import Broken, LocalState, Violation, account
from lab.recording.reader import open_recording
from tests.harness import Rig
from tests.properties.recorded import Records, judged


@pytest.fixture(scope="module")
def paused() -> Rig:
    """The coordinator is paused, another one takes over."""
    rig = Rig([1, 2, 3]).started()
    rig.do("at 2s pause 3", "at 4s resume 3")
    return rig.run(6_000_000)


@pytest.fixture(scope="module")
def first(paused: Rig) -> Violation:
    """The first violation of it."""
    return judged(paused.records).violations[0]


def test_from_where_both_began_to_the_two_states(paused: Rig, first: Violation) -> None:
    """Messages to their senders, timers to where their wait began; what broke the assumption is among it."""
    assert [moment.text for moment in account(paused.records, first)] == [
        "3 comes up, becomes Election and sends EnterElection to 2",
        "2 gets EnterElection of 3, becomes Election and sends EnterElectionAnswer to 3",
        "3 gets EnterElectionAnswer of 2, becomes Reorganization under 3 and sends SetCoordinator to 2",
        "2 gets SetCoordinator of 3, becomes Reorganization under 3 and sends SetCoordinatorAnswer to 3",
        "3 gets SetCoordinatorAnswer of 2 and sends NewState to 2",
        "2 gets NewState of 3, becomes Normal and sends NewStateAnswer to 3",
        "3 gets NewStateAnswer of 2 and becomes Normal under 3, definition 1",
        "pause of 3: breaks assumption 9",
        "coordinator_timeout of 2 is due and waits for AreYouUp answers",
        "coordinator_timeout of 2: heard nothing of 3 and waits for AreYouUp answers",
        "election of 2: heard nothing of 3, becomes Election and sends EnterElection to 1",
        "1 gets EnterElection of 2, becomes Election and sends EnterElectionAnswer to 2",
        "2 gets EnterElectionAnswer of 1 and becomes Reorganization under 2",
    ]


def test_every_moment_is_its_record_and_none_comes_twice(paused: Rig) -> None:
    """In order; the states' own records are there."""
    for violation in judged(paused.records).violations:
        told = account(paused.records, violation)
        numbers = [moment.record for moment in told]
        assert numbers == sorted(set(numbers))
        assert {state.record for state in violation.states} <= set(numbers)
        for moment in told:
            record = paused.records[moment.record]
            assert moment.at_us == getattr(record, "at_us", None)
            assert not isinstance(record, Step) or moment.node == record.node


def test_a_file_tells_the_same(paused: Rig, first: Violation, tmp_path: Path) -> None:
    """Its lines are read as they are needed."""
    lines = open_recording(paused.write(tmp_path / "run.jsonl"))
    assert account(lines, first) == account(paused.records, first)
    lines.close()


def test_a_long_account_is_cut_in_the_middle(paused: Rig, first: Violation) -> None:
    """Its beginning and its end are left, and how much is missing."""
    (whole, short) = (account(paused.records, first, most) for most in (12, 4))
    texts = [moment.text for moment in short]
    assert texts.count("… 4 more") == 1
    assert whole[0] in short
    assert whole[-1] in short
    assert len(short) < len(whole)


def test_a_fault_of_links_and_what_was_observed() -> None:
    """In the order of the records; a step that is both a cause and what broke it is told once."""
    records = Records()
    records.fault("lose", 8)
    records.normal(2, 2).normal(1, 1)
    (violation,) = records.violations
    assert [moment.text for moment in account(records.records, violation)] == [
        "lose 1 is in force: breaks assumption 8",
        "timer of 2 is due and becomes Normal under 2",
        "timer of 1 is due and becomes Normal under 1",
    ]
    records = Records().normal(2, 2)
    records.waits(1, 0).after(30_000).normal(1, 1)
    (violation,) = records.violations
    assert [moment.text for moment in account(records.records, violation)][-2:] == [
        "other of 1 is due and waits for something",
        "timer of 1: waited 0s for something and becomes Normal under 1 "
        "(node 1 was 30ms late: breaks assumption 9)",
    ]


def test_an_error_raised() -> None:
    """What the node was fed when it failed."""
    records = Records()
    serial = records.sends(1, 2)
    records.gets(2, 1, serial)
    step = records.records.pop()
    assert isinstance(step, Step)
    records.add(Step(step.at_us, 2, 1, step.input, failed="x\nKeyError: 3"))
    (violation,) = records.violations
    assert [moment.text for moment in account(records.records, violation)] == [
        "timer of 1 is due and sends Say to 2",
        "2 gets Say of 1 and raises KeyError: 3",
    ]


def test_what_is_not_in_the_recording() -> None:
    """A message nobody sent, a state of before the first record, an observation that cannot be read."""
    records = Records().gets(1, 2, 7).add(None)
    states = (LocalState(1, 4, 0, "Normal under 1"), LocalState(2, 0, 0, "Down"))
    violation = Violation("A1.1", 4, 0, states, {}, (Broken(8, "a message was late", 5),), "")
    assert [moment.text for moment in account(records.records, violation)] == [
        "2 becomes Down",
        "1 gets message 7 of 2 and becomes Normal under 1",
        "a message was late: breaks assumption 8",
    ]


def test_it_looks_back_from_the_state_alone(paused: Rig, first: Violation) -> None:
    """However long the recording goes on."""

    class Counting(list):  # type: ignore[type-arg]
        looked = 0

        def __getitem__(self, number):  # type: ignore[no-untyped-def]
            Counting.looked += 1
            return super().__getitem__(number)

    records = Counting([*paused.records, *[None] * 1_000_000])
    began = time.perf_counter()
    assert account(records, first)
    assert Counting.looked < 10 * max(state.record for state in first.states)
    assert time.perf_counter() - began < 5
