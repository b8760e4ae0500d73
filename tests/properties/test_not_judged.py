"""Verdicts: what *holds* rests on, and that nothing holds that was not judged."""

from pathlib import Path

from lab.properties.judge import Judge
from lab.properties.verdicts import Verdict
from lab.protocols import PROTOCOLS, Bully, InvitationElection, Token, TwoPhaseCommit, find_protocol
from lab.recording.reader import open_recording
from lab.recording.records import Stall
from tests.harness import T_US, Rig
from tests.properties.recorded import WITHIN_US, Records, judged

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings").rglob("*.jsonl"))


def _verdicts(rig: Rig) -> dict[str, Verdict]:
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    return {verdict.assertion: verdict for verdict in judge.verdicts()}


def test_before_the_first_step_nothing_is_judged() -> None:
    """Every promise of every protocol."""
    for name in PROTOCOLS:
        verdicts = _verdicts(Rig((1, 2, 3), protocol=find_protocol(name)))
        assert {verdict.word for verdict in verdicts.values()} <= {"not judged"}
        assert all("no node made a step" in str(verdict) for verdict in verdicts.values())


def test_what_an_election_rests_on() -> None:
    """Two nodes in the status that it is about; and that they agreed."""
    rig = Rig((1, 2, 3), protocol=Bully).started()
    assert _verdicts(rig)["A1.1"].word == "not judged"
    rig.run_until_agreed()
    rig.run(T_US)
    found = _verdicts(rig)
    assert {verdict.word for verdict in found.values()} == {"holds"}
    assert found["A1.2"].evidence.text == "3 states of 3 nodes, 3 pairs of them concurrent"
    assert found["A2"].evidence.text == "agreed 1 time, last at 80ms"
    rig.do("kill 3")
    assert "since then the bound of " in _verdicts(rig)["A2"].evidence.text


def test_one_node_alone_cannot_disagree() -> None:
    """Its verdict names it."""
    rig = Rig((4,), protocol=Bully).started()
    rig.run(20 * T_US)
    assert str(_verdicts(rig)["A1.2"]) == "A1.2 is not judged: only node 4 was ever Normal"


def test_the_token_that_nobody_passes_on() -> None:
    """K1 is about two holders: as long as there was one, it is not judged."""
    rig = Rig((1, 2, 3), protocol=Token).started()
    assert _verdicts(rig)["K1"].word == "not judged"
    rig.do("request 2")
    rig.run(40 * T_US)
    found = _verdicts(rig)["K1"]
    assert found.word == "holds"
    assert found.evidence.text.endswith("0 pairs of them concurrent")


def test_claims_are_counted() -> None:
    rig = Rig((1, 2, 3), protocol=InvitationElection).started()
    rig.run_until_agreed()
    assert _verdicts(rig)["A5"].evidence.text == "4 groups entered"
    assert str(_verdicts(Rig((1,), protocol=find_protocol("field")).started())["A9"]).endswith(
        "no edition was published"
    )


def test_a_commit_is_judged_by_what_was_decided() -> None:
    """A coordinator that dies amid the votes decides nothing; once it is back, it does."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("on send Vote 1->3: kill 3", "tell 3 withdraw 350")
    rig.run(20 * T_US)
    assert {name: str(verdict) for name, verdict in _verdicts(rig).items()} == {
        "A6": "A6 is not judged: no transaction was decided",
        "A7": "A7 is not judged: no transaction was decided",
        "A8": "A8 is not judged: no settled state was reached",
        "solvent": "solvent holds: no account is below zero at any node (11 states)",
        "commits": "commits is not judged: no state was of the kind that it speaks of",
        "shows": "shows holds: each node shows that it is Blocked, or Uncertain, exactly while a transaction is "
        "so; if none is open, Idle (10 states)",
        "ends": "ends is not judged: no transaction was ended, "
        "and the bound of 3.6s for a pending one is not over",
    }
    rig.do("restart 3")
    rig.run(40 * T_US)
    found = _verdicts(rig)
    assert [name for name, verdict in found.items() if verdict.word != "holds"] == ["commits"], "it was aborted"
    assert found["A6"].evidence.count == 1
    assert found["ends"].evidence.text == "1 transaction ended in time"


def test_nothing_holds_in_a_shipped_recording_that_rests_on_nothing() -> None:
    """In each of them; and most of what is promised was judged."""
    words = []
    for path in RECORDINGS:
        store = open_recording(path)
        judge = Judge(store.header)
        for record in store.records():
            judge.observe(record)
        for verdict in judge.verdicts():
            words.append(verdict.word)
            if verdict.first is None:
                assert (verdict.evidence.count > 0) == (verdict.evidence.since is not None), f"{path}: {verdict}"
            assert verdict.word != "holds" or verdict.evidence.count > 0, f"{path}: {verdict}"
            assert verdict.evidence.since is None or 0 <= verdict.evidence.since < len(store)
    assert words.count("holds") > words.count("not judged") > 0


def test_the_verdict_at_an_earlier_record() -> None:
    """It was not judged before the record that first allowed it."""
    rig = Rig((1, 2, 3), protocol=Bully).started()
    rig.run_until_agreed()
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    since = judge.evidence("A1.2").since
    assert since is not None
    assert judge.evidence_at("A1.2", since - 1).since is None
    assert judge.evidence_at("A1.2", since).since == since


STALL_US = 11_400_000
STOOD_STILL = "the machine stood still for 11.4s"


def _stalled(records: Records) -> Records:
    records.after(STALL_US)
    return records.add(Stall(records.at_us, STALL_US)).fires(3)


def _verdict_on_a2(records: Records) -> str:
    judge = judged(records.records)
    return str(next(each for each in judge.verdicts() if each.assertion == "A2"))


def test_a_bound_begins_anew_after_a_stall() -> None:
    """Nobody is accused of what a machine that stood still made late; afterwards, A2 is judged as ever."""
    records = Records(promises=("A1.1", "A2")).fires(1)
    assert _verdict_on_a2(_stalled(records)) == f"A2 is not judged: {STOOD_STILL}"
    assert "A2 fails" in _verdict_on_a2(records.after(WITHIN_US + 1).fires(3))
    records = Records(promises=("A1.1", "A2")).normal(1, 1, 2, 3)
    assert "A2 holds" in _verdict_on_a2(_stalled(records)), "they agree"
    records.enters(3, "Election", 0)
    assert _verdict_on_a2(records).endswith(f"; {STOOD_STILL})")


def test_a_fault_after_a_stall_is_what_matters() -> None:
    """As is a node's own stall, unless it is part of that of the machine."""
    records = _stalled(Records(promises=("A1.1", "A2")).fires(1))
    records.add(Stall(records.at_us + 1_000, STALL_US, 3))
    assert STOOD_STILL in _verdict_on_a2(records)
    records.after(300_000).add(Stall(records.at_us, 300_000, 3))
    assert "node 3 was not scheduled for 300ms" in _verdict_on_a2(records)
    records.process(2, "killed")
    assert "the bound of 1s is not over" in _verdict_on_a2(records)
