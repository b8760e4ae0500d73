"""Link faults by kind of message, hold and release, and slow nodes: in simulation."""

from pathlib import Path

import pytest

from lab.properties.judge import Judge
from lab.recording.records import Fault, Routed
from lab.recording.snapshot import ActiveFault
from lab.script.parse import parse
from tests.harness import T_US, TIMING, Rig
from tests.recording.samples import execute_again


def _settled() -> Rig:
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    return rig


def _outcomes(rig: Rig, since: int) -> list[tuple[str, str, int, int]]:
    """Return (outcome, kind, source, target) of all messages that were not simply delivered."""
    found: list[tuple[str, str, int, int]] = []
    for record in rig.records[since:]:
        if isinstance(record, Routed):
            message = rig.messages[record.source, record.serial]
            found.append((record.fate, message.kind, message.source, message.target))
    return found


def _fault(rig: Rig, text: str) -> ActiveFault:
    """Return the newest fault of that text, in force or over."""
    found = [fault for fault in (*rig.cluster.faults.values(), *rig.cluster.lifted) if fault.text == text]
    return max(found, key=lambda fault: fault.id)


def _refused(rig: Rig, line: str) -> str:
    """Return the reply to a command that changes nothing."""
    outcome = rig.control.execute(parse(line))
    assert not outcome.changed
    return outcome.text


def _broken(rig: Rig) -> set[int | str]:
    """Return the assumptions that excuse violations."""
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    return {broken.assumption for each in judge.violations for broken in each.broken}


@pytest.mark.parametrize(
    ("line", "fate"),
    [
        ("lose 3->1 AreYouNormal 100%", "dropped"),
        ("delay 3->1 AreYouNormal 5ms", "delayed"),
        ("duplicate 3->1 AreYouNormal 100%", "duplicated"),
        ("reorder 3->1 AreYouNormal 100% 2ms", "reordered"),
        ("hold 3->1 AreYouNormal", "held"),
    ],
)
def test_only_messages_of_the_kind_are_touched(line: str, fate: str) -> None:
    """3 asks 1 and 2 whether they are normal, and holds an election if one does not answer."""
    rig = _settled()
    since = len(rig.records)
    assert rig.do(line) == "1 link"
    rig.run(10 * T_US)
    outcomes = set(_outcomes(rig, since))
    assert outcomes == {(fate, "AreYouNormal", 3, 1)}
    assert _fault(rig, line).touched > 0


def test_a_kind_that_is_not_sent_leaves_the_fault_inert() -> None:
    """Its count is 0."""
    rig = _settled()
    rig.do("lose all SetCoordinator 100%", "hold 3->1 NewState")
    rig.run(10 * T_US)
    assert [fault.touched for fault in rig.cluster.faults.values()] == [0, 0]


def test_a_kind_that_the_protocol_has_not_is_refused() -> None:
    """A command that is misspelt would do nothing."""
    rig = _settled()
    refused = _refused(rig, "lose 3->1 NewStat 100%")
    assert refused.startswith("unknown kind of message NewStat; ")
    assert refused.endswith("; did you mean NewState?")
    assert not rig.cluster.faults


def test_an_older_fault_is_replaced_only_on_the_same_links_for_the_same_kinds() -> None:
    """Repeating the verb sets a new value; for other kinds it is another fault."""
    rig = _settled()
    rig.do("lose 3->1 AreYouUp 10%", "lose 3->1 20%", "lose 3->2 AreYouUp 30%", "delay 3->1 AreYouUp 5ms")
    rig.do("lose 3->1 AreYouUp 40%")
    assert [fault.text for fault in rig.cluster.faults.values()] == [
        "lose 3->1 20%",
        "lose 3->2 AreYouUp 30%",
        "delay 3->1 AreYouUp 5ms",
        "lose 3->1 AreYouUp 40%",
    ]


def test_held_messages_continue_when_released() -> None:
    """On the links named, or on all; the messages then arrive, in order."""
    rig = _settled()
    rig.do("hold 3->1,2 AreYouNormal")
    rig.run_until(lambda: sum(flight.held for flight in rig.cluster.in_flight.values()) == 2, 10 * T_US, "2 held")
    since = len(rig.records)
    assert rig.do("release 3->1") == "1 fault narrowed"
    assert _outcomes(rig, since) == [("released", "AreYouNormal", 3, 1)]
    assert _fault(rig, "hold 3->1,2 AreYouNormal").links == ((3, 2),)
    assert rig.do("release") == "1 fault ended"
    assert _outcomes(rig, since)[1:] == [("released", "AreYouNormal", 3, 2)]
    rig.run(15_000)
    assert not any(flight.held for flight in rig.cluster.in_flight.values())
    assert rig.cluster.faults == {}


def test_release_and_join_end_only_what_they_are_for() -> None:
    """Other faults of the same links remain."""
    rig = _settled()
    rig.do("hold 3->1", "cut 3->1", "delay 3->1 5ms", "partition 1 | 2 3")
    assert rig.do("join 3->1") == "1 fault ended, 1 fault narrowed"
    assert [fault.kind for fault in rig.cluster.faults.values()] == ["hold", "delay", "partition"]
    assert set(_fault(rig, "partition 1 | 2 3").links) == {(1, 2), (1, 3), (2, 1)}
    assert rig.do("release") == "1 fault ended"
    assert rig.do("join all") == "1 fault ended"
    assert rig.do("heal") == "1 fault ended"


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("release", "nothing is held, nothing changed"),
        ("join 1->2", "nothing is cut, nothing changed"),
        ("heal", "no link fault is in force, nothing changed"),
    ],
)
def test_ending_no_fault_changes_nothing(line: str, reply: str) -> None:
    """The reply says so."""
    assert _refused(_settled(), line) == reply


def test_ending_no_fault_on_these_links_changes_nothing() -> None:
    """There is a fault elsewhere."""
    rig = _settled()
    rig.do("hold 3->1", "cut 3->1")
    assert _refused(rig, "release 1->3") == "nothing is held on these links, nothing changed"
    assert _refused(rig, "join 1->3") == "nothing is cut on these links, nothing changed"
    assert _refused(rig, "heal 1->3") == "no fault is in force on these links, nothing changed"


@pytest.mark.parametrize(
    ("line", "breaks"),
    [("slow 1 20ms", ()), ("slow 1 21ms", (9,)), ("slow 1 15ms ±6ms", (9,)), ("slow all 11ms", (9,))],
)
def test_a_slow_node_breaks_9_when_it_takes_longer_than_tp(line: str, breaks: tuple[int, ...]) -> None:
    """Tp is 20 ms here; if all nodes are slow, both ends of a request take that long."""
    assert TIMING.tp_us == 20_000
    rig = _settled()
    rig.do(line)
    assert _fault(rig, line).breaks == breaks


def test_a_slow_node_delays_all_its_messages() -> None:
    """Only the messages to that node, until it is healed. The fault counts them."""
    rig = _settled()
    rig.do("slow coordinator 15ms")
    rig.run(3 * T_US)
    outcomes = _outcomes(rig, 0)
    assert {(fate, target) for fate, _, _, target in outcomes} == {("delayed", 3)}
    assert _fault(rig, "slow coordinator 15ms").touched == len(outcomes) > 0
    assert rig.do("heal") == "1 fault ended"
    before = len(rig.records)
    rig.run(3 * T_US)
    assert _outcomes(rig, before) == []


def test_violations_by_a_slow_node_are_excused_by_9_alone(tmp_path: Path) -> None:
    """2 answers so late that 3 elects without it; the fault causes the late messages."""
    rig = _settled()
    rig.do("slow 2 300ms")
    rig.run(60 * T_US)
    assert _broken(rig) == {9}
    assert execute_again(rig.write(tmp_path / "slow.jsonl")).holds


def test_the_faults_of_a_narrowed_rule_are_recorded_with_their_links() -> None:
    """So a reader knows on which links they remain."""
    rig = _settled()
    rig.do("slow 1 2 5ms", "heal 3->1")
    last = [record for record in rig.records if isinstance(record, Fault)][-1]
    assert (last.id, last.lifted, set(last.links)) == (1, False, {(2, 1), (1, 2), (3, 2)})
