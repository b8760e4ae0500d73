"""Forged messages: a node gets a message that no node sent, and the recording shows it."""

from pathlib import Path

import pytest

from lab.kernel import Received, Started, Step
from lab.properties.judge import Judge
from lab.properties.witness import explain_violation
from lab.recording.reader import open_recording
from lab.recording.records import Commanded, Fault, Injected, Routed
from lab.script.parse import parse
from tests.harness import T_US, Rig
from tests.recording.samples import execute_again
from tests.worlds.branches import grow
from tests.worlds.live import STEADY, LiveRun

ENTER = "inject 1->3 EnterElection"


def _settled() -> Rig:
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    return rig


def _do(rig: Rig, line: str) -> str:
    return rig.control.execute(parse(line)).text


def test_a_forged_message_is_taken_in_at_once() -> None:
    """Records: fault, message, the resulting step, command, in this order; the fault ends with the step."""
    rig = _settled()
    before, at_us = len(rig.records), rig.now_us
    assert rig.do(ENTER) == "EnterElection 1->3 forged"
    fault, injected, step, commanded = rig.records[before : before + 4]
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.text, fault.breaks, fault.nodes, fault.links) == ("inject", ENTER, (3,), (), ())
    assert isinstance(injected, Injected)
    message = injected.message
    assert (message.source, message.target, message.kind, message.serial) == (1, 3, "EnterElection", -fault.id)
    assert isinstance(step, Step)
    assert (step.at_us, step.node, step.input) == (at_us, 3, Received(1, -fault.id))
    assert step.changed["status"] == "Election", "it believes it"
    assert isinstance(commanded, Commanded)
    assert rig.cluster.faults == {}
    assert [(over.id, over.touched) for over in rig.cluster.lifted] == [(fault.id, 1)]


def test_its_answer_goes_to_the_apparent_sender() -> None:
    """The apparent sender never asked, and treats it as a late answer."""
    rig = _settled()
    rig.do(ENTER)
    number = -rig.cluster.lifted[-1].id
    replies = [message for message in rig.messages.values() if message.reply_to == number]
    assert [(message.source, message.target) for message in replies] == [(3, 1)]
    rig.run(15_000)
    late = [step for step in rig.steps if step.node == 1 and step.input == Received(3, replies[0].serial)]
    assert [step.late for step in late] == [True]


def test_its_payload_is_given_as_json() -> None:
    """It must be valid for its kind of message."""
    rig = _settled()
    refused = rig.control.execute(parse('inject 1->3 NewState {"definition": 5}'))
    assert refused.refused
    assert refused.text.startswith("not a valid NewState: ")
    assert refused.text.endswith("; write its payload as JSON")
    assert rig.control.execute(parse("inject 1->3 Halt")).refused
    assert rig.control.execute(parse("inject 1->9 AreYouUp")).text.startswith("there is no node 9")
    assert rig.control.execute(parse("inject 1->1 AreYouUp")).refused
    assert not any(isinstance(record, Injected) for record in rig.records)


def test_a_node_that_is_down_does_not_get_it() -> None:
    """It is dropped, and the fault is inert."""
    rig = _settled()
    rig.do("kill 3")
    assert _do(rig, ENTER) == "3 is down, nothing changed"
    dropped = [record for record in rig.records if isinstance(record, Routed) and record.serial < 0]
    assert [(record.source, record.fate, record.why) for record in dropped] == [(1, "dropped", "down")]
    fault = next(fault for fault in rig.cluster.lifted if fault.kind == "inject")
    assert fault.touched == 0


def test_a_paused_node_gets_it_when_it_resumes() -> None:
    """Until then the fault is in force, and the message in flight."""
    rig = _settled()
    rig.do("pause 3")
    assert rig.do(ENTER) == "EnterElection 1->3 forged; 3 takes it when it resumes"
    assert [fault.kind for fault in rig.cluster.faults.values()] == ["pause", "inject"]
    assert [flight.serial for flight in rig.cluster.in_flight.values() if flight.serial < 0] == [-2]
    rig.run(T_US // 2)
    rig.do("resume 3")
    assert rig.cluster.faults == {}
    assert any(step.input == Received(1, -2) for step in rig.steps)


def test_a_cut_does_not_keep_it_out() -> None:
    """It bypasses the links."""
    rig = _settled()
    rig.do("cut 1->3", ENTER)
    assert any(step.node == 3 and step.input == Received(1, -2) for step in rig.steps)


def test_it_is_forged_between_two_messages_of_one_step() -> None:
    """If the step is its target's, that finishes its step first."""
    rig = Rig([1, 2, 3])
    rig.do("on send EnterElection 3->1: inject 1->3 EnterElection")
    rig.started()
    rig.run_until_agreed()
    numbers = [number for number, record in enumerate(rig.records) if isinstance(record, Injected)]
    assert len(numbers) == 1
    step = next(record for record in rig.records[numbers[0] :] if isinstance(record, Step))
    assert (step.node, step.input) == (3, Received(1, -1))


def test_violations_are_excused_by_assumption_3_until_all_are_quiescent() -> None:
    """A whole forged election makes 1 Normal under another definition than the rest."""
    rig = _settled()
    definition = '{"definition": {"version": 9, "coordinator": 3, "members": [1, 2, 3]}}'
    rig.do("inject 3->1 EnterElection", "inject 3->1 SetCoordinator", f"inject 3->1 NewState {definition}")
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    assert [violation.assertion for violation in judge.violations] == ["A1.2", "A1.2"]
    assert {broken.assumption for each in judge.violations for broken in each.broken} == {3}
    texts = [moment.text for moment in explain_violation(rig.records, judge.violations[-1])]
    assert any("receives a forged NewState from 3" in text for text in texts), texts


def test_the_recording_holds(tmp_path: Path) -> None:
    """Re-execution feeds the forged messages too; if one is edited out, it fails."""
    rig = _settled()
    rig.do("pause 2", ENTER, "inject 3->2 AreYouUp", "kill 1", "resume 2")
    _do(rig, "inject 3->1 AreYouUp")
    rig.run(10 * T_US)
    path = rig.write(tmp_path / "forged.jsonl")
    assert execute_again(path).differences == []
    lines = [line for line in path.read_bytes().splitlines() if b'"record":"injected"' not in line]
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert not execute_again(path).holds


def test_a_branch_begins_at_any_record_of_it(tmp_path: Path) -> None:
    """A message waiting for a paused node is restored; the next forged one has the next number."""
    rig = _settled()
    rig.do("pause 2", "hold 3->1 AreYouNormal", ENTER, "inject 3->2 AreYouUp", "slow 3 5ms")
    rig.run(T_US)
    rig.do("resume 2")
    rig.run(T_US)
    path = rig.write(tmp_path / "parent.jsonl", end=False)
    first = next(number for number, record in enumerate(rig.records) if isinstance(record, Fault))
    for at in range(first, len(rig.records)):
        grown = grow(path, at)
        grown.do("resume 2")
        grown.do("inject 3->2 AreYouUp")
        assert grown.heal_all() == 3, f"branch at {at}"
        grown.checked()
        injected = [record for record in open_recording(grown.path).records() if isinstance(record, Injected)]
        serials = [record.message.serial for record in injected]
        assert len(set(serials)) == len(serials)
        taken = [record.input for record in open_recording(grown.path).records() if isinstance(record, Step)]
        assert all(Received(r.message.source, r.message.serial) in taken for r in injected), f"branch at {at}"


@pytest.mark.live
@pytest.mark.parametrize("paused", [False, True])
def test_a_process_takes_it_in_live(tmp_path: Path, paused: bool) -> None:
    """Through its socket, where it waits while the process is paused. The recording re-executes."""
    with LiveRun(tmp_path, timing=STEADY, nodes=(1, 2, 3)) as run:
        run.settled(3)
        if paused:
            run.order("pause 3")
            run.process_is(3, "paused")
        reply = run.order(ENTER)
        assert reply.changed
        assert reply.text.startswith("EnterElection 1->3 forged")
        if paused:
            run.order("resume 3")
        number = -2 if paused else -1
        run.until(
            lambda _: any(step.input == Received(1, number) for step in run.tail.of(Step)), "3 has taken it in"
        )
        fault = next(fault for fault in run.cluster.lifted if fault.kind == "inject")
        assert (fault.id, fault.touched) == (-number, 1)
        run.settled(3)
        run.order("kill 2")
        run.process_is(2, "killed")
        assert run.order("inject 1->2 AreYouUp").text == "2 is down, nothing changed"
        assert run.order("inject 1->2 Halt").text.startswith("unknown kind of message Halt")


@pytest.mark.live
def test_a_process_takes_it_in_after_its_start(tmp_path: Path) -> None:
    """Though it is forged as soon as the process is recorded as started."""
    with LiveRun(tmp_path, timing=STEADY, nodes=(1, 2, 3), commands=("when 3 up: inject 1->3 AreYouUp",)) as run:
        run.settled(3)
        inputs = [step.input for step in run.tail.of(Step) if step.node == 3]
        assert inputs[:2] == [Started({}, 1, 1), Received(1, -1)]
