"""The readable log: its lines, and the delivery outcome of each message."""

from pathlib import Path

import msgspec
import pytest

from lab.analysis.delivery import OUTCOMES, LogPage
from lab.kernel import CommandInput, Fired, Message, Step
from lab.protocols import find_protocol
from lab.protocols.transaction import Change, Entry, Round, Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import count_lines, lines_of
from lab.recording.reader import FileRecords
from lab.recording.records import Captioned, Commanded, Expected, Process, Record
from tests.harness import T_US, Rig
from tests.recording.samples import eventful, eventful_lines, write_lines
from tests.recording.test_records import EXAMPLES

BOTH = frozenset({(1, 2), (2, 1)})


def _page(rig: Rig) -> LogPage:
    page = LogPage(0, None)
    for record in rig.records:
        page.feed(record)
    return page


def _outcomes(rig: Rig, kind: str, source: int, target: int) -> list[str]:
    """Return the outcomes of the messages of a kind on a link, in the order sent."""
    page = _page(rig)
    last = len(rig.records)
    found = []
    for line in page.lines:
        if line.what == "message" and (line.kind, line.source, line.target) == (kind, source, target):
            ending = page.outcome(line, last)
            found.append(ending.fate if ending else "in flight")
    return found


@pytest.mark.parametrize("record", [*EXAMPLES.values()], ids=[*EXAMPLES])
def test_lines_are_counted_without_making_them(record: Record) -> None:
    """The number of lines of a record depends on the record alone."""
    assert count_lines(record) == len(lines_of(7, record))


def test_a_run_has_as_many_lines_as_its_cluster_counts(tmp_path: Path) -> None:
    """So line one million can be found by the keyframes."""
    rig = eventful()
    assert rig.cluster.lines == sum(len(lines_of(n, record)) for n, record in enumerate(rig.records))
    lines = FileRecords(write_lines(tmp_path / "run.jsonl", eventful_lines()))
    for number, count in zip(lines.keyframes, lines.lines_at, strict=True):
        before = [record for record in lines.records(0, number) if record is not None]
        assert count == sum(map(count_lines, before))


def test_the_lines_of_a_step() -> None:
    """The change of status first, then messages, then notes; a failure by its last line."""
    changed = {"status": "Reorganization", "coordinator": 3}
    received = EXAMPLES["step received"]
    assert isinstance(received, Step)
    step = Step(5, 1, 1, Fired("x"), changed, {}, received.sent, (), ("hm",))
    lines = lines_of(9, step)
    assert [(line.what, line.text) for line in lines] == [
        ("status", "Reorganization, coordinator 3"),
        ("message", '{"a":[1,"±"]}'),
        ("note", "hm"),
    ]
    assert (lines[1].source, lines[1].target, lines[1].serial, lines[1].reply_to) == (1, 2, 3, 9)
    assert {line.record for line in lines} == {9}
    (failure,) = lines_of(9, EXAMPLES["step failed"])
    assert (failure.what, failure.text) == ("failure", "ValueError: b")
    assert lines_of(0, Step(5, 1, 1, Fired("x"), {"coordinator": None}))[0].text == "no coordinator"


def test_a_command_that_changes_nothing_has_its_line() -> None:
    """And is counted by the cluster."""
    step = Step(5, 1, 1, CommandInput("refuse"))
    cluster = ClusterState((1,))
    cluster.apply(step)
    assert cluster.lines == len(lines_of(0, step)) == 1


def test_entries_of_a_log_are_a_line() -> None:
    """One for each log of a step, before its messages; for the bank in words."""
    transaction = Transaction(5, 1)
    prepared = Entry("prepared", transaction, (3, 5), (Change("savings", 1000_00, 900_00), Change("x", 1_50, 0)))
    entries = [prepared, Entry("joined", transaction, round=Round(2, 4))]
    received = EXAMPLES["step received"]
    assert isinstance(received, Step)
    logged = {"log": msgspec.to_builtins(entries), "diary": [{"day": 1, "said": "a, b"}]}
    step = Step(5, 1, 1, Fired("x"), sent=received.sent, logged=logged)
    assert [(line.what, line.text) for line in lines_of(9, step)][:2] == [
        ("log", "prepared 5.1 (savings 1,000 → 900, x 1.50 → 0); joined 5.1 in round 2 of 4"),
        ("log", "diary: day 1 said a, b"),
    ]
    cluster = ClusterState((1,))
    cluster.apply(step)
    assert cluster.lines == count_lines(step) == len(lines_of(9, step)) == 3


def test_a_commit_in_the_log() -> None:
    """By three phases: uncertain, commitable, committed are visible."""
    rig = Rig((1, 2, 3), protocol=find_protocol("3pc")).started()
    rig.run_until_agreed()
    rig.do("withdraw 350")
    rig.run(10 * T_US)
    lines = [line for line in _page(rig).lines if line.source == 3 and line.what in ("log", "note")]
    assert [(line.what, line.text) for line in lines] == [
        ("log", "begin 3.1 of 1, 2, 3"),
        ("log", "prepared 3.1 (moneymarket 1,000 → 700)"),
        ("log", "precommit 3.1"),
        ("log", "committed 3.1"),
        ("note", "3.1 hands out 350"),
        ("log", "ended 3.1"),
    ]
    assert rig.cluster.lines == len(_page(rig).lines)
    texts = [(line.kind, line.text) for line in _page(rig).lines if line.what == "message" and "3.1" in line.text]
    assert texts[0] == ("Perform", "transaction 3.1; savings -100")
    assert ("PreCommit", "transaction 3.1") in texts
    (aimed,) = {text for kind, text in texts if kind == "Prepare"}
    assert aimed.startswith("transaction 3.1; participants 1, 2, 3; operations savings -100, checking +100, ")


def test_another_protocols_message_of_the_same_kind_is_json() -> None:
    """Only a body with exactly the bank's fields is formatted as the bank's."""
    for body in (b'{"edition":3}', b"{}", b'"5.1"', b"\xff"):
        (line,) = lines_of(0, Step(5, 1, 1, Fired("x"), sent=(Message(1, 2, 3, "Commit", msgspec.Raw(body)),)))
        assert line.text == body.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (Process(5, 2, "started", 3, 4711), "started (incarnation 3, process 4711)"),
        (Process(5, 2, "killed", 3), "killed"),
        (Process(5, 2, "resumed", 3, paused_us=1_234_567), "resumed after 1.235s"),
        (Process(5, 2, "wiped", 3), "stable storage wiped"),
        (Commanded(5, "kill 2", "2 killed"), "kill 2 · 2 killed"),
        (Commanded(5, "heal", ""), "heal"),
        (Captioned(5, "look"), "look"),
        (Captioned(5, "here", mark=True), "here"),
        (Expected(5, "expect live == 4", True), "expect live == 4 · met"),
        (Expected(5, "expect live == 4", False), "expect live == 4 · NOT MET"),
        (Expected(5, "expect live == 4 within 1s", False, "late"), "expect live == 4 within 1s · NOT MET: late"),
        (EXAMPLES["end"], "the run ended: its time limit was reached"),
    ],
)
def test_the_lines_of_other_records(record: Record, text: str) -> None:
    """One line each."""
    assert [line.text for line in lines_of(0, record)] == [text]
    assert count_lines(record) == 1


def _working() -> Rig:
    rig = Rig([1, 2]).started()
    rig.run_until_agreed()
    rig.run(5_000)
    return rig


def test_in_flight_and_delivered() -> None:
    """The step that receives it decides."""
    rig = _working()
    rig.run_until(lambda: rig.sent()[-1][1] == "AreYouNormal", T_US, "a check is on its way")
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] == "in flight"
    rig.run(20_000)
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] == "delivered"
    assert _outcomes(rig, "AreYouNormalAnswer", 1, 2)[-1] == "delivered"


def test_too_late() -> None:
    """Delivered, but no request waits for it any longer."""
    rig = _working()
    rig.do(f"delay 1->2 {T_US // 1000}ms")
    rig.run(3 * T_US)
    assert "timed out" in _outcomes(rig, "AreYouNormalAnswer", 1, 2)


def test_lost() -> None:
    """By a fault that loses messages."""
    rig = _working()
    rig.do("lose 2->1 100%")
    rig.run(T_US)
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] == "lost"


def test_cut() -> None:
    """When it is sent, or in flight."""
    rig = _working()
    rig.do("on send AreYouNormal 2->1 cut 2->1")
    rig.run(T_US)
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] == "cut", "it was on its way"
    rig.run(T_US)
    assert _outcomes(rig, "EnterElection", 2, 1)[-1] == "cut", "it was about to be"


def test_receiver_down() -> None:
    """Its process is gone on arrival, or is killed before the message is handled."""
    rig = _working()
    rig.do("kill 1")
    rig.run(T_US)
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] == "receiver down"
    rig = _working()
    rig.do("pause 1")
    rig.run(T_US - 10_000)
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] == "in flight"
    rig.do("kill 1")
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] == "receiver down"


def test_not_sent() -> None:
    """Its sender is killed between two messages of one step."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("on send AreYouNormal 3->1 kill 3")
    rig.run(T_US)
    assert _outcomes(rig, "AreYouNormal", 3, 1)[-1] == "delivered"
    assert _outcomes(rig, "AreYouNormal", 3, 2)[-1] == "not sent"


def test_held_and_released() -> None:
    """Held is not final."""
    rig = _working()
    number = rig.hold(BOTH, "AreYouNormal")
    rig.run(T_US)
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] == "held"
    rig.release(number)
    rig.run(20_000)
    assert _outcomes(rig, "AreYouNormal", 2, 1)[-1] in ("delivered", "held")
    assert "held" not in _outcomes(rig, "AreYouNormal", 2, 1)[:-1]


def test_forged() -> None:
    """Its source never sent it; until it is received, it is in flight like any other."""
    rig = _working()
    rig.do("pause 1", "inject 2->1 AreYouUp")
    assert _outcomes(rig, "AreYouUp", 2, 1)[-1] == "in flight"
    rig.do("resume 1")
    assert _outcomes(rig, "AreYouUp", 2, 1)[-1] == "forged"


def test_every_outcome_has_a_test() -> None:
    ends = ("delivered", "timed out", "forged", "lost", "cut", "receiver down", "not sent")
    assert ("in flight", "held", *ends) == OUTCOMES


def test_a_page_is_a_part_of_the_log(tmp_path: Path) -> None:
    """Its lines are those of its records; later records only add outcomes."""
    lines = FileRecords(write_lines(tmp_path / "run.jsonl", eventful_lines()))
    whole = LogPage(0, None)
    for record in lines.records():
        whole.feed(record)
    page = LogPage(100, 140)
    for number, record in enumerate(lines.records(100), 100):
        assert not (page.settled and number < 140)
        page.feed(record)
        if page.settled:
            break
    assert page.settled
    assert page.lines == [line for line in whole.lines if 100 <= line.record < 140]
    for line in page.lines:
        assert page.outcome(line, len(lines)) == whole.outcome(line, len(lines))
        ending = page.outcome(line, len(lines))
        if line.what == "message":
            assert ending is not None
            assert page.outcome(line, ending.record - 1) is None or ending.fate == "delivered"
            assert page.outcome(line, ending.record) == ending


def test_a_line_that_could_not_be_read_has_no_lines() -> None:
    """It is only counted."""
    page = LogPage(0, 2)
    page.feed(None)
    page.feed(None)
    assert (page.lines, page.fed_to, page.settled) == ([], 2, True)
    assert page.outcomes == {}
