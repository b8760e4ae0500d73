"""The verdicts of the judge, and how often violations are reported."""

from typing import Any
from unittest.mock import patch

import pytest

from lab.kernel import Fired, Received, Started, Step
from lab.properties import judge
from lab.properties.assertions import ASSERTIONS
from lab.properties.judge import Judge
from lab.recording.records import TIME_LIMIT_REACHED, Commanded, End, Fault, Header, Routed, encode
from tests.harness import T_US, Rig
from tests.properties.recorded import WITHIN_US, Records, judged, summaries


def test_two_coordinators() -> None:
    """A1.1, as a failure: nothing was broken. The witness: nodes, records, texts, a cut."""
    records = Records().normal(2, 2).normal(1, 1)
    (violation,) = records.violations
    assert (violation.assertion, violation.nodes, violation.record) == ("A1.1", (2, 1), 5)
    assert [(state.record, state.text) for state in violation.states] == [
        (4, "Normal under 2"),
        (5, "Normal under 1"),
    ]
    assert violation.cut == {1: 5, 2: 4, 3: 0}
    expected = "node 2 is Normal under 2 while node 1 is Normal under 1"
    assert str(violation) == f"A1.1 fails with all assumptions intact: {expected}"


def test_a1_1_counts_reorganization_but_not_election() -> None:
    """As the model says."""
    assert summaries(Records().enters(1, "Reorganization", 1).normal(2, 2).violations) == [("A1.1", (1, 2), [])]
    assert not Records().enters(1, "Election", 1).normal(2, 2).enters(3, "Down", 3).violations


def test_two_definitions() -> None:
    """A1.2: both Normal, under the same coordinator, with different states of the task."""
    records = Records().enters(1, "Normal", 1, {"version": 2}).enters(2, "Normal", 1, {"version": 1})
    (violation,) = records.violations
    assert (violation.assertion, violation.nodes) == ("A1.2", (1, 2))
    assert violation.states[0].text == "Normal under 1, definition 2"
    assert not Records().enters(1, "Reorganization", 1, {"version": 2}).enters(2, "Normal", 1).violations


def test_the_order_of_the_fields_of_a_definition_does_not_matter() -> None:
    """JSON objects are unordered."""
    same = Records().enters(1, "Normal", 1, {"a": 1, "b": [2]}).enters(2, "Normal", 1, {"b": [2], "a": 1})
    assert not same.violations


def test_a_state_that_is_over_does_not_offend() -> None:
    """If a message says so; without one it does, however much later."""
    ended = Records().normal(1, 1).enters(1, "Down", 1)
    assert summaries(ended.after(9).normal(2, 2).violations) == [("A1.1", (1, 2), [])]
    ended = Records().normal(1, 1).enters(1, "Down", 1)
    assert not ended.gets(2, 1, ended.sends(1, 2)).normal(2, 2).violations


def test_a_pair_of_states_is_reported_once() -> None:
    """And a reported state not again with the same node."""
    records = Records().normal(2, 2).normal(1, 1)
    records.fires(1).fires(2).enters(1, "Election", 1).normal(1, 1)
    assert summaries(records.violations) == [("A1.1", (2, 1), [])]
    records.enters(2, "Election", 2).normal(2, 2)
    assert len(records.violations) == 2, "both have begun anew"


def test_a_failure_is_reported_even_of_a_state_that_was_excused_before() -> None:
    """2 leads all the time; 1 errs under a fault, which is excused, and again with all assumptions intact."""
    records = Records().normal(2, 2, 3)
    number = records.fault("lose", 8)
    records.normal(1, 1).lift(number)
    records.normal(2, 1).after(2 * WITHIN_US).fires(1).normal(1, 1)
    assert [each for each in summaries(records.violations) if each[1] == (2, 1)] == [
        ("A1.1", (2, 1), [8]),
        ("A1.1", (2, 1), []),
    ]


def test_assumptions_broken_at_the_end_of_the_older_state_count() -> None:
    """The fault has long ended when 2 contradicts the old state of 1."""
    records = Records()
    number = records.fault("lose", 8)
    records.normal(1, 1).enters(1, "Down", 1).lift(number)
    records.normal(3, 1, 2, 3).after(2 * WITHIN_US).fires(3)
    records.enters(2, "Election", 0).normal(3, 2)
    assert {violation.is_failure for violation in records.violations if violation.assertion == "A1.1"} == {False}


def test_a_protocol_that_promises_less_is_judged_by_that() -> None:
    """Nothing promised: only errors raised are reported; an unknown promise is not judged."""
    assert judged(Records(promises=()).normal(1, 1).normal(2, 2).records).verdicts() == ()
    records = Records(promises=("A1.2", "A99", "A1.2", "raises")).normal(1, 1).normal(2, 2)
    verdict, unknown = judged(records.after(9 * WITHIN_US).fires(1).records).verdicts()
    assert (unknown.assertion, unknown.word) == ("A99", "not judged")
    assert "its code is not loaded" in unknown.evidence.text
    assert (verdict.assertion, verdict.word) == ("A1.2", "holds")
    rests_on = "2 states of 2 nodes, 1 pair of them concurrent"
    assert str(verdict) == f"A1.2 holds: {ASSERTIONS['A1.2'].statement} ({rests_on})"


def test_a_protocol_that_relies_on_less_is_excused_by_less() -> None:
    """Of two broken assumptions only the one that it needs counts; without that it is a failure."""
    for relied, left in (((1, 8), [8]), ((1, 2), [])):
        records = Records(relies_on={"A1.1": relied})
        records.fault("lose", 8)
        records.process(3, "paused").normal(1, 1).normal(2, 2)
        assert summaries(records.violations) == [("A1.1", (1, 2), left)]


def test_an_error_raised_is_a_failure_whatever_is_broken() -> None:
    """The last line of the traceback, and the record of the step."""
    records = Records(promises=())
    records.fault("lose", 8)
    records.add(Step(7, 2, 1, Fired("check"), failed="bully.py:7 in check: x\nKeyError: 3"))
    records.process(2, "failed")
    (violation,) = records.violations
    assert (violation.assertion, violation.text, violation.record) == ("raises", "KeyError: 3", 5)
    assert violation.states[0].text == "raised KeyError: 3"
    assert violation.is_failure
    (verdict,) = judged(records.records).verdicts()
    assert (verdict.word, verdict.failures) == ("fails", 1)


# liveness


def test_a_cluster_that_comes_to_rest_disagreeing() -> None:
    """Only the end, or a command that changes nothing, is recorded afterwards."""
    for last in (End, Commanded):
        records = Records().enters(1, "Election", 0)
        at_us = WITHIN_US + 1
        records.add(End(at_us, TIME_LIMIT_REACHED) if last is End else Commanded(at_us, "heal", "nothing", False))
        (violation,) = records.violations
        assert (violation.assertion, violation.nodes, violation.is_failure) == ("A2", (1, 2, 3), True)
        assert violation.text == "1s after the start the nodes have not agreed: 1 Election; 2 Down; 3 Down"
    assert not Records().enters(1, "Election", 0).add(End(WITHIN_US, "too soon to say")).violations


def test_a_missed_bound_is_reported_once() -> None:
    """And again after the next disturbance."""
    records = Records().normal(1, 1).after(2 * WITHIN_US).fires(1).fires(1).after(WITHIN_US).fires(2)
    assert [violation.assertion for violation in records.violations] == ["A2"]
    records.process(3, "killed").after(2 * WITHIN_US).fires(1)
    assert [violation.assertion for violation in records.violations] == ["A2", "A2"]
    assert records.violations[1].nodes == (1, 2), "the dead need not agree"


def test_agreement() -> None:
    """All running nodes are Normal under a running one."""

    def late(records: Records) -> bool:
        return bool(records.after(2 * WITHIN_US).fires(1).violations)

    assert not late(Records().normal(3, 1, 2, 3))
    assert late(Records().normal(3, 1, 2))
    assert late(Records().normal(3, 1, 2, 3).process(3, "killed"))
    assert late(Records().normal(9, 1, 2, 3)), "9 is no node"
    assert not late(Records().normal(2, 1, 2).process(3, "killed"))
    nobody = Records((1,)).process(1, "killed").after(2 * WITHIN_US)
    assert not nobody.add(End(nobody.at_us, "nobody is left")).violations


def test_no_agreement_is_required_during_a_fault() -> None:
    """Nor while a message that it touched is in flight; the bound starts then."""
    records = Records()
    number = records.fault("partition", 8)
    records.after(5 * WITHIN_US).fires(1)
    assert not records.violations
    assert judged(records.records).decided_us == 0
    records.lift(number).after(WITHIN_US).fires(1)
    assert not records.violations
    assert judged(records.records).decided_us == 6 * WITHIN_US + 1
    assert summaries(records.after(1).fires(1).violations) == [("A2", (1, 2, 3), [])]


def test_no_agreement_is_required_until_touched_messages_have_arrived() -> None:
    """A message that arrives long after the fault has ended is the last disturbance."""
    records = Records()
    number = records.fault("delay", 8)
    serial = records.sends(3, 1)
    records.add(Routed(0, 3, serial, "delayed", by=(number,))).lift(number)
    records.after(5 * WITHIN_US).fires(1)
    assert judged(records.records).decided_us == 0
    records.gets(1, 3, serial).after(WITHIN_US).fires(1)
    assert not records.violations
    assert summaries(records.after(1).fires(1).violations) == [("A2", (1, 2, 3), [])]


def test_no_agreement_is_required_until_late_messages_have_arrived() -> None:
    """Also of a message that no fault touched, queued behind one that was."""
    records = Records()
    serial = records.sends(3, 1)
    records.after(WITHIN_US).gets(1, 3, serial).after(WITHIN_US).fires(1)
    assert not records.violations
    assert summaries(records.after(1).fires(1).violations) == [("A2", (1, 2, 3), [])]


# as it goes


def test_more_violations_than_are_kept() -> None:
    """They are counted; the first failure is kept although it comes late."""
    records = Records().normal(2, 2, 3)
    number = records.fault("lose", 8)
    for _ in range(4):
        records.enters(2, "Election", 0).normal(2, 2).enters(1, "Election", 0).normal(1, 1)
    records.lift(number).normal(2, 1, 2).after(2 * WITHIN_US).fires(1).normal(1, 1)
    everything = judged(records.records)
    with patch.object(judge, "MOST_KEPT", 3):
        few = judged(records.records)
    assert len(everything.violations) > 6
    assert [v.is_failure for v in few.violations] == [False, False, False, True, True]
    assert [v.assertion for v in few.violations] == ["A1.1", "A1.1", "A1.1", "A1.1", "A2"]
    assert [(v.failures, v.excused) for v in few.verdicts()] == [
        (v.failures, v.excused) for v in everything.verdicts()
    ]
    assert few.verdicts()[0].first == everything.verdicts()[0].first
    assert few.verdicts()[0].word == "fails"


def test_records_that_cannot_be_read_are_counted_and_nothing_else() -> None:
    """None, a second header, a keyframe: the numbers of the records stay right."""
    records = Records().add(None).normal(2, 2).add(None)
    records.add(records.header).normal(1, 1)
    (violation,) = records.violations
    assert (violation.record, violation.cut) == (8, {1: 8, 2: 5, 3: 0})


def test_impossible_records_are_ignored() -> None:
    """Unknown nodes, duplicate ones, messages never sent, states of wrong types."""
    records = Records((1, 2, 2))
    records.process(9, "started").normal(9, 9).normal(2, 1, 2).gets(1, 9, 5).gets(1, 2, 5)
    records.add(Fault(0, 1, "pause", lifted=True)).process(2, "resumed")
    odds: tuple[Any, ...] = (None, [], {}, 1.5, "x", True, 10**400)
    for odd in odds:
        changed = {"status": odd, "coordinator": odd, "definition": odd, "up": odd}
        records.add(Step(1, 1, 1, Fired("timer"), changed))
        records.add(Step(1, 2, 1, Started({"status": odd}, 1, 1), changed))
        records.add(Step(1, 1, 1, Received(2, 1), {**changed, "status": "Normal"}))
        records.add(Step(1, 2, 1, Received(2, 1), {**changed, "status": "Normal", "definition": [odd]}))
    records.after(10**4299)
    records.sends(2, 1)
    records.after(10**4299).normal(1, 1).normal(2, 2)
    judge = judged(records.records)
    assert any(verdict.word != "holds" for verdict in judge.verdicts())
    assert encode(judge.violations)


def test_live_verdicts_equal_later_ones() -> None:
    """Verdicts grow with the records; no violation is withdrawn."""
    rig = Rig([1, 2, 3]).started()
    rig.do("at 1s pause 3", "at 3s resume 3")
    rig.run(40 * T_US)
    watching, seen = Judge(rig.header), 0
    for record in rig.records:
        watching.observe(record)
        assert len(watching.violations) >= seen
        seen = len(watching.violations)
    assert watching.violations == judged(rig.records).violations
    assert seen


@pytest.mark.parametrize("nodes", [1, 3, 5])
def test_bully_keeps_its_promises_when_nodes_only_crash(nodes: int) -> None:
    """Every verdict holds: no false alarms. One node alone has nobody to disagree with."""
    rig = Rig(range(1, nodes + 1), jitter_us=9_000).started()
    for at_s in range(1, 20, 2):
        node = 1 + at_s * 7 % nodes
        rig.do(f"at {at_s}s kill {node}", f"at {at_s}.9s restart {node}")
    rig.run(32_000_000)
    judge = judged([*rig.records, End(rig.now_us, "done")])
    pairs = "holds" if nodes > 1 else "not judged"
    assert [verdict.word for verdict in judge.verdicts()] == [pairs, pairs, *["holds"] * 7]
    assert isinstance(rig.records[0], Header)
