"""What came of the lines of a script, folded from the records."""

import pytest

from lab.analysis.script_log import Deed, ScriptLog, deed_of, inert_deeds
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Commanded, End, Expected, Fault, Process, Record


@pytest.mark.parametrize(
    ("record", "deed", "is_well"),
    [
        (Captioned(5, "x", line=2), Deed(2, 9, 5, "said"), True),
        (Captioned(5, "x", mark=True, line=2), Deed(2, 9, 5, "marked"), True),
        (Commanded(5, "kill 5", "killed", line=2), Deed(2, 9, 5, "done", "killed"), True),
        (Commanded(5, "kill 5", "down", changed=False, line=2), Deed(2, 9, 5, "no effect", "down"), False),
        (Commanded(5, "kill 9", "9?", changed=False, refused=True, line=2), Deed(2, 9, 5, "refused", "9?"), False),
        (Expected(5, "expect 4 leads", True, line=2), Deed(2, 9, 5, "met"), True),
        (Expected(5, "expect 4 leads", False, "late", line=2), Deed(2, 9, 5, "not met", "late"), False),
    ],
)
def test_each_record_of_a_line_is_told_in_a_word(record: Record, deed: Deed, is_well: bool) -> None:
    """And whether it is as it was meant to be."""
    assert deed_of(9, record) == deed
    assert deed.is_well == is_well


@pytest.mark.parametrize("record", [Commanded(5, "kill 5", "killed"), End(5, "over"), None])
def test_a_record_of_no_line_tells_of_none(record: Record | None) -> None:
    """What is typed has no line, nor has what is no deed."""
    assert deed_of(9, record) is None


def test_a_line_is_inert_if_none_of_its_faults_touched_anything() -> None:
    """Told at the first of them; a fault that was typed is of no line."""
    cluster = ClusterState((1, 2))
    records: list[Record] = [
        Fault(1, 1, "lose", "lose 1->2", links=((1, 2),), line=3),
        Fault(2, 2, "kill", "kill 1", (1,), line=4),
        Fault(3, 2, "kill", lifted=True),
        Fault(4, 3, "kill", "kill 1", (1,), line=4),
        Process(5, 1, "killed"),
        Fault(6, 4, "lose", "lose 1->2", links=((1, 2),), line=3),
        Fault(7, 5, "lose", "lose 2->1", links=((2, 1),)),
    ]
    for record in records:
        cluster.apply(record)
    assert inert_deeds(enumerate(records), cluster) == [Deed(3, 0, 1, "inert")]


def test_the_log_of_a_script_knows_the_past() -> None:
    """The last captions and the deeds by any record; a mark is no caption, what is typed is of no line."""
    log = ScriptLog()
    records = [
        Captioned(1, "a", line=1),
        Captioned(2, "m", mark=True, line=2),
        Captioned(3, "b"),
        None,
        End(9, "over"),
    ]
    for number, record in enumerate(records, 4):
        log.add(number, record)
    told = [[caption.text for caption in log.captions(number, 2)] for number in range(3, 8)]
    assert told == [[], ["a"], ["a"], ["a", "b"], ["a", "b"]]
    assert [caption.text for caption in log.captions(7, 1)] == ["b"]
    assert [deed.record for deed in log.deeds(3)] == []
    assert [deed.record for deed in log.deeds(99)] == [4, 5]
    assert [log.is_over(number) for number in (7, 8)] == [False, True]
